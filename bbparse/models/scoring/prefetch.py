"""Sums over rows of tables that are so large that waiting for memory takes nearly all the time.

A row of label weights is two lines of memory, anywhere in tens of megabytes. A processor alone
looks some ten rows ahead, which hides half of the wait.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from bbparse.runtime.jit import kernel

#: Number of rows that are prefetched.
_AHEAD = 24


@intrinsic
def _prefetch(typing_context: Any, array: Any, row: Any, column: Any) -> Any:
    """Prefetch the line of memory of ``array[row, column]``, which must exist."""
    return types.void(array, row, column), _generate


@intrinsic
def prefetch(typing_context: Any, array: Any, place: Any) -> Any:
    """Prefetch the line of memory of ``array[place]``, which must exist."""
    return types.void(array, place), _generate


def _generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    array_type = signature.args[0]
    given = context.make_array(array_type)(context, builder, args[0])
    place = cgutils.get_item_pointer(context, builder, array_type, given, list(args[1:]))
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    function = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(ir.VoidType(), [byte, number, number, number]),
        "llvm.prefetch.p0",
    )
    # For reading (0), kept in the nearest cache (3); data, not code (1).
    builder.call(function, [builder.bitcast(place, byte), number(0), number(3), number(1)])
    return context.get_dummy_value()


@kernel
def add_rows(
    rows: NDArray[np.int64],
    owner: NDArray[np.int32],
    weights: NDArray[np.int16],
    scores: NDArray[np.int32],
) -> None:
    """Add ``weights[rows[i]]`` to ``scores[owner[i]]``, for all i.

    ``weights`` is int16[W, width] and ``scores`` int32[N, width]; width is a multiple of 32.
    """
    width = np.uint64(weights.shape[1])
    total = rows.shape[0]
    for i in range(total):
        soon = rows[min(i + _AHEAD, total - 1)]
        _prefetch(weights, soon, 0)
        for line in range(32, weights.shape[1], 32):
            _prefetch(weights, soon, line)
        row, to = np.uint64(rows[i]), np.uint64(owner[i])
        for label in range(width):
            scores[to, label] += weights[row, label]
