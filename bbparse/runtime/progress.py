"""Progress bars for loops anywhere in the package; the command line turns them on.

A bar appears after two seconds, on standard error, and goes when its loop ends. Only the first run
takes long without a loop: numba compiles then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Self, TypeVar

from tqdm import tqdm

T = TypeVar("T")

_drawn: ContextVar[bool] = ContextVar("bbparse_progress", default=False)


class Bar(tqdm):
    """A progress bar without a monitor thread, which a process that forks should not have."""

    monitor_interval = 0

    @classmethod
    def over(cls, n_bytes: int | None) -> Self:
        """Make a bar over bytes with a description and the time left; None: over sentences."""
        layout = None if n_bytes is None else "{percentage:3.0f}%|{bar}| {desc}, {remaining} left"
        off = not _drawn.get()
        return cls(delay=2, disable=off, total=n_bytes, bar_format=layout, unit=" sentences")


@contextmanager
def progress_bars(drawn: bool) -> Iterator[None]:
    """Turn the progress bars of the loops inside this context on or off."""
    before = _drawn.set(drawn)
    try:
        yield
    finally:
        _drawn.reset(before)


def watched(items: Iterable[T], title: str, unit: str = " sentences") -> Iterable[T]:
    """Return the items behind a progress bar with a title, if bars are on."""
    if not _drawn.get():
        return items
    return tqdm(items, desc=title, unit=unit, delay=2, leave=False)
