"""Types of arrays, the score of a forbidden arc (−∞), and searches and counts of hashes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]

NEG = -np.inf


def places_among(keys: Hashes, wanted: Hashes) -> Longs:
    """Return the indices of hashes among sorted keys, -1 for those that are not there."""
    if not len(keys):
        return np.full(wanted.shape, -1)
    places = np.searchsorted(keys, wanted)
    return np.where(np.take(keys, places, mode="clip") == wanted, places, -1)


class HashCounter:
    """Counts of hashes; memory is bounded by the number of distinct ones."""

    _MOST_WAITING = 1 << 21

    def __init__(self) -> None:
        self._keys, self._counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        self._waiting: list[Hashes] = []
        self._n_waiting = 0

    def add(self, hashes: Hashes) -> None:
        """Count some hashes, uint64[n]."""
        self._waiting.append(hashes)
        self._n_waiting += len(hashes)
        if self._n_waiting >= self._MOST_WAITING:
            self.counts()

    def counts(self) -> tuple[Hashes, Longs]:
        """Return the distinct hashes so far, ascending, and the count of each."""
        weights = np.concatenate([self._counts, np.ones(self._n_waiting, np.int64)])
        self._keys, which = np.unique(
            np.concatenate([self._keys, *self._waiting]), return_inverse=True
        )
        self._counts = np.bincount(which, weights, len(self._keys)).astype(np.int64)
        self._waiting, self._n_waiting = [], 0
        return self._keys, self._counts
