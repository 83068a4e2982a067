"""Threads and processes of `concurrent.futures`: results in order, or as they come.

Forked processes share the model and the compiled code with this process. Where processes cannot be
forked (Windows) or system libraries do not support it (macOS), threads take their place.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from multiprocessing import get_context, parent_process
from typing import Any, Generic, TypeVar

from bbparse.runtime.errors import WorkerError

#: Processes can be forked, and system libraries support it.
CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"
#: Items for each worker that are read ahead: enough to keep it busy, few enough to stream.
AHEAD = 3
#: Seconds between two looks for input while results are awaited.
_POLL_SECONDS = 0.05

T = TypeVar("T")
R = TypeVar("R")

_work: Callable[[Any], Any]  # of this process, if it is a worker


class Workers(Generic[T, R]):
    """Processes, or threads, that call `work` with the tasks that they take.

    If a process dies, its future and all others raise `BrokenProcessPool`, and so does `take`.
    """

    def __init__(self, work: Callable[[T], R], size: int) -> None:
        self._executor: Executor
        if CAN_FORK:
            self._call: Callable[[T], R] = _do_task
            self._executor = ProcessPoolExecutor(size, get_context("fork"), _begin, (work,))
        else:
            self._call, self._executor = work, ThreadPoolExecutor(size)

    def take(self, task: T) -> Future[R]:
        """Queue a task; `WorkerError` if no process can be started."""
        try:
            return self._executor.submit(self._call, task)
        except OSError as error:
            raise WorkerError(f"no more processes can be started: {error.strerror}") from None

    def start(self) -> None:
        """Start the processes now, and not with the first task."""
        self._executor.submit(int)

    def close(self) -> None:
        """Drop the tasks that have not begun; end the processes, whatever they are doing."""
        processes = list((getattr(self._executor, "_processes", None) or {}).values())
        for process in processes:
            process.terminate()
        results = getattr(self._executor, "_result_queue", None)
        if results is not None:  # else half a result would be waited for, without an end of file
            results._writer.close()
        self._executor.shutdown(wait=bool(processes), cancel_futures=True)


def _begin(work: Callable[[Any], Any]) -> None:
    """Leave the handlers and the connections of the parent process, and end when it ends."""
    global _work
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it and ends this process
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in map(int, os.listdir("/dev/fd")):
        with suppress(OSError):
            if descriptor > 2 and stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                os.dup2(null, descriptor)  # else clients would not see that the parent closes it
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _do_task(task: Any) -> Any:
    return _work(task)


def in_order(
    take: Callable[[T], Future[R]], items: Iterable[T | None], ahead: int,
    has_input: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[T, R]]:  # fmt: skip
    """Yield items with the results of their futures, in the order of the items; errors are raised.

    At most ``ahead`` items are read and not yet yielded. If reading raises an error, the results of
    the items before it come first. A None among the items is left out; it says that the next one
    may have to be waited for. That one is read once there is input, or all items so far are
    yielded.
    """
    source = iter(items)
    waiting: deque[tuple[T, Future[R]]] = deque()
    failure: Exception | None = None
    is_more = True
    while is_more or waiting:
        pauses = False
        if is_more and len(waiting) < ahead:
            try:
                item = next(source)
            except StopIteration:
                is_more = False
            except Exception as error:
                is_more, failure = False, error
            else:
                pauses = item is None
                if item is not None:
                    waiting.append((item, take(item)))
        while waiting and (waiting[0][1].done() or pauses or not is_more or len(waiting) >= ahead):
            if pauses and has_input():
                break
            wait([waiting[0][1]], _POLL_SECONDS if pauses else None)
            if waiting[0][1].done():
                first, future = waiting.popleft()
                yield first, future.result()
    if failure is not None:
        raise failure


def as_they_end(
    work: Callable[[T], R], tasks: deque[T], size: int
) -> Generator[tuple[T, Future[R]], None, None]:
    """Yield tasks with their futures as they end, done by several processes, one at a time each.

    A process that dies ends its own task only, with `BrokenProcessPool`; another takes its place.
    Tasks may be added to the queue meanwhile.
    """
    idle = [Workers[T, R](work, 1) for _ in range(size)]
    busy: dict[Future[R], tuple[T, Workers[T, R]]] = {}
    try:
        while tasks or busy:
            while tasks and idle:
                task, workers = tasks.popleft(), idle.pop()
                busy[workers.take(task)] = task, workers
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                task, workers = busy.pop(future)
                if isinstance(future.exception(), BrokenProcessPool):
                    workers.close()
                    workers = Workers(work, 1)
                idle.append(workers)
                yield task, future
    finally:
        for workers in [*idle, *(workers for _, workers in busy.values())]:
            workers.close()


def map_in_threads(function: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """Map a function over items on several threads; yield results in the order of the items.

    Threads save time only while ``function`` runs in kernels. Items are read a little ahead; with
    one thread no pool is started, and nothing is read ahead. Errors are as in `in_order`.
    """
    if threads <= 1:
        yield from map(function, items)
        return
    executor = ThreadPoolExecutor(threads)
    try:
        take: Callable[[T], Future[R]] = partial(executor.submit, function)  # type: ignore[call-arg]
        for _, result in in_order(take, items, AHEAD * threads):
            yield result
    finally:
        executor.shutdown(cancel_futures=True)
