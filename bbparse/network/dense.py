"""`dense`: matrix products of 32-bit floats, identical to the last bit on every machine.

Each element is summed in the order of the inputs, starting with the bias. Each product is added
with a single rounding (by a processor instruction, or a slow function if that is missing). If the
compiler chose what to fuse, or a library divided sums by the number of threads, a model would have
other scores on other machines.

The unit of work is a tile: four rows and two vectors of columns, whose sums stay in registers.
Compilers do not find that in a loop over arrays, so its code is built by hand. Vectors are as wide
as the processor's: 16 numbers with AVX-512, else 8; the sums are the same. Tiles of the same
columns follow each other, and their weights are copied side by side: rows of a matrix whose width
is a multiple of a large power of two would evict each other from the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from bbparse.jit import kernel

Floats = NDArray[np.float32]

#: Rows of a tile.
ROWS = 4
#: Number of rows whose tiles of all columns are computed before those of the next rows.
_BLOCK = 64


def _vector_width() -> int:
    """Return how many numbers a vector of the processor that numba compiles for has."""
    if config.CPU_NAME or config.CPU_FEATURES:
        features = str(config.CPU_FEATURES or "")
    else:
        features = binding.get_host_cpu_features().flatten()
    return 16 if "+avx512f" in features.split(",") else 8


def _tile_of(width: int) -> Any:
    """Return the function of a tile with two vectors of this width."""

    @intrinsic
    def tile(  # noqa: PLR0913 – an intrinsic takes arrays and offsets apart
        typing_context: Any, x: Any, at: Any, stride: Any, inputs: Any, panel: Any, bias: Any,
        out: Any, row: Any, column: Any,
    ) -> Any:  # fmt: skip
        """Emit code of a tile: rows `row + r` and columns `column + c` of a matrix product.

        ``out[row + r, column + c] = bias[column + c] + Σ x[at + r * stride + i] * panel[i, c]``
        """
        signature = types.void(x, *[types.intp] * 3, panel, bias, out, *[types.intp] * 2)

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            arrays = [
                context.make_array(kind)(context, builder, value)
                for kind, value in zip(signature.args, values)
                if isinstance(kind, types.Array)
            ]
            x, panel, bias, out = arrays
            at, stride, inputs, row, column = (values[i] for i in (1, 2, 3, 7, 8))
            vector, number = ir.VectorType(ir.FloatType(), width), ir.IntType(64)
            fused = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{width}f32"
            )
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
            nothing = ir.Constant(vector, ir.Undefined)

            def place(array: Any, where: Any) -> Any:
                return builder.bitcast(builder.gep(array.data, [where]), vector.as_pointer())

            def pair_at(array: Any, first: Any) -> list[Any]:
                addresses = [place(array, builder.add(first, number(v * width))) for v in range(2)]
                return [builder.load(address, align=4) for address in addresses]

            sums = [[cgutils.alloca_once(builder, vector) for _ in range(2)] for _ in range(ROWS)]
            start = pair_at(bias, column)
            for pair in sums:
                for total, value in zip(pair, start):
                    builder.store(value, total)
            rows = [builder.add(at, builder.mul(stride, number(r))) for r in range(ROWS)]
            with cgutils.for_range(builder, inputs) as loop:
                weights = pair_at(panel, builder.mul(loop.index, number(2 * width)))
                for pair, first in zip(sums, rows):
                    one = builder.load(builder.gep(x.data, [builder.add(first, loop.index)]))
                    one = builder.insert_element(nothing, one, ir.IntType(32)(0))
                    factor = builder.shuffle_vector(one, nothing, zeros)
                    for total, weight in zip(pair, weights):
                        value = builder.call(fused, [factor, weight, builder.load(total)])
                        builder.store(value, total)
            columns = builder.extract_value(out.shape, 1)
            for r, pair in enumerate(sums):
                first = builder.add(builder.mul(builder.add(row, number(r)), columns), column)
                for v, total in enumerate(pair):
                    to = place(out, builder.add(first, number(v * width)))
                    builder.store(builder.load(total), to, align=4)
            return context.get_dummy_value()

        return signature, code

    return tile


_WIDTH = _vector_width()
_COLUMNS, _NARROW = 2 * _WIDTH, 16
_tile, _narrow_tile = _tile_of(_WIDTH), _tile_of(_NARROW // 2)


@intrinsic
def _fused(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Emit code of ``a * b + c``, rounded once."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fma(*values)

    return types.float32(types.float32, types.float32, types.float32), code


if config.DISABLE_JIT:  # equal except for the rarest of roundings

    def _fused(a: np.float32, b: np.float32, c: np.float32) -> np.float32:
        return np.float32(np.float64(a) * np.float64(b) + np.float64(c))

    def _tile(x, at, stride, inputs, panel, bias, out, row, column):  # type: ignore[no-untyped-def]  # noqa: PLR0913 – an intrinsic takes arrays and offsets apart
        columns = slice(column, column + panel.shape[1])
        for r in range(ROWS):
            total = bias[columns]
            for i in range(inputs):
                one = np.float64(x[at + r * stride + i])
                total = (one * panel[i].astype(np.float64) + total).astype(np.float32)
            out[row + r, columns] = total

    _narrow_tile = _tile


@kernel
def dense(
    x: Floats, begin: int, stride: int, inputs: int, weights: Floats, bias: Floats, out: Floats
) -> None:
    """Compute a matrix product: ``out[r] = bias + x[begin + r * stride :][:inputs] @ weights``.

    Rows of ``x`` may overlap, so a window over words needs no copy. The number of rows of ``out``
    must be a multiple of `ROWS`.
    """
    columns = out.shape[1]
    whole, most = columns - columns % _COLUMNS, columns - columns % _NARROW
    panels = np.empty((whole // _COLUMNS, inputs, _COLUMNS), np.float32)
    narrow = np.empty((inputs, _NARROW), np.float32)
    for i in range(np.uint64(inputs)):
        for p in range(np.uint64(panels.shape[0])):
            for c in range(np.uint64(_COLUMNS)):
                panels[p, i, c] = weights[i, p * np.uint64(_COLUMNS) + c]
        for c in range(np.uint64(most - whole)):  # what is left is one narrow tile at most
            narrow[i, c] = weights[i, np.uint64(whole) + c]
    for block in range(0, out.shape[0], _BLOCK):
        end = min(block + _BLOCK, out.shape[0])
        for p in range(panels.shape[0]):
            for row in range(block, end, ROWS):
                _tile(
                    x, begin + row * stride, stride, inputs, panels[p], bias, out, row,
                    p * _COLUMNS,
                )  # fmt: skip
        if most > whole:
            for row in range(block, end, ROWS):
                at = begin + row * stride
                _narrow_tile(x, at, stride, inputs, narrow, bias, out, row, whole)
    for row in range(out.shape[0]):
        for column in range(most, columns):
            total = bias[column]
            for i in range(inputs):
                total = _fused(x[begin + row * stride + i], weights[i, column], total)
            out[row, column] = total
