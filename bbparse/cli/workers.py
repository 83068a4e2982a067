"""Parallel work on the sections of an input, with answers in order.

A worker is a fork of this process. It shares the model and the compiled code, and has a Python lock
of its own. Where processes cannot be forked (Windows) or system libraries do not support it
(macOS), workers are threads, which share Python's lock.
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
#: Seconds after which a thread passes Python's lock to a waiting one. By default (5 ms) a thread
#: that returns from a kernel waits as long as tens of kernels take.
SWITCH_INTERVAL = 2e-4

Work = Callable[[Section], str]
Answer = tuple[Section, bytes | None]


def answers(
    work: Work, sections: Iterable[Section | None], workers: int, waits_for: int | None = None
) -> Generator[Answer, None, None]:
    """Yield sections in order, each with the text (in UTF-8) that `work` makes of it in a worker.

    Sections are read a little ahead. A None among them is left out; it says that the next section
    may have to be waited for. That section is read once the descriptor `waits_for` has input, or
    all sections so far are answered. If the sections end in an error, the answers before it come
    first.

    An answer of None leaves the work to the caller: always with one worker; otherwise for the first
    section, so that workers share what it loads and compiles, and for sections with an error, which
    the caller then raises as it would without workers. Raises `WorkerError` if a worker was killed,
    or cannot be started.
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
    """Yield the answers for all sections from some threads, which ``stop`` releases."""
    more = True

    def ready() -> Iterator[Section]:
        """Yield the sections up to a wait; they are answered before more is read."""
        nonlocal more
        for section in source:
            if section is not None:
                yield section
            elif waits_for is None or not select.select([waits_for], [], [], 0)[0]:
                return
        more = False

    while more:
        yield from in_order(lambda section: (section, ask(section)), ready(), threads, stop)


def _answer(work: Work, section: Section) -> bytes | None:
    """Return the answer; None after an error, which the caller's own attempt raises again."""
    with suppress(Exception):
        return work(section).encode()
    return None


def _by_forks(
    work: Work, source: Iterator[Section | None], most: int, waits_for: int | None
) -> Iterator[Answer]:
    """Yield the answers of up to `most` processes, each of which a thread waits for."""
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
    """Return the error for a worker that has ended by itself."""
    worker.process.join()
    code = worker.process.exitcode or 0
    if code == -signal.SIGKILL:
        return WorkerError(
            "a process that parses was killed, as the system does when memory runs out: use"
            " fewer --threads or a smaller --prune"
        )
    how = signal.Signals(-code).name if code < 0 else f"status {code}"
    return RuntimeError(f"a process that parses ended with {how}")
