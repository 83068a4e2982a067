"""`product`: matrix products of 32-bit floats, identical to the last bit on every machine.

Each element is summed in the order of the inputs, starting with the bias. Each product is added
with a single rounding (by a processor instruction, or a slow function if that is missing). If the
compiler chose what to fuse, or a library divided sums by the number of threads, a model would have
other scores on other machines.

The unit of work is a tile (`bbparse.neural.tiles`). Tiles of the same columns follow each other,
and their weights lie side by side: rows of a matrix whose width is a multiple of a large power of
two would evict each other from the cache.
"""

from __future__ import annotations

import numpy as np

from bbparse.neural.tiles import BLOCK, columns_of_tile, rows_of_tile, tile, tile_rows
from bbparse.runtime.arrays import Float32s
from bbparse.runtime.jit import kernel


def product(x: Float32s, weights: Float32s, bias: Float32s | None = None) -> Float32s:
    """Return ``x @ weights + bias``."""
    (rows, inputs), columns = x.shape, weights.shape[1]
    more_rows, more_columns = -rows % rows_of_tile(), -columns % columns_of_tile()
    start = np.zeros(columns + more_columns, np.float32)
    start[:columns] = 0.0 if bias is None else bias
    panels = np.pad(weights, ((0, 0), (0, more_columns))).reshape(inputs, -1, columns_of_tile())
    out = np.empty((rows + more_rows, len(start)), np.float32)
    x = np.ascontiguousarray(np.pad(x, ((0, more_rows), (0, 0))) if more_rows else x)
    _multiply(x, np.ascontiguousarray(panels.swapaxes(0, 1)), start, out)
    return np.ascontiguousarray(out[:rows, :columns])


@kernel
def _multiply(x: Float32s, panels: Float32s, start: Float32s, out: Float32s) -> None:
    """Set ``out`` to ``start + x @ matrix``, for panels of the columns of tiles."""
    n_panels, inputs, together = panels.shape
    for first in range(0, out.shape[0], BLOCK):
        for p in range(n_panels):
            for row in range(first, min(first + BLOCK, out.shape[0]), tile_rows()):
                tile(x, row * inputs, panels[p], start, out, row, p * together)
