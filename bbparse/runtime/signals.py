"""Delay signals while a kernel is compiled in the main thread, where Python runs their handlers.

A handler may run at the start of any Python function. An exception raised there, as by Ctrl-C, is
lost if C calls the function, as LLVM does to request code. Commands compile in another thread,
which has no handlers (:mod:`bbparse.runtime.interrupts`); this module serves those who call kernels
themselves.

Garbage is not collected meanwhile, either: the objects of a compiler stay alive, and looking for
garbage among them takes a tenth of the time.
"""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FrameType
from typing import ParamSpec, TypeVar

Params = ParamSpec("Params")
Result = TypeVar("Result")


@contextmanager
def held_signals() -> Iterator[None]:
    """Delay the signals that arrive in this context, and handle them at its end."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)

    handlers = {}
    if threading.current_thread() is threading.main_thread():
        current = {number: signal.getsignal(number) for number in signal.valid_signals()}
        handlers = {number: handler for number, handler in current.items() if callable(handler)}
    try:
        for number in handlers:
            signal.signal(number, note)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for received_number in received:
        signal.raise_signal(received_number)


def undisturbed(function: Callable[Params, Result]) -> Callable[Params, Result]:
    """Return the function, during which signals are delayed and no garbage is collected."""

    @wraps(function)
    def call(*arguments: Params.args, **named: Params.kwargs) -> Result:
        collecting = gc.isenabled()
        gc.disable()
        try:
            with held_signals():
                return function(*arguments, **named)
        finally:
            if collecting:
                gc.enable()

    return call
