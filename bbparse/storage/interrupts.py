"""Work beside the main thread, so that signals end a process at once and leave nothing behind.

Python runs signal handlers in the main thread, between any two steps. What they raise is lost, or
worse, where compiled code is about to give arrays back. So a command does its work in another
thread (`apart`), and the main thread waits for its end or for a signal. After a signal it undoes
what would be left half done (`undone_by`), ends the processes that were started, and ends this one,
whatever the other thread is doing.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from time import monotonic
from types import FrameType
from typing import TypeVar

__all__ = ["apart", "clean_up", "in_main_thread", "undone_by", "wait_if_ending"]

T = TypeVar("T")

#: Seconds after which the main thread looks for signals that did not wake it.
_LOOK = 0.2
#: Seconds for which processes may tidy up, and for which something may be just begun.
_PATIENCE = 1.0
#: Bytes of the stack of the thread that works; main threads have half of it.
_STACK = 16 << 20

_undo: dict[object, Callable[[], object]] = {}


def _begin() -> None:
    """Start with nothing begun, as a fork does, which leaves alone what its parent began."""
    global _lock, _calls
    _lock = threading.Lock()  # held while something is begun, and for good when the process ends
    _calls = SimpleQueue()  # what other threads would have the main thread do
    _undo.clear()


_lock: threading.Lock
_calls: SimpleQueue[Callable[[], None]]
_begin()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin)


@contextmanager
def undone_by(undo: Callable[[T], object], begin: Callable[[], T]) -> Iterator[T]:
    """Begin something, and have it undone if a signal ends the process within the block."""
    key = object()
    with _lock:
        begun = begin()
        _undo[key] = lambda: undo(begun)
    try:
        yield begun
    finally:
        with _lock:
            _undo.pop(key, None)


def clean_up() -> None:
    """Undo what was begun, end the processes that were started, and have nothing more begun."""
    _lock.acquire(timeout=_PATIENCE)
    processes = sys.modules.get("multiprocessing")
    children = [] if processes is None else processes.active_children()
    for child in children:
        child.terminate()
    for undo in reversed(list(_undo.values())):
        with suppress(Exception):
            undo()
    end = monotonic() + _PATIENCE
    for child in children:
        child.join(max(0.0, end - monotonic()))
        child.kill()


def wait_if_ending() -> None:
    """Return unless a signal has come that ends the process, and then never."""
    with _lock:
        pass


class _Ended(BaseException):
    """A signal has come that ends the process."""


def apart(work: Callable[[], int], signals: Mapping[int, int], tell: Callable[[int], None]) -> int:
    """Do all that is left for a process to do in another thread than this one, the main thread.

    Returns what `work` does, the exit status, and raises what it raises. After one of the `signals`
    `tell` is given its number, and the process ends with its status.
    """
    done: Future[int] = Future()

    def end(number: int, frame: FrameType | None) -> None:
        if done.done():
            os._exit(done.result())
        raise _Ended(number)

    def run() -> None:
        _settle(done, work)
        _calls.put(lambda: None)

    try:
        for number in signals:
            signal.signal(number, end)
        size = threading.stack_size(_STACK)
        threading.Thread(target=run, daemon=True).start()
        threading.stack_size(size)
        while not done.done():
            with suppress(Empty):
                _calls.get(timeout=_LOOK)()
    except _Ended as ended:
        (number,) = ended.args
        try:
            clean_up()
            tell(number)
        finally:  # at once if another one comes
            os._exit(signals[number])
    return done.result()


def in_main_thread(function: Callable[[], T]) -> T:
    """Call what handles signals by itself in the main thread, which `apart` has wait."""
    if threading.current_thread() is threading.main_thread():
        return function()
    future: Future[T] = Future()
    _calls.put(lambda: _settle(future, function))
    return future.result()


def _settle(future: Future[T], function: Callable[[], T]) -> None:
    try:
        future.set_result(function())
    except _Ended:
        raise
    except BaseException as error:
        future.set_exception(error)
