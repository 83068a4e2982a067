"""Types of arrays, the score of a forbidden arc (−∞), and searches of hashes."""

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


def indices_among(keys: Hashes, wanted: Hashes) -> Longs:
    """Return the indices of hashes among sorted keys, -1 for those that are not there."""
    if not len(keys):
        return np.full(wanted.shape, -1)
    places = np.searchsorted(keys, wanted)
    return np.where(np.take(keys, places, mode="clip") == wanted, places, -1)
