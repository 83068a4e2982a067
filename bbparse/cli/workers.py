"""Sections of an input for several workers at the same time, and what they made of them in order.

A worker is a fork of this process. It has the model and the compiled code in common with it, and
Python's lock to itself. Where processes cannot be forked (Windows) or system libraries do not stand
it (macOS), workers are threads, which wait for each other's Python.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from bbparse.errors import WorkerError
from bbparse.solving.in_order import AHEAD, in_order
from bbparse.treebank.sections import Section

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["CAN_FORK", "answers"]

CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"
#: Seconds after which a thread gives Python's lock to one that waits for it. By default (5 ms) one
#: that comes out of a kernel waits for as long as tens of kernels take.
SWITCH_INTERVAL = 2e-4

Work = Callable[[Section], str]
Answer = tuple[Section, bytes | None]


def answers(
    work: Work, sections: Iterable[Section | None], workers: int, waits_for: int | None = None
) -> Generator[Answer, None, None]:
    """Sections in their order, with what workers made of them.

    Parameters
    ----------
    work : callable
        Makes a text of a section.
    sections : iterable of Section or None
        Read a little ahead. None is left out; it says that the next one may have to be waited for:
        until there is something to read, or everything so far is answered, it is not asked for.
        If they end in an error, what was before it comes first.
    workers : int
        With 1 there are none, and all sections are left to the caller.
    waits_for : int, optional
        Descriptor of the file that sections are waited for from.

    Yields
    ------
    section : Section
    answer : bytes or None
        The text in UTF-8. None leaves the work to the caller: for the first section, because
        workers then have what is loaded and compiled for it, and for those with an error, which is
        raised there as if there were no workers.

    Raises
    ------
    WorkerError
        If a worker was killed, or cannot be started.
    """
    source = iter(sections)
    for section in source:
        if section is not None:
            yield section, None
            if workers > 1:
                break
    if workers > 1 and CAN_FORK:
        yield from _Forks(work, source, workers, waits_for).answers()
    elif workers > 1:
        yield from _by_threads(work, source, workers)


def _by_threads(work: Work, source: Iterator[Section | None], workers: int) -> Iterator[Answer]:
    more = True

    def answer(section: Section) -> Answer:
        try:
            return section, work(section).encode()
        except Exception:
            return section, None

    def some() -> Iterator[Section]:
        """Up to the next None, and so what is to be answered before more is read."""
        nonlocal more
        for section in source:
            if section is None:
                return
            yield section
        more = False

    sys.setswitchinterval(SWITCH_INTERVAL)
    while more:
        yield from in_order(answer, some(), workers)


@dataclass(slots=True)
class _Task:
    section: Section
    answered: bool = False
    answer: bytes | None = None


class _Forks:
    """Forks of this process, and what they have to do; see `answers`."""

    def __init__(
        self, work: Work, source: Iterator[Section | None], most: int, waits_for: int | None
    ) -> None:
        self.work = work
        self.source = source
        self.most = most
        self.waits_for = waits_for
        self.workers: list[_Worker] = []
        self.tasks: deque[_Task] = deque()  # in the order of the input
        self.unsent: deque[_Task] = deque()  # the last of them
        self.more = True  # to be read
        self.waiting = False  # for it
        self.failure: Exception | None = None  # of reading

    def answers(self) -> Iterator[Answer]:
        """See the function of that name."""
        try:
            while self.more or self.tasks:
                if self.waits_for is None and not self.tasks:
                    self.waiting = False
                reads = self.has_room() and not self.waiting
                if reads:
                    self.read()
                self.hand_out()
                self.collect(wait=not reads)
                while self.tasks and self.tasks[0].answered:
                    task = self.tasks.popleft()
                    yield task.section, task.answer
            if self.failure is not None:
                raise self.failure
        finally:
            for worker in self.workers:
                worker.kill()

    def has_room(self) -> bool:
        """Whether to read on, which memory sets a limit to."""
        return self.more and len(self.tasks) < AHEAD * self.most

    def read(self) -> None:
        """Read a section."""
        try:
            section = next(self.source)
        except StopIteration:
            self.more = False
        except Exception as error:
            self.more, self.failure = False, error
        else:
            if section is None:
                self.waiting = True
            else:
                self.tasks.append(_Task(section))
                self.unsent.append(self.tasks[-1])

    def hand_out(self) -> None:
        """Give tasks to workers that have none, or to new ones."""
        for worker in self.workers:
            if self.unsent and worker.task is None:
                worker.take(self.unsent.popleft())
        while self.unsent and len(self.workers) < self.most:
            self.workers.append(_Worker(self.work, self.workers))
            self.workers[-1].take(self.unsent.popleft())
        if not self.more:  # their ends take milliseconds, in which the others still work
            for worker in self.workers:
                if worker.task is None:
                    worker.connection.close()

    def collect(self, wait: bool) -> None:
        """Take the answers that have come; or wait for one, or for more to read."""
        from multiprocessing import connection

        busy = {worker.connection: worker for worker in self.workers if worker.task is not None}
        sources: list[Connection | int] = [*busy]
        if self.waits_for is not None and self.waiting and self.has_room():
            sources.append(self.waits_for)
        if not sources:
            return
        ready = connection.wait(sources, None if wait else 0)
        if self.waits_for in ready:
            self.waiting = False
        for side, worker in busy.items():
            if side in ready:
                worker.receive()


class _Worker:
    """A fork of this process that does one task after the other.

    Parameters
    ----------
    work : callable
    others : sequence of _Worker
        Those that are there already.
    """

    def __init__(self, work: Work, others: Sequence[_Worker]) -> None:
        from multiprocessing.connection import Pipe

        self.task: _Task | None = None
        self.connection, theirs = Pipe()
        gc.freeze()  # the fork's garbage collector would write to all objects, and so copy them
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            self.pid = os.fork()
            if self.pid == 0:
                # it sees the end of this process only if no fork has hold of this side
                for worker in (self, *others):
                    worker.connection.close()
                _serve(work, theirs, mask)
        except OSError as error:
            self.connection.close()
            raise WorkerError(f"no more processes can be started: {error.strerror}") from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            gc.unfreeze()
            theirs.close()

    def take(self, task: _Task) -> None:
        """Begin with a task."""
        self.task = task
        try:
            self.connection.send_bytes(task.section.pack())
        except OSError:
            raise self.death() from None

    def receive(self) -> None:
        """Receive the answer to the task."""
        try:
            answer = self.connection.recv_bytes()
        except (OSError, EOFError):
            raise self.death() from None
        task, self.task = self.task, None
        if task is not None:
            task.answered, task.answer = True, answer[1:] if answer else None

    def death(self) -> Exception:
        """What to say of a worker that has ended by itself."""
        code = 0
        with suppress(ChildProcessError):
            code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.pid = 0
        if code == -signal.SIGKILL:
            return WorkerError(
                "a process that parses was killed, as the system does when memory runs out: use"
                " fewer --threads or a smaller --prune"
            )
        how = signal.Signals(-code).name if code < 0 else f"status {code}"
        return RuntimeError(f"a process that parses ended with {how}")

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        self.connection.close()
        if self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(self.pid, 0)


def _serve(work: Work, connection: Connection, mask: set[int | signal.Signals]) -> NoReturn:
    """Answer until the other side closes."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other side ends this one
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        with suppress(OSError, EOFError):
            while True:
                section = Section.unpack(connection.recv_bytes())
                try:
                    answer = b"+" + work(section).encode()
                except BaseException:  # comes again, and is told, where the other side does it
                    answer = b""
                connection.send_bytes(answer)
        status = 0
    finally:
        os._exit(status)  # nothing of what the other side has to do at its end
