"""Parallel work on the sections of an input, with answers in order."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable, Generator, Iterable
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from functools import partial

from bbparse.runtime.errors import WorkerError
from bbparse.runtime.pool import AHEAD, Workers, in_order
from bbparse.treebank.sections import Section

Work = Callable[[Section], str]
Answer = tuple[Section, bytes | None]


def answers(
    work: Work, sections: Iterable[Section | None], workers: int,
    has_input: Callable[[], bool] = lambda: False,
) -> Generator[Answer, None, None]:  # fmt: skip
    """Yield sections in order, each with the text (in UTF-8) that `work` makes of it in a worker.

    None among the sections, and `has_input`, are as in `in_order`. An answer of None leaves the
    work to the caller: always with one worker; otherwise for the first section, so that workers
    share what it loads and compiles, and for sections with an error, which the caller then raises
    as it would without workers. Raises `WorkerError` if a worker died.
    """
    source = iter(sections)
    for section in source:
        if section is not None:
            yield section, None
            if workers > 1:
                break
    if workers > 1:
        with closing(Workers(partial(_answer, work), workers)) as pool:
            try:
                yield from in_order(pool.take, source, AHEAD * workers, has_input)
            except BrokenProcessPool:
                raise WorkerError(
                    "a process that parses has died, as when memory runs out: use fewer --threads"
                    " or a smaller --prune"
                ) from None


def _answer(work: Work, section: Section) -> bytes | None:
    """Return the answer; None after an error, which the caller's own attempt raises again."""
    with suppress(Exception):
        return work(section).encode()
    return None


def input_waits() -> bool:
    """Return True if standard input can be read at once."""
    with suppress(AttributeError, OSError, ValueError):
        return bool(select.select([sys.stdin.fileno()], [], [], 0.0)[0])
    return False
