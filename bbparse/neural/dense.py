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

import numpy as np

from bbparse.neural.tiles import BLOCK, ROWS, n_columns, tile
from bbparse.runtime.arrays import Float32s
from bbparse.runtime.jit import kernel


@kernel
def dense(x: Float32s, weights: Float32s, bias: Float32s, out: Float32s) -> None:
    """Set ``out`` to ``bias + x @ weights``; the number of rows must be a multiple of `ROWS`."""
    inputs = x.shape[1]
    columns, together = np.uint64(out.shape[1]), np.uint64(n_columns())
    n_panels = -(-out.shape[1] // n_columns())
    panels = np.zeros((n_panels, inputs, n_columns()), np.float32)
    start = np.zeros(n_panels * n_columns(), np.float32)
    sums = np.empty((BLOCK, n_panels * n_columns()), np.float32)
    start[:columns] = bias
    for i in range(np.uint64(inputs)):
        for c in range(columns):
            panels[c // together, i, c % together] = weights[i, c]
    for first in range(0, out.shape[0], BLOCK):
        size = min(BLOCK, out.shape[0] - first)
        for p in range(n_panels):
            for row in range(0, size, ROWS):
                at = (first + row) * inputs
                tile(x, at, panels[p], start, sums, row, p * n_columns())
        out[first : first + size] = sums[:size, :columns]
