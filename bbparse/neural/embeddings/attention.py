"""`attend`: attention of a layer of an encoder; its floats meet in a fixed order.

The scores of a few queries are computed together by code that is built by hand, as tiles are
(`bbparse.neural.tiles`): loops over windows of some 30 pieces are too short for what a compiler
makes of them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from bbparse.neural.tiles import lanes_of_tile, plain_tile, rows_of_tile, tile_columns, tile_rows
from bbparse.runtime.arrays import Float32s, Ints, Longs
from bbparse.runtime.jit import kernel

_LOG2_E = np.float32(math.log2(math.e))
_ROUNDING = np.float32(1.5 * 2.0**23)  # adding it leaves no digits after the point
# 2^f for f from -1/2 to 1/2 by its Taylor series
_EXP = tuple(np.float32(math.log(2.0) ** k / math.factorial(k)) for k in range(7))
#: Most numbers of a vector: there is room for so many beyond the numbers of an array.
SPARE = 16


@kernel
def exponentials(x: Float32s, bits: Ints, powers: Float32s) -> None:
    """Replace numbers up to 0 by their exponentials; ``bits`` are those of ``powers``, scratch."""
    low = np.float32(-126.0)
    for j in range(np.uint64(x.shape[0])):
        value = x[j] * _LOG2_E
        value = value if value > low else low
        whole = (value + _ROUNDING) - _ROUNDING
        f = value - whole
        y = _EXP[5] + f * _EXP[6]
        y = _EXP[4] + f * y
        y = _EXP[3] + f * y
        y = _EXP[2] + f * y
        y = _EXP[1] + f * y
        x[j] = _EXP[0] + f * y
        bits[j] = (np.int32(whole) + np.int32(127)) << np.int32(23)
    for j in range(np.uint64(x.shape[0])):
        x[j] *= powers[j]


@intrinsic
def _score(
    typing_context: Any, queries: Any, keys: Any, biases: Any, at: Any, n: Any, out: Any
) -> Any:
    """Emit code of the scores of n keys, float32[dim, …], for the queries of a tile.

    Query r has the scores ``biases[at - r + j] + Σ queries[r, d] * keys[d, j]``, in `out` from
    ``r * n`` on. Four products at a time are added to each sum. What is beyond the n keys comes
    last from the last query, and is overwritten for all others.
    """

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        queries, keys, biases, out = (
            context.make_array(signature.args[i])(context, builder, values[i]) for i in (0, 1, 2, 5)
        )
        at, n, lanes, number = values[3], values[4], lanes_of_tile(), ir.IntType(64)
        dim, columns = (builder.extract_value(keys.shape, i) for i in range(2))
        vector = ir.VectorType(ir.FloatType(), lanes)
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
        nothing = ir.Constant(vector, ir.Undefined)

        def place(array: Any, where: Any) -> Any:
            return builder.bitcast(builder.gep(array.data, [where]), vector.as_pointer())

        def everywhere(where: Any) -> Any:
            one = builder.load(builder.gep(queries.data, [where]))
            one = builder.insert_element(nothing, one, ir.IntType(32)(0))
            return builder.shuffle_vector(one, nothing, zeros)

        sums = [cgutils.alloca_once(builder, vector) for _ in range(rows_of_tile())]
        blocks = builder.udiv(builder.add(n, number(lanes - 1)), number(lanes))
        with cgutils.for_range(builder, blocks) as block:
            left = builder.sub(builder.sub(blocks, number(1)), block.index)
            left = builder.mul(left, number(lanes))  # from the last block to the first
            for r, total in enumerate(sums):
                first = builder.add(builder.sub(at, number(r)), left)
                builder.store(builder.load(place(biases, first), align=4), total)
            with cgutils.for_range(builder, builder.udiv(dim, number(4))) as quarter:
                rows = [
                    builder.add(builder.mul(quarter.index, number(4)), number(i)) for i in range(4)
                ]
                four = [
                    builder.load(place(keys, builder.add(builder.mul(row, columns), left)), align=4)
                    for row in rows
                ]
                for r, total in enumerate(sums):
                    of_row = builder.mul(dim, number(r))
                    p, q, s, t = (
                        builder.fmul(everywhere(builder.add(of_row, row)), key)
                        for row, key in zip(rows, four)
                    )
                    added = builder.fadd(builder.fadd(p, q), builder.fadd(s, t))
                    builder.store(builder.fadd(builder.load(total), added), total)
            for r, total in enumerate(sums):
                to = builder.add(builder.mul(n, number(r)), left)
                builder.store(builder.load(total), place(out, to), align=4)
        return context.get_dummy_value()

    return types.void(queries, keys, biases, types.intp, types.intp, out), code


@kernel(inline=True)
def _subtract_largest(
    x: Float32s, bits: Ints, row: int, n: int, scratch: Float32s, bits_of_scratch: Ints
) -> None:
    """Subtract the largest number of a row of n from all of them; ``bits`` are those of ``x``."""
    largest, low_bits = np.int32(-(2**31)), np.int32(2**31 - 1)
    for j in range(np.uint64(row * n), np.uint64(row * n + n)):
        # compilers find the largest integer with vectors: these are in the order of the floats
        largest = max(largest, bits[j] ^ ((bits[j] >> np.int32(31)) & low_bits))
    bits_of_scratch[0] = largest ^ ((largest >> np.int32(31)) & low_bits)
    for j in range(np.uint64(row * n), np.uint64(row * n + n)):
        x[j] -= scratch[0]


@kernel(inline=True)
def _sum_rows(x: Float32s, n: int, rows: int, sums: Float32s) -> None:
    """Sum rows of n numbers, each in their order; four at a time need not wait for each other."""
    for r in range(0, rows, 4):
        one = two = three = four = np.float32(0.0)
        for j in range(np.uint64(r * n), np.uint64(r * n + n)):
            one += x[j]
            two += x[j + np.uint64(n)]
            three += x[j + np.uint64(2 * n)]
            four += x[j + np.uint64(3 * n)]
        sums[r], sums[r + 1], sums[r + 2], sums[r + 3] = one, two, three, four


@kernel
def attend(
    qkv: Float32s, first: Longs, size: Longs, heads: int, biases: Float32s, out: Float32s
) -> None:
    """Compute attention in each window; rows of ``qkv`` are queries (scaled), keys and values.

    Column ``SPARE + longest - 1 + d`` of ``biases`` is added to the scores of keys d places to the
    right; `SPARE` more columns follow the last one.
    """
    rows, together = tile_rows(), tile_columns()
    width, dim, longest = out.shape[1], out.shape[1] // heads, size.max()
    panels = -(-dim // together)
    queries, keys = np.zeros((rows, dim), np.float32), np.zeros((dim, longest + SPARE), np.float32)
    values = np.zeros((panels, longest, together), np.float32)
    # the scores of some queries, later their exponentials
    room = np.empty(rows * longest + SPARE, np.float32)
    powers = np.empty(rows * longest, np.float32)
    bits, bits_of_powers = room.view(np.int32), powers.view(np.int32)
    mixed, sums = np.empty((rows, panels * together), np.float32), np.empty(rows, np.float32)
    start = np.zeros(panels * together, np.float32)
    for s in range(first.shape[0]):
        at, n = first[s], size[s]
        weights = room[: rows * n]
        for h in range(heads):
            left = np.uint64(h * dim)
            for j in range(np.uint64(n)):
                row = np.uint64(at) + j
                for d in range(np.uint64(dim)):
                    keys[d, j] = qkv[row, np.uint64(width) + left + d]
            for p in range(panels):
                column = np.uint64(2 * width + p * together) + left
                for j in range(np.uint64(n)):
                    for d in range(np.uint64(min(together, dim - p * together))):
                        values[p, j, d] = qkv[np.uint64(at) + j, column + d]
            for i in range(0, n, rows):
                here = min(rows, n - i)
                for r in range(np.uint64(here)):  # further rows are finite, and not used
                    for d in range(np.uint64(dim)):
                        queries[r, d] = qkv[np.uint64(at + i) + r, left + d]
                own = h * biases.shape[1] + SPARE + longest - 1 - i
                _score(queries, keys, biases, own, n, room)
                for r in range(here):
                    _subtract_largest(weights, bits, r, n, powers, bits_of_powers)
                exponentials(weights, bits_of_powers, powers)
                for p in range(panels):
                    plain_tile(weights, 0, values[p, :n], start, mixed, 0, p * together)
                _sum_rows(weights, n, rows, sums)
                for r in range(np.uint64(here)):
                    inverse = np.float32(1.0) / sums[r]
                    for d in range(np.uint64(dim)):
                        out[np.uint64(at + i) + r, left + d] = mixed[r, d] * inverse
