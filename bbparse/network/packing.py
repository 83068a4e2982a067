"""Weights of networks as flat arrays; in files with 16 bits each, most of which are zeros."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bbparse.network.eight_bits import WEIGHT_BITS, Floats


def in_16_bits(array: Floats) -> Floats:
    """Return weights as files hold them; those that are too large become infinite."""
    with np.errstate(over="ignore"):
        return array.astype(np.float16).astype(np.float32)


def rounded(parameters: Mapping[str, Floats]) -> dict[str, Floats]:
    """Round to 16 bits, and matrices further, to multiples of a power of two in each column.

    Files are then small.
    """
    out = {name: in_16_bits(array) for name, array in parameters.items()}
    for name, array in parameters.items():
        if array.ndim == 2:
            exponents = np.frexp(np.abs(out[name]).max(axis=0, initial=0.0))[1] - WEIGHT_BITS
            out[name] = np.ldexp(np.rint(np.ldexp(out[name], -exponents)), exponents)
    return out


def packed(weights: Floats) -> NDArray[np.uint8]:
    """Return weights as 16-bit floats, their lower bytes first, which compresses well."""
    return weights.astype("<f2").view(np.uint8).reshape(-1, 2).T.reshape(-1)


def unpacked(stored: NDArray[np.uint8]) -> NDArray[np.float16]:
    """Return the weights of `packed`."""
    pairs = np.ascontiguousarray(stored.reshape(2, -1).T)
    return pairs.view("<f2").reshape(-1).astype(np.float16)


def total_size(shapes: Mapping[str, tuple[int, ...]]) -> int:
    return sum(int(np.prod(shape)) for shape in shapes.values())


def split(flat: Floats, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Floats]:
    """Return consecutive views of one array by name."""
    parts = {}
    at = 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        parts[name] = flat[at : at + size].reshape(shape)
        at += size
    return parts
