"""Sweeps over a chart: Viterbi, max-marginals, k best, and exact elimination.

Each is one loop over flat arrays and knows nothing of the recurrence that made the chart; see
:mod:`bbparse.oracle.projective.build` for the layout. Cost is linear in the number of hyperedges,
with a factor of about two for the outside sweep and k log k for the k best.

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


@kernel
def _insert(values, first, second, third, count, k, value, a, b, c):
    """Insert into a list sorted by falling value; equal values keep their order of arrival."""
    if count == k:
        if value <= values[k - 1]:
            return count
        at = k - 1
    else:
        at = count
        count += 1
    while at > 0 and values[at - 1] < value:
        values[at] = values[at - 1]
        first[at] = first[at - 1]
        second[at] = second[at - 1]
        third[at] = third[at - 1]
        at -= 1
    values[at] = value
    first[at] = a
    second[at] = b
    third[at] = c
    return count


@kernel
def k_best_pass(chart, arc_score, n_words, k):
    """The k best derivations, best first.

    Returns
    -------
    trees : int32[K, n_words]
        Arc of each word; K <= k trees (all of them where fewer exist).
    scores : float64[K]
        Their scores under ``arc_score`` and the chart's weights.
    weights : float64[K]
        The part of each score that comes from hyperedges.
    """
    n_items, item_ptr, item_group = chart.size[0], chart.item_ptr, chart.item_group
    left, right, weight, group_ptr = chart.left, chart.right, chart.weight, chart.group_ptr
    values = np.empty((n_items, k), np.float64)
    edge_of = np.empty((n_items, k), np.int32)
    left_rank = np.empty((n_items, k), np.int32)
    right_rank = np.empty((n_items, k), np.int32)
    arc_of = np.full((n_items, k), -1, np.int32)
    count = np.zeros(n_items, np.int32)
    values[0, 0] = 0.0
    count[0] = 1
    most_labels = 1
    for b in range(group_ptr.shape[0] - 1):
        most_labels = max(most_labels, group_ptr[b + 1] - group_ptr[b])
    tmp_v = np.empty(k, np.float64)
    tmp_c = np.empty(k, np.int32)
    tmp_a = np.empty(k, np.int32)
    tmp_z = np.empty(k, np.int32)
    old = np.empty((3, k), np.int32)
    for i in range(1, n_items):
        got = np.int64(0)
        for e in range(item_ptr[i], item_ptr[i + 1]):
            x = left[e]
            y = right[e]
            if count[x] == 0 or count[y] == 0:
                continue
            for ix in range(count[x]):
                base = values[x, ix] + weight[e]
                if got == k and base + values[y, 0] <= values[i, k - 1]:
                    break
                for iy in range(min(count[y], k // (ix + 1))):
                    value = base + values[y, iy]
                    if value == NEG or (got == k and value <= values[i, k - 1]):
                        break
                    got = _insert(
                        values[i], edge_of[i], left_rank[i], right_rank[i], got, k, value,
                        np.int64(e), np.int64(ix), np.int64(iy),
                    )
        b = item_group[i]
        if b >= 0 and got > 0:
            lo = group_ptr[b]
            hi = group_ptr[b + 1]
            if hi - lo == 1:
                if arc_score[lo] == NEG:
                    got = 0
                for j in range(got):
                    values[i, j] += arc_score[lo]
                    arc_of[i, j] = lo
            else:
                taken = np.int64(0)
                for j in range(got):
                    for a in range(lo, hi):
                        if arc_score[a] > NEG:
                            taken = _insert(
                                tmp_v, tmp_c, tmp_a, tmp_z, taken, k,
                                values[i, j] + arc_score[a], np.int64(j), np.int64(a), np.int64(0),
                            )  # fmt: skip
                for j in range(got):
                    old[0, j] = edge_of[i, j]
                    old[1, j] = left_rank[i, j]
                    old[2, j] = right_rank[i, j]
                for j in range(taken):
                    source = tmp_c[j]
                    values[i, j] = tmp_v[j]
                    arc_of[i, j] = tmp_a[j]
                    edge_of[i, j] = old[0, source]
                    left_rank[i, j] = old[1, source]
                    right_rank[i, j] = old[2, source]
                got = taken
        count[i] = got
    goal = n_items - 1
    found = count[goal] if n_items > 1 else 0
    trees = np.empty((found, n_words), np.int32)
    weights = np.zeros(found, np.float64)
    stack = np.empty((2 * n_words + 64, 2), np.int32)
    for t in range(found):
        depth = 1
        stack[0, 0] = goal
        stack[0, 1] = t
        while depth > 0:
            depth -= 1
            i = stack[depth, 0]
            j = stack[depth, 1]
            if i == 0:
                continue
            e = edge_of[i, j]
            weights[t] += weight[e]
            b = item_group[i]
            if b >= 0:
                tree_arc = arc_of[i, j]
                trees[t, chart.group_mod[b] - 1] = tree_arc
            stack[depth, 0] = left[e]
            stack[depth, 1] = left_rank[i, j]
            depth += 1
            if right[e] != 0:
                stack[depth, 0] = right[e]
                stack[depth, 1] = right_rank[i, j]
                depth += 1
    if found == 0:
        return trees, np.empty(0, np.float64), weights
    return trees, values[goal, :found].copy(), weights
