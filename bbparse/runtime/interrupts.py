"""Run a command beside the main thread, so that signals end it at once and leave nothing behind.

Python runs signal handlers in the main thread, between any two steps. An exception raised there is
lost, or worse, where compiled code is about to return arrays. So a command does its work in another
thread (`apart`), and the main thread waits for its end or for a signal. After a signal the main
thread undoes unfinished work (`undone_by`), ends the processes that were started, and ends its own,
whatever the other thread is doing.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from types import FrameType
from typing import Any, Generic, TypeVar

__all__ = ["apart", "clean_up", "in_main_thread", "undone_by", "wait_if_ending"]

T = TypeVar("T")

#: Seconds between checks for signals that did not wake the main thread.
_POLL_SECONDS = 0.2
#: Seconds that child processes have to clean up, and that a step just begun has to finish.
_GRACE_SECONDS = 1.0
#: Bytes of the stack of the working thread; main threads have half of it.
_STACK = 16 << 20

_undo: dict[object, Callable[[], object]] = {}


def _begin() -> None:
    """Reset the state of this module, also after a fork: the parent cleans up what it has begun."""
    global _lock, _calls
    _lock = threading.Lock()  # held while a step begins, and for ever once the process is ending
    _calls = SimpleQueue()  # calls that other threads pass to the main thread
    _undo.clear()


_lock: threading.Lock
_calls: SimpleQueue[_Call[Any]]
_begin()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin)


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


def clean_up() -> None:
    """Undo all unfinished steps, end the processes that were started, and let no step begin."""
    _lock.acquire(timeout=_GRACE_SECONDS)
    for undo in reversed(list(_undo.values())):
        with suppress(Exception):
            undo()
    processes = sys.modules.get("multiprocessing")  # may be half imported
    children: list[Any] = getattr(processes, "active_children", list)()
    for child in children:
        child.terminate()
    end = monotonic() + _GRACE_SECONDS
    for child in children:
        child.join(max(0.0, end - monotonic()))
        child.kill()


def wait_if_ending() -> None:
    """Return at once, or never if a signal is ending the process."""
    with _lock:
        pass


def apart(work: Callable[[], int], signals: Mapping[int, int], tell: Callable[[int], None]) -> int:
    """Run the rest of a process in another thread than this one, the main thread.

    Returns the exit status that `work` returns; what it raises is raised here. `signals` has the
    exit status after each signal, with whose number `tell` is called.
    """
    call = _Call(work)
    received: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        # nothing is raised: an exception might be lost in a callback
        if call.done and call.error is None:
            os._exit(call.result())
        if not received:  # a second signal does not wait
            received.append(number)
            for step in (clean_up, partial(tell, number)):
                with suppress(Exception):
                    step()
        os._exit(signals[number])

    def run() -> None:
        call()
        _calls.put(call)

    for number in signals:
        signal.signal(number, end)
    size = threading.stack_size(_STACK)
    threading.Thread(target=run, daemon=True).start()
    threading.stack_size(size)
    while not call.done:
        with suppress(Empty):
            next_call = _calls.get(timeout=_POLL_SECONDS)
            if next_call is not call:
                next_call()
    return call.result()


def in_main_thread(function: Callable[[], T]) -> T:
    """Call a function that handles signals by itself in the main thread, which `apart` frees."""
    if threading.current_thread() is threading.main_thread():
        return function()
    call = _Call(function)
    ended = threading.Event()
    call.then = ended.set
    _calls.put(call)
    ended.wait()
    return call.result()


class _Call(Generic[T]):
    """A function that is called once, and its result."""

    def __init__(self, function: Callable[[], T]) -> None:
        self.function = function
        self.then: Callable[[], None] = lambda: None
        self.done = False
        self.value: list[T] = []
        self.error: BaseException | None = None

    def __call__(self) -> None:
        try:
            self.value.append(self.function())
        except BaseException as error:
            self.error = error
        self.done = True
        self.then()

    def result(self) -> T:
        """Return what the function returned, or raise what it raised."""
        if self.error is not None:
            raise self.error
        return self.value[0]
