"""Order of arcs and of trees, so that results depend on the problem alone.

**Which trees.** Solvers see the arcs sorted by (head, modifier, label), whatever their original
order; the order of parts, factors and count factors does not matter. A search is deterministic and
has no threads of its own. So if several trees share the k-th best score, the choice among them
depends only on the problem, ``k_best`` and the method.

**In which order.** Trees are sorted by decreasing score; trees of equal score by
the head of word 1, then of word 2, and so on, small heads first; and trees that differ only in
labels by the label of word 1, of word 2, and so on.

A search that a *time* limit ends is only as deterministic as the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from bbparse.core.parts import PART_NAMES, ProblemArrays, set_fields, set_rows
from bbparse.core.solution import Solution
from bbparse.core.tree import heads_of
from bbparse.runtime.arrays import Float64s, Ints, Longs

P = TypeVar("P", bound=ProblemArrays)


def sort_arcs(problem: P) -> tuple[P, Longs | None]:
    """Sort the arcs by (head, modifier, label); return their old indices, None if none moved."""
    p = problem
    keys = (p.arc_mod, p.arc_head)
    order = np.lexsort(keys if p.arc_label is None else (p.arc_label, *keys))
    if (order[1:] > order[:-1]).all():
        return problem, None
    new_index = np.empty(len(order), dtype=np.int32)
    new_index[order] = np.arange(len(order), dtype=np.int32)
    changes: dict[str, Any] = {
        name: column[order]
        for name in ("arc_head", "arc_mod", "arc_score", "arc_state", "arc_label")
        if (column := getattr(p, name)) is not None
    }
    changes |= {name: new_index[getattr(p, name)] for name in ("factor_arcs", "count_arcs")}
    return p.changed(**changes), order


def with_sorted_scores(problem: P) -> P:
    """Sort parts, factors and count factors, for solvers that depend on their order.

    The branch and bound sorts factors by itself, and adds up parts in any order.
    """
    p = problem
    changes: dict[str, Any] = {}
    for names in PART_NAMES.values():
        columns = [getattr(p, name) for name in names]
        rows = np.lexsort(columns[:-1])
        changes |= {name: column[rows] for name, column in zip(names, columns)}
    return with_sorted_sets(p.changed(**changes), "factor", "count")


def with_sorted_sets(problem: P, *kinds: str) -> P:
    """Return the problem with its factors or count factors sorted, and the arcs of each."""
    changes: dict[str, Any] = {}
    for kind in kinds:
        if len(getattr(problem, f"{kind}_ptr")) > 1:
            rows = set_rows(problem, kind)
            changes |= set_fields(kind, sorted((sorted(arcs), scores) for arcs, scores in rows))
    return problem.changed(**changes) if changes else problem


def in_original_order(solution: Solution, problem: ProblemArrays, order: Longs | None) -> Solution:
    """Convert a solution of the result of `sort_arcs` to one of the original problem; sort ties."""
    arcs, heads, scores = solution.arcs, solution.heads, solution.scores
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
    # bounds and flags belong to the scores, whose order has not changed
    return replace(solution, heads=heads, arcs=arcs)


def ranked(
    problem: ProblemArrays,
    trees: Sequence[Ints] | Ints,
    scores: Sequence[float] | Float64s,
    bound: float,
    status: str,
    stats: dict[str, float | int],
) -> Solution:
    """Make the solution of a search from its trees, int32[n] each (arc of each word), and scores.

    No other tree scores more than ``bound``; this also bounds the k-th best tree if one of the k
    best is missing. The status ``optimal`` stands for a search that ended by itself: it becomes
    ``infeasible`` if there is no tree, and ``gap`` if the bound is above a score; ``gap`` becomes
    ``optimal`` if it is above none.
    """
    values = np.array(scores, dtype=np.float64)
    order = np.argsort(-values, kind="stable")  # rounding may have swapped near-equal neighbours
    values = values[order]
    arcs = np.array(trees, dtype=np.int32).reshape(len(trees), problem.n_words)[order]
    proved = values >= bound
    if status in ("optimal", "gap"):
        status = "gap" if not proved.all() else "optimal" if len(arcs) else "infeasible"
    heads = heads_of(problem, arcs)
    return Solution(heads, arcs, values, np.maximum(values, bound), proved, status, stats)
