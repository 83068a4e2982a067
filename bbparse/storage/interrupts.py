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
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from types import FrameType
from typing import Any, Generic, TypeVar

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
_calls: SimpleQueue[_Call[Any]]
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
    for undo in reversed(list(_undo.values())):
        with suppress(Exception):
            undo()
    processes = sys.modules.get("multiprocessing")  # which may be about to be imported
    children: list[Any] = getattr(processes, "active_children", list)()
    for child in children:
        child.terminate()
    end = monotonic() + _PATIENCE
    for child in children:
        child.join(max(0.0, end - monotonic()))
        child.kill()


def wait_if_ending() -> None:
    """Return unless a signal has come that ends the process, and then never."""
    with _lock:
        pass


def apart(work: Callable[[], int], signals: Mapping[int, int], tell: Callable[[int], None]) -> int:
    """Do all that is left for a process to do in another thread than this one, the main thread.

    Returns what `work` does, the exit status, and raises what it raises. After one of the `signals`
    `tell` is given its number, and the process ends with its status.
    """
    done = _Call(work)
    came: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        # nothing is raised, which might be lost in a callback
        if done.done and done.error is None:
            os._exit(done.result())
        if not came:  # else a second one, which does not wait
            came.append(number)
            for step in (clean_up, partial(tell, number)):
                with suppress(Exception):
                    step()
        os._exit(signals[number])

    def run() -> None:
        done()
        _calls.put(done)

    for number in signals:
        signal.signal(number, end)
    size = threading.stack_size(_STACK)
    threading.Thread(target=run, daemon=True).start()
    threading.stack_size(size)
    while not done.done:
        with suppress(Empty):
            call = _calls.get(timeout=_LOOK)
            if call is not done:
                call()
    return done.result()


def in_main_thread(function: Callable[[], T]) -> T:
    """Call what handles signals by itself in the main thread, which `apart` has wait."""
    if threading.current_thread() is threading.main_thread():
        return function()
    call = _Call(function)
    ended = threading.Event()
    call.then = ended.set
    _calls.put(call)
    ended.wait()
    return call.result()


class _Call(Generic[T]):
    """A function that is called once, and what became of it."""

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
        """What it returned; raises what it raised."""
        if self.error is not None:
            raise self.error
        return self.value[0]
