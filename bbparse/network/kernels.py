"""Kernels of the vectors of words in their context: see `bbparse.network.encoder`.

All sums are taken in an order that the code says, which no compiler may change: a model has the
same scores on every machine, with any number of threads, whatever sentences are parsed together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import inlined, kernel
from bbparse.network.dense import dense
from bbparse.treebank.encode import PAD

Floats = NDArray[np.float32]
Hashes = NDArray[np.uint64]
Ints = NDArray[np.int32]

#: How many words to either side the first layer sees; the others see one.
REACH = 2
#: Of how many numbers a sum is taken at once; vectors of words in context are multiples of it.
LANES = 16


@inlined
def sum_of(lanes: Floats, length: np.uint64) -> np.float32:
    """The sum of so many numbers, one at least, halves to halves; they are lost."""
    while length > np.uint64(1):
        half = (length + np.uint64(1)) >> np.uint64(1)
        for j in range(length - half):
            lanes[j] += lanes[j + half]
        length = half
    return lanes[0]


@kernel
def find_rows(
    values: Hashes, columns: NDArray[np.int64], keys: Hashes, begin: Ints, shift: int
) -> NDArray[np.int64]:
    """Rows of the attributes of words, int64[n_words + 1, attributes]; -1 for unknown values.

    ``keys`` are sorted; those whose upper bits are b lie from ``begin[b]`` to ``begin[b + 1]``.
    """
    n = values.shape[0] - 2 * PAD
    out = np.full((n, columns.shape[0]), -1, np.int64)
    for i in range(n):
        for k in range(columns.shape[0]):
            value = values[PAD + i, columns[k]]
            bucket = np.int64(value >> np.uint64(shift))
            for at in range(begin[bucket], begin[bucket + 1]):
                if keys[at] == value:
                    out[i, k] = at
    return out


@kernel
def context(values: Hashes, table: tuple[Any, ...], outside: Floats) -> Floats:
    """Vectors of words in their context, one after the other: that of word i begins at ``(i + 1) *
    width``.

    ``values`` (uint64[n + 2 * PAD, columns]) are the words, and the table is that of
    `bbparse.network.encoder.Encoder`. Vectors from outside come one after the other, those of words
    rounded up to fours, or there are none.
    """
    lookup, embedding, quantum, layers, outside_w = table
    columns, keys, begin, shift = lookup
    first_w, first_b, gains, shifts, deep_w, deep_b = layers
    rows = find_rows(values, columns, keys, begin, shift)
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
    if outside.shape[0]:
        more = np.empty((fours, size), np.float32)
        d = outside_w.shape[0]
        dense(outside, 0, d, d, outside_w, np.zeros(size, np.float32), more)
        for i in range(n):
            to = np.uint64((REACH + i) * size)
            for j in range(np.uint64(size)):
                words[to + j] += more[i, j]
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
    return state
