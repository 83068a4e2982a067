"""Signals: commands work beside the main thread, which waits for their end or for a signal.

Python runs signal handlers in the main thread, between any two steps. An exception raised there is
lost, or worse, where compiled code is about to return arrays or LLVM calls back. So a command does
its work in another thread (`beside_main`). After a signal the main thread ends the processes that
were started, undoes unfinished work (`undone_by`), and ends its own process, whatever the other
thread is doing.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

#: Seconds that a step just begun, and each child process, has to end.
_GRACE_SECONDS = 1.0
#: Bytes of the stack of a working thread; main threads have half of it.
_STACK = 16 << 20
#: Signals that end a process; Windows has no SIGHUP.
_ENDING = [getattr(signal, x) for x in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, x)]

_lock = threading.Lock()  # held while a step begins, and for ever once the process is ending
_undo: dict[object, Callable[[], object]] = {}
_stops: list[Callable[[int], object]] = []  # of servers that end by themselves
#: Called several times a second by the main thread while it waits in `beside_main`.
while_waiting: list[Callable[[], object]] = []


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
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {n: signal.signal(n, lambda number, _: stop(number)) for n in _ENDING}
    _stops.append(stop)  # for `beside_main`
    try:
        yield
    finally:
        _stops.remove(stop)
        for number, handler in before.items():
            signal.signal(number, handler)


def wait_if_ending() -> None:
    """Return at once, or never if a signal is ending the process."""
    with _lock:
        pass


def in_thread(work: Callable[..., T], *arguments: Any) -> Future[T]:
    """Call a function in another thread."""
    size = threading.stack_size(_STACK)
    result = ThreadPoolExecutor(1).submit(work, *arguments)
    threading.stack_size(size)
    return result


def beside_main(work: Callable[[], int]) -> int:
    """Run the rest of a process in another thread; return its exit status, or raise its error."""
    events: SimpleQueue[int] = SimpleQueue()
    for number in _ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            # nothing is raised: an exception might be lost in a callback
            signal.signal(number, lambda number, _: events.put(number))
    result = in_thread(work)
    result.add_done_callback(lambda _: events.put(0))
    while not result.done():
        for call in while_waiting:
            call()
        with suppress(Empty):
            number = events.get(timeout=0.2)  # a signal that another thread gets wakes nobody
            if number:
                (_stops[-1] if _stops else _end)(number)
    return result.result()


def _end(number: int) -> None:
    """Undo all unfinished steps, let no step begin, say what ended the command, and end."""
    from multiprocessing import active_children

    for other in _ENDING:
        signal.signal(other, signal.SIG_DFL)  # a second signal does not wait
    _lock.acquire(timeout=_GRACE_SECONDS)
    children = active_children()
    for child in children:
        child.kill()
    for child in children:
        child.join(_GRACE_SECONDS)
    for undo in reversed(list(_undo.values())):
        with suppress(Exception):
            undo()
    end = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    with suppress(Exception):  # a terminal shows bars, and ^C: the line is one of its own
        start = "\n" if sys.stderr.isatty() else ""
        print(f"{start}bbparse: {end}", file=sys.stderr, flush=True)
    os._exit(128 + number)
