"""Exact sums for the checker: floats as integer multiples of the smallest float.

Every finite float64 is an integer multiple of 2**-1074, and Python's integers have arbitrary
precision. Adding them takes about as long as adding floats.
"""

from __future__ import annotations

import math

_BITS = 1074
#: Score of a structure that does not exist. A sum with it stays below half of it, as no sum of
#: floats comes near that magnitude.
NONE = -(1 << 2400)
_FAINT = NONE // 2


def to_units(x: float) -> int:
    """Convert a float to a number of units; `NONE` for -inf."""
    if x == -math.inf:
        return NONE
    numerator, denominator = x.as_integer_ratio()
    return numerator << (_BITS + 1 - denominator.bit_length())


def exists(units: int) -> bool:
    """Return True if a sum is a real score, with no `NONE` in it."""
    return units > _FAINT


def to_float(units: int) -> float:
    """Convert a number of units to the nearest float; -inf for sums with `NONE`."""
    return units / (1 << _BITS) if exists(units) else -math.inf
