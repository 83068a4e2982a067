"""Kernels of the guide that is a neural network: see `bbparse.scoring.network`.

All sums are taken in an order that the code says, by additions and multiplications of 32-bit floats
that no compiler may fuse or reorder: a model has the same scores on every machine, with any number
of threads, whatever sentences are parsed together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel

Floats = NDArray[np.float32]
Hashes = NDArray[np.uint64]
Ints = NDArray[np.int32]

#: How many words to either side the first layer sees; the others see one.
REACH = 2
#: Steps of the distance, and of the number of words of a kind between head and modifier.
_DISTANCES = 10
_COUNTS = 4
#: Of how many numbers a sum is taken at once; vectors of words in context are multiples of it.
LANES = 16
#: Kinds of words that are counted between head and modifier.
N_KINDS = 4
#: Rows of what is known of an arc but for its words: distance and counts, in two directions.
ARC_VALUES = 2 * (_DISTANCES + N_KINDS * _COUNTS)


@kernel
def dense(
    x: Floats, begin: int, stride: int, inputs: int, weights: Floats, bias: Floats, out: Floats
) -> None:
    """Rows of a matrix product: ``out[r] = bias + x[begin + r * stride :][:inputs] @ weights``.

    Rows of ``x`` may overlap, so that a window over words needs no copy. Both ``inputs`` and the
    number of rows of ``out`` are multiples of 4: four rows of weights are added to four rows at
    once, so that sixteen products cost four reads of weights.
    """
    columns = np.uint64(weights.shape[1])
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    for first in range(0, out.shape[0], 4):
        r = np.uint64(first)
        s, t, u = r + one, r + two, r + three
        for j in range(columns):
            out[r, j] = bias[j]
            out[s, j] = bias[j]
            out[t, j] = bias[j]
            out[u, j] = bias[j]
        for i in range(0, inputs, 4):
            i0 = np.uint64(i)
            i1, i2, i3 = i0 + one, i0 + two, i0 + three
            at = np.uint64(begin + first * stride + i)
            a0, a1, a2, a3 = x[at], x[at + one], x[at + two], x[at + three]
            at = np.uint64(begin + (first + 1) * stride + i)
            b0, b1, b2, b3 = x[at], x[at + one], x[at + two], x[at + three]
            at = np.uint64(begin + (first + 2) * stride + i)
            c0, c1, c2, c3 = x[at], x[at + one], x[at + two], x[at + three]
            at = np.uint64(begin + (first + 3) * stride + i)
            d0, d1, d2, d3 = x[at], x[at + one], x[at + two], x[at + three]
            for j in range(columns):
                w0, w1, w2, w3 = weights[i0, j], weights[i1, j], weights[i2, j], weights[i3, j]
                out[r, j] += (a0 * w0 + a1 * w1) + (a2 * w2 + a3 * w3)
                out[s, j] += (b0 * w0 + b1 * w1) + (b2 * w2 + b3 * w3)
                out[t, j] += (c0 * w0 + c1 * w1) + (c2 * w2 + c3 * w3)
                out[u, j] += (d0 * w0 + d1 * w1) + (d2 * w2 + d3 * w3)


@kernel
def arc_rows(
    head: Ints, mod: Ints, values: Hashes, first: int, tag: int, kinds: Hashes
) -> NDArray[np.int64]:
    """What is known of arcs but for their words: rows of a table, int64[A, 1 + N_KINDS].

    The distance in `_DISTANCES` steps, and how many words of each kind there are between; each by
    direction. Word i has the tag ``values[first + i, tag]``; kind k is of the tags ``kinds[k]``.
    """
    n_kinds, n_tags = kinds.shape
    n = values.shape[0] - 2 * first
    before = np.zeros((n + 1, n_kinds), np.int64)
    for i in range(n):
        for k in range(n_kinds):
            found = 0
            for other in range(n_tags):
                if values[first + i, tag] == kinds[k, other]:
                    found = 1
            before[i + 1, k] = before[i, k] + found
    n_arcs = head.shape[0]
    out = np.empty((n_arcs, 1 + n_kinds), np.int64)
    for arc in range(n_arcs):
        low, high, left = np.int64(head[arc]), np.int64(mod[arc]), 0
        if low > high:
            low, high, left = high, low, 1
        distance = high - low
        step = 0
        for least in (2, 3, 4, 5, 6, 8, 11, 16, 31):
            if distance >= least:
                step += 1
        out[arc, 0] = 2 * step + left
        for k in range(n_kinds):
            count = before[high, k] - before[low + 1, k]
            if count >= _COUNTS:
                count = _COUNTS - 1
            out[arc, 1 + k] = 2 * (_DISTANCES + k * _COUNTS + count) + left
    return out


@kernel
def find_rows(
    values: Hashes, first: int, columns: NDArray[np.int64], keys: Hashes, begin: Ints, shift: int
) -> NDArray[np.int64]:
    """Rows of the attributes of words, int64[n_words + 1, attributes]; -1 for unknown values.

    ``keys`` are sorted; those whose upper bits are b lie from ``begin[b]`` to ``begin[b + 1]``.
    """
    n = values.shape[0] - 2 * first
    out = np.full((n, columns.shape[0]), -1, np.int64)
    for i in range(n):
        for k in range(columns.shape[0]):
            value = values[first + i, columns[k]]
            bucket = np.int64(value >> np.uint64(shift))
            for at in range(begin[bucket], begin[bucket + 1]):
                if keys[at] == value:
                    out[i, k] = at
    return out


@kernel
def network_scores(
    values: Hashes,
    pad: int,
    head: Ints,
    mod: Ints,
    lookup: tuple[Any, ...],
    embedding: NDArray[np.int16],
    quantum: float,
    layers: tuple[Any, ...],
    ends: tuple[Any, ...],
) -> tuple[NDArray[np.float64], Floats]:
    """Scores of arcs, float64[A], and of their labels, float32[A or some more, width]."""
    columns, keys, begin, shift, tag, kinds = lookup
    first_w, first_b, gains, shifts, deep_w, deep_b = layers
    end_w, end_b, arc_table, out_w, label_w, label_b, n_shared, n_pairs = ends
    rows = find_rows(values, pad, columns, keys, begin, shift)
    n = rows.shape[0]
    fours = (n + 3) & -4  # what `dense` does at once
    size = embedding.shape[1]
    words = np.zeros((fours + 2 * REACH) * size, np.float32)
    for i in range(n):
        to = np.uint64((REACH + i) * size)
        for k in range(rows.shape[1]):
            if rows[i, k] >= 0:
                row = np.uint64(rows[i, k])
                for j in range(np.uint64(size)):
                    words[to + j] += np.float32(embedding[row, j])  # whole numbers: exact
        for j in range(np.uint64(size)):
            words[to + j] *= np.float32(quantum)
    width = first_w.shape[1]
    wide = np.uint64(width)
    new = np.empty((fours, width), np.float32)
    lanes = np.empty(LANES, np.float32)
    state = np.zeros((fours + 2) * width, np.float32)
    for layer in range(deep_w.shape[0] + 1):
        if layer == 0:
            dense(words, 0, size, (2 * REACH + 1) * size, first_w, first_b, new)
        else:
            dense(state, 0, width, 3 * width, deep_w[layer - 1], deep_b[layer - 1], new)
        # Layer normalisation (Ba, Kiros & Hinton 2016). Sums are those of lanes first, which a
        # processor adds at once.
        for i in range(n):
            r = np.uint64(i)
            to = np.uint64((i + 1) * width)
            for lane in range(np.uint64(LANES)):
                lanes[lane] = np.float32(0.0)
            for start in range(np.uint64(0), wide, np.uint64(LANES)):
                for lane in range(np.uint64(LANES)):
                    j = start + lane
                    # nothing below the first layer: state is 0 there
                    new[r, j] = max(new[r, j], np.float32(0.0)) + state[to + j]
                    lanes[lane] += new[r, j]
            mean = np.float32(0.0)
            for lane in range(np.uint64(LANES)):
                mean += lanes[lane]
                lanes[lane] = np.float32(0.0)
            mean /= np.float32(width)
            for start in range(np.uint64(0), wide, np.uint64(LANES)):
                for lane in range(np.uint64(LANES)):
                    j = start + lane
                    new[r, j] -= mean
                    lanes[lane] += new[r, j] * new[r, j]
            total = np.float32(0.0)
            for lane in range(np.uint64(LANES)):
                total += lanes[lane]
            scale = np.float32(1.0) / np.sqrt(total / np.float32(width) + np.float32(1e-5))
            for j in range(wide):
                state[to + j] = new[r, j] * scale * gains[layer, j] + shifts[layer, j]
    both = np.empty((fours, end_w.shape[1]), np.float32)
    dense(state, width, width, width, end_w, end_b, both)
    known = arc_rows(head, mod, values, pad, tag, kinds)
    n_arcs = head.shape[0]
    many = (n_arcs + 3) & -4
    shared = np.zeros(many * n_shared, np.float32)
    scores = np.empty(n_arcs)
    of_mod, pair_head = np.uint64(n_shared), np.uint64(2 * n_shared)
    pair_mod = np.uint64(2 * n_shared + n_pairs)
    for arc in range(n_arcs):
        h, m, to = np.uint64(head[arc]), np.uint64(mod[arc]), np.uint64(arc * n_shared)
        for j in range(of_mod):
            shared[to + j] = both[h, j] + both[m, of_mod + j]
        for k in range(known.shape[1]):
            row = np.uint64(known[arc, k])
            for j in range(of_mod):
                shared[to + j] += arc_table[row, j]
        total = np.float32(0.0)
        for j in range(of_mod):
            shared[to + j] = max(shared[to + j], np.float32(0.0))
            total += shared[to + j] * out_w[j]
        for j in range(np.uint64(n_pairs)):
            total += both[h, pair_head + j] * both[m, pair_mod + j]
        scores[arc] = total
    labels = np.empty((many, label_w.shape[1]), np.float32)
    dense(shared, 0, n_shared, n_shared, label_w, label_b, labels)
    return scores, labels
