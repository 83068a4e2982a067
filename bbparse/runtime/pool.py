"""Threads and processes: results in order, or as they come.

Forked processes share the model and the compiled code with this process. Where processes cannot be
forked (Windows) or system libraries do not support it (macOS), threads take their place. Only
processes with a single thread are forked, since the locks of other threads would stay locked: this
process once, and the copy of it that makes all workers.
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
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any, Generic, NoReturn, TypeVar

from bbparse.runtime.errors import WorkerError
from bbparse.runtime.signals import alone, reset_signals, wait_if_ending

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
        self._lock, self._is_closed = threading.Lock(), False
        self._idle: list[Connection] = []
        self.pids: list[int] = []  #: Of the processes that were started.
        self._call = self._in_process if CAN_FORK else work
        self._executor = ThreadPoolExecutor(size)
        if CAN_FORK:
            try:
                self._requests, there = Pipe()
                self._maker = get_context("fork").Process(
                    target=_make_workers, args=(work, there), daemon=True
                )
                with alone(), there:
                    self._maker.start()
            except OSError as error:
                raise _too_many(error) from None
            try:
                self._idle += [self._started() for _ in range(size)]
            except WorkerError:
                self.close()
                raise

    def _started(self) -> Connection:
        """Start a process and return its connection."""
        try:
            with self._lock:
                if self._is_closed:
                    raise WorkerError("the workers are ending")
                here, there = Pipe()
                with there:
                    send_handle(self._requests, there.fileno(), self._maker.pid)
                    pid = self._requests.recv()
                if pid < 0:
                    raise OSError(-pid, os.strerror(-pid))
                self.pids.append(pid)
        except (EOFError, ConnectionError):
            wait_if_ending()
            raise WorkerError("no more processes can be started: their parent died") from None
        except OSError as error:
            raise _too_many(error) from None
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
            wait_if_ending()  # a signal ends workers, too: nobody is to hear of their deaths
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
        if CAN_FORK:
            with self._lock:
                self._is_closed = True
                self._maker.terminate()
            self._maker.join()
        self._executor.shutdown(wait=CAN_FORK, cancel_futures=True)


def _too_many(error: OSError) -> WorkerError:
    return WorkerError(f"no more processes can be started: {error.strerror}")


def _make_workers(work: Callable[[Any], Any], requests: Connection) -> NoReturn:
    """Fork a worker for each connection that comes; at the end, end them all."""
    pids = set[int]()

    def end(*_: Any) -> NoReturn:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in pids:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
        os._exit(0)

    _settle(requests)
    signal.signal(signal.SIGTERM, end)
    with suppress(EOFError, OSError):  # the parent process has ended
        while True:
            connection = Connection(recv_handle(requests))
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            pids -= {pid for pid in pids if os.waitpid(pid, os.WNOHANG)[0]}
            try:
                pid = os.fork()
                if pid == 0:
                    _serve(work, connection)
                pids.add(pid)
                requests.send(pid)
            except OSError as error:
                requests.send(-(error.errno or 0))
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
            connection.close()
    end()


def _settle(connection: Connection) -> None:
    """Keep nothing of the parent of a process but its standard streams and a connection."""
    reset_signals()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in map(int, os.listdir("/dev/fd")):
        with suppress(OSError):
            if descriptor in (0, 1, 2, connection.fileno()):
                continue
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                os.dup2(null, descriptor)  # else others would not see that their owner closes them


def _serve(work: Callable[[Any], Any], connection: Connection) -> NoReturn:
    """Do the tasks of a connection; end with the process that started the workers."""
    try:
        _settle(connection)
        threading.Thread(target=_end_with_parent, daemon=True).start()
        while True:
            task = connection.recv()
            answer: tuple[Any, Exception | None]
            try:
                answer = work(task), None
            except Exception as error:
                error.add_note(traceback.format_exc())
                answer = None, error
            connection.send(answer)
    except (EOFError, OSError):  # the process that started the workers has ended
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


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
