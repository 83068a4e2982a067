"""Workers on this machine: processes.

On Linux they are forks, which have the model and the compiled code in common; elsewhere each loads
its own.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any

from bbparse.corpus.recipe import Recipe
from bbparse.corpus.work import Outcome, Task, parse_task
from bbparse.errors import WorkerError

__all__ = ["local_crew"]

#: Seconds for which a process may tidy up before it is killed.
GRACE = 5.0
START = "fork" if sys.platform == "linux" else "spawn"


class _Worker:
    def __init__(self, recipe: Recipe) -> None:
        context: Any = get_context(START)
        self.task: Task | None = None
        self.connection, theirs = context.Pipe()
        gc.freeze()  # the fork's garbage collector would write to all objects, and so copy them
        with _signals_later() as mask:
            self.process = context.Process(target=_serve, args=(recipe, theirs, mask), daemon=True)
            try:
                self.process.start()
            except OSError as error:
                self.connection.close()
                raise WorkerError(f"no more processes can be started: {error.strerror}") from None
            finally:
                gc.unfreeze()
                theirs.close()

    def end(self) -> None:
        self.process.join(GRACE)
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


class LocalCrew:
    """So many processes, started as they are needed; see `Crew`."""

    def __init__(self, recipe: Recipe, most: int) -> None:
        self.recipe = recipe
        self.most = most
        self.workers: list[_Worker] = []

    def has_room(self) -> bool:
        """Whether one is idle or may still be started."""
        return len(self.workers) < self.most or any(one.task is None for one in self.workers)

    def take(self, task: Task) -> None:
        """Begin with a task."""
        worker = next((one for one in self.workers if one.task is None), None)
        if worker is None:
            worker = _Worker(self.recipe)
            self.workers.append(worker)
        worker.task = task
        with suppress(OSError):  # of one that was killed while it was idle; `wait` finds out
            worker.connection.send(task)

    def wait(self) -> list[tuple[Task, Outcome | None]]:
        """Wait for tasks to end."""
        busy = {one.connection: one for one in self.workers if one.task is not None}
        found: list[tuple[Task, Outcome | None]] = []
        for side in connection.wait(list(busy)):
            assert isinstance(side, Connection)
            worker = busy[side]
            task, worker.task = worker.task, None
            assert task is not None
            try:
                found.append((task, side.recv()))
            except (OSError, EOFError):
                worker.end()
                self.workers.remove(worker)
                found.append((task, None))
        return found

    def end(self) -> None:
        """End all processes, whatever they are doing; they leave nothing half written."""
        for worker in self.workers:
            worker.process.terminate()
        for worker in self.workers:
            worker.end()


@contextmanager
def local_crew(recipe: Recipe, most: int) -> Iterator[LocalCrew]:
    """Workers of this machine, while the block lasts."""
    crew = LocalCrew(recipe, most)
    try:
        yield crew
    finally:
        crew.end()


def _serve(recipe: Recipe, theirs: Connection, mask: set[int]) -> None:
    """Do one task after the other, until the parent ends this process, or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        task = theirs.recv()
        theirs.send(parse_task(recipe, task))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        with suppress(AttributeError):  # Windows
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
            time.sleep(GRACE)
        os._exit(1)
