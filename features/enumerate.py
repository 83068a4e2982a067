"""Kernels that enumerate candidate factors: siblings, triples of siblings, chains of arcs.

They keep the contract of `bbparse.factors.TemplateFamily.kernel`: a candidate is reported if the
bit of its gate is set, as its arcs and a code ``order * number of distances + distance``. What a
projective tree cannot hold is left out where that costs one comparison: in a chain, a word's
modifier never lies beyond a word above it.

Cost: one addition and one look at a bit for each candidate; with n words and k candidate heads
a word, about n k² / 2 pairs of siblings and chains of two, n k³ / 6 triples, n k³ chains of three
(less what projectivity rules out).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel

Ints = NDArray[np.int32]
Hashes = NDArray[np.uint64]


@kernel
def passes(gate: np.uint64, bits: Hashes, shift: np.uint64) -> bool:
    bit = gate >> shift
    return (bits[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & np.uint64(1) != np.uint64(0)


@kernel
def with_room(rows: Ints, count: int, more: int) -> Ints:
    """The rows; copied into twice the room, if that for `more` is not left."""
    if count + more <= rows.shape[0]:
        return rows
    grown = np.empty((2 * rows.shape[0] + more, rows.shape[1]), np.int32)
    for i in range(count):
        for j in range(rows.shape[1]):
            grown[i, j] = rows[i, j]
    return grown


@kernel
def _seven_classes(distance: int) -> int:
    """0 to 6: 1, 2, 3, 4, 5-7, 8-12, more."""
    if distance <= 4:
        return distance - 1
    return 4 if distance <= 7 else 5 if distance <= 12 else 6


@kernel
def _four_classes(distance: int) -> int:
    """0 to 3: 1, 2, 3-6, more."""
    return distance - 1 if distance <= 2 else 2 if distance <= 6 else 3


@kernel
def _three_classes(distance: int) -> int:
    """0 to 2: 1, 2-4, more."""
    return 0 if distance == 1 else 1 if distance <= 4 else 2


@kernel
def beyond(above: int, head: int, mod: int) -> bool:
    """Whether the arc from head to mod reaches the word above head, or passes over it."""
    return head < above <= mod or mod <= above < head


@kernel
def sibling_pairs(
    arc_head: Ints,
    arc_mod: Ints,
    head_ptr: Ints,
    gate_words: Hashes,
    gate_orders: Hashes,
    gate_bits: Hashes,
    gate_shift: np.uint64,
) -> Ints:
    """Pairs of arcs h → m1, h → m2 with m1 < m2.

    Roles h, m1, m2. Order: how many of the two lie left of h (3). Distance: from m1 to m2 (7).
    """
    rows = np.empty((256, 3), np.int32)
    count = np.int64(0)
    for h in range(head_ptr.shape[0] - 1):
        end = head_ptr[h + 1]
        for i in range(head_ptr[h], end):
            m1 = arc_mod[i]
            partial = gate_words[0, h] + gate_words[1, m1]
            rows = with_room(rows, count, end - i)
            for j in range(i + 1, end):
                m2 = arc_mod[j]
                order = int(m1 < h) + int(m2 < h)
                gate = partial + gate_words[2, m2] + gate_orders[order]
                if passes(gate, gate_bits, gate_shift):
                    rows[count, 0] = i
                    rows[count, 1] = j
                    rows[count, 2] = order * 7 + _seven_classes(m2 - m1)
                    count += 1
    return rows[:count]


@kernel
def sibling_triples(
    arc_head: Ints,
    arc_mod: Ints,
    head_ptr: Ints,
    gate_words: Hashes,
    gate_orders: Hashes,
    gate_bits: Hashes,
    gate_shift: np.uint64,
) -> Ints:
    """Triples of arcs h → m1, h → m2, h → m3 with m1 < m2 < m3.

    Roles h, m1, m2, m3. Order: how many lie left of h (4). Distance: from m1 to m3 (7).
    """
    rows = np.empty((256, 4), np.int32)
    count = np.int64(0)
    for h in range(head_ptr.shape[0] - 1):
        end = head_ptr[h + 1]
        for i in range(head_ptr[h], end):
            m1 = arc_mod[i]
            for j in range(i + 1, end):
                m2 = arc_mod[j]
                partial = gate_words[0, h] + gate_words[1, m1] + gate_words[2, m2]
                rows = with_room(rows, count, end - j)
                for k in range(j + 1, end):
                    m3 = arc_mod[k]
                    order = int(m1 < h) + int(m2 < h) + int(m3 < h)
                    gate = partial + gate_words[3, m3] + gate_orders[order]
                    if passes(gate, gate_bits, gate_shift):
                        rows[count, 0] = i
                        rows[count, 1] = j
                        rows[count, 2] = k
                        rows[count, 3] = order * 7 + _seven_classes(m3 - m1)
                        count += 1
    return rows[:count]


@kernel
def chains_of_two(
    arc_head: Ints,
    arc_mod: Ints,
    head_ptr: Ints,
    gate_words: Hashes,
    gate_orders: Hashes,
    gate_bits: Hashes,
    gate_shift: np.uint64,
) -> Ints:
    """Chains g → h → m.

    Roles g, h, m. Order: direction of the first arc, of the second (2 · 2). Distance: length of
    the first arc, of the second (4 · 4).
    """
    rows = np.empty((256, 3), np.int32)
    count = np.int64(0)
    for i in range(arc_head.shape[0]):
        g, h = arc_head[i], arc_mod[i]
        partial = gate_words[0, g] + gate_words[1, h]
        rows = with_room(rows, count, head_ptr[h + 1] - head_ptr[h])
        for j in range(head_ptr[h], head_ptr[h + 1]):
            m = arc_mod[j]
            if beyond(g, h, m):
                continue
            order = int(g < h) * 2 + int(h < m)
            gate = partial + gate_words[2, m] + gate_orders[order]
            if passes(gate, gate_bits, gate_shift):
                rows[count, 0] = i
                rows[count, 1] = j
                distance = _four_classes(abs(g - h)) * 4 + _four_classes(abs(h - m))
                rows[count, 2] = order * 16 + distance
                count += 1
    return rows[:count]


@kernel
def chains_of_three(
    arc_head: Ints,
    arc_mod: Ints,
    head_ptr: Ints,
    gate_words: Hashes,
    gate_orders: Hashes,
    gate_bits: Hashes,
    gate_shift: np.uint64,
) -> Ints:
    """Chains a → b → c → d.

    Roles a, b, c, d. Order: direction of each arc (2 · 2 · 2). Distance: length of each arc
    (3 · 3 · 3).
    """
    rows = np.empty((256, 4), np.int32)
    count = np.int64(0)
    for i in range(arc_head.shape[0]):
        a, b = arc_head[i], arc_mod[i]
        for j in range(head_ptr[b], head_ptr[b + 1]):
            c = arc_mod[j]
            if beyond(a, b, c):
                continue
            partial = gate_words[0, a] + gate_words[1, b] + gate_words[2, c]
            rows = with_room(rows, count, head_ptr[c + 1] - head_ptr[c])
            for k in range(head_ptr[c], head_ptr[c + 1]):
                d = arc_mod[k]
                if beyond(b, c, d) or beyond(a, c, d):
                    continue
                order = int(a < b) * 4 + int(b < c) * 2 + int(c < d)
                gate = partial + gate_words[3, d] + gate_orders[order]
                if passes(gate, gate_bits, gate_shift):
                    rows[count, 0] = i
                    rows[count, 1] = j
                    rows[count, 2] = k
                    distance = (
                        _three_classes(abs(a - b)) * 9
                        + _three_classes(abs(b - c)) * 3
                        + _three_classes(abs(c - d))
                    )
                    rows[count, 3] = order * 27 + distance
                    count += 1
    return rows[:count]


@kernel
def nephews(
    arc_head: Ints,
    arc_mod: Ints,
    head_ptr: Ints,
    gate_words: Hashes,
    gate_orders: Hashes,
    gate_bits: Hashes,
    gate_shift: np.uint64,
) -> Ints:
    """Arcs h → s, h → m, m → c: a word, its sibling and its modifier.

    Roles h, s, m, c. Order: side of s, of m, of c, and whether m lies beyond s (2 · 2 · 2 · 2).
    Distance: from s to m (4).
    """
    rows = np.empty((256, 4), np.int32)
    count = np.int64(0)
    for h in range(head_ptr.shape[0] - 1):
        for j in range(head_ptr[h], head_ptr[h + 1]):
            m = arc_mod[j]
            for i in range(head_ptr[h], head_ptr[h + 1]):
                s = arc_mod[i]
                if s == m:
                    continue
                partial = gate_words[0, h] + gate_words[1, s] + gate_words[2, m]
                rows = with_room(rows, count, head_ptr[m + 1] - head_ptr[m])
                for k in range(head_ptr[m], head_ptr[m + 1]):
                    c = arc_mod[k]
                    if c == s or beyond(h, m, c) or beyond(s, m, c):
                        continue
                    order = int(h < s) * 8 + int(h < m) * 4 + int(m < c) * 2 + int(s < m)
                    gate = partial + gate_words[3, c] + gate_orders[order]
                    if passes(gate, gate_bits, gate_shift):
                        rows[count, 0] = i
                        rows[count, 1] = j
                        rows[count, 2] = k
                        rows[count, 3] = order * 4 + _four_classes(abs(s - m))
                        count += 1
    return rows[:count]
