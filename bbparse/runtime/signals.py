"""Signals: commands work beside the main thread, which waits for their end or for a signal.

Python runs signal handlers in the main thread, between any two steps. An exception raised there is
lost, or worse, where compiled code is about to return arrays or LLVM calls back. So a command does
its work in another thread (`beside_main`). After a signal the main thread ends the processes that
were started, undoes unfinished work (`undone_by`), and ends its own process, whatever the other
thread is doing. Those who call kernels themselves have signals delayed while one is compiled
(`held_signals`).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, TypeVar

T = TypeVar("T")

#: Seconds between checks for signals that did not wake the main thread.
_POLL_SECONDS = 0.2
#: Seconds that a step just begun, and child processes, have to end.
_GRACE_SECONDS = 1.0
#: Bytes of the stack of the working thread; main threads have half of it.
_STACK = 16 << 20
#: Signals that end a process; Windows has no SIGHUP.
_ENDING = [getattr(signal, x) for x in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, x)]

_lock = threading.Lock()  # held while a step begins, and for ever once the process is ending
_undo: dict[object, Callable[[], object]] = {}
_stops: list[Callable[[int], object]] = []  # of servers that end by themselves


@contextmanager
def undone_by(undo: Callable[[T], object], begin: Callable[[], T]) -> Iterator[T]:
    """Call `begin`, and call `undo` with its result if a signal ends the process in the block."""
    key = object()
    with _lock:
        result = begin()
        _undo[key] = lambda: undo(result)
    try:
        yield result
    finally:
        with _lock:
            _undo.pop(key, None)


@contextmanager
def stopped_by(stop: Callable[[int], object]) -> Iterator[None]:
    """Call `stop` with each signal that comes in the block, instead of ending the process."""
    if threading.current_thread() is not threading.main_thread():
        _stops.append(stop)
        try:
            yield
        finally:
            _stops.remove(stop)
        return
    before = {n: signal.signal(n, lambda number, _: stop(number)) for n in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wait_if_ending() -> None:
    """Return at once, or never if a signal is ending the process."""
    with _lock:
        pass


def beside_main(work: Callable[[], int]) -> int:
    """Run the rest of a process in another thread than this one, the main thread.

    Returns the exit status that `work` returns; what it raises is raised here. Signals that are
    ignored (nohup) stay so.
    """
    events: SimpleQueue[int] = SimpleQueue()
    result: Future[int] = Future()
    process, is_ending = os.getpid(), False

    def receive(number: int, frame: object) -> None:
        # nothing is raised: an exception might be lost in a callback
        if is_ending or os.getpid() != process:  # a second signal does not wait; a fork is no owner
            os._exit(128 + number)
        events.put(number)

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)
        events.put(0)

    for number in _ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, receive)
    size = threading.stack_size(_STACK)
    threading.Thread(target=run, daemon=True).start()
    threading.stack_size(size)
    while not result.done():
        with suppress(Empty):
            number = events.get(timeout=_POLL_SECONDS)
            if number and _stops:
                _stops[-1](number)
            elif number and not result.done():
                is_ending = True
                _end(number)
    return result.result()


def _end(number: int) -> None:
    """Undo all unfinished steps, let no step begin, say what ended the command, and end."""
    _lock.acquire(timeout=_GRACE_SECONDS)
    processes = sys.modules.get("multiprocessing")  # may be half imported
    children: list[Any] = getattr(processes, "active_children", list)()
    for child in children:
        child.terminate()
    last = monotonic() + _GRACE_SECONDS
    for child in children:
        child.join(max(0.0, last - monotonic()))
        child.kill()
    for undo in reversed(list(_undo.values())):
        with suppress(Exception):
            undo()
    end = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    with suppress(Exception):  # a terminal shows bars, and ^C: the line is one of its own
        start = "\n" if sys.stderr.isatty() else ""
        print(f"{start}bbparse: {end}", file=sys.stderr, flush=True)
    os._exit(128 + number)


@contextmanager
def held_signals() -> Iterator[None]:
    """Delay the signals that arrive in this context, and handle them at its end."""
    received: list[int] = []
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        current = {number: signal.getsignal(number) for number in signal.valid_signals()}
        handlers = {number: handler for number, handler in current.items() if callable(handler)}
    try:
        for number in handlers:
            signal.signal(number, lambda number, _: received.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for received_number in received:
        signal.raise_signal(received_number)
