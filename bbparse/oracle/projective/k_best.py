"""The k best derivations of a chart, lazily (Huang & Chiang 2005, algorithm 3).

Each item lists its derivations from the best one on, as far as they are asked for: a derivation is
a hyperedge, the ranks of the two derivations that it joins and the rank of its arc among those of
its pair of words. What may come next waits in a heap, at first every hyperedge with the best of
all; each derivation that is listed puts those behind it there. Cost: one inside pass, and for each
tree about n derivations at log E each.
"""

from __future__ import annotations

import numpy as np

from bbparse.jit import kernel

NEG = -np.inf

#: What is to be done next for an item: fill its heap; put there what comes after its last
#: derivation, by arc, by right and by left part; take the next one.
_NEW, _ARC, _RIGHT, _LEFT, _READY, _DONE = 0, 1, 2, 3, 4, 5


@kernel
def _before(values, records, a, b):
    """Whether entry a of a heap comes before entry b: by value, then by its numbers."""
    if values[a] != values[b]:
        return values[a] > values[b]
    for i in range(4):
        if records[a, i] != records[b, i]:
            return records[a, i] < records[b, i]
    return False


@kernel
def _swap(values, records, a, b):
    values[a], values[b] = values[b], values[a]
    for i in range(4):
        records[a, i], records[b, i] = records[b, i], records[a, i]


@kernel
def _rise(values, records, start, at):
    """Move the last entry of a heap to its place."""
    while at > 0 and _before(values, records, start + at, start + (at - 1) // 2):
        _swap(values, records, start + at, start + (at - 1) // 2)
        at = (at - 1) // 2


@kernel
def _sink(values, records, start, size):
    """Move the first entry of a heap to its place."""
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and _before(values, records, start + below + 1, start + below):
            below += 1
        if not _before(values, records, start + below, start + at):
            break
        _swap(values, records, start + below, start + at)
        at = below


@kernel
def _append(values, records, places, i, value, e, x, y, r):
    """Add an entry to the list of item i; gives back the arrays, which may be new ones.

    ``places`` int64[N + 1, 3] has the start, length and room of each item's list; in its last row
    what is used of the arrays. A list that is full moves to their end, with room for twice as much.
    """
    start, length, room = places[i, 0], places[i, 1], places[i, 2]
    used = places[-1, 0]
    if length == room:
        room = max(4, 2 * room)
        if used + room > values.shape[0]:
            more = np.empty(2 * (used + room))
            more_records = np.empty((2 * (used + room), 4), np.int64)
            for j in range(used):
                more[j] = values[j]
                for f in range(4):
                    more_records[j, f] = records[j, f]
            values, records = more, more_records
        for j in range(length):
            values[used + j] = values[start + j]
            for f in range(4):
                records[used + j, f] = records[start + j, f]
        start = used
        places[i, 0], places[i, 2] = start, room
        places[-1, 0] = used + room
    values[start + length] = value
    records[start + length, 0] = e
    records[start + length, 1] = x
    records[start + length, 2] = y
    records[start + length, 3] = r
    places[i, 1] = length + 1
    return values, records


@kernel
def _arcs_by_score(group_ptr, arc_score):
    """Arcs of each pair of words from the best one on, and how many are alive."""
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
def k_best_pass(chart, arc_score, inside, n_words, k, least):
    """The k best derivations, best first, up to the first below a score; all where fewer exist.

    ``inside`` is that of an inside pass under the same ``arc_score``. Gives trees int32[K,
    n_words], the arc of each word, their scores float64[K], and of these the part that comes from
    hyperedges.
    """
    n_items, item_ptr, item_group = chart.size[0], chart.item_ptr, chart.item_group
    left, right, weight, group_ptr = chart.left, chart.right, chart.weight, chart.group_ptr
    goal = n_items - 1
    if n_items <= 1 or inside[goal] == NEG:
        return np.empty((0, n_words), np.int32), np.empty(0), np.empty(0)
    order, alive = _arcs_by_score(group_ptr, arc_score)
    # derivations of all items, and their heaps: value; hyperedge, ranks left and right, of the arc
    values, records = np.empty(8 * n_words + k), np.empty((8 * n_words + k, 4), np.int64)
    waiting, waiting_records = np.empty(values.shape[0]), np.empty_like(records)
    listed, heaps = np.zeros((n_items + 1, 3), np.int64), np.zeros((n_items + 1, 3), np.int64)
    todo = np.full(n_items, _NEW, np.int8)
    stack = np.empty((n_items + 1, 2), np.int64)  # items, and the rank that is asked for
    values, records = _append(values, records, listed, 0, 0.0, 0, 0, 0, 0)
    todo[0] = _DONE
    stack[0, 0], stack[0, 1] = goal, k - 1
    depth = 1
    while depth > 0:
        i, rank = stack[depth - 1, 0], stack[depth - 1, 1]
        if listed[i, 1] > rank or todo[i] == _DONE:
            depth -= 1
            continue
        if depth == 1 and listed[i, 1] > 0 and values[listed[i, 0] + listed[i, 1] - 1] < least:
            break
        b = item_group[i]
        if todo[i] == _NEW:
            arc = 0.0
            if b >= 0:
                arc = arc_score[order[group_ptr[b]]] if alive[b] > 0 else NEG
            for e in range(item_ptr[i], item_ptr[i + 1]):
                value = inside[left[e]] + inside[right[e]] + weight[e] + arc
                if value > NEG:
                    waiting, waiting_records = _append(
                        waiting, waiting_records, heaps, i, value, np.int64(e), 0, 0, 0
                    )
                    _rise(waiting, waiting_records, heaps[i, 0], heaps[i, 1] - 1)
            todo[i] = _READY
        if todo[i] < _READY:
            at = listed[i, 0] + listed[i, 1] - 1
            e, x, y, r = records[at, 0], records[at, 1], records[at, 2], records[at, 3]
            near = values[at]
            if todo[i] == _ARC:
                if b >= 0 and r + 1 < alive[b]:
                    lo = group_ptr[b] + r
                    value = near - arc_score[order[lo]] + arc_score[order[lo + 1]]
                    waiting, waiting_records = _append(
                        waiting, waiting_records, heaps, i, value, e, x, y, r + 1
                    )
                    _rise(waiting, waiting_records, heaps[i, 0], heaps[i, 1] - 1)
                todo[i] = _READY if r > 0 else _RIGHT
            while _ARC < todo[i] < _READY:
                # each pair of ranks is met once: (x, y) after (x, y - 1), (x, 0) after (x - 1, 0)
                part, ask = right[e], y + 1
                if todo[i] == _LEFT:
                    part, ask = left[e], x + 1
                if listed[part, 1] <= ask and todo[part] != _DONE:
                    stack[depth, 0], stack[depth, 1] = part, ask
                    depth += 1
                    break
                if listed[part, 1] > ask:
                    own = values[listed[part, 0] + ask]
                    other = left[e] if todo[i] == _RIGHT else right[e]
                    other_rank = x if todo[i] == _RIGHT else y
                    value = values[listed[other, 0] + other_rank] + own + weight[e]
                    if b >= 0:
                        value += arc_score[order[group_ptr[b]]]
                    if todo[i] == _RIGHT:
                        other_rank, own_rank = x, y + 1
                    else:
                        other_rank, own_rank = x + 1, np.int64(0)
                    waiting, waiting_records = _append(
                        waiting, waiting_records, heaps, i, value, e, other_rank, own_rank, 0
                    )
                    _rise(waiting, waiting_records, heaps[i, 0], heaps[i, 1] - 1)
                todo[i] = _LEFT if todo[i] == _RIGHT and y == 0 else _READY
            if todo[i] < _READY:
                continue
        start, size = heaps[i, 0], heaps[i, 1]
        if size == 0:
            todo[i] = _DONE
            continue
        e, x = waiting_records[start, 0], waiting_records[start, 1]
        y, r = waiting_records[start, 2], waiting_records[start, 3]
        if listed[left[e], 1] <= x:
            stack[depth, 0], stack[depth, 1] = left[e], x
            depth += 1
            continue
        if listed[right[e], 1] <= y:
            stack[depth, 0], stack[depth, 1] = right[e], y
            depth += 1
            continue
        values, records = _append(values, records, listed, i, waiting[start], e, x, y, r)
        _swap(waiting, waiting_records, start, start + size - 1)
        heaps[i, 1] = size - 1
        _sink(waiting, waiting_records, start, size - 1)
        todo[i] = _ARC

    found = listed[goal, 1]
    start = listed[goal, 0]
    trees, weights = np.empty((found, n_words), np.int32), np.zeros(found)
    for t in range(found):
        depth = 1
        stack[0, 0], stack[0, 1] = goal, t
        while depth > 0:
            depth -= 1
            i = stack[depth, 0]
            at = listed[i, 0] + stack[depth, 1]
            e, x, y, r = records[at, 0], records[at, 1], records[at, 2], records[at, 3]
            weights[t] += weight[e]
            b = item_group[i]
            if b >= 0:
                trees[t, chart.group_mod[b] - 1] = order[group_ptr[b] + r]
            if left[e] != 0:
                stack[depth, 0], stack[depth, 1] = left[e], x
                depth += 1
            if right[e] != 0:
                stack[depth, 0], stack[depth, 1] = right[e], y
                depth += 1
    return trees, values[start : start + found].copy(), weights
