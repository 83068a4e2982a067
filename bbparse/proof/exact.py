"""Sums without rounding, for the checker: floats as whole numbers of the least of them.

Every finite float64 is a whole number of units of 2**-1074, and Python's integers have as many
digits as it takes. Adding them costs about what adding floats costs.
"""

from __future__ import annotations

import math

_BITS = 1074
#: The score of what no tree has. What it is added to is less than half of it, too, as no sum of
#: floats comes near.
NONE = -(1 << 2400)
_FAINT = NONE // 2


def whole(x: float) -> int:
    """The number of units of a float; `NONE` for -inf."""
    if x == -math.inf:
        return NONE
    numerator, denominator = x.as_integer_ratio()
    return numerator << (_BITS + 1 - denominator.bit_length())


def exists(units: int) -> bool:
    """Whether a sum is the score of something: nothing in it is `NONE`."""
    return units > _FAINT


def rounded(units: int) -> float:
    """The float nearest to a number of units; -inf for sums that hold `NONE`."""
    return units / (1 << _BITS) if exists(units) else -math.inf
