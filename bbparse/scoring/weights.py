"""Tables of weights: where they lie in memory, and in how few bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Weights = NDArray[np.int8] | NDArray[np.int16] | NDArray[np.int32]

#: What weights may be; learning takes 32 bits, a model that is loaded as few as will do.
WEIGHT_TYPES = (np.int8, np.int16, np.int32)

#: Bytes of a line of memory, which holds both weights of a template with ``+@``.
_LINE = 64


def aligned_zeros(size: int, dtype: DTypeLike = np.int32) -> NDArray[Any]:
    """Zeros that start on a line of memory, so that paired weights lie in one line."""
    n_bytes = size * np.dtype(dtype).itemsize
    raw = np.zeros(n_bytes + _LINE, dtype=np.uint8)
    offset = -raw.ctypes.data % _LINE
    return raw[offset : offset + n_bytes].view(dtype)


def narrow_weights(
    size: int, index: NDArray[np.integer], value: NDArray[np.integer], quantum: float
) -> tuple[Weights, float]:
    """A table of weights in the narrowest integers that hold them exactly.

    Most of what scoring costs is waiting for weights: a table a quarter as large is read in less
    than half the time.

    Parameters
    ----------
    size : int
    index : int[W]
        Places of the weights that are not 0, each once, below `size`.
    value : int[W]
        These weights, 32-bit integers.
    quantum : float
        What a weight of 1 is worth.

    Returns
    -------
    weights : int8[size], int16[size] or int32[size]
        Aligned like `aligned_zeros`.
    quantum : float
        The given one times a power of two, by which the weights were divided.
    """
    value = np.asarray(value, np.int64)
    largest = int(np.abs(value).max(initial=0))
    # The lowest bit that any of them has: what divides them all.
    together = int(np.bitwise_or.reduce(value)) if len(value) else 0
    step = together & -together or 1
    for dtype in (np.int8, np.int16):
        if largest <= step * int(np.iinfo(dtype).max):
            weights = aligned_zeros(size, dtype)
            weights[index] = value // step
            return weights, quantum * step
    weights = aligned_zeros(size)
    weights[index] = value
    return weights, quantum
