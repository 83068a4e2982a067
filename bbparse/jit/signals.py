"""Signals wait while a kernel is compiled in the main thread, where Python runs their handlers.

A handler may run at the start of any Python function. What it raises there, as Ctrl-C does, is lost
where C calls the function, as LLVM does to ask for code. Commands compile in another thread, which
has no handlers (:mod:`bbparse.storage.interrupts`); this is for those who call kernels themselves.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FrameType
from typing import ParamSpec, TypeVar

Taken = ParamSpec("Taken")
Given = TypeVar("Given")


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


def with_signals_held(function: Callable[Taken, Given]) -> Callable[Taken, Given]:
    """The function, during which signals wait."""

    @wraps(function)
    def calm(*arguments: Taken.args, **named: Taken.kwargs) -> Given:
        with held_signals():
            return function(*arguments, **named)

    return calm
