"""The unit of all learned weights."""

from __future__ import annotations

#: Value of a stored weight of 1: a power of two, so that sums of scores are exact in doubles.
QUANTUM = 2.0**-16
