"""Threads and processes: results in order, or as they come.

Forked processes share the model and the compiled code with this process. Where processes cannot be
forked (Windows) or system libraries do not support it (macOS), threads take their place.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from functools import partial
from multiprocessing import Pipe, get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

from bbparse.runtime.errors import WorkerError

#: Processes can be forked, and system libraries support it.
CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"
#: Items for each worker that are read ahead: enough to keep it busy, few enough to stream.
AHEAD = 3

T = TypeVar("T")
R = TypeVar("R")


class Workers(Generic[T, R]):
    """Processes, or threads, that call `work` with the tasks that they take.

    A thread of this process waits for each of them, at the end of a pipe that no other process
    has: a process that dies, even while it writes a result, ends its own task only, with
    `WorkerError`. Another takes its place.
    """

    def __init__(self, work: Callable[[T], R], size: int) -> None:
        self._work = work
        self._processes: list[Any] = []
        self._lock, self._is_closed = threading.Lock(), False
        self._idle = [self._started() for _ in range(size)] if CAN_FORK else []
        self._call = self._in_process if CAN_FORK else work
        self._executor = ThreadPoolExecutor(size)

    def _started(self) -> Connection:
        """Start a process and return its connection."""
        try:
            here, there = Pipe()
            fork = get_context("fork")
            process = fork.Process(target=_serve, args=(self._work, there), daemon=True)
            with self._lock, there:
                if self._is_closed:
                    raise WorkerError("the workers are ending")
                process.start()
                self._processes.append(process)
        except OSError as error:
            raise WorkerError(f"no more processes can be started: {error.strerror}") from None
        return here

    def _in_process(self, task: T) -> R:
        """Do a task in an idle process."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._started()
        try:
            connection.send(task)
            result, error = connection.recv()
        except (EOFError, OSError):
            connection.close()
            raise WorkerError("a worker process died, perhaps because memory ran out") from None
        self._idle.append(connection)
        if error is not None:
            raise error
        return result

    def take(self, task: T) -> Future[R]:
        """Queue a task."""
        return self._executor.submit(self._call, task)

    def close(self) -> None:
        """Drop the tasks that have not begun; end the processes, whatever they are doing."""
        with self._lock:
            self._is_closed = True
            for process in self._processes:
                process.kill()
        self._executor.shutdown(wait=bool(self._processes), cancel_futures=True)
        for process in self._processes:
            process.join()


def _serve(work: Callable[[Any], Any], connection: Connection) -> None:
    """Do the tasks of a connection, in a process of its own that ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it and ends this process
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in map(int, os.listdir("/dev/fd")):
        with suppress(OSError):
            if descriptor in (0, 1, 2, connection.fileno()):
                continue
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                os.dup2(null, descriptor)  # else others would not see that their owner closes them
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):  # the parent process has ended
        while True:
            task = connection.recv()
            answer: tuple[Any, Exception | None]
            try:
                answer = work(task), None
            except Exception as error:
                error.add_note(traceback.format_exc())
                answer = None, error
            connection.send(answer)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def in_order(
    take: Callable[[T], Future[R]], items: Iterable[T | None], ahead: int
) -> Iterator[tuple[T, R]]:
    """Yield items with the results of their futures, in the order of the items; errors are raised.

    At most ``ahead`` items are read and not yet yielded. If reading raises an error, the results of
    the items before it come first. A None among the items is left out; it says that the next one
    has to be waited for, so that all items so far are yielded before it is read.
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
            first, future = waiting.popleft()
            yield first, future.result()
    if failure is not None:
        raise failure


def as_they_end(
    work: Callable[[T], R], tasks: deque[T], size: int
) -> Generator[tuple[T, Future[R]], None, None]:
    """Yield tasks, also those queued meanwhile, with their futures as worker processes end them."""
    busy: dict[Future[R], T] = {}
    with closing(Workers(work, size)) as workers:
        while tasks or busy:
            while tasks and len(busy) < size:
                task = tasks.popleft()
                busy[workers.take(task)] = task
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                yield busy.pop(future), future


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
