"""Sections of an input for several workers at the same time, and what they made of them in order.

A worker is a fork of this process. It has the model and the compiled code in common with it, and
Python's lock to itself. Where processes cannot be forked (Windows) or system libraries do not stand
it (macOS), workers are threads, which wait for each other's Python.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bbparse.errors import WorkerError
from bbparse.solving.in_order import AHEAD, in_order
from bbparse.treebank.sections import Section

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from bbparse.solving.processes import Worker

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
        yield from in_order(lambda section: (section, _answer(work, section)), some(), workers)


def _answer(work: Work, section: Section) -> bytes | None:
    """What is raised comes again, and is told, where the caller does the work."""
    with suppress(Exception):
        return work(section).encode()
    return None


@dataclass(slots=True)
class _Task:
    section: Section
    answered: bool = False
    answer: bytes | None = None


def _by_forks(
    work: Work, source: Iterator[Section | None], most: int, waits_for: int | None
) -> Iterator[Answer]:
    from multiprocessing import connection

    from bbparse.solving.processes import Worker

    workers: list[Worker] = []
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
                    idle = [Worker(lambda task: _answer(work, task.section), workers)]
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
                    try:
                        answer = side.recv()
                    except (OSError, EOFError):
                        raise _death(worker) from None
                    task, worker.task = worker.task, None
                    task.answered, task.answer = True, answer
            while tasks and tasks[0].answered:
                task = tasks.popleft()
                yield task.section, task.answer
        if failure is not None:
            raise failure
    finally:
        for worker in workers:
            worker.end()


def _death(worker: Worker) -> Exception:
    """What to say of a worker that has ended by itself."""
    worker.process.join()
    code = worker.process.exitcode or 0
    if code == -signal.SIGKILL:
        return WorkerError(
            "a process that parses was killed, as the system does when memory runs out: use"
            " fewer --threads or a smaller --prune"
        )
    how = signal.Signals(-code).name if code < 0 else f"status {code}"
    return RuntimeError(f"a process that parses ended with {how}")
