"""Tiles: some rows and two vectors of columns of a matrix product, whose sums stay in registers.

Compilers do not find that in a loop over arrays, so the code of tiles is built by hand. Vectors are
as wide as the processor's: 16 numbers with AVX-512, whose 32 registers hold eight rows, else 8
numbers and four rows. A tile multiplies 32-bit floats, or integers of 8 bits, four of them in each
32-bit number.

`lane_sum` is the sum of a row of 32-bit floats, identical to the last bit on every machine. A sum
in the order of its numbers cannot use the vectors of a processor. So a row is summed in `LANES`
partial sums, each over every `LANES`-th number, which are then added in order. Compilers turn a
loop over partial sums into single additions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic

#: Number of rows whose tiles of all columns are computed before those of the next rows.
BLOCK = 64
#: Number of partial sums of a row; lengths of rows are multiples of it.
LANES = 16


# Kernels call these while they are compiled. As constants they would be part of what the cache of
# compiled code takes for source, and machines with one folder would discard each other's code.
@cache
def processor_features() -> frozenset[str]:
    """Return the features of the processor that numba compiles for, such as ``avx2``."""
    given = config.CPU_FEATURES
    features = str(get_host_cpu_features() if given is None else given)
    return frozenset(one[1:] for one in features.split(",") if one.startswith("+"))


def lanes_of_tile() -> int:
    """Return the number of 32-bit numbers in a vector of a `tile`."""
    return 16 if "avx512f" in processor_features() else 8


def columns_of_tile() -> int:
    """Return the number of columns of a `tile`."""
    return 2 * lanes_of_tile()


def rows_of_tile(lanes: int = 0) -> int:
    """Return the number of rows of a `tile`, whose vectors have so many lanes (0: its own)."""
    return (lanes or lanes_of_tile()) // 2


def _constant(number: Callable[[], int]) -> Any:
    """Return a function for kernels of a number that depends on the processor."""

    @intrinsic
    def constant(typing_context: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return context.get_constant(types.intp, number())

        return types.intp(), code

    return constant


tile_rows, tile_columns = _constant(rows_of_tile), _constant(columns_of_tile)


def _fused(builder: Any, width: int) -> Any:
    """Return the emitter of ``factor * weight + total`` of 32-bit floats, rounded once."""
    vector = ir.VectorType(ir.FloatType(), width)
    kind = ir.FunctionType(vector, [vector] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{width}f32")
    return lambda factor, weight, total: builder.call(function, [factor, weight, total])


def _rounded_twice(builder: Any, width: int) -> Any:
    """Return the emitter of ``factor * weight + total`` of 32-bit floats, rounded twice."""
    return lambda factor, weight, total: builder.fadd(total, builder.fmul(factor, weight))


def _dots(builder: Any, width: int, features: frozenset[str]) -> Any:
    """Return the emitter of ``total + Σ factor[j] * weight[j]`` of the four bytes of each number.

    Bytes of factors are from 0 to 255, bytes of weights from -64 to 64: the sum of two products
    then has 16 bits, which is all that the instructions of older processors provide for.
    """
    vector = ir.VectorType(ir.IntType(32), width)
    bytes_, pairs = (ir.VectorType(ir.IntType(b), 32 // b * width) for b in (8, 16))

    def function(name: str, returns: Any, *arguments: Any) -> Any:
        kind = ir.FunctionType(returns, arguments)
        return cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.{name}")

    def at_once(factor: Any, weight: Any, total: Any) -> Any:
        name = f"avx512.vpdpbusd.{32 * width}"
        return builder.call(function(name, vector, *[vector] * 3), [total, factor, weight])

    def by_pairs(factor: Any, weight: Any, total: Any) -> Any:
        names = ("avx512.pmaddubs.w.512", "avx512.pmaddw.d.512")
        if width == 8:
            names = ("avx2.pmadd.ub.sw", "avx2.pmadd.wd")
        add_two = function(names[0], pairs, bytes_, bytes_)
        add_four = function(names[1], vector, pairs, pairs)
        two = builder.call(add_two, [builder.bitcast(v, bytes_) for v in (factor, weight)])
        ones = ir.Constant(pairs, [1] * (2 * width))
        return builder.add(total, builder.call(add_four, [two, ones]))

    def one_by_one(factor: Any, weight: Any, total: Any) -> Any:
        factor, weight = builder.bitcast(factor, bytes_), builder.bitcast(weight, bytes_)
        nothing = ir.Constant(bytes_, ir.Undefined)
        for j in range(4):
            lanes = ir.Constant(vector, [4 * lane + j for lane in range(width)])
            first, second = (builder.shuffle_vector(v, nothing, lanes) for v in (factor, weight))
            product = builder.mul(builder.zext(first, vector), builder.sext(second, vector))
            total = builder.add(total, product)
        return total

    wide = width == 16
    if features >= ({"avx512vnni"} if wide else {"avx512vnni", "avx512vl"}):
        return at_once
    if not wide and "avxvnni" in features:
        return at_once
    return by_pairs if ("avx512bw" if wide else "avx2") in features else one_by_one


def tile_of(
    width: int = 0, features: frozenset[str] | None = None, multiplied: Any = _fused
) -> Any:
    """Return the function of a tile with two vectors of this width, 0: the processor's.

    `multiplied` makes the emitter of the products of floats.
    """

    @intrinsic
    def tile(
        typing_context: Any,
        x: Any,
        at: Any,
        panel: Any,
        start: Any,
        out: Any,
        row: Any,
        column: Any,
    ) -> Any:
        """Emit code of a tile: rows `row + r` and columns `column + c` of a matrix product.

        ``out[row + r, column + c] = start[column + c] + Σ x[at + r * n + i] * panel[i, c]``, where
        n is the length of the panel, and the product of two 32-bit integers is the sum of
        those of their four bytes.
        """
        signature = types.void(x, types.intp, panel, start, out, *[types.intp] * 2)

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            arrays = [
                context.make_array(kind)(context, builder, value)
                for kind, value in zip(signature.args, values)
                if isinstance(kind, types.Array)
            ]
            x, panel, start, out = arrays
            at, row, column = (values[i] for i in (1, 5, 6))
            inputs = builder.extract_value(panel.shape, 0)
            lanes = width or lanes_of_tile()
            n_rows = rows_of_tile(lanes)
            known = processor_features() if features is None else features
            whole = signature.args[0].dtype == types.int32
            vector = ir.VectorType(ir.IntType(32) if whole else ir.FloatType(), lanes)
            added = _dots(builder, lanes, known) if whole else multiplied(builder, lanes)
            number = ir.IntType(64)
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
            nothing = ir.Constant(vector, ir.Undefined)

            def place(array: Any, where: Any) -> Any:
                return builder.bitcast(builder.gep(array.data, [where]), vector.as_pointer())

            def pair_at(array: Any, first: Any) -> list[Any]:
                addresses = [place(array, builder.add(first, number(v * lanes))) for v in range(2)]
                return [builder.load(address, align=4) for address in addresses]

            sums = [[cgutils.alloca_once(builder, vector) for _ in range(2)] for _ in range(n_rows)]
            first_sums = pair_at(start, column)
            for pair in sums:
                for total, value in zip(pair, first_sums):
                    builder.store(value, total)
            rows = [builder.add(at, builder.mul(inputs, number(r))) for r in range(n_rows)]
            with cgutils.for_range(builder, inputs) as loop:
                weights = pair_at(panel, builder.mul(loop.index, number(2 * lanes)))
                for pair, first in zip(sums, rows):
                    one = builder.load(builder.gep(x.data, [builder.add(first, loop.index)]))
                    one = builder.insert_element(nothing, one, ir.IntType(32)(0))
                    factor = builder.shuffle_vector(one, nothing, zeros)
                    for total, weight in zip(pair, weights):
                        builder.store(added(factor, weight, builder.load(total)), total)
            columns = builder.extract_value(out.shape, 1)
            for r, pair in enumerate(sums):
                first = builder.add(builder.mul(builder.add(row, number(r)), columns), column)
                for v, total in enumerate(pair):
                    to = place(out, builder.add(first, number(v * lanes)))
                    builder.store(builder.load(total), to, align=4)
            return context.get_dummy_value()

        return signature, code

    return tile


@intrinsic
def lane_sum(typing_context: Any, x: Any, at: Any, length: Any) -> Any:
    """Emit code of the sum of ``length`` numbers of a contiguous array, from element ``at`` on."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, values[0])
        vector, number = ir.VectorType(ir.FloatType(), LANES), ir.IntType(64)
        sums = cgutils.alloca_once(builder, vector)
        builder.store(ir.Constant(vector, [0.0] * LANES), sums)
        with cgutils.for_range(builder, builder.udiv(values[2], number(LANES))) as loop:
            first = builder.add(values[1], builder.mul(loop.index, number(LANES)))
            place = builder.bitcast(builder.gep(array.data, [first]), vector.as_pointer())
            lanes = builder.load(place, align=4)
            builder.store(builder.fadd(builder.load(sums), lanes), sums)
        total = ir.Constant(ir.FloatType(), 0.0)
        for lane in range(LANES):
            one = builder.extract_element(builder.load(sums), ir.IntType(32)(lane))
            total = builder.fadd(total, one)
        return total

    return types.float32(x, types.intp, types.intp), code


#: Tile of `columns_of_tile` columns.
tile = tile_of()
#: The same for floats, with each product rounded before it is added.
plain_tile = tile_of(multiplied=_rounded_twice)
