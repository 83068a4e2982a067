"""Processes that do one task after the other, beside each other.

Forks have the model and the compiled code in common with this process; a process that is spawned
gets, or loads, its own.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any

from bbparse.errors import WorkerError
from bbparse.storage.interrupts import apart, clean_up

#: Seconds for which a process may tidy up before it is killed.
GRACE = 5.0


class Worker:
    """A process that is sent tasks, and sends what `work`, which raises nothing, makes of them.

    It ends with this process, or when its connection is closed. `others` have been started before;
    `start` is ``fork`` or ``spawn``. `WorkerError` if it cannot be started.
    """

    def __init__(
        self, work: Callable[[Any], Any], others: Sequence[Worker], start: str = "fork"
    ) -> None:
        context: Any = get_context(start)
        self.task: Any = None  #: What it is at, if anything; for whoever receives the answer.
        self.connection, theirs = context.Pipe()
        # it sees that this side is closed only if no fork has hold of it
        sides = [self.connection, *(one.connection for one in others)] if start == "fork" else []
        gc.freeze()  # the fork's garbage collector would write to all objects, and so copy them
        with _signals_later() as mask:
            self.process = context.Process(
                target=_serve, args=(work, theirs, sides, mask), daemon=True
            )
            try:
                self.process.start()
            except OSError as error:
                self.connection.close()
                raise WorkerError(f"no more processes can be started: {error.strerror}") from None
            finally:
                gc.unfreeze()
                theirs.close()

    def take(self, task: Any) -> None:
        """Begin with a task."""
        self.task = task
        with suppress(OSError):  # of one that was killed while it was idle: there is no answer
            self.connection.send(task)

    def end(self, grace: float = 0.0) -> None:
        """End it, whatever it is doing, in so many seconds."""
        self.process.join(grace)
        self.process.kill()
        self.process.join()
        self.connection.close()


@contextmanager
def _signals_later() -> Iterator[set[int]]:
    """Have signals wait until a fork knows what to do with them; yields what waits anyway."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield set()
        return
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
    try:
        yield set(map(int, mask))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _serve(
    work: Callable[[Any], Any], theirs: Connection, sides: list[Connection], mask: set[int]
) -> None:
    """Do one task after the other, until the other process ends this one, or is gone."""
    for side in sides:
        side.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process ends this one
    numbers = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    ends = {  # Windows has no SIGHUP
        number: 1
        for number in numbers
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN
    }
    for number in ends:
        signal.signal(number, signal.SIG_DFL)  # what the other process does is not for this one
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def loop() -> int:
        with suppress(OSError, EOFError):
            while True:
                theirs.send(work(theirs.recv()))
        return 0

    apart(loop, ends, lambda number: None)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        clean_up()
        os._exit(1)
