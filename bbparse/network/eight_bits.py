"""`ByteMatrix`: matrix products of 8-bit whole numbers, up to four times as fast as of floats.

Most numbers between layers are of the size of 1, as rows are normalised. For a product they are
rounded to multiples of 1/16; the few that are beyond -8 to 8, one in a thousand, are cut off. That
costs no accuracy. The weights of a trained network are multiples of a power of two in each column
already (`bbparse.network.packing`). Sums of products of whole numbers are exact, so they are the
same on every machine in any order. Training uses 32-bit floats (`bbparse.network.dense`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ModelError
from bbparse.jit import kernel
from bbparse.network.tiles import BLOCK, ROWS, columns_of_tile, tile

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]

#: Steps into which a 1 of the vectors in context is divided: bytes reach from -8 to 8.
STEPS = 16
#: Byte of the number 0: bytes are unsigned, as instructions of processors have it.
ZERO = 128
#: Bits of the largest weight of a column, without its sign. With 7, 6 or 5 of them, accuracy of
#: English trees and tags differs by some 0.1 points.
WEIGHT_BITS = 6

_LARGEST = np.float32(127.0)
_ROUNDING = np.float32(1.5 * 2.0**23)  # adding it leaves no digits after the point


def in_steps(weights: Floats) -> tuple[NDArray[np.int8], NDArray[np.int8]] | None:
    """Return a matrix as multiples of a power of two in each column, and the powers' exponents.

    None if it has not been rounded to such (`bbparse.network.packing.rounded`). Weights are finite
    16-bit floats.
    """
    fractions, exponents = np.frexp(np.abs(weights).max(axis=0, initial=0.0))
    exponents = exponents - WEIGHT_BITS - (fractions == 0.5)  # the largest may be rounded up to 64
    steps = np.ldexp(weights, -exponents)
    if not np.array_equal(steps, np.rint(steps)):
        return None
    return steps.astype(np.int8), exponents.astype(np.int8)


@kernel
def _to_bytes(x: Floats, steps: np.float32, out: Bytes) -> bool:
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
    x: Bytes, panels: Ints, start: Ints, scale: Floats, bias: Floats, out: Floats
) -> None:
    rows, inputs = x.shape
    groups, together, columns = panels.shape[1], panels.shape[2], start.shape[0]
    block = np.zeros(BLOCK * inputs, np.uint8)
    sums = np.empty((BLOCK, columns), np.int32)
    fours = block.view(np.int32)
    for first in range(0, rows, BLOCK):
        size = np.uint64(min(BLOCK, rows - first))
        for r in range(size):
            for i in range(np.uint64(inputs)):
                block[r * np.uint64(inputs) + i] = x[np.uint64(first) + r, i]
        for p in range(panels.shape[0]):
            for row in range(0, size, ROWS):  # the last rows may be zeros, or of the block before
                tile(
                    fours, row * groups, groups, groups, panels[p], start, sums, row, p * together
                )
        for r in range(size):
            for c in range(np.uint64(out.shape[1])):
                out[np.uint64(first) + r, c] = np.float32(sums[r, c]) * scale[c] + bias[c]


@dataclass(frozen=True, slots=True, eq=False)
class ByteMatrix:
    """A matrix of 8-bit numbers, laid out for tiles."""

    #: int32[panels, inputs / 4, columns of a tile]: weights of four inputs in each number.
    panels: Ints
    #: int32[padded columns]: what the offset `ZERO` of the inputs adds to a sum, negative.
    start: Ints
    #: float32[columns]: unit of the sums.
    scale: Floats
    #: Steps into which a 1 of the inputs is divided.
    steps: np.float32

    @classmethod
    def of(cls, weights: Floats, steps: int = STEPS) -> ByteMatrix | None:
        """Lay out float32[inputs, columns], for a multiple of four inputs.

        None if weights are not rounded.
        """
        inputs, columns = weights.shape
        stepped = in_steps(weights)
        if stepped is None:
            return None
        whole, exponents = stepped
        together = columns_of_tile()
        padded = np.zeros((inputs, columns + -columns % together), np.int8)
        padded[:, :columns] = whole
        panels = padded.reshape(inputs // 4, 4, -1, together).transpose(2, 0, 3, 1)
        return cls(
            np.ascontiguousarray(panels).view(np.int32)[..., 0],
            -ZERO * padded.sum(axis=0, dtype=np.int32),
            np.ldexp(np.float32(1.0 / steps), exponents.astype(np.int32)),
            np.float32(steps),
        )

    def input(self, x: Floats) -> Bytes:
        """Return numbers in whole steps as bytes, those out of range as the nearest in it.

        Raises `ModelError` if there are others than finite numbers.
        """
        out = np.empty(x.shape, np.uint8)
        if not _to_bytes(x, self.steps, out):
            raise ModelError(
                "the network computes numbers that are not finite: its pretrained vectors, or its"
                " weights, are out of all proportion"
            )
        return out

    def product(self, x: Bytes, bias: Floats) -> Floats:
        """Return the product of a matrix of steps with this one, plus ``bias``."""
        assert x.shape[1] == 4 * self.panels.shape[1] and len(bias) == len(self.scale)
        out = np.empty((len(x), len(self.scale)), np.float32)
        _multiply(x, self.panels, self.start, self.scale, bias, out)
        return out
