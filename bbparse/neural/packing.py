"""Weights of networks as flat arrays; in files, those of matrices are int8."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.eight_bits import in_steps, steps_of
from bbparse.runtime.arrays import Float32s

T = TypeVar("T", bound=np.generic)

#: Shapes of weights by name, in the order of files.
Shapes = dict[str, tuple[int, ...]]


def in_16_bits(array: Float32s) -> Float32s:
    """Round weights to 16 bits, as in files; values out of range become infinite."""
    with np.errstate(over="ignore"):
        return array.astype(np.float16).astype(np.float32)


def rounded(parameters: Mapping[str, Float32s]) -> dict[str, Float32s]:
    """Round to 16 bits, and matrices to multiples of a power of two in each column: small files."""
    out = {name: in_16_bits(array) for name, array in parameters.items()}
    for name, array in parameters.items():
        if array.ndim == 2:
            steps, exponents = steps_of(out[name])
            out[name] = np.ldexp(np.rint(steps), exponents)
    return out


def packed(members: Sequence[Mapping[str, Float32s]]) -> NDArray[np.int8]:
    """Return the `rounded` weights of some networks as one array, int8."""
    parts: list[NDArray[np.int8]] = []
    for parameters in members:
        for name, array in parameters.items():
            stepped = (array.astype("<f2").view(np.int8),) if array.ndim == 1 else in_steps(array)
            if stepped is None:
                raise ValueError(f"{name} is not rounded")
            parts += [part.reshape(-1) for part in stepped]
    return np.concatenate(parts)


def unpacked(stored: NDArray[np.int8], shapes: Shapes) -> dict[str, Float32s]:
    """Return the weights of one network, given their shapes."""
    parameters = {}
    parts = split(stored, {name: (_packed_size(shape),) for name, shape in shapes.items()})
    for name, shape in shapes.items():
        if len(shape) == 2:
            steps, exponents = np.split(parts[name], [math.prod(shape)])
            units = np.ldexp(1.0, exponents.astype(np.int32))
            with np.errstate(over="ignore"):  # infinite weights are refused with a better message
                parameters[name] = (steps.reshape(shape) * units).astype(np.float32)
        else:
            parameters[name] = parts[name].view("<f2").astype(np.float32)
    return parameters


def packed_size(shapes: Shapes) -> int:
    """Return the number of elements of a packed network."""
    return sum(map(_packed_size, shapes.values()))


def _packed_size(shape: tuple[int, ...]) -> int:
    return math.prod(shape) + shape[-1]


def total_size(shapes: Shapes) -> int:
    return sum(map(math.prod, shapes.values()))


def split(flat: NDArray[T], shapes: Shapes) -> dict[str, NDArray[T]]:
    """Return consecutive views of one array by name."""
    ends = np.cumsum([math.prod(shape) for shape in shapes.values()]).tolist()
    parts = np.split(flat, ends[:-1])
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts)}
