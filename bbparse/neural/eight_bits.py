"""`ByteMatrix`: int8 quantization of matrix products, up to four times as fast as floats.

Most activations are of the size of 1, as rows are normalised. They are quantized to multiples of
1/16, and the few that are beyond -8 to 8, one in a thousand, are clipped. That costs no accuracy.
The weights of a trained network are multiples of a power of two in each column already
(`bbparse.neural.packing`). Sums of integer products are exact, so they are the same on every
machine in any order.

Training is quantization-aware (`bbparse.neural.dense` has the products of 32-bit floats that
integer products replace): activations and weights are rounded as they will be in the trained
network. Gradients of outputs are rounded twice: to 8 bits of the largest in their row, for the
gradients of inputs, and to 14 bits of the largest in their column, for those of weights. Gradients
pass through all roundings (the straight-through estimator of Bengio, Léonard & Courville 2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.tiles import BLOCK, columns_of_tile, tile, tile_rows
from bbparse.runtime.arrays import Float32s, Ints
from bbparse.runtime.errors import ModelError
from bbparse.runtime.jit import kernel

Bytes = NDArray[np.uint8]

#: Steps into which a 1 of the vectors in context is divided: bytes reach from -8 to 8.
STEPS = 16
#: Byte of the number 0: bytes are unsigned, as instructions of processors have it.
ZERO = 128
#: Bits of the largest weight of a column, without its sign. With 7, 6 or 5 of them, accuracy of
#: English trees and tags differs by some 0.1 points.
WEIGHT_BITS = 6

_LARGEST = np.float32(127.0)
_ONE = np.ones(1, np.float32)
_SMALLEST = np.float32(2.0**-120)  # the inverses of smaller numbers are not, or nearly not, finite
_MOST_ROWS = 2**16  # sums over more of them could have more than 32 bits
_ROUNDING = np.float32(1.5 * 2.0**23)  # adding it leaves no digits after the point


def steps_of(weights: Float32s) -> tuple[Float32s, Ints]:
    """Return a matrix in units of a power of two in each column, and the powers' exponents.

    The largest number of a column is more than 32 units, and at most 64.
    """
    fractions, exponents = np.frexp(np.abs(weights).max(axis=0, initial=0.0))
    exponents = exponents - WEIGHT_BITS - (fractions == 0.5)  # the largest may be rounded up to 64
    # as np.ldexp(weights, -exponents), which takes six times as long
    return (weights * np.ldexp(1.0, -exponents)).astype(np.float32), exponents


def in_steps(weights: Float32s) -> tuple[NDArray[np.int8], NDArray[np.int8]] | None:
    """Return a matrix as multiples of a power of two in each column, and the powers' exponents.

    None if it has not been rounded to such (`bbparse.neural.packing.rounded`). Weights are finite
    16-bit floats.
    """
    steps, exponents = steps_of(weights)
    if not np.array_equal(steps, np.rint(steps)):
        return None
    return steps.astype(np.int8), exponents.astype(np.int8)


@kernel
def _to_bytes(x: Float32s, steps: np.float32, out: Bytes) -> bool:
    """Return False if there are numbers that are not finite."""
    largest, sound = _LARGEST / steps, True
    for r in range(np.uint64(x.shape[0])):
        for j in range(np.uint64(x.shape[1])):
            value = x[r, j]
            sound &= abs(value) < np.float32(np.inf)
            value = value if value > -largest else -largest
            value = value if value < largest else largest
            value = (value * steps + _ROUNDING) - _ROUNDING
            out[r, j] = np.uint8(np.int32(value) + np.int32(ZERO))
    return sound


@kernel
def _multiply(
    x: Bytes,
    panels: Ints,
    start: Ints,
    scale: Float32s,
    units: Float32s,
    bias: Float32s,
    out: Float32s,
) -> None:
    """Set ``out`` to ``(x - ZERO) @ matrix * scale * units + bias``.

    ``units`` and ``bias`` have one row for all, or one for each row of ``out``.
    """
    rows, inputs = x.shape
    groups, together, columns = panels.shape[1], panels.shape[2], start.shape[0]
    block = np.zeros(BLOCK * inputs, np.uint8)
    sums = np.empty((BLOCK, columns), np.int32)
    fours = block.view(np.int32)
    has_bias, has_unit = np.uint64(bias.shape[0] > 1), np.uint64(units.shape[0] > 1)
    for first in range(0, rows, BLOCK):
        size = np.uint64(min(BLOCK, rows - first))
        for r in range(size):
            for i in range(np.uint64(inputs)):
                block[r * np.uint64(inputs) + i] = x[np.uint64(first) + r, i]
        for p in range(panels.shape[0]):
            # the last rows may be zeros, or of the block before
            for row in range(0, size, tile_rows()):
                tile(fours, row * groups, panels[p], start, sums, row, p * together)
        for r in range(size):
            to = np.uint64(first) + r
            unit = units[has_unit * to]
            for c in range(np.uint64(out.shape[1])):
                value = np.float32(sums[r, c]) * scale[c] * unit
                out[to, c] = value + bias[has_bias * to, c]


@kernel
def rows_to_bytes(x: Float32s, scale: Float32s, out: Bytes, units: Float32s) -> None:
    """Write ``x * scale`` as bytes, in `units` of a part of the largest number of each row."""
    row = np.empty(x.shape[1], np.float32)
    # Bits of numbers without a sign are in the order of the numbers, and the compiler finds the
    # largest integer with vectors.
    bits, without_sign = row.view(np.int32), np.int32(2**31 - 1)
    found = np.empty(1, np.int32)
    for r in range(np.uint64(x.shape[0])):
        largest = np.int32(0)
        for j in range(np.uint64(x.shape[1])):
            row[j] = x[r, j] * scale[j]
        for j in range(np.uint64(x.shape[1])):
            largest = max(largest, bits[j] & without_sign)
        found[0] = largest
        units[r] = found.view(np.float32)[0] / _LARGEST
        inverse = np.float32(1.0) / units[r] if units[r] > _SMALLEST else np.float32(0.0)
        for j in range(np.uint64(x.shape[1])):
            value = (row[j] * inverse + _ROUNDING) - _ROUNDING
            out[r, j] = np.uint8(np.int32(value) + np.int32(ZERO))


@kernel
def _columns_to_bytes(
    x: Float32s, units: Float32s, high: NDArray[np.int8], low: NDArray[np.int8]
) -> None:
    """Write numbers as ``(128 * high + low) * units``, up to 64 for both."""
    columns = np.uint64(x.shape[1])
    inverse = np.zeros(x.shape[1], np.float32)
    for j in range(columns):
        units[j] = np.float32(0.0)
    for r in range(np.uint64(x.shape[0])):
        for j in range(columns):
            units[j] = max(units[j], abs(x[r, j]))
    for j in range(columns):
        units[j] *= np.float32(2.0**-13)
        if units[j] > _SMALLEST:
            inverse[j] = np.float32(1.0) / units[j]
    for r in range(np.uint64(x.shape[0])):
        for j in range(columns):
            value = (x[r, j] * inverse[j] + _ROUNDING) - _ROUNDING
            upper = (value * np.float32(1.0 / 128.0) + _ROUNDING) - _ROUNDING
            high[r, j] = np.int8(np.int32(upper))
            low[r, j] = np.int8(np.int32(value - upper * np.float32(128.0)))


@kernel
def _transpose(x: NDArray[Any], out: NDArray[Any]) -> None:
    """Set ``out[j, i]`` to ``x[i, j]``, in blocks that fit the cache."""
    rows, columns, block = x.shape[0], x.shape[1], 64
    for first in range(0, rows, block):
        for left in range(0, columns, block):
            for j in range(np.uint64(left), np.uint64(min(left + block, columns))):
                for i in range(np.uint64(first), np.uint64(min(first + block, rows))):
                    out[j, i] = x[i, j]


class Panels(NamedTuple):
    """An int8 matrix of numbers from -64 to 64, laid out for tiles."""

    #: int32[panels, inputs / 4, columns of a tile]: those of four inputs in each number.
    numbers: Ints
    #: int32[padded columns]: what the offset `ZERO` of the inputs adds to a sum, negative.
    start: Ints

    @classmethod
    def of(cls, whole: NDArray[np.int8]) -> Panels:
        """Lay out int8[inputs, columns], for a multiple of four inputs."""
        inputs, columns = whole.shape
        together = columns_of_tile()
        padded = np.pad(whole, ((0, 0), (0, -columns % together)))
        parts = padded.shape[1] // together  # 0 for a network without labels
        panels = padded.reshape(inputs // 4, 4, parts, together).transpose(2, 0, 3, 1)
        numbers = np.ascontiguousarray(panels).view("<i4")[..., 0]
        return cls(numbers, -np.int32(ZERO) * padded.sum(axis=0, dtype=np.int32))

    def multiply(self, x: Bytes, scale: Float32s, units: Float32s, bias: Float32s) -> Float32s:
        """Return the product of bytes with this matrix, times scale and units, plus ``bias``.

        ``scale`` has a number for each column; ``units`` and ``bias`` have one row for all rows of
        the product, or one for each.
        """
        out = np.empty((len(x), len(scale)), np.float32)
        _multiply(x, *self, scale, units, bias, out)
        return out


@dataclass(frozen=True, slots=True, eq=False)
class ByteMatrix:
    """An int8 matrix and its transpose, which only training needs."""

    panels: Panels
    #: float32[columns]: unit of the sums.
    scale: Float32s
    #: Steps into which a 1 of the inputs is divided.
    steps: np.float32
    transposed: Panels | None = None

    @classmethod
    def of(cls, weights: Float32s, steps: int = STEPS) -> ByteMatrix | None:
        """Lay out float32[inputs, columns], for a multiple of four inputs.

        None if weights are not rounded.
        """
        stepped = in_steps(weights)
        if stepped is None:
            return None
        whole, exponents = stepped
        return cls(Panels.of(whole), _scale(exponents, steps), np.float32(steps))

    @classmethod
    def nearest(cls, weights: Float32s, steps: int = STEPS) -> ByteMatrix:
        """Round and lay out a matrix and its transpose, for multiples of four of both."""
        exact, exponents = steps_of(weights)
        whole = np.rint(exact).astype(np.int8)
        panels = Panels.of(whole), Panels.of(np.ascontiguousarray(whole.T))
        return cls(panels[0], _scale(exponents, steps), np.float32(steps), panels[1])

    def input(self, x: Float32s) -> Bytes:
        """Quantize activations to bytes; values out of range are clipped.

        Raises `ModelError` if there are others than finite numbers.
        """
        out = np.empty(x.shape, np.uint8)
        if not _to_bytes(x, self.steps, out):
            raise ModelError("the network overflows: check its vectors, or retrain the model")
        return out

    def product(self, x: Bytes, bias: Float32s) -> Float32s:
        """Return the product of a matrix of steps with this one, plus ``bias``."""
        return self.panels.multiply(x, self.scale, _ONE, bias[np.newaxis])

    def back(self, x: Bytes, d_out: Float32s, gradient: Float32s) -> Float32s:
        """Return the gradient of the floats that ``x`` was; add that of the weights."""
        d_out = np.ascontiguousarray(d_out)
        for first in range(0, len(x), _MOST_ROWS):
            here = slice(first, first + _MOST_ROWS)
            self._weights_back(x[here], d_out[here], gradient)
        rows, units = np.empty(d_out.shape, np.uint8), np.empty(len(x), np.float32)
        rows_to_bytes(d_out, self.scale * self.steps, rows, units)
        none, ones = np.zeros((1, x.shape[1]), np.float32), np.ones(x.shape[1], np.float32)
        return cast(Panels, self.transposed).multiply(rows, ones, units, none)

    def _weights_back(self, x: Bytes, d_out: Float32s, gradient: Float32s) -> None:
        halves = np.zeros((2, len(x) + -len(x) % 4, d_out.shape[1]), np.int8)
        scale = np.empty(d_out.shape[1], np.float32)
        _columns_to_bytes(d_out, scale, *halves)
        turned = np.full((x.shape[1], halves.shape[1]), ZERO, np.uint8)
        _transpose(x, turned)
        for half, weight in zip(halves, (128.0, 1.0)):
            unit = scale * np.float32(weight / self.steps)
            gradient[...] = Panels.of(half).multiply(turned, unit, _ONE, gradient)


def _scale(exponents: NDArray[np.integer[Any]], steps: int) -> Float32s:
    scale: Float32s = np.ldexp(np.float32(1.0 / steps), exponents.astype(np.int32))
    return scale
