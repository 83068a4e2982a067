"""Parallel work on the sections of an input, with answers in order.

A worker is a fork of this process. It shares the model and the compiled code, and has a Python lock
of its own. Where processes cannot be forked (Windows) or system libraries do not support it
(macOS), workers are threads, which share Python's lock.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, suppress
from functools import partial

from bbparse.runtime.errors import WorkerError
from bbparse.runtime.pool import AHEAD, ThreadPool, WorkerLost, WorkerPool, in_order
from bbparse.treebank.sections import Section

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
    if workers > 1:
        with closing(_pool(partial(_answer, work), workers)) as pool:
            try:
                yield from in_order(pool, source, AHEAD * workers, waits_for)
            except WorkerLost as lost:
                raise _death(lost) from None


def _pool(
    ask: Callable[[tuple[int, Section]], bytes | None], workers: int
) -> WorkerPool[tuple[int, Section]]:
    from bbparse.runtime import processes

    if processes.CAN_FORK:
        return processes.ProcessPool(ask, workers, queued=1)
    sys.setswitchinterval(SWITCH_INTERVAL)
    return ThreadPool(ask, workers)


def _answer(work: Work, task: tuple[int, Section]) -> bytes | None:
    """Return the answer; None after an error, which the caller's own attempt raises again."""
    with suppress(Exception):
        return work(task[1]).encode()
    return None


def _death(lost: WorkerLost) -> Exception:
    """Return the error for a worker that has ended by itself."""
    if lost.status == -signal.SIGKILL:
        return WorkerError(
            "a process that parses was killed, as the system does when memory runs out: use"
            " fewer --threads or a smaller --prune"
        )
    return RuntimeError(f"a process that parses {lost}")
