"""Kernels of a network's scores of siblings and grandchildren.

A part of three words, with the head h of the modifier m and a third word x, scores

    p(h) · (q(m) ∘ r(x)) + v · max(0, c(h) + d(m) + e(x) + t),

where t encodes the directions and the distance between m and x. A missing x has a learned vector.
The code fixes the order of all sums, as in `bbparse.neural.layers`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.layers import sum_of
from bbparse.runtime.arrays import Float32s, Ints
from bbparse.runtime.jit import kernel

#: Rows of the table of t: direction of the arc, position of the third word, and its distance to
#: the modifier.
PART_VALUES = 2 * 3 * 8


@kernel
def distance_bucket(distance: int) -> int:
    """Map the distances 1, 2, 3, 4, 5, 6-10, 11 and more to 0..6."""
    if distance <= 5:
        return distance - 1
    return 5 if distance <= 10 else 6


@kernel
def part_row(h: int, x: int, m: int) -> int:
    """Return the row of the table of t for the positions of three words."""
    where = 0 if x < min(h, m) else 2 if x > max(h, m) else 1
    bucket = 7 if x < 0 else distance_bucket(abs(x - m))
    return ((3 if m > h else 0) + where) * 8 + bucket


@kernel
def _columns(at: int, size: int) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return the first columns of three vectors of a word, side by side from column ``at``."""
    return np.uint64(at), np.uint64(at + size), np.uint64(at + 2 * size)


@kernel
def _pair(
    both: Float32s, h: np.uint64, m: np.uint64, at: int, product: Float32s, rest: Float32s
) -> None:
    """Write p(h) ∘ q(m) and c(h) + d(m) of the words of two rows."""
    size = product.shape[0]
    (p, q, _), (c, d, _) = _columns(at, size), _columns(at + 3 * size, size)
    for j in range(np.uint64(size)):
        product[j] = both[h, p + j] * both[m, q + j]
        rest[j] = both[h, c + j] + both[m, d + j]


@kernel
def _pair_back(
    both: Float32s,
    h: np.uint64,
    m: np.uint64,
    at: int,
    d_product: Float32s,
    d_rest: Float32s,
    d_both: Float32s,
) -> None:
    """Add the gradients of `_pair` from those of its results."""
    size = d_product.shape[0]
    (p, q, _), (c, d, _) = _columns(at, size), _columns(at + 3 * size, size)
    for j in range(np.uint64(size)):
        d_both[h, p + j] += d_product[j] * both[m, q + j]
        d_both[m, q + j] += d_product[j] * both[h, p + j]
    for j in range(np.uint64(size)):
        d_both[h, c + j] += d_rest[j]
        d_both[m, d + j] += d_rest[j]


@kernel
def part_scores(
    words: tuple[Ints, Ints, Ints], both: Float32s, begin: int, at: int, weights: tuple[Any, ...]
) -> NDArray[np.float64]:
    """Score triples, float64[T]; those of one arc follow each other.

    ``words`` are heads, third words (-1: none) and modifiers. Word i has the row ``begin + i`` of
    ``both``, with the six vectors p, q, r, c, d, e side by side from column ``at``. The weights are
    v, the table of t, and r and e of a missing word.
    """
    head, third, mod = words
    out_w, table, none = weights
    size = out_w.shape[0]
    length = np.uint64(size)
    r, e = np.uint64(at + 2 * size), np.uint64(at + 5 * size)
    product = np.empty(size, np.float32)
    rest = np.empty(size, np.float32)
    lanes = np.empty(size, np.float32)
    zero = np.float32(0.0)
    out = np.empty(mod.shape[0])
    last_h = last_m = np.int64(-1)
    for i in range(mod.shape[0]):
        if head[i] != last_h or mod[i] != last_m:
            last_h, last_m = np.int64(head[i]), np.int64(mod[i])
            h, m = np.uint64(begin + last_h), np.uint64(begin + last_m)
            _pair(both, h, m, at, product, rest)
        row = np.uint64(part_row(last_h, np.int64(third[i]), last_m))
        if third[i] >= 0:
            x = np.uint64(begin + third[i])
            for j in range(length):
                sum_ = max(zero, rest[j] + both[x, e + j] + table[row, j])
                lanes[j] = product[j] * both[x, r + j] + out_w[j] * sum_
        else:
            for j in range(length):
                sum_ = max(zero, rest[j] + none[length + j] + table[row, j])
                lanes[j] = product[j] * none[j] + out_w[j] * sum_
        out[i] = sum_of(lanes, length)
    return out


@kernel
def part_scores_back(
    words: tuple[Ints, Ints, Ints],
    both: Float32s,
    begin: int,
    at: int,
    weights: tuple[Any, ...],
    d_out: NDArray[np.float64],
    d_both: Float32s,
    d_weights: tuple[Any, ...],
) -> None:
    """Add the gradients of `part_scores` from those of the scores."""
    head, third, mod = words
    out_w, table, none = weights
    d_out_w, d_table, d_none = d_weights
    size = out_w.shape[0]
    length = np.uint64(size)
    r, e = np.uint64(at + 2 * size), np.uint64(at + 5 * size)
    product, rest, d_sum, d_product, d_rest = np.empty((5, size), np.float32)
    zero = np.float32(0.0)
    end = 0
    while end < mod.shape[0]:
        start = end
        while end < mod.shape[0] and head[end] == head[start] and mod[end] == mod[start]:
            end += 1
        h, m = np.uint64(begin + head[start]), np.uint64(begin + mod[start])
        _pair(both, h, m, at, product, rest)
        for j in range(length):
            d_product[j] = d_rest[j] = zero
        for i in range(start, end):
            d_score = np.float32(d_out[i])
            if d_score == zero:
                continue
            row = np.uint64(part_row(np.int64(head[i]), np.int64(third[i]), np.int64(mod[i])))
            x = np.uint64(begin + third[i])
            if third[i] >= 0:
                for j in range(length):
                    d_product[j] += d_score * both[x, r + j]
                    d_sum[j] = rest[j] + both[x, e + j] + table[row, j]
            else:
                for j in range(length):
                    d_product[j] += d_score * none[j]
                    d_sum[j] = rest[j] + none[length + j] + table[row, j]
            for j in range(length):
                sum_ = d_sum[j]
                d_out_w[j] += d_score * max(zero, sum_)
                d_sum[j] = d_score * out_w[j] if sum_ > zero else zero
            for j in range(length):
                d_rest[j] += d_sum[j]
                d_table[row, j] += d_sum[j]
            if third[i] >= 0:
                for j in range(length):
                    d_both[x, r + j] += d_score * product[j]
                    d_both[x, e + j] += d_sum[j]
            else:
                for j in range(length):
                    d_none[j] += d_score * product[j]
                    d_none[length + j] += d_sum[j]
        _pair_back(both, h, m, at, d_product, d_rest, d_both)
