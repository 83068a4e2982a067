"""Best trees of problems with arcs and parts only, which need no search.

Projective trees: the best tree of the chart, or its k best (`inference.oracles.projective`); of a
nearly full matrix of arcs, Eisner's algorithm. Crossing trees: the best arborescence. None of these
kernels contains the branch and bound, which takes longest to compile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bbparse.core import Problem
from bbparse.core.parts import ANY
from bbparse.core.score_kernels import score_rows
from bbparse.inference.oracles.arcs import FEW_ARCS, alive_arcs
from bbparse.inference.oracles.nonprojective.arborescence import arborescence_over
from bbparse.inference.oracles.projective.build import Chart
from bbparse.inference.oracles.projective.calls import (
    best_of_chart,
    chart_of,
    k_best_of_chart,
    make_chart,
)
from bbparse.inference.oracles.projective.dense import dense_tree
from bbparse.inference.oracles.projective.recurrences import GRANDSIB, part_kinds
from bbparse.inference.relaxation.state import score_spread, slack_of
from bbparse.runtime.arrays import NEG, Flags, Float64s, Ints, Longs
from bbparse.runtime.deadline import TimeOver
from bbparse.runtime.jit import kernel

NO_SCORES = np.empty(0)
#: This fraction of a tree's terms, times its words, bounds the rounding of their sums in a chart.
ROUNDING = 2.0**-51
_GRANDSIB = GRANDSIB.mode


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
        problem.projective or (k_best == 1 and not part_kinds(problem))
    )


def is_dense(problem: Problem) -> bool:
    """Return True if a linear problem has arcs only, and so many that a sparse chart costs more."""
    return (
        problem.projective
        and 4 * len(problem.arc_head) >= problem.n_words**2
        and problem.arc_label is None
        and not part_kinds(problem)
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


class BestTrees(NamedTuple):
    """The best projective trees of a batch of linear problems, the trees one after the other."""

    arcs: Ints  # [N], the arc of each word, counted from the first one of its sentence
    heads: Ints  # [N]
    scores: Float64s  # [S]
    edges: Longs  # [S], sizes of the charts
    #: [S]; False: nothing is known of this sentence, `bbparse.solve` has to look at it.
    settled: Flags


class KindOfParts(NamedTuple):
    """Siblings, or grandchildren, of a batch: those of sentence s are ``ptr[s] : ptr[s + 1]``."""

    ptr: Longs  # [S + 1]
    words: Ints  # [3 or more, P]: (head, inner, modifier), or (grandparent, head, modifier)
    score: Float64s  # [P]

    def of_sentence(self, i: int) -> tuple[Ints, Float64s]:
        """Return the words of the parts of a sentence, int32[3, P], and their scores."""
        here = slice(*self.ptr[i : i + 2])
        return self.words[:3, here], self.score[here]


def best_trees(
    n_words: Longs,
    arcs: tuple[Longs, Ints, Ints, Float64s],
    parts: Sequence[KindOfParts],
    single_root: bool,
    quantum: float,
) -> BestTrees:
    """Find the best tree of each sentence of a batch, as `bbparse.solve` does for one problem.

    ``arcs`` are where those of each sentence begin, int64[S + 1], and heads, modifiers and scores,
    sorted by (head, modifier), in multiples of ``quantum``. Each chart scores both kinds of
    ``parts``, siblings and grandchildren.
    """
    tree, heads, scores, edges = _best_trees(n_words, arcs, *map(tuple, parts), single_root)
    # Large terms may have hidden small ones: then trees have to be compared exactly.
    rounding = ROUNDING * n_words * scores[1]
    rounding_matters = (scores[2] < rounding) & (quantum <= 2.0 * rounding)
    return BestTrees(tree, heads, scores[0], edges, (edges > 0) & ~rounding_matters)


@kernel
def _best_trees(n_words, arcs, siblings, grandchildren, single_root):
    """Return arcs and heads of the trees of `best_trees`, their scores and the sizes of charts.

    Scores are those of `score_trees`, float64[3, S]. The size is 0 without a tree.
    """
    ptr, head, mod, score = arcs
    tree, heads = np.zeros(n_words.sum(), np.int32), np.zeros(n_words.sum(), np.int32)
    scores, edges = np.zeros((3, n_words.shape[0])), np.zeros(n_words.shape[0], np.int64)
    at, none = 0, np.zeros((1, 0))
    for s in range(n_words.shape[0]):
        n, a, b = n_words[s], ptr[s], ptr[s + 1]
        if b - a < FEW_ARCS:
            parts = _part_table(siblings, grandchildren, s)
            fields = chart_of(n, _GRANDSIB, single_root, head[a:b], mod[a:b], parts, np.inf)
            chart = Chart(*fields)
            if chart.size[0] > 1:  # else there is no tree, or the chart is too large
                found = best_of_chart(chart, n, score[a:b])
                edges[s] = chart.item_ptr[chart.size[0]]
                of_tree = score_rows(found, head[a:b], score[a:b], parts, none)
                for i in range(n):
                    tree[at + i], heads[at + i] = found[0, i], head[a + found[0, i]]
                for i in range(3):
                    scores[i, s] = of_tree[i, 0]
        at += n
    return tree, heads, scores, edges


@kernel
def _part_table(siblings, grandchildren, s):
    """Return the parts of a sentence, as `ProblemArrays.part_table`."""
    sib_ptr, sib_words, sib_score = siblings
    gc_ptr, gc_words, gc_score = grandchildren
    n_sib = sib_ptr[s + 1] - sib_ptr[s]
    n_all = n_sib + gc_ptr[s + 1] - gc_ptr[s]
    words, scores = np.full((4, n_all), np.int32(ANY), np.int32), np.empty(n_all)
    for i in range(n_sib):
        at = sib_ptr[s] + i
        words[1, i], words[2, i], words[3, i] = sib_words[0, at], sib_words[1, at], sib_words[2, at]
        scores[i] = sib_score[at]
    for i in range(n_sib, n_all):
        at = gc_ptr[s] + i - n_sib
        words[0, i], words[1, i], words[3, i] = gc_words[0, at], gc_words[1, at], gc_words[2, at]
        scores[i] = gc_score[at]
    return words, scores, np.array([0, n_sib, n_all, n_all, n_all])
