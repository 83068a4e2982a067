"""Names for the types of arrays, and for the score of what does not exist."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Floats = NDArray[np.float64]

NEG = -np.inf
