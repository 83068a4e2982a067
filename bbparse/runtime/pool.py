"""`WorkerPool`: how workers of any kind take tasks; threads; results in the order of the items."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from queue import SimpleQueue
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

#: Items for each worker that are read ahead: enough to keep it busy, few enough to stream.
AHEAD = 3

T = TypeVar("T")
R = TypeVar("R")
Task = TypeVar("Task", contravariant=True)


class WorkerLost(Exception):
    """A process has ended by itself, or was killed; `status` is its exit status."""

    def __init__(self, status: int = 0) -> None:
        self.status = status

    def __str__(self) -> str:
        if self.status >= 0:
            return f"ended with {self.status}"
        try:
            return f"died of {signal.Signals(-self.status).name}"
        except ValueError:
            return f"died of signal {-self.status}"


class Ended(NamedTuple):
    """A task that a worker has ended: its result, or the error that took its place."""

    task: Any
    result: Any = None
    error: BaseException | None = None


class WorkerPool(Protocol[Task]):
    """Workers on this machine or others, each of which does one task at a time."""

    def has_room(self) -> bool:
        """Return True if another task can be taken now."""

    def take(self, task: Task) -> None:
        """Hand a task to a worker."""

    def wait(self, arrival: int | None = None) -> list[Ended]:
        """Wait until tasks end; or for room, or input of the descriptor ``arrival``, if it can.

        The error of a task is a `WorkerLost` if it may be tried again.
        """

    def close(self) -> None:
        """End the workers, whatever they are doing."""


class ThreadPool(Generic[T, R]):
    """Threads of this process. They share Python's lock, which kernels release."""

    def __init__(self, work: Callable[[T], R], size: int) -> None:
        self.work = work
        self._threads = ThreadPoolExecutor(size)
        self._ended: SimpleQueue[Ended] = SimpleQueue()

    def has_room(self) -> bool:
        """Return True: tasks wait for a thread."""
        return True

    def take(self, task: T) -> None:
        self._threads.submit(self._run, task)

    def _run(self, task: T) -> None:
        try:
            self._ended.put(Ended(task, self.work(task)))
        except BaseException as error:  # raised where the result is waited for
            self._ended.put(Ended(task, error=error))

    def wait(self, arrival: int | None = None) -> list[Ended]:
        return [self._ended.get()]

    def close(self) -> None:
        """Drop the tasks that have not begun, and wait for the others."""
        self._threads.shutdown(wait=True, cancel_futures=True)


def in_order(
    pool: WorkerPool[tuple[int, T]], items: Iterable[T | None], ahead: int,
    arrival: int | None = None,
) -> Generator[tuple[T, Any], None, None]:  # fmt: skip
    """Yield items with the results of a pool, in the order of the items; errors are raised.

    The tasks of the pool are pairs: a number and an item. At most ``ahead`` items are read and not
    yet yielded. If reading raises an error, the results of the items before it come first. A None
    among the items is left out; it says that the next one may have to be waited for. That one is
    read once the descriptor ``arrival`` has input, or all items so far are yielded.
    """
    source = enumerate(items)
    waiting: deque[tuple[int, T]] = deque()
    ended: dict[int, Ended] = {}
    failure: Exception | None = None
    is_more, pauses = True, False
    while is_more or waiting:
        while is_more and not pauses and len(waiting) < ahead and pool.has_room():
            try:
                number, item = next(source)
            except StopIteration:
                is_more = False
            except Exception as error:
                is_more, failure = False, error
            else:
                pauses = item is None
                if item is not None:
                    waiting.append((number, item))
                    pool.take((number, item))
        while waiting and waiting[0][0] in ended:
            number, item = waiting.popleft()
            _, result, problem = ended.pop(number)
            if problem is not None:
                raise problem
            yield item, result
        if waiting:
            found = pool.wait(arrival if pauses else None)
            ended.update((task.task[0], task) for task in found)
            pauses = pauses and bool(found)
        else:
            pauses = False
    if failure is not None:
        raise failure


def map_in_threads(function: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """Map a function over items on several threads; yield results in the order of the items.

    Threads save time only while ``function`` runs in kernels. Items are read a little ahead; with
    one thread no pool is started, and nothing is read ahead. Errors are as in `in_order`.
    """
    if threads <= 1:
        yield from map(function, items)
        return
    with closing(ThreadPool[tuple[int, T], R](lambda task: function(task[1]), threads)) as pool:
        for _, result in in_order(pool, items, AHEAD * threads):
            yield result
