"""`dense`: matrix products of 32-bit floats, identical to the last bit on every machine.

Each element is summed in the order of the inputs, starting with the bias. Each product is added
with a single rounding (by a processor instruction, or a slow function if that is missing). If the
compiler chose what to fuse, or a library divided sums by the number of threads, a model would have
other scores on other machines.

The unit of work is a tile (`bbparse.neural.tiles`). Tiles of the same columns follow each other,
and their weights are copied side by side: rows of a matrix whose width is a multiple of a large
power of two would evict each other from the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic

from bbparse.neural.tiles import BLOCK, ROWS, n_columns, narrow_tile, tile
from bbparse.runtime.arrays import Float32s
from bbparse.runtime.jit import kernel

_NARROW = 16


@intrinsic
def _fused(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Emit code of ``a * b + c``, rounded once."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fma(*values)

    return types.float32(types.float32, types.float32, types.float32), code


def _nearly_fused(a: np.float32, b: np.float32, c: np.float32) -> np.float32:
    return np.float32(np.float64(a) * np.float64(b) + np.float64(c))


if config.DISABLE_JIT:  # equal except for the rarest of roundings
    _fused = _nearly_fused


@kernel
def dense(
    x: Float32s, begin: int, stride: int, inputs: int, weights: Float32s, bias: Float32s,
    out: Float32s,
) -> None:  # fmt: skip
    """Compute a matrix product: ``out[r] = bias + x[begin + r * stride :][:inputs] @ weights``.

    Rows of ``x`` may overlap, so a window over words needs no copy. The number of rows of ``out``
    must be a multiple of `ROWS`.
    """
    columns, together = out.shape[1], n_columns()
    whole, most = columns - columns % together, columns - columns % _NARROW
    panels = np.empty((whole // together, inputs, together), np.float32)
    narrow = np.empty((inputs, _NARROW), np.float32)
    for i in range(np.uint64(inputs)):
        for p in range(np.uint64(panels.shape[0])):
            for c in range(np.uint64(together)):
                panels[p, i, c] = weights[i, p * np.uint64(together) + c]
        for c in range(np.uint64(most - whole)):  # what is left is one narrow tile at most
            narrow[i, c] = weights[i, np.uint64(whole) + c]
    for block in range(0, out.shape[0], BLOCK):
        end = min(block + BLOCK, out.shape[0])
        for p in range(panels.shape[0]):
            for row in range(block, end, ROWS):
                tile(
                    x, begin + row * stride, stride, inputs, panels[p], bias, out, row,
                    p * together,
                )  # fmt: skip
        if most > whole:
            for row in range(block, end, ROWS):
                at = begin + row * stride
                narrow_tile(x, at, stride, inputs, narrow, bias, out, row, whole)
    for row in range(out.shape[0]):
        for column in range(most, columns):
            total = bias[column]
            for i in range(inputs):
                total = _fused(x[begin + row * stride + i], weights[i, column], total)
            out[row, column] = total
