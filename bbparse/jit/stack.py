"""Room on Python's stack for the calls of a function.

CPython stores the frames of Python functions in chunks of 16 kB, and frees a chunk as soon as its
first frame ends. A function that is called again and again exactly at the end of a chunk requests
memory from the system each time: half a million times while the kernels are compiled, a tenth of
the first run. A frame that does not fit gets a larger chunk, which the frames after it share.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import ParamSpec, TypeVar

__all__ = ["with_room"]

Params = ParamSpec("Params")
Result = TypeVar("Result")

#: Slots for values, 1 MB in all: chunks are powers of two, so that as much again is free.
_SLOTS = 1 << 17


def _call(function, arguments, named):  # type: ignore[no-untyped-def]
    return function(*arguments, **named)


_call_with_room = FunctionType(_call.__code__.replace(co_stacksize=_SLOTS), globals())


def with_room(function: Callable[Params, Result]) -> Callable[Params, Result]:
    """Return the function, called from a frame with room behind it."""

    @wraps(function)
    def call(*arguments: Params.args, **named: Params.kwargs) -> Result:
        return _call_with_room(function, arguments, named)

    return call
