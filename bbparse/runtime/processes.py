"""Processes that work for this one, and the pool of those that take tasks.

Forked processes share the model and the compiled code with this process. A spawned process receives
or loads its own.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from bbparse.runtime.errors import WorkerError
from bbparse.runtime.interrupts import apart, clean_up, wait_if_ending
from bbparse.runtime.pool import Ended, WorkerLost

#: Processes can be forked, and system libraries support it.
CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"
#: Time in seconds that a process has to clean up before it is killed.
GRACE = 5.0
#: Signals that end a process; Windows has no SIGHUP.
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]

T = TypeVar("T")


class Child:
    """A process that runs a function, and of which this process takes care.

    It ignores SIGINT, which this process handles. `ours` are this side's ends of connections: a
    fork closes them, since nobody notices the end of this process while another holds them open.
    Raises `WorkerError` if the process cannot be started.
    """

    def __init__(
        self, run: Callable[..., object], *arguments: Any, ours: Sequence[Any] = ()
    ) -> None:
        context: Any = get_context("fork" if CAN_FORK else "spawn")
        gc.freeze()  # else the fork's garbage collector writes to all objects, which copies them
        with _signals_later() as mask:
            self.process = context.Process(
                target=_begin, args=(ours if CAN_FORK else (), mask, run, arguments), daemon=True
            )
            try:
                self.process.start()
            except OSError as error:
                raise WorkerError(f"no more processes can be started: {error.strerror}") from None
            finally:
                gc.unfreeze()

    def end(self, grace: float = 0.0) -> None:
        """End the process within ``grace`` seconds, whatever it is doing."""
        self.process.join(grace)
        self.process.kill()
        self.process.join()


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


def _begin(
    theirs: Sequence[Any], mask: set[int], run: Callable[..., object], arguments: Sequence[Any]
) -> None:
    """Leave what belongs to the parent process, its handlers of signals, too; then run."""
    for end in theirs:
        end.close()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it and ends this process
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)  # the parent's handlers must not run here
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    run(*arguments)


class ProcessPool(Generic[T]):
    """Up to ``size`` processes, started as they are needed, that each do one task after the other.

    ``work`` must not raise: a worker that does is lost, and all its tasks end with `WorkerLost`. A
    worker may have ``queued`` tasks besides the one it is doing, so that it need not wait for them.
    """

    def __init__(self, work: Callable[[T], Any], size: int, queued: int = 0) -> None:
        self.work, self.size, self.queued = work, size, queued
        self.workers: list[_Worker] = []

    def has_room(self) -> bool:
        """Return True if a worker may have another task, or may still be started."""
        return len(self.workers) < self.size or any(
            len(worker.tasks) <= self.queued for worker in self.workers
        )

    def take(self, task: T) -> None:
        """Hand a task to a worker; `WorkerError` if none can be started."""
        worker = min(self.workers, key=lambda w: len(w.tasks), default=None)
        if worker is None or (worker.tasks and len(self.workers) < self.size):
            worker = _Worker(self.work, self.workers)
            self.workers.append(worker)
        worker.tasks.append(task)
        with suppress(OSError):  # the process was killed while idle: it sends no result
            worker.connection.send(task)

    def wait(self, arrival: int | None = None) -> list[Ended]:
        """Wait until tasks end, or the descriptor ``arrival`` has input."""
        busy: dict[Any, _Worker] = {w.connection: w for w in self.workers if w.tasks}
        arrivals = [] if arrival is None else [arrival]
        found: list[Ended] = []
        for ready in connection.wait([*busy, *arrivals]):
            worker = busy.get(ready)
            if worker is None:
                continue
            try:
                result = worker.connection.recv()
            except (OSError, EOFError):
                wait_if_ending()  # else its tasks might be begun again
                self.workers.remove(worker)
                worker.end(GRACE)
                lost = WorkerLost(worker.process.exitcode or 0)
                found += [Ended(task, error=lost) for task in worker.tasks]
            else:
                found.append(Ended(worker.tasks.popleft(), result))
        return found

    def close(self) -> None:
        """End all processes, whatever they are doing; they leave nothing unfinished."""
        for worker in self.workers:
            worker.process.terminate()
        for worker in self.workers:
            worker.end(GRACE)


class _Worker(Child):
    """A process that receives tasks and sends back the results, and the tasks that it has."""

    def __init__(self, work: Callable[[Any], Any], others: Sequence[_Worker]) -> None:
        self.tasks: deque[Any] = deque()
        self.connection, theirs = connection.Pipe()
        ours = [self.connection, *(worker.connection for worker in others)]
        try:
            super().__init__(_do_tasks, work, theirs, ours=ours)
        except WorkerError:
            self.connection.close()
            raise
        finally:
            theirs.close()

    def end(self, grace: float = 0.0) -> None:
        super().end(grace)
        self.connection.close()


def _do_tasks(work: Callable[[Any], Any], theirs: Connection) -> None:
    """Do tasks until the parent process ends this one, or is gone."""
    tasks: SimpleQueue[bytes] = SimpleQueue()

    def receive() -> None:
        """Take tasks at once, so that no process waits for another that waits for it."""
        with suppress(OSError, EOFError):
            while True:
                tasks.put(theirs.recv_bytes())
        clean_up()
        os._exit(1)

    def loop() -> int:
        with suppress(OSError):
            while True:
                theirs.send(work(pickle.loads(tasks.get())))
        return 0

    ends = {number: 1 for number in _ENDING if signal.getsignal(number) == signal.SIG_DFL}
    threading.Thread(target=receive, daemon=True).start()
    apart(loop, ends, lambda number: None)
