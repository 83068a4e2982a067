"""The canonical order of factors: by size, then by arc indices; equal sets by weight.

A factor's size and first three arcs make a key of four digits, which are sorted by counting, the
last digit first; factors that agree in them are compared in full. Cost: O(F + A) and what the
runs of equal keys take, which are short unless sets are there many times or are long.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel

# Bits of a digit of the key, and digits of arc indices in it.
_BITS = 20
_DIGITS = 3
_MASK = (1 << _BITS) - 1
#: Arcs that keys have room for.
MOST_ARCS = _MASK
# Longest run that is sorted by insertion.
_SHORT_RUN = 12


@kernel
def _in_order(
    f: int, g: int, ptr: NDArray[np.int64], arcs: NDArray[np.int32], length: NDArray[np.int64],
    score: NDArray[np.float64],
) -> bool:  # fmt: skip
    """Whether factor f may stand before g: by size, by arc indices, by weight."""
    if length[f] != length[g]:
        return length[f] < length[g]
    for i in range(length[f]):
        a, b = arcs[ptr[f] + i], arcs[ptr[g] + i]
        if a != b:
            return a < b
    return score[f] <= score[g]


@kernel
def _sort_run(
    order: NDArray[np.int64], spare: NDArray[np.int64], start: int, end: int,
    ptr: NDArray[np.int64], arcs: NDArray[np.int32], length: NDArray[np.int64],
    score: NDArray[np.float64],
) -> None:  # fmt: skip
    """Sort ``order[start:end]`` in place by full comparison; `spare` is as long as `order`."""
    if end - start <= _SHORT_RUN:
        for i in range(start + 1, end):
            f, j = order[i], i
            while j > start and not _in_order(order[j - 1], f, ptr, arcs, length, score):
                order[j] = order[j - 1]
                j -= 1
            order[j] = f
        return
    source, target = order, spare
    width = 1
    while width < end - start:
        for low in range(start, end, 2 * width):
            middle, high = min(low + width, end), min(low + 2 * width, end)
            i, j = low, middle
            for k in range(low, high):
                if j >= high or (
                    i < middle and _in_order(source[i], source[j], ptr, arcs, length, score)
                ):
                    target[k] = source[i]
                    i += 1
                else:
                    target[k] = source[j]
                    j += 1
        source, target = target, source
        width *= 2
    if source is not order:
        for k in range(start, end):
            order[k] = source[k]


@kernel
def factor_key(
    f: int, ptr: NDArray[np.int64], arcs: NDArray[np.int32], length: NDArray[np.int64]
) -> int:
    """Size (in so many bits as are left) and first three arcs of a factor, as one number."""
    key = min(length[f], 7)
    for i in range(_DIGITS):
        key <<= _BITS
        if i < length[f]:
            key |= arcs[ptr[f] + i]
    return key


@kernel
def same_set(
    f: int, g: int, ptr: NDArray[np.int64], arcs: NDArray[np.int32], length: NDArray[np.int64]
) -> bool:
    """Whether two factors, whose arcs ascend, are over the same arcs."""
    if length[f] != length[g]:
        return False
    for i in range(length[f]):
        if arcs[ptr[f] + i] != arcs[ptr[g] + i]:
            return False
    return True


@kernel
def sort_factors(
    live: NDArray[np.int64], keys: NDArray[np.int64], ptr: NDArray[np.int64],
    arcs: NDArray[np.int32], length: NDArray[np.int64], score: NDArray[np.float64], n_arcs: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # fmt: skip
    """The factors `live` in canonical order, and their keys in that order.

    Factor f has the arcs ``arcs[ptr[f] : ptr[f] + length[f]]``, which ascend. `keys` int64[F']
    are those of `live` (`factor_key`) and are used up.
    """
    count = live.shape[0]
    order, spare = live.copy(), np.empty(count, dtype=np.int64)
    if n_arcs > MOST_ARCS:
        # Digits do not hold the arcs. Only unpruned sentences of a thousand words are so large.
        _sort_run(order, spare, np.int64(0), count, ptr, arcs, length, score)
        for i in range(count):
            keys[i] = 0
        return order, keys
    spare_keys = np.empty(count, dtype=np.int64)
    bucket = np.empty(max(n_arcs, 8) + 1, dtype=np.int64)
    for digit in range(_DIGITS + 1):
        shift = digit * _BITS
        bucket[:] = 0
        for i in range(count):
            bucket[((keys[i] >> shift) & _MASK) + 1] += 1
        for a in range(bucket.shape[0] - 1):
            bucket[a + 1] += bucket[a]
        for i in range(count):
            a = (keys[i] >> shift) & _MASK
            place = bucket[a]
            bucket[a] = place + 1
            spare[place] = order[i]
            spare_keys[place] = keys[i]
        order, spare = spare, order
        keys, spare_keys = spare_keys, keys
    first = np.int64(0)
    for i in range(1, count + 1):
        if i == count or keys[i] != keys[first]:
            if i - first > 1:
                _sort_run(order, spare, first, i, ptr, arcs, length, score)
            first = np.int64(i)
    return order, keys
