"""One order of arcs, and one of trees, so that answers depend on what a problem says alone.

**Which trees.** Solvers see the arcs sorted by (head, modifier, label), whatever order they were
given in; parts, factors and count factors have no order that matters. A search is deterministic
and has no threads of its own. So if several trees share the k-th best score, which of them are
given depends on nothing but the problem, ``k_best`` and the method.

**In which order.** Trees come by falling score, compared exactly; trees of equal score by the head
of word 1, then of word 2, and so on, small heads first; and trees that differ in labels only by the
label of word 1, of word 2, and so on.

A search that a *time* limit stops is as deterministic as the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.problem.parts import PART_NAMES, ProblemArrays, set_fields, set_rows
from bbparse.problem.solution import Solution
from bbparse.problem.tree import heads_of

P = TypeVar("P", bound=ProblemArrays)



@kernel
def _rising(head: NDArray[np.int32], mod: NDArray[np.int32], label: NDArray[np.int32]) -> bool:
    """Whether arcs are sorted by head, modifier and label (empty: no labels)."""
    for a in range(1, head.shape[0]):
        if head[a] != head[a - 1]:
            if head[a] < head[a - 1]:
                return False
        elif mod[a] != mod[a - 1]:
            if mod[a] < mod[a - 1]:
                return False
        elif label.shape[0] and label[a] < label[a - 1]:
            return False
    return True


_NO_LABELS = np.zeros(0, dtype=np.int32)


def in_order(problem: P) -> tuple[P, NDArray[np.int64] | None]:
    """The problem with its arcs sorted by (head, modifier, label), and where each was, int64[A].

    The very problem that was given, and None, if its arcs are sorted already.
    """
    p = problem
    labels = _NO_LABELS if p.arc_label is None else p.arc_label
    if _rising(p.arc_head, p.arc_mod, labels):
        return problem, None
    keys = (p.arc_mod, p.arc_head)
    order = np.lexsort(keys if p.arc_label is None else (labels, *keys))
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    changes: dict[str, Any] = {
        name: getattr(p, name)[order] for name in ("arc_head", "arc_mod", "arc_score", "arc_state")
    }
    if p.arc_label is not None:
        changes["arc_label"] = p.arc_label[order]
    if len(p.factor_arcs):
        changes["factor_arcs"] = place[p.factor_arcs]
    if len(p.count_arcs):
        changes["count_arcs"] = place[p.count_arcs]
    return p.changed(**changes), order


def with_sorted_scores(problem: P) -> P:
    """The problem with its parts, factors and count factors sorted, for solvers that see an order.

    The branch and bound sorts factors by itself, and adds parts up in any order.
    """
    p = problem
    changes: dict[str, Any] = {}
    for names, part in zip(PART_NAMES.values(), p.parts):
        rows = np.lexsort(part[:-1])
        changes.update({name: column[rows] for name, column in zip(names, part)})
    return with_sorted_sets(p.changed(**changes), "factor", "count")


def with_sorted_sets(problem: P, *kinds: str) -> P:
    """The problem with its factors or count factors sorted, and the arcs of each."""
    changes: dict[str, Any] = {}
    for kind in kinds:
        if rows := set_rows(problem, kind):
            changes |= set_fields(kind, sorted((sorted(arcs), scores) for arcs, scores in rows))
    return problem.changed(**changes) if changes else problem


def in_rank(
    solution: Solution, problem: ProblemArrays, order: NDArray[np.int64] | None
) -> Solution:
    """The solution of what `in_order` made of a problem as one of the problem that was given.

    It has no proof. Trees of equal score come in the order of heads, then of labels.
    """
    s = solution
    arcs, heads, scores = s.arcs, s.heads, s.scores
    tied = len(scores) > 1 and bool((scores[1:] == scores[:-1]).any())
    if order is None and not tied:
        return solution
    if order is not None:
        arcs = order[arcs].astype(np.int32)
    if tied:
        columns = [*heads.T]
        if problem.arc_label is not None:
            columns += [*problem.arc_label[arcs].T]
        rank = np.lexsort((*columns[::-1], -scores))
        arcs, heads = arcs[rank], heads[rank]
    # bounds and flags are those of the scores, whose order is what it was
    return type(s).trusted(
        heads, arcs, scores, s.upper_bounds, s.proved, s.status, s.stats, conflict=s.conflict
    )


def ranked(
    problem: ProblemArrays,
    trees: Sequence[NDArray[np.int32]] | NDArray[np.int32],
    scores: Sequence[float] | NDArray[np.float64],
    bound: float,
    status: str,
    stats: dict[str, float | int],
) -> Solution:
    """The solution of a search: its trees, int32[n] each (arc of each word), with their scores.

    No other tree scores more than ``bound``, so that the k-th best does not either where one of the
    k best is not among them. The status ``optimal`` is for a search that ended by itself: it
    becomes ``infeasible`` where it has nothing, and ``gap`` where the bound is above a score;
    ``gap`` becomes ``optimal`` where it is above none.
    """
    values = np.array(scores, dtype=np.float64)
    order = np.argsort(-values, kind="stable")  # rounding may have swapped near-equal neighbours
    values = values[order]
    arcs = np.array(trees, dtype=np.int32).reshape(len(trees), problem.n_words)[order]
    proved = values >= bound
    if status in ("optimal", "gap"):
        status = "gap" if not proved.all() else "optimal" if len(arcs) else "infeasible"
    heads = heads_of(problem, arcs)
    return Solution.trusted(heads, arcs, values, np.maximum(values, bound), proved, status, stats)
