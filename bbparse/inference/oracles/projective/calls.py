"""The chart as the oracle of a search: its implementation of `inference.oracles.calls`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bbparse.inference.oracles.projective.build import Chart, build_chart
from bbparse.inference.oracles.projective.passes import (
    eliminate,
    group_marginals,
    group_scores,
    inside_pass,
    list_trees,
    outside_pass,
)
from bbparse.runtime.arrays import NEG, Float64s, Ints
from bbparse.runtime.jit import kernel


class Projective(NamedTuple):
    """Choice of an oracle of charts, by the number of the recurrence."""

    mode: int


class ChartScratch(NamedTuple):
    """Arrays that the passes write: by group, by item, by item, by group, by item."""

    gscore: Float64s
    inside: Float64s
    outside: Float64s
    marginal: Float64s
    renumber: Ints


@kernel
def make_chart(kind, n, head, mod, single_root, index, weights, group_ptr):
    """Make the chart of candidate pairs and weights, as `build_chart` takes them."""
    return build_chart(n, head, mod, kind.mode, single_root, index, weights, group_ptr)


@kernel
def chart_scratch(chart):
    """Allocate the arrays that the passes of a node write."""
    n_items, n_groups = chart.size[0], chart.group_mod.shape[0]
    return ChartScratch(
        np.empty(n_groups), np.empty(n_items), np.empty(n_items), np.empty(n_groups),
        np.empty(n_items, np.int32),
    )  # fmt: skip


@kernel
def chart_copy(chart):
    """Copy a chart, trimmed to what is left."""
    items = chart.size[0]
    edges = chart.item_ptr[items]
    return Chart(
        chart.item_ptr[: items + 1].copy(), chart.item_group[:items].copy(),
        chart.left[:edges].copy(), chart.right[:edges].copy(), chart.weight[:edges].copy(),
        chart.size.copy(), chart.group_ptr, chart.group_mod,
    )  # fmt: skip


@kernel
def chart_size(chart):
    """Return the number of hyperedges that are left."""
    return chart.item_ptr[chart.size[0]]


@kernel
def chart_weights(chart):
    """Return the scores of parts."""
    return chart.weight


@kernel
def chart_best(chart, scratch, arc_score):
    """Return the best value, by one inside pass."""
    group_scores(chart.group_ptr, arc_score, scratch.gscore)
    return inside_pass(chart, scratch.gscore, scratch.inside)


@kernel
def chart_with_each(chart, scratch, arc_score, each):
    """Write the max-marginals of arcs, by one outside pass."""
    outside_pass(chart, scratch.gscore, scratch.inside, scratch.outside)
    group_marginals(chart, scratch.inside, scratch.outside, scratch.marginal)
    group_ptr, marginal, gscore = chart.group_ptr, scratch.marginal, scratch.gscore
    for b in range(marginal.shape[0]):
        around = marginal[b]
        for a in range(group_ptr[b], group_ptr[b + 1]):
            dead = around == NEG or arc_score[a] == NEG
            each[a] = NEG if dead else around - gscore[b] + arc_score[a]


@kernel
def chart_eliminate(chart, scratch, floor):
    """Drop hyperedges that are in no tree of at least this score; return True if a tree is left."""
    eliminate(chart, scratch.gscore, scratch.inside, scratch.outside, floor, scratch.renumber)
    return chart.size[0] > 1


@kernel
def chart_k_best(chart, scratch, arc_score, n_words, k, min_score, until):
    """Return the k best trees; trees that are not listed score at most as much as the last."""
    chart_best(chart, scratch, arc_score)
    trees, values, part_scores, is_complete = list_trees(
        chart, arc_score, scratch.inside, n_words, k, min_score, until
    )
    bound = NEG if is_complete else values[trees.shape[0] - 1]
    return trees, values, part_scores, bound
