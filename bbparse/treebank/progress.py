"""Progress bars for loops deep inside the package; the command line turns them on.

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

class Bar(tqdm):
    """A progress bar without a monitor thread, which a process that forks should not have."""

    monitor_interval = 0

    @classmethod
    def of_bytes(cls, total: int, disable: bool) -> Self:
        """Make a bar that shows a percentage of bytes, a description and the time left."""
        layout = "{percentage:3.0f}%|{bar}| {desc}, {remaining} left"
        return cls(delay=2, disable=disable, total=total, bar_format=layout)


_drawn: ContextVar[bool] = ContextVar("bbparse_progress", default=False)


@contextmanager
def progress_bars(drawn: bool = True) -> Iterator[None]:
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
