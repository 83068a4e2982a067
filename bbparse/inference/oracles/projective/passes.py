"""Sweeps over a chart: Viterbi, max-marginals, exact elimination, and k-best enumeration.

Each sweep is one loop over flat arrays and does not depend on the recurrence of the chart; see
`inference.oracles.projective.build` for the layout. Cost is linear in the number of hyperedges,
with a factor of about two for the outside sweep.

The three sweeps of every search node use unsigned indices: numba checks each signed index for a
negative value, which would take up to twice as long.

Derivations are enumerated lazily (Huang & Chiang 2005, algorithm 3). Each item lists its
derivations, the best first, as far as they are needed. A derivation is a hyperedge, the ranks of
the two derivations that it joins, and the rank of its arc among those of its pair of words.
Candidates for the next derivation are in a heap, at first every hyperedge with the best of
everything; each derivation that is listed adds its successors. Cost: one inside pass, and for each
tree about n derivations at log E each.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from bbparse.runtime.arrays import NEG
from bbparse.runtime.clock import is_over
from bbparse.runtime.jit import kernel

#: Steps of the enumeration between two checks of the deadline.
_STEPS = 1024


@kernel
def group_scores(group_ptr, arc_score, out):
    """Write the best arc score of each head-modifier pair (arcs of a pair differ in labels)."""
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


@kernel(inline=True)
def best_edge(chart, inside, i):
    """Return the hyperedge of the best derivation of item i, the first of equally good ones."""
    best = NEG
    at = chart.item_ptr[i]
    for e in range(chart.item_ptr[i], chart.item_ptr[i + 1]):
        value = inside[chart.left[e]] + inside[chart.right[e]] + chart.weight[e]
        if value > best:
            best = value
            at = e
    return at


@kernel
def write_tree(chart, inside, arc_score, tree):
    """Write the best tree of the last inside pass; return the score of its parts.

    Ties go to the hyperedge written first and to the arc with the smallest index.
    """
    n_items, item_group = chart.size[0], chart.item_group
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
        at = best_edge(chart, inside, i)
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
    """Write the best score of a tree with each head-modifier pair (-inf: in no tree)."""
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

    Exact: a hyperedge's max-marginal bounds every tree that uses it. Items left without hyperedges
    are dropped, too (``chart.size[0]`` of 1: nothing is left). ``renumber`` is scratch, int32[K].
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
def arcs_by_score(group_ptr, arc_score):
    """Sort the arcs of each pair of words, the best first; return also how many are left."""
    order = np.empty(arc_score.shape[0], np.int32)
    alive = np.zeros(group_ptr.shape[0] - 1, np.int32)
    for b in range(alive.shape[0]):
        lo = group_ptr[b]
        for a in range(lo, group_ptr[b + 1]):
            if arc_score[a] == NEG:
                continue
            at = lo + alive[b]
            while at > lo and arc_score[order[at - 1]] < arc_score[a]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = a
            alive[b] += 1
    return order, alive


@kernel
def list_derivations(chart, arc_score, order, alive, inside, k, min_score, until):  # noqa: C901, PLR0915 – one best-first search
    """Enumerate the k best derivations of the goal, up to the first below ``min_score``.

    ``inside`` is that of a pass under the same ``arc_score``, ``order`` and ``alive`` are from
    `arcs_by_score`. The enumeration ends at the time ``until``, with at least one derivation.
    Returns lists, of which that at ``place[i]`` has the derivations of item i (minus the value,
    hyperedge, ranks of left and right, and rank of the arc); ``place`` int64[items]; and whether
    there are no other derivations.
    """
    n_items, item_ptr, item_group = chart.size[0], chart.item_ptr, chart.item_group
    left, right, weight, group_ptr = chart.left, chart.right, chart.weight, chart.group_ptr
    goal, zero = n_items - 1, np.int64(0)
    # lists of the items visited so far; heaps have their smallest entry first
    heaps, listed = [[(0.0, zero, zero, zero, zero)]], [[(0.0, zero, zero, zero, zero)]]
    place, count = np.full(n_items, -1), np.zeros(n_items, np.int64)
    exhausted, grown = np.zeros(n_items, np.bool_), np.ones(n_items, np.bool_)
    place[0], count[0], exhausted[0] = 0, 1, True
    stack = np.empty((n_items + 1, 2), np.int64)  # items, and the rank that is needed
    stack[0, 0], stack[0, 1] = goal, k - 1
    depth, steps = 1, 0
    while depth > 0:
        steps += 1
        if steps % _STEPS == 0 and count[goal] > 0 and is_over(until):
            break
        i, rank = stack[depth - 1, 0], stack[depth - 1, 1]
        b = item_group[i]
        if count[i] > rank or exhausted[i]:
            depth -= 1
            continue
        arc = arc_score[order[group_ptr[b]]] if b >= 0 and alive[b] > 0 else 0.0
        if place[i] < 0:
            place[i] = len(heaps)
            heaps.append(heaps[0][:0])
            listed.append(heaps[0][:0])
            for e in range(item_ptr[i], item_ptr[i + 1] if b < 0 or alive[b] > 0 else 0):
                value = inside[left[e]] + inside[right[e]] + weight[e] + arc
                if value > NEG:
                    heappush(heaps[place[i]], (-value, np.int64(e), zero, zero, zero))
        waiting, derivations = heaps[place[i]], listed[place[i]]
        if depth == 1 and len(derivations) > 0 and -derivations[-1][0] < min_score:
            break
        if not grown[i]:
            neg_value, e, x, y, r = derivations[-1]
            # each pair of ranks is reached once: (x, y) from (x, y - 1), (x, 0) from (x - 1, 0)
            if r == 0 and count[right[e]] <= y + 1 and not exhausted[right[e]]:
                stack[depth, 0], stack[depth, 1] = right[e], y + 1
                depth += 1
                continue
            if r == 0 and y == 0 and count[left[e]] <= x + 1 and not exhausted[left[e]]:
                stack[depth, 0], stack[depth, 1] = left[e], x + 1
                depth += 1
                continue
            if b >= 0 and r + 1 < alive[b]:
                lo = group_ptr[b] + r
                value = -neg_value - arc_score[order[lo]] + arc_score[order[lo + 1]]
                heappush(waiting, (-value, e, x, y, r + 1))
            lefts, rights = listed[place[left[e]]], listed[place[right[e]]]
            if r == 0 and count[right[e]] > y + 1:
                value = -lefts[x][0] - rights[y + 1][0] + weight[e] + arc
                heappush(waiting, (-value, e, x, y + 1, zero))
            if r == 0 and y == 0 and count[left[e]] > x + 1:
                value = -lefts[x + 1][0] - rights[0][0] + weight[e] + arc
                heappush(waiting, (-value, e, x + 1, zero, zero))
            grown[i] = True
        if len(waiting) == 0:
            exhausted[i] = True
            continue
        _, e, x, y, _ = waiting[0]
        if count[left[e]] <= x:
            stack[depth, 0], stack[depth, 1] = left[e], x
            depth += 1
        elif count[right[e]] <= y:
            stack[depth, 0], stack[depth, 1] = right[e], y
            depth += 1
        else:
            derivations.append(heappop(waiting))
            count[i] += 1
            grown[i] = False
    return listed, place, exhausted[goal]


@kernel
def list_trees(chart, arc_score, inside, n_words, k, min_score, until):
    """Return the k best trees, as `list_derivations` does: arcs int32[K, n], and their scores.

    Then come the scores of their parts (weights of hyperedges), and True if there are no others.
    """
    n_items, item_group, group_ptr = chart.size[0], chart.item_group, chart.group_ptr
    left, right = chart.left, chart.right
    if n_items <= 1 or inside[n_items - 1] == NEG:
        return np.empty((0, n_words), np.int32), np.empty(0), np.empty(0), True
    order, alive = arcs_by_score(group_ptr, arc_score)
    listed, place, is_complete = list_derivations(
        chart, arc_score, order, alive, inside, k, min_score, until
    )
    derivations = listed[place[n_items - 1]]
    trees, weights = np.empty((len(derivations), n_words), np.int32), np.zeros(len(derivations))
    values = np.empty(len(derivations))
    stack = np.empty((n_items + 1, 2), np.int64)
    for t in range(len(derivations)):
        values[t] = -derivations[t][0]
        depth = 1
        stack[0, 0], stack[0, 1] = n_items - 1, t
        while depth > 0:
            depth -= 1
            i = stack[depth, 0]
            _, e, x, y, r = listed[place[i]][stack[depth, 1]]
            weights[t] += chart.weight[e]
            b = item_group[i]
            if b >= 0:
                trees[t, chart.group_mod[b] - 1] = order[group_ptr[b] + r]
            if left[e] != 0:
                stack[depth, 0], stack[depth, 1] = left[e], x
                depth += 1
            if right[e] != 0:
                stack[depth, 0], stack[depth, 1] = right[e], y
                depth += 1
    return trees, values, weights, is_complete
