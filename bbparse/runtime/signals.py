"""Signals: a thread waits for them and ends the process at once, whatever the main thread is doing.

Python runs signal handlers in the main thread, between any two steps. An exception raised there is
lost, or worse, where compiled code is about to return arrays or LLVM calls back. So nothing is
raised: the interpreter writes the number of a signal to a socket that a thread reads
(`until_signal`). It ends the processes that were started, undoes unfinished work (`undone_by`), and
ends the process. The thread pauses while a process is forked (`alone`): another thread may hold a
lock at that moment, which nobody would release in the new process.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from select import select
from typing import Any, TypeVar

T = TypeVar("T")

#: Seconds that a step just begun, and each child process, has to end.
_GRACE_SECONDS = 1.0
#: Bytes of the stack of a thread that compiles; main threads have half of it.
_STACK = 16 << 20
#: Signals that end a process; Windows has no SIGHUP.
_ENDING = [getattr(signal, x) for x in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, x)]

_lock = threading.Lock()  # held while a step begins, and for ever once the process is ending
_undo: dict[object, Callable[[], object]] = {}
_watchers: list[_Watcher] = []  # one in `until_signal`, else none
#: Called several times a second by the thread that waits for signals.
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
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wakeup = signal.set_wakeup_fd(-1)
    before = {n: signal.signal(n, lambda number, _: stop(number)) for n in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)


def wait_if_ending() -> None:
    """Return at once, or never if a signal is ending the process."""
    with _lock:
        pass


def in_thread(work: Callable[..., T], *arguments: Any) -> T:
    """Return the result of a function that is called in another thread, which then has ended."""
    size = threading.stack_size(_STACK)
    executor = ThreadPoolExecutor(1)
    result = executor.submit(work, *arguments)
    threading.stack_size(size)
    value = result.result()
    executor.shutdown()
    return value


class _Watcher:
    """A thread that ends the process at a signal."""

    def __init__(self) -> None:
        self._socket, self._wakeup = socket.socketpair()
        self._wakeup.setblocking(False)
        signal.set_wakeup_fd(self._wakeup.fileno(), warn_on_full_buffer=False)
        self._ending: threading.Thread | None = None
        self.start()

    def start(self) -> None:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._wakeup.send(b"\0")
        self._thread.join()
        task = f"/proc/self/task/{self._thread.native_id}"
        for _ in range(200):  # joined threads take a moment to leave the system
            if not os.path.exists(task):
                return
            time.sleep(0.001)

    def close(self) -> None:
        self.stop()
        signal.set_wakeup_fd(-1)
        self._socket.close()
        self._wakeup.close()

    def _watch(self) -> None:
        while True:
            is_ready = select([self._socket], [], [], 0.2)[0]
            for number in self._socket.recv(64) if is_ready else b"":
                if number == 0:
                    return
                if number in _ENDING:
                    self._end(number)
            for call in while_waiting:
                with suppress(OSError, ValueError):  # standard error is closed
                    call()

    def _end(self, number: int) -> None:
        if self._ending is not None:
            os._exit(128 + number)  # a second signal does not wait
        self._ending = threading.Thread(target=_end, args=[number], daemon=True)
        self._ending.start()


def until_signal(work: Callable[[], int]) -> int:
    """Run the rest of a process in its main thread; return its exit status, or raise its error."""
    for number in _ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, lambda *_: None)
    _watchers.append(_Watcher())
    try:
        return work()
    finally:
        wait_if_ending()
        _watchers.pop().close()


@contextmanager
def alone() -> Iterator[None]:
    """Pause the thread that waits for signals, and hold signals back, while a process is forked."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    for watcher in _watchers:
        watcher.stop()
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for watcher in _watchers:
            watcher.start()


def reset_signals() -> None:
    """Handle signals in a process that was just forked: ignore SIGINT, its parent ends it."""
    signal.set_wakeup_fd(-1)
    _watchers.clear()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


def _end(number: int) -> None:
    """Undo all unfinished steps, let no step begin, say what ended the command, and end."""
    from multiprocessing import active_children

    _lock.acquire(timeout=_GRACE_SECONDS)
    children = active_children()
    for child in children:
        child.terminate()
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
