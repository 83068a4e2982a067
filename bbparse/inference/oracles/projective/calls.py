"""The chart as the oracle of a search: its `inference.oracles.protocol.Calls`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bbparse.core.parts import ProblemArrays
from bbparse.inference.oracles.arcs import check_size, pair_groups, too_large
from bbparse.inference.oracles.projective.build import TOO_LARGE, TOO_LATE, Chart, build_chart
from bbparse.inference.oracles.projective.passes import (
    eliminate,
    group_marginals,
    group_scores,
    inside_pass,
    list_trees,
    outside_pass,
    write_tree,
)
from bbparse.inference.oracles.projective.weights import index_groups, weight_tables
from bbparse.inference.oracles.protocol import Calls
from bbparse.runtime.arrays import NEG, Float64s, Ints
from bbparse.runtime.deadline import TimeOver
from bbparse.runtime.jit import kernel


class ChartScratch(NamedTuple):
    """Arrays that the passes write: by group, by item, by item, by group, by item."""

    gscore: Float64s
    inside: Float64s
    outside: Float64s
    marginal: Float64s
    renumber: Ints


@kernel
def chart_of(n, mode, single_root, head, mod, parts, over):
    """Make the fields of the chart of a recurrence; see `make_chart` and `build_chart`.

    A tuple of arrays costs a microsecond, a named tuple thirty-six.
    """
    group_ptr, group_head, group_mod = pair_groups(head, mod)
    index = index_groups(n, group_head, group_mod)
    weights = weight_tables(group_head, group_mod, mode, index, parts)
    chart = build_chart(group_head, group_mod, mode, single_root, index, weights, group_ptr, over)
    return chart[:]


def make_chart(
    problem: ProblemArrays, mode: int, head: Ints, mod: Ints, until: float = np.inf
) -> Chart:
    """Make the chart of a recurrence over sorted arcs; `TimeOver` if it is not built in time."""
    p = problem
    check_size(p.n_words, mode, head, mod, p.n_words + 2)
    chart = Chart(*chart_of(p.n_words, mode, p.single_root, head, mod, p.part_table, until))
    if chart.size[0] == TOO_LATE:
        raise TimeOver
    if chart.size[0] == TOO_LARGE:
        raise too_large(p.n_words, head)
    return chart


@kernel
def chart_scratch(chart):
    """Allocate the arrays that the passes of a node write."""
    n_items, n_groups = chart.size[0], chart.group_mod.shape[0]
    return ChartScratch(
        np.empty(n_groups),
        np.empty(n_items),
        np.empty(n_items),
        np.empty(n_groups),
        np.empty(n_items, np.int32),
    )


@kernel
def chart_size(chart):
    """Return the number of hyperedges that are left."""
    return chart.item_ptr[chart.size[0]]


@kernel
def chart_best(chart, scratch, arc_score, until):
    """Return the best value, by one inside pass: it is short, whatever the time ``until``."""
    group_scores(chart.group_ptr, arc_score, scratch.gscore)
    return inside_pass(chart, scratch.gscore, scratch.inside)


@kernel
def chart_tree(chart, scratch, arc_score, tree):
    """Write the tree of the last `chart_best`; return the score of its parts."""
    return write_tree(chart, scratch.inside, arc_score, tree)


@kernel
def chart_max_marginals(chart, scratch, arc_score, marginals):
    """Write the max-marginals of arcs, by one outside pass."""
    outside_pass(chart, scratch.gscore, scratch.inside, scratch.outside)
    group_marginals(chart, scratch.inside, scratch.outside, scratch.marginal)
    group_ptr, marginal, gscore = chart.group_ptr, scratch.marginal, scratch.gscore
    for b in range(marginal.shape[0]):
        around = marginal[b]
        for a in range(group_ptr[b], group_ptr[b + 1]):
            dead = around == NEG or arc_score[a] == NEG
            marginals[a] = NEG if dead else around - gscore[b] + arc_score[a]


@kernel
def chart_eliminate(chart, scratch, floor):
    """Drop hyperedges that are in no tree of at least this score; return True if a tree is left."""
    eliminate(chart, scratch.gscore, scratch.inside, scratch.outside, floor, scratch.renumber)
    return chart.size[0] > 1


@kernel
def chart_k_best(chart, scratch, arc_score, n_words, k, min_score, until):
    """Return the k best trees; trees that are not listed score at most as much as the last."""
    chart_best(chart, scratch, arc_score, until)
    trees, values, part_scores, is_complete = list_trees(
        chart, arc_score, scratch.inside, n_words, k, min_score, until
    )
    bound = NEG if is_complete else values[trees.shape[0] - 1]
    return trees, values, part_scores, bound


CHART_CALLS = Calls(
    scratch_of=chart_scratch,
    size_of=chart_size,
    is_exact=True,
    best=chart_best,
    tree_of=chart_tree,
    max_marginals=chart_max_marginals,
    k_best=chart_k_best,
    eliminate=chart_eliminate,
)


@kernel
def best_of_chart(chart, n_words, arc_score):
    """Return the best tree of a chart, int32[1, n]; int32[0, n] if there is none."""
    scratch = chart_scratch(chart)
    goal = chart_best(chart, scratch, arc_score, np.inf)
    trees = np.empty((1 if goal > NEG else 0, n_words), np.int32)
    for t in range(trees.shape[0]):
        chart_tree(chart, scratch, arc_score, trees[t])
    return trees


@kernel
def k_best_of_chart(chart, n_words, arc_score, k, until):
    """Return the k best trees of a chart int32[K, n], their scores, and True if these are all.

    The enumeration ends at the time ``until``, with at least one tree.
    """
    trees, values, _, bound = chart_k_best(
        chart, chart_scratch(chart), arc_score, n_words, k, NEG, until
    )
    return trees, values, bound == NEG
