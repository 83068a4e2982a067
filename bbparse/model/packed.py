"""Sparse integer weights in few bytes, on disk and in memory.

On disk, of a table of weights the ones that are not zero are stored: the distance of each from the
one before, and its value in units of the greatest common divisor of all, both in the narrowest
type.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ModelError
from bbparse.scoring.scorer import Weights, aligned_zeros
from bbparse.storage.archive import INTS, Rule


def packed_rules(name: str) -> dict[str, Rule]:
    """Fields of the archive that hold a packed table."""
    return {
        f"{name}_gap": ("u", 1, f"{name}_gap"),
        f"{name}_value": ("i", 1, f"{name}_gap"),
        f"{name}_step": (INTS, 0, None),
    }


def pack(name: str, weights: NDArray[np.integer[Any]]) -> dict[str, NDArray[Any]]:
    """The fields of a table of weights, whose names begin with a name."""
    index = np.flatnonzero(weights)
    values = weights[index].astype(np.int64)
    step = max(1, int(np.gcd.reduce(values))) if len(values) else 1
    return {
        f"{name}_gap": _narrowest(np.diff(index, prepend=0).astype(np.uint64)),
        f"{name}_value": _narrowest(values // step),
        f"{name}_step": np.array(step, np.int64),
    }


def unpack(
    where: str, name: str, arrays: dict[str, NDArray[Any]], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places, which ascend, and values, in 32 bits, of the weights of a packed table of some size.

    The fields are not trusted: `ModelError`, naming the file `where`, if an index lies outside the
    table, comes twice, or a weight does not fit.
    """
    gaps, values = arrays[f"{name}_gap"], arrays[f"{name}_value"].astype(np.int64)
    step, most = int(arrays[f"{name}_step"].item()), int(np.iinfo(np.int32).max)
    if not 1 <= step <= most:
        raise ModelError(f"{where}: {name}_step is {step}, expected 1..{most}")
    if not len(gaps):
        return np.empty(0, np.int64), values
    # gaps one by one are within the table, so that their sum cannot overflow 64 bits
    if int(gaps.max()) >= size or (len(gaps) > 1 and int(gaps[1:].min()) < 1):
        raise ModelError(f"{where}: {name}_gap is damaged: expected indices that ascend")
    index = np.cumsum(gaps.astype(np.int64))
    if int(index[-1]) >= size:
        raise ModelError(
            f"{where}: {name}_gap goes up to weight {int(index[-1])}, expected less than {size}"
        )
    largest = max(int(values.max()), -int(values.min())) * step
    if largest > most:
        raise ModelError(f"{where}: {name}_value is {largest}, expected at most {most}")
    return index, values * step


def _narrowest(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in the narrowest type of their kind."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    limits = [np.iinfo(f"{values.dtype.kind}{size}") for size in (1, 2, 4, 8)]
    return values.astype(next(x.dtype for x in limits if x.min <= low and high <= x.max))


def narrow_weights(
    size: int, index: NDArray[np.integer], value: NDArray[np.integer], quantum: float
) -> tuple[Weights, float]:
    """A table of weights in the narrowest integers that hold them exactly.

    Most of what scoring costs is waiting for weights: a table a quarter as large is read in less
    than half the time. Given the places of those that are not 0, these as 32-bit integers, and the
    quantum; returned is the quantum times a power of two, by which the weights were divided.
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
