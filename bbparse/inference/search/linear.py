"""Best trees of problems with arcs and parts only, which need no search.

Projective trees: the best tree of the chart, or its k best (`inference.oracles.projective`); of a
nearly full matrix of arcs, Eisner's algorithm. Crossing trees: the best arborescence. None of these
kernels contains the branch and bound, which takes longest to compile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bbparse.core import Problem
from bbparse.inference.oracles.arcs import alive_arcs
from bbparse.inference.oracles.nonprojective.arborescence import arborescence_over
from bbparse.inference.oracles.projective.calls import (
    best_of_chart,
    k_best_of_chart,
    make_chart,
)
from bbparse.inference.oracles.projective.dense import dense_tree
from bbparse.inference.oracles.projective.recurrences import parts_of
from bbparse.inference.relaxation.state import score_spread, slack_of
from bbparse.runtime.arrays import NEG, Float64s, Ints
from bbparse.runtime.deadline import TimeOver

#: Cost of enumerating a tree for each word, in visited hyperedges.
LISTED = 3.0
NO_SCORES = np.empty(0)


class LinearTrees(NamedTuple):
    """The best trees of a linear problem."""

    arcs: Ints  # [K, n], best tree first
    edges: int  # size of the chart; 0: there was none
    slack: float = 0.0  # rounding error of the comparisons of trees; 0: that of a sum of terms
    #: Bound on trees that a deadline has cut off; -inf: there are none.
    bound: float = NEG


def is_linear(problem: Problem, k_best: int) -> bool:
    """Return True if the k best trees of a problem need no search."""
    return len(problem.factor_ptr) == len(problem.count_ptr) == 1 and (
        problem.projective or (k_best == 1 and not parts_of(problem))
    )


def is_dense(problem: Problem) -> bool:
    """Return True if a linear problem has arcs only, and so many that a sparse chart costs more."""
    return (
        problem.projective
        and 4 * len(problem.arc_head) >= problem.n_words**2
        and problem.arc_label is None
        and not parts_of(problem)
    )


def linear_trees(problem: Problem, mode: int, k_best: int, until: float) -> LinearTrees:
    """Find the k best trees of a linear problem with sorted arcs, fewer at the time ``until``."""
    p, n = problem, problem.n_words
    order = alive_arcs(n, p.arc_head, p.arc_mod, p.arc_state)
    if len(order) < n:  # some word has no arc
        return LinearTrees(np.empty((0, n), np.int32), 0)
    head, mod, score = p.arc_head[order], p.arc_mod[order], p.arc_score[order]
    if not p.projective:
        best = arborescence_over(n, head, mod, score, p.single_root, until)
        arcs, slack = order[best.arcs].reshape(-1, n), _slack(n, score, NO_SCORES)
        return LinearTrees(arcs, len(order), slack, _bound(best.value))
    if k_best == 1 and mode == 0 and is_dense(p):
        arcs, value = dense_tree(n, head, mod, score, p.single_root, until)
        return LinearTrees(order[arcs].reshape(-1, n), 0, bound=_bound(value))
    try:
        chart = make_chart(p, mode, head, mod, until)
    except TimeOver:
        return LinearTrees(np.empty((0, n), np.int32), 0, bound=np.inf)
    if k_best == 1:
        return LinearTrees(order[best_of_chart(chart, n, score)], chart.positions())
    trees, values, is_complete = k_best_of_chart(chart, n, score, k_best, until)
    cut_off = len(trees) < k_best and not is_complete
    bound = float(values[-1]) if cut_off else NEG
    return LinearTrees(order[trees], chart.positions(), _slack(n, score, chart.weight), bound)


def _slack(n: int, arc_score: Float64s, part_weight: Float64s) -> float:
    """Return the maximum rounding error of sums of scores."""
    return slack_of(score_spread(n, arc_score, part_weight, NO_SCORES, NO_SCORES))


def _bound(value: float) -> float:
    """Return the bound on trees that a deadline has cut off: the best value is then NaN."""
    return np.inf if np.isnan(value) else NEG
