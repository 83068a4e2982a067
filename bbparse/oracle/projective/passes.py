"""Sweeps over a chart: Viterbi, max-marginals, and exact elimination.

Each is one loop over flat arrays and knows nothing of the recurrence that made the chart; see
:mod:`bbparse.oracle.projective.build` for the layout. Cost is linear in the number of hyperedges,
with a factor of about two for the outside sweep.

The three sweeps that every search node makes read their arrays at unsigned places: numba looks at
each signed place for a negative one, which would take them up to twice as long.
"""

from __future__ import annotations

import numpy as np

from bbparse.jit import kernel

NEG = -np.inf


@kernel
def group_scores(group_ptr, arc_score, out):
    """Best arc score of each head-modifier pair (they differ only where arcs carry labels)."""
    for b in range(group_ptr.shape[0] - 1):
        best = arc_score[group_ptr[b]]
        for a in range(group_ptr[b] + 1, group_ptr[b + 1]):
            best = max(best, arc_score[a])
        out[b] = best


@kernel
def inside_pass(chart, gscore, inside):
    """Fill ``inside[i]``, the best score of a derivation of item i; return that of the goal."""
    n_items, item_ptr, item_group = chart.size[0], chart.item_ptr, chart.item_group
    left, right, weight = chart.left, chart.right, chart.weight
    inside[0] = 0.0
    for i in range(1, n_items):
        best = NEG
        for e in range(np.uintp(item_ptr[i]), np.uintp(item_ptr[i + 1])):
            value = inside[np.uintp(left[e])] + inside[np.uintp(right[e])] + weight[e]
            if value > best:
                best = value
        b = item_group[i]
        if b >= 0:
            best += gscore[b]
        inside[i] = best
    return inside[n_items - 1] if n_items > 1 else NEG


@kernel
def backtrace(chart, arc_score, inside, tree):
    """Write the best derivation's arcs to ``tree[m - 1]``; return the sum of its edge weights.

    Ties go to the hyperedge written first and to the arc with the smallest index.
    """
    n_items, item_ptr, item_group = chart.size[0], chart.item_ptr, chart.item_group
    left, right, weight, group_ptr = chart.left, chart.right, chart.weight, chart.group_ptr
    stack = np.empty(2 * tree.shape[0] + 64, np.int32)
    depth = 1
    stack[0] = n_items - 1
    total = 0.0
    while depth > 0:
        depth -= 1
        i = stack[depth]
        if i == 0:
            continue
        best = NEG
        at = item_ptr[i]
        for e in range(item_ptr[i], item_ptr[i + 1]):
            value = inside[left[e]] + inside[right[e]] + weight[e]
            if value > best:
                best = value
                at = e
        total += weight[at]
        b = item_group[i]
        if b >= 0:
            arc = group_ptr[b]
            for a in range(group_ptr[b] + 1, group_ptr[b + 1]):
                if arc_score[a] > arc_score[arc]:
                    arc = a
            tree[chart.group_mod[b] - 1] = arc
        stack[depth] = left[at]
        depth += 1
        if right[at] != 0:
            stack[depth] = right[at]
            depth += 1
    return total


@kernel
def outside_pass(chart, gscore, inside, outside):
    """Fill ``outside[i]``: the best score of a whole tree around item i, without item i."""
    n_items, item_ptr, item_group = chart.size[0], chart.item_ptr, chart.item_group
    left, right, weight = chart.left, chart.right, chart.weight
    for i in range(n_items):
        outside[i] = NEG
    outside[n_items - 1] = 0.0
    for i in range(n_items - 1, 0, -1):
        around = outside[i]
        if around == NEG:
            continue
        b = item_group[i]
        if b >= 0:
            around += gscore[b]
        for e in range(np.uintp(item_ptr[i]), np.uintp(item_ptr[i + 1])):
            o = around + weight[e]
            x = np.uintp(left[e])
            y = np.uintp(right[e])
            value = o + inside[y]
            if value > outside[x]:
                outside[x] = value
            value = o + inside[x]
            if value > outside[y]:
                outside[y] = value


@kernel
def group_marginals(chart, inside, outside, out):
    """Best score of a tree with each head-modifier pair (-inf: in no tree)."""
    for b in range(out.shape[0]):
        out[b] = NEG
    for i in range(1, chart.size[0]):
        b = chart.item_group[i]
        if b >= 0 and outside[i] != NEG:
            value = inside[i] + outside[i]
            if value > out[b]:
                out[b] = value


@kernel
def eliminate(chart, gscore, inside, outside, floor, renumber):
    """Drop, in place, every hyperedge in no tree that scores at least ``floor``.

    Exact: a hyperedge's max-marginal bounds every tree that uses it. Items left without
    hyperedges go too (``chart.size[0]`` of 1: nothing is left). ``renumber`` is scratch, int32[K].
    """
    n_items, item_ptr, item_group = chart.size[0], chart.item_ptr, chart.item_group
    left, right, weight = chart.left, chart.right, chart.weight
    renumber[0] = 0
    kept_items = 1
    kept_edges = 0
    start = 0
    for i in range(1, n_items):
        end = item_ptr[i + 1]
        renumber[i] = -1
        around = outside[i]
        b = item_group[i]
        before = kept_edges
        if around != NEG and around + inside[i] >= floor:
            if b >= 0:
                around += gscore[b]
            for e in range(np.uintp(start), np.uintp(end)):
                first = np.uintp(left[e])
                second = np.uintp(right[e])
                x = renumber[first]
                y = renumber[second]
                if (
                    x >= 0
                    and y >= 0
                    and around + weight[e] + (inside[first] + inside[second]) >= floor
                ):
                    left[kept_edges] = x
                    right[kept_edges] = y
                    weight[kept_edges] = weight[e]
                    kept_edges += 1
        start = end
        if kept_edges > before:
            renumber[i] = kept_items
            item_group[kept_items] = b
            item_ptr[kept_items] = before
            item_ptr[kept_items + 1] = kept_edges
            kept_items += 1
    chart.size[0] = kept_items if renumber[n_items - 1] >= 0 else 1
