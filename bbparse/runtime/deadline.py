"""Deadlines: one clock for Python and for kernels.

Work that can take long gets a `Deadline`, or its remaining seconds, and checks it between short
steps; kernels check it by :func:`bbparse.runtime.clock.is_over`.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")

if os.name == "nt":
    from ctypes import c_uint64, windll  # type: ignore[attr-defined,unused-ignore]

    _ticks = windll.kernel32.GetTickCount64
    _ticks.restype = c_uint64

    def clock() -> float:
        """Return the seconds of the clock that kernels read, too; it never goes back."""
        return 1e-3 * float(_ticks())

else:
    _gettime: Callable[[int], float] = time.clock_gettime

    def clock() -> float:
        """Return the seconds of the clock that kernels read, too; it never goes back."""
        return _gettime(time.CLOCK_MONOTONIC)


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time of `clock` after which no more work is begun; inf: none."""

    at: float = math.inf

    @staticmethod
    def after(seconds: float | None) -> Deadline:
        """Return the deadline that many seconds from now; None: no deadline."""
        return NO_DEADLINE if seconds is None else Deadline(clock() + seconds)

    def within(self, seconds: float | None) -> Deadline:
        """Return this deadline or the one that many seconds from now, whichever is earlier."""
        return self if seconds is None else Deadline(min(self.at, clock() + seconds))

    def left(self) -> float:
        """Return the seconds that are left, 0 once it is over."""
        return self.at if self.at == math.inf else max(0.0, self.at - clock())

    def limit(self) -> float | None:
        """Return the seconds that are left as a time limit of solvers: None without a deadline."""
        return None if self.at == math.inf else self.left()

    def is_over(self) -> bool:
        """Return True once the deadline has passed."""
        return self.at < math.inf and clock() >= self.at

    def through(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items until the deadline, but at least one if there are any."""
        for number, item in enumerate(items):
            if number and self.is_over():
                return
            yield item


class TimeOver(Exception):
    """A deadline has passed before there is anything to return."""


NO_DEADLINE = Deadline()
