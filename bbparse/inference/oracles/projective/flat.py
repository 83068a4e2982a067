"""Charts for Python: kernels that take and return arrays, since records cost microseconds each.

A chart is the tuple of the fields of `inference.oracles.projective.build.Chart`.
"""

from __future__ import annotations

import numpy as np

from bbparse.inference.oracles.arcs import pair_groups
from bbparse.inference.oracles.projective.build import Chart, build_chart
from bbparse.inference.oracles.projective.passes import (
    group_scores,
    inside_pass,
    list_trees,
    write_tree,
)
from bbparse.inference.oracles.projective.weights import (
    index_groups,
    weight_tables,
)
from bbparse.runtime.arrays import NEG
from bbparse.runtime.jit import kernel


@kernel
def chart_of(
    n, mode, single_root, head, mod,
    part_words, part_score, kind_ptr, over,
):  # fmt: skip
    """Make the chart of a recurrence over arcs sorted by head and modifier, which may have labels.

    The rest are the ``part_table`` of the problem, and the time ``over`` of `build_chart`.
    """
    group_ptr, group_head, group_mod = pair_groups(head, mod)
    index = index_groups(n, group_head, group_mod)
    weights = weight_tables(n, group_head, group_mod, mode, index, part_words, part_score, kind_ptr)
    return build_chart(
        n, group_head, group_mod, mode, single_root, index, weights, group_ptr, over
    )[:]  # fmt: skip


@kernel
def best_of_chart(
    n, item_ptr, item_group, left, right, weight, size, group_ptr, group_mod, arc_score
):
    """Return the best tree of a chart, int32[1, n]; int32[0, n] if there is none."""
    chart = Chart(item_ptr, item_group, left, right, weight, size, group_ptr, group_mod)
    group_score, inside = np.empty(group_mod.shape[0]), np.empty(size[0])
    group_scores(group_ptr, arc_score, group_score)
    goal = inside_pass(chart, group_score, inside)
    trees = np.empty((1 if goal > NEG else 0, n), np.int32)
    for t in range(trees.shape[0]):
        write_tree(chart, inside, arc_score, trees[t])
    return trees


@kernel
def k_best_of_chart(
    n, item_ptr, item_group, left, right, weight, size, group_ptr, group_mod, arc_score, k, until
):  # fmt: skip
    """Return the k best trees of a chart int32[K, n], their scores, and whether they are all.

    The enumeration ends at the time ``until``, with at least one tree.
    """
    chart = Chart(item_ptr, item_group, left, right, weight, size, group_ptr, group_mod)
    group_score, inside = np.empty(group_mod.shape[0]), np.empty(size[0])
    group_scores(group_ptr, arc_score, group_score)
    inside_pass(chart, group_score, inside)
    trees, values, _, is_complete = list_trees(chart, arc_score, inside, n, k, NEG, until)
    return trees, values, is_complete
