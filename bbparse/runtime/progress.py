"""Progress bars for loops anywhere in the package; the command line turns them on.

A bar appears after two seconds, on standard error, and goes when its loop ends. The thread that
waits for signals draws it again each second, also while a single step takes long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self, TypeVar

from tqdm import tqdm

from bbparse.runtime import signals

T = TypeVar("T")

_drawn: ContextVar[bool] = ContextVar("bbparse_progress", default=False)


_shown: list[Bar] = []  # the innermost last

_DELAY, _INTERVAL = 2.0, 1.0


class Bar(tqdm):
    """A progress bar without a monitor thread, which a process that forks should not have."""

    monitor_interval = 0
    last_print_t: float

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, delay=_DELAY, disable=not _drawn.get(), **settings)
        if not self.disable:
            _shown.append(self)

    def close(self) -> None:
        """Remove the bar."""
        _shown[:] = [bar for bar in _shown if bar is not self]  # tqdm compares the places of bars
        super().close()

    def beat(self) -> None:
        """Draw the bar again if it has not changed for a second."""
        now: float = self._time()
        if now - self.start_t < _DELAY or now - self.last_print_t < _INTERVAL:
            return
        with self.get_lock():
            if not self.disable:  # closed meanwhile
                self.last_print_t = now
                self.display()

    @classmethod
    def over(cls, n_bytes: int | None) -> Self:
        """Make a bar over bytes with a description and the times; None: over sentences."""
        layout = "{percentage:3.0f}%|{bar}| {desc}{elapsed}, {remaining} left"
        unit = " sentences"
        return cls(total=n_bytes, bar_format=None if n_bytes is None else layout, unit=unit)


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
    return Bar(items, desc=title, unit=unit, leave=False)


def _beat() -> None:
    """Draw the innermost bar again."""
    for bar in _shown[-1:]:
        bar.beat()


signals.while_waiting.append(_beat)
