"""Filters of one bit per hash (Bloom 1970, one hash function): which keys may be known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The filter that lets everything pass.
ALL_PASS = np.full(1, np.iinfo(np.uint64).max, dtype=np.uint64)

_BITS_PER_HASH = 16  # one in 16 of what is not there passes, at most


def filter_of(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The filter that passes these hashes, and few others."""
    n_bits = max(6, (_BITS_PER_HASH * len(hashes)).bit_length())
    bits = np.zeros(1 << (n_bits - 6), dtype=np.uint64)
    index = hashes >> np.uint64(64 - n_bits)
    np.bitwise_or.at(bits, index >> np.uint64(6), np.uint64(1) << (index & np.uint64(63)))
    return bits


def shift_of(bits: NDArray[np.uint64]) -> np.uint64:
    """By how much a hash is shifted to give the number of its bit: 64 - log2(64 len(bits))."""
    return np.uint64(65 - (64 * len(bits)).bit_length())


def passing(hashes: Any, bits: NDArray[np.uint64], shift: np.uint64) -> Any:
    """Whether the bit ``hash >> shift`` of a filter is set, lowest first: of one hash, or many."""
    bit = hashes >> shift
    return (bits[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & np.uint64(1) != np.uint64(0)
