"""Signals wait while code is made ready, and arrays are boxed without Python.

Python runs signal handlers at the start of a Python function. What they raise there, as Ctrl-C
does, is lost where C calls the function: LLVM does, to ask for code, and numba, to look up the
class of the arrays that a kernel gives back.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from numba.core import boxing, types  # noqa: F401  # the first fills the table of boxers
from numba.core.codegen import JITCodeLibrary
from numba.core.pythonapi import _boxers


@contextmanager
def held_signals() -> Iterator[None]:
    """Have signals that came meanwhile handled at the end."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    handlers = {}
    if threading.current_thread() is threading.main_thread():
        known = {number: signal.getsignal(number) for number in signal.valid_signals()}
        handlers = {number: handler for number, handler in known.items() if callable(handler)}
    try:
        for number in handlers:
            signal.signal(number, note)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for one in came:
        signal.raise_signal(one)


def hold_signals() -> None:
    """Have all code made ready, and all arrays boxed, without a signal being lost."""
    finish, box = JITCodeLibrary._finalize_specific, _boxers.functions[types.Array]

    def finish_in_peace(library: Any) -> None:
        with held_signals():
            finish(library)

    def box_by_constant(kind: Any, value: Any, c: Any) -> Any:
        if c.env_manager is None:
            return box(kind, value, c)
        found = c.env_manager.read_const(c.env_manager.add_const(kind.box_type))
        c.pyapi.unserialize = lambda _: found
        try:
            return box(kind, value, c)
        finally:
            del c.pyapi.unserialize

    JITCodeLibrary._finalize_specific = finish_in_peace
    _boxers.functions[types.Array] = box_by_constant
