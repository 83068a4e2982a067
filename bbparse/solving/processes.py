"""Worker processes: each does one task after the other.

Forked processes share the model and the compiled code with this process. A spawned process receives
or loads its own.
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

#: Time in seconds that a process has to clean up before it is killed.
GRACE = 5.0


class Worker:
    """A process that receives tasks and sends back the results of `work`, which must not raise.

    It ends with this process, or when its connection is closed. `others` are the workers started
    before; `start` is ``fork`` or ``spawn``. Raises `WorkerError` if the process cannot be started.
    """

    def __init__(
        self, work: Callable[[Any], Any], others: Sequence[Worker], start: str = "fork"
    ) -> None:
        context: Any = get_context(start)
        self.task: Any = None  #: The current task, if any; for the receiver of the result.
        self.connection, theirs = context.Pipe()
        # the process notices that this side is closed only if no other fork holds it open
        sides = [self.connection, *(one.connection for one in others)] if start == "fork" else []
        gc.freeze()  # else the fork's garbage collector writes to all objects, which copies them
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
        """Send a task to the process."""
        self.task = task
        with suppress(OSError):  # the process was killed while idle: it sends no result
            self.connection.send(task)

    def end(self, grace: float = 0.0) -> None:
        """End the process within ``grace`` seconds, whatever it is doing."""
        self.process.join(grace)
        self.process.kill()
        self.process.join()
        self.connection.close()


@contextmanager
def _signals_later() -> Iterator[set[int]]:
    """Block signals until a fork has set its handlers; yield the signals blocked before."""
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
    """Run the worker loop, until the parent process ends this one or is gone."""
    for side in sides:
        side.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it and ends this process
    numbers = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    ends = {  # Windows has no SIGHUP
        number: 1
        for number in numbers
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN
    }
    for number in ends:
        signal.signal(number, signal.SIG_DFL)  # the parent's handlers must not run here
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
