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
from typing import TYPE_CHECKING

from bbparse.errors import WorkerError
from bbparse.solving.in_order import AHEAD, in_order
from bbparse.treebank.sections import Section

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"
#: Seconds after which a thread gives Python's lock to one that waits for it. By default (5 ms) one
#: that comes out of a kernel waits for as long as tens of kernels take.
SWITCH_INTERVAL = 2e-4

Work = Callable[[Section], str]
Answer = tuple[Section, bytes | None]


def answers(
    work: Work, sections: Iterable[Section | None], workers: int, waits_for: int | None = None
) -> Generator[Answer, None, None]:
    """Sections in their order, with the text (in UTF-8) that `work` makes of them in some workers.

    Sections are read a little ahead. None among them is left out; it says that the next one may
    have to be waited for: until there is something to read from the descriptor `waits_for`, or
    everything so far is answered, it is not asked for. If they end in an error, what was before it
    comes first.

    An answer of None leaves the work to the caller: all of it with one worker; otherwise for the
    first section, because workers then have what is loaded and compiled for it, and for those with
    an error, which is raised there as if there were no workers. `WorkerError` if a worker was
    killed, or cannot be started.
    """
    source = iter(sections)
    for section in source:
        if section is not None:
            yield section, None
            if workers > 1:
                break
    if workers > 1 and CAN_FORK:
        yield from _by_forks(work, source, workers, waits_for)
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


def _by_forks(
    work: Work, source: Iterator[Section | None], most: int, waits_for: int | None
) -> Iterator[Answer]:
    from multiprocessing import connection

    workers: list[_Worker] = []
    tasks: deque[_Task] = deque()  # in the order of the input
    unsent: deque[_Task] = deque()  # the last of them
    more, waiting = True, False  # to be read, for it
    failure: Exception | None = None  # of reading

    def has_room() -> bool:
        """Whether to read on, which memory sets a limit to."""
        return more and len(tasks) < AHEAD * most

    try:
        while more or tasks:
            if waits_for is None and not tasks:
                waiting = False
            reads = has_room() and not waiting
            if reads:
                try:
                    section = next(source)
                except StopIteration:
                    more = False
                except Exception as error:
                    more, failure = False, error
                else:
                    waiting = section is None
                    if section is not None:
                        tasks.append(_Task(section))
                        unsent.append(tasks[-1])
            idle = [worker for worker in workers if worker.task is None]
            while unsent and (idle or len(workers) < most):
                if not idle:
                    idle = [_Worker(work, workers)]
                    workers += idle
                idle.pop().take(unsent.popleft())
            if not more:  # their ends take milliseconds, in which the others still work
                for worker in idle:
                    worker.connection.close()
            busy = {worker.connection: worker for worker in workers if worker.task is not None}
            sources: list[Connection | int] = [*busy]
            if waits_for is not None and waiting and has_room():
                sources.append(waits_for)
            ready = connection.wait(sources, 0 if reads else None) if sources else []
            waiting = waiting and waits_for not in ready
            for side, worker in busy.items():
                if side in ready:
                    worker.receive()
            while tasks and tasks[0].answered:
                task = tasks.popleft()
                yield task.section, task.answer
        if failure is not None:
            raise failure
    finally:
        for worker in workers:
            worker.kill()


class _Worker:
    """A fork of this process that does one task after the other, beside others."""

    def __init__(self, work: Work, others: Sequence[_Worker]) -> None:
        from multiprocessing import connection, get_context

        self.task: _Task | None = None
        self.connection, theirs = connection.Pipe()
        # it sees the end of this process only if no fork has hold of this side
        ours = [self.connection, *(worker.connection for worker in others)]
        gc.freeze()  # the fork's garbage collector would write to all objects, and so copy them
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        self.process = get_context("fork").Process(
            target=_serve, args=(work, theirs, ours, mask), daemon=True
        )
        try:
            self.process.start()
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
            self.connection.send(task.section)
        except OSError:
            raise self.death() from None

    def receive(self) -> None:
        """Receive the answer to the task."""
        try:
            answer = self.connection.recv()
        except (OSError, EOFError):
            raise self.death() from None
        task, self.task = self.task, None
        if task is not None:
            task.answered, task.answer = True, answer

    def death(self) -> Exception:
        """What to say of a worker that has ended by itself."""
        self.process.join()
        code = self.process.exitcode or 0
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
        self.process.kill()
        self.process.join()


def _serve(
    work: Work, theirs: Connection, ours: list[Connection], mask: set[int | signal.Signals]
) -> None:
    """Answer until the other side closes."""
    for side in ours:
        side.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other side ends this one
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    with suppress(OSError, EOFError):
        while True:
            section, answer = theirs.recv(), None
            # what is raised comes again, and is told, where the other side does it
            with suppress(BaseException):
                answer = work(section).encode()
            theirs.send(answer)
