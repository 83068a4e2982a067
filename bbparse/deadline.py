"""The moment by which an answer is due: one clock for Python and for kernels.

Whatever can take long is given a `Deadline`, or the seconds that one has left, and looks at it
between steps that are short; kernels look by :func:`bbparse.jit.clock.is_over`.
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
    """A moment of `clock` after which no more work is begun; inf: none."""

    at: float = math.inf

    @staticmethod
    def after(seconds: float | None) -> Deadline:
        """Return the deadline in so many seconds from now; None: there is none."""
        return NO_DEADLINE if seconds is None else Deadline(clock() + seconds)

    def within(self, seconds: float | None) -> Deadline:
        """Return this deadline or the one in so many seconds, whichever is earlier."""
        return self if seconds is None else Deadline(min(self.at, clock() + seconds))

    def left(self) -> float:
        """Return the seconds until then, 0 afterwards."""
        return self.at if self.at == math.inf else max(0.0, self.at - clock())

    def limit(self) -> float | None:
        """Return the same as an option of solvers: None where there is no deadline."""
        return None if self.at == math.inf else self.left()

    def is_over(self) -> bool:
        """Return whether the moment has come."""
        return self.at < math.inf and clock() >= self.at

    def through(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items until then, but one in any case, if there is one."""
        for number, item in enumerate(items):
            if number and self.is_over():
                return
            yield item


NO_DEADLINE = Deadline()
