"""Progress bars for loops that lie deep: the command line says whether they are drawn.

A bar appears after two seconds, on standard error, and goes when its loop is done. What takes long
without a loop is the first run, in which numba compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")

class Bar(tqdm):
    """A progress bar without a thread of its own, which a process that forks should not have."""

    monitor_interval = 0


_drawn: ContextVar[bool] = ContextVar("bbparse_progress", default=False)


@contextmanager
def progress_bars(drawn: bool = True) -> Iterator[None]:
    """Draw the bars of the loops that run inside, or not."""
    before = _drawn.set(drawn)
    try:
        yield
    finally:
        _drawn.reset(before)


def watched(items: Iterable[T], what: str, unit: str = " sentences") -> Iterable[T]:
    """The items, behind a bar where bars are drawn; ``what`` stands before it."""
    if not _drawn.get():
        return items
    return tqdm(items, desc=what, unit=unit, delay=2, leave=False)


def watch_compiling(tell: Callable[[int, float], None]) -> None:
    """Have ``tell`` called when numba begins to compile what is in no cache, and as it goes on.

    It is given how many functions are compiled, 0 the first time, and the seconds since then.
    numba is imported for it.
    """
    from numba.core import event

    started: list[float] = []
    done = 0

    class Watch(event.Listener):
        def on_start(self, event: object) -> None:
            if not started:
                started.append(monotonic())
                tell(0, 0.0)

        def on_end(self, event: object) -> None:
            nonlocal done
            done += 1
            tell(done, monotonic() - started[0])

    event.register("numba:compile", Watch())
