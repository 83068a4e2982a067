"""Trees of the labelled mode: the k best that differ in heads, and the labels they get.

There the search gives every arc a label, but scores it by the guide, which sees one arc at a time.
The labeller sees the tree around the arc, so once there is a tree its labels are chosen anew: among
the best few of each arc, those with the greatest sum of the labeller's scores and of the factors of
families that speak of labels. That is a problem with one tree and copies of its arcs, which the
search solves exactly. So trees of the search that differ in labels only are one tree here.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bbparse.factors import LabelledView, alive_factors
from bbparse.problem import Problem, Solution
from bbparse.problem.order import in_order
from bbparse.scoring.arc_labels import best_columns, in_quanta
from bbparse.solve import solve
from bbparse.solvers import time_left
from bbparse.solving.presolve.copies import without_beaten

if TYPE_CHECKING:
    from bbparse.parser import Parser
    from bbparse.scoring.labeller import Labeller
    from bbparse.treebank import Sentence

__all__ = ["best_labels", "joins_labels", "label_problem", "solve_by_heads"]


def solve_by_heads(
    problem: Problem, k_best: int, time_limit: float | None = None, **options: Any
) -> Solution:
    """The k best trees that differ in heads, each with the labels it scores most with.

    Parameters
    ----------
    problem : Problem
        With labels.
    k_best, time_limit
        As for `solve`.
    options
        Others of `solve`.

    Returns
    -------
    Solution
        Its ``upper_bounds`` and ``proved`` are about such trees.
    """
    if k_best == 1:
        return solve(problem, time_limit=time_limit, **options)
    started = time.perf_counter()
    small, order = in_order(problem)
    small, kept = without_beaten(small)  # the labels that a tree scores most with are there
    if kept is not None:
        order = kept if order is None else order[kept]
    wanted = k_best
    while True:
        left = time_left(time_limit, started)
        found = solve(small, k_best=wanted, time_limit=left, **options)
        seen: dict[bytes, int] = {}
        for row, heads in enumerate(found.heads):
            seen.setdefault(heads.tobytes(), row)
        if len(seen) >= k_best or len(found) < wanted or found.status != "optimal":
            break
        wanted *= 2
    rows = np.array(list(seen.values())[:k_best], np.int64)
    # what is proved of a tree supposes that those before it are the ones that are better
    proved = np.logical_and.accumulate(found.proved)[rows]
    bounds = np.where(proved, found.scores[rows], found.upper_bounds[: len(rows)])
    arcs = found.arcs[rows]
    if order is not None:
        arcs = order[arcs].astype(np.int32)
    return Solution.trusted(
        found.heads[rows], arcs, found.scores[rows], bounds, proved, found.status, found.stats,
        conflict=found.conflict,
        labels=None if problem.arc_label is None else problem.arc_label[arcs],
    )  # fmt: skip


def joins_labels(parser: Parser) -> bool:
    """Whether families have a say in the labels of a tree."""
    return (
        parser.config.labels.mode == "arcs"
        and len(parser.table) > 0
        and any(family.labelled for family in parser.families)
    )


def label_problem(
    parser: Parser,
    labeller: Labeller,
    sentence: Sentence,
    values: NDArray[np.uint64],
    heads: NDArray[np.int32],
    marks: NDArray[np.uint16] | None,
) -> Problem:
    """The problem whose best tree has the best labels of a tree.

    Parameters
    ----------
    parser : Parser
        Whose families and settings count.
    labeller : Labeller
    sentence, values
        The sentence, and what `encode` made of it.
    heads : int32[n + 1]
        The tree; heads[0] is not read.
    marks : uint16[n + 1, n + 1] or None
        The guide's, where the labeller asks for them.

    Returns
    -------
    Problem
        The arcs of the tree, each with its best labels, as numbers of the labeller's.
    """
    config = parser.config.labels
    scores = labeller.scores(values, heads, marks)
    order = np.argsort(heads[1:], kind="stable")  # arcs are sorted by head, modifier and label
    scores = scores[order]
    row, column = np.nonzero(best_columns(scores, config.per_arc))
    label = column.astype(np.int32)
    mod = (order[row] + 1).astype(np.int32)
    head = heads[mod].astype(np.int32)
    behind = scores[row, column] - scores.max(axis=1)[row]
    score = in_quanta(config.weight * behind, parser.quantum)
    view = LabelledView.of_arcs(sentence, head, mod, label, labeller.labels, values)
    families = [family for family in parser.families if family.labelled]
    factors = alive_factors(families, view, parser.table)
    return Problem.trusted(
        len(order), head, mod, score, arc_label=label, projective=False, single_root=False,
        quantum=parser.quantum, factor_ptr=factors.ptr, factor_arcs=factors.arcs,
        factor_score=factors.scores,
    )  # fmt: skip


def best_labels(
    parser: Parser,
    labeller: Labeller,
    sentence: Sentence,
    values: NDArray[np.uint64],
    heads: NDArray[np.int32],
    marks: NDArray[np.uint16] | None,
) -> list[str]:
    """The best labels of a tree; parameters as for `label_problem`."""
    problem = label_problem(parser, labeller, sentence, values, heads, marks)
    small, kept = without_beaten(problem)
    if small.arc_label is not None:
        kept = solve(problem, explain=False).arcs[0].astype(np.int64)
    elif kept is None:
        kept = np.arange(problem.n_words)
    numbers = np.empty(problem.n_words, np.int32)
    labels = problem.arc_label
    if labels is not None:
        numbers[problem.arc_mod[kept] - 1] = labels[kept]
    return [labeller.labels[i] for i in numbers.tolist()]
