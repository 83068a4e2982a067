"""`lane_sum`: the sum of a row of 32-bit floats, identical to the last bit on every machine.

A sum in the order of its numbers cannot use the vectors of a processor. So a row is summed in
`LANES` partial sums, each over every `LANES`-th number, which are then added in order. Compilers
turn a loop over partial sums into single additions, so its code is built by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

#: Number of partial sums of a row; lengths of rows are multiples of it.
LANES = 16


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


def _plain_sum(x: Any, at: int, length: int) -> Any:
    lanes, total = np.zeros(LANES, np.float32), np.float32(0.0)
    for row in x.reshape(-1)[at : at + length].reshape(-1, LANES):
        lanes += row
    for lane in lanes:
        total += lane
    return total


if config.DISABLE_JIT:
    lane_sum = _plain_sum
