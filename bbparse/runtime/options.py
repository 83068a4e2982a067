"""Ranges of numeric options: one table, for Python and the command line.

It imports nothing outside the standard library, so that ``bbparse --help`` can read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from numbers import Integral, Real
from types import MappingProxyType, UnionType
from typing import Any, NamedTuple

from bbparse.runtime.errors import BBParseError, ConfigError


class Range(NamedTuple):
    """Range of the numbers that an option takes."""

    minimum: int  #: Minimum.
    whole: bool = True
    optional: bool = False  #: None is allowed, too: no limit, or the default of the model.
    maximum: float = inf  #: Maximum.


#: Maximum of all numbers but inf.
_MOST = 1e300

OPTIONS: Mapping[str, Range] = MappingProxyType(
    {
        "k_best": Range(1),
        "prune": Range(0, optional=True, maximum=(1 << 31) - 1),
        "time_limit": Range(0, whole=False, optional=True),
        "node_limit": Range(1, optional=True),
        "tree_limit": Range(1, optional=True),
        "work_limit": Range(0, whole=False, optional=True),
        "gap": Range(0, whole=False),
        "threads": Range(1, maximum=1024),
        "members": Range(1, optional=True, maximum=16),
        "seed": Range(0),
    }
)


def check_options(values: Mapping[str, Any], error: type[BBParseError] = ConfigError) -> None:
    """Raise `error` for the first value that its option does not take."""
    for name, value in values.items():
        check_number(name, value, OPTIONS[name], error)


def check_number(
    name: str, value: Any, allowed: Range, error: type[BBParseError] = ConfigError
) -> None:
    """Raise `error` unless a value is a number within a range, and not a bool."""
    if value is None and allowed.optional:
        return
    is_plain = type(value) is (int if allowed.whole else float)
    if is_plain and allowed.minimum <= value <= min(allowed.maximum, _MOST):
        return
    right, kind = (Integral, "an integer") if allowed.whole else (Real, "a number")
    number: Any = value
    if isinstance(value, bool) or not isinstance(value, right):
        raise error(f"{name} is {value!r:.60}, expected {kind}")
    if not number >= allowed.minimum:  # also refuses nan
        raise error(f"{name} is {value}, expected at least {allowed.minimum}")
    if number > allowed.maximum:
        raise error(f"{name} is {value!r:.60}, expected at most {allowed.maximum}")
    if inf > number > _MOST:  # no float has such an integer
        raise error(f"{name} is {value!r:.20}…, expected at most {_MOST:g}")


def check_type(
    name: str,
    value: Any,
    kind: type | UnionType | tuple[type, ...],
    expected: str,
    error: type[BBParseError] = ConfigError,
) -> None:
    """Raise `error` unless a value is of a type, or of one of several."""
    if not isinstance(value, kind):
        raise error(f"{name} is of type {type(value).__name__}, expected {expected}")
