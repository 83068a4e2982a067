"""The clock: Python and kernels read the same one."""

from __future__ import annotations

import math

from bbparse.deadline import NO_DEADLINE, Deadline, clock
from bbparse.jit import kernel
from bbparse.jit.clock import is_over, now


@kernel
def turns_until(until: float) -> int:
    """Turns of a loop that ends at a moment."""
    count = 0
    while not is_over(until):
        count += 1
    return count


def test_kernels_read_the_clock_of_deadlines() -> None:
    turns_until(0.0)
    before = clock()
    inside = now()
    assert before <= inside <= clock()
    end = clock() + 0.05
    assert turns_until(end) > 0 and end <= clock() < end + 20.0
    assert not is_over(math.inf) and is_over(-math.inf)


def test_deadlines() -> None:
    assert Deadline.after(None) is NO_DEADLINE and not NO_DEADLINE.is_over()
    assert NO_DEADLINE.left() == math.inf and NO_DEADLINE.limit() is None
    over = Deadline.after(0.0)
    assert over.is_over() and over.left() == over.limit() == 0.0
    later = Deadline.after(600.0)
    assert not later.is_over() and 500.0 < later.left() <= 600.0
    assert later.within(None) is later and later.within(0.0).is_over()
    assert over.within(600.0).at == over.at
    assert list(over.through("abc")) == ["a"] and list(later.through("abc")) == ["a", "b", "c"]
    assert not list(over.through(""))
