"""Sections of an input for several workers at the same time, and what they made of them in order.

A worker is a fork of this process. It has the model and the compiled code in common with it, and
Python's lock to itself. Where processes cannot be forked (Windows) or system libraries do not stand
it (macOS), workers are threads, which wait for each other's Python.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING

from bbparse.errors import WorkerError
from bbparse.solving.in_order import in_order
from bbparse.treebank.sections import Section

if TYPE_CHECKING:
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
        sys.setswitchinterval(SWITCH_INTERVAL)
        yield from _in_turns(partial(_answer, work), source, workers)


def _in_turns(
    ask: Callable[[Section], bytes | None],
    source: Iterator[Section | None],
    threads: int,
    waits_for: int | None = None,
    stop: Callable[[], None] = lambda: None,
) -> Iterator[Answer]:
    """What is asked of each section on some threads, which ``stop`` sets free."""
    more = True

    def some() -> Iterator[Section]:
        """Up to what is to be waited for, and so what is to be answered before more is read."""
        nonlocal more
        for section in source:
            if section is not None:
                yield section
            elif waits_for is None or not select.select([waits_for], [], [], 0)[0]:
                return
        more = False

    while more:
        yield from in_order(lambda section: (section, ask(section)), some(), threads, stop)


def _answer(work: Work, section: Section) -> bytes | None:
    """What is raised comes again, and is told, where the caller does the work."""
    with suppress(Exception):
        return work(section).encode()
    return None


def _by_forks(
    work: Work, source: Iterator[Section | None], most: int, waits_for: int | None
) -> Iterator[Answer]:
    """As many processes, each of which a thread waits for."""
    from bbparse.solving.processes import Worker

    workers: list[Worker] = []
    idle: SimpleQueue[Worker] = SimpleQueue()

    def ask(section: Section) -> bytes | None:
        worker = idle.get()
        worker.take(section)
        try:
            answer: bytes | None = worker.connection.recv()
        except (OSError, EOFError):
            raise _death(worker) from None
        finally:
            idle.put(worker)
        return answer

    def stop() -> None:
        for worker in workers:
            worker.process.kill()

    try:
        for _ in range(most):
            workers.append(Worker(partial(_answer, work), workers))
            idle.put(workers[-1])
        yield from _in_turns(ask, source, most, waits_for, stop)
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
