"""Room on Python's stack for whatever is called.

CPython keeps the frames of Python functions in pieces of 16 kB, and gives a piece back as soon as
its first frame ends. Whatever is called again and again just where a piece ends asks the system
for memory each time, and for the page that is touched: half a million times while the kernels are
compiled, a tenth of what the first run waits for. A frame that does not fit gets a larger piece,
which the frames after it share.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import ParamSpec, TypeVar

__all__ = ["with_room"]

Taken = ParamSpec("Taken")
Given = TypeVar("Given")

#: Places for values: 1 MB, of which pieces are powers of two, so that as much is left.
_PLACES = 1 << 17


def _call(function, arguments, named):  # type: ignore[no-untyped-def]
    return function(*arguments, **named)


_call_with_room = FunctionType(_call.__code__.replace(co_stacksize=_PLACES), globals())


def with_room(function: Callable[Taken, Given]) -> Callable[Taken, Given]:
    """The function, called from a frame that has room behind it."""

    @wraps(function)
    def roomy(*arguments: Taken.args, **named: Taken.kwargs) -> Given:
        return _call_with_room(function, arguments, named)

    return roomy
