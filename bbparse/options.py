"""What options may be: one table of their numbers, for Python and the command line.

It needs nothing but Python, so that ``bbparse --help`` can have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, NamedTuple

from bbparse.errors import BBParseError, ConfigError


class Range(NamedTuple):
    """The numbers that an option may be."""

    least: int
    whole: bool = True
    optional: bool = False  #: None is as good: no limit, or the model's own choice.
    most: float = inf


OPTIONS: Mapping[str, Range] = MappingProxyType({
    "k_best": Range(1),
    "prune": Range(0, optional=True, most=(1 << 31) - 1),
    "time_limit": Range(0, whole=False, optional=True),
    "node_limit": Range(1, optional=True),
    "work_limit": Range(0, whole=False, optional=True),
    "gap": Range(0, whole=False),
    "threads": Range(1, most=1024),
    "members": Range(1, optional=True, most=16),
})  # fmt: skip


def check_options(values: Mapping[str, Any], error: type[BBParseError] = ConfigError) -> None:
    """Raise `error` for the first value that the option of its name does not take."""
    for name, value in values.items():
        check_number(name, value, OPTIONS[name], error)


def check_number(
    name: str, value: Any, within: Range, error: type[BBParseError] = ConfigError
) -> None:
    """Raise `error` unless a value is a number within a range, and no truth value."""
    if value is None and within.optional:
        return
    usual = type(value) is int or (type(value) is float and not within.whole)
    if usual and within.least <= value <= within.most:
        return
    right, kind = (Integral, "a whole number") if within.whole else (Real, "a number")
    number: Any = value
    if isinstance(value, bool) or not isinstance(value, right):
        raise error(f"{name} is {value!r:.60}, expected {kind}")
    if not number >= within.least:  # so that nan is none
        raise error(f"{name} is {value}, expected at least {within.least}")
    if number > within.most:
        raise error(f"{name} is {value}, expected at most {within.most}")


def check_type(
    name: str, value: Any, kind: type | tuple[type, ...], expected: str,
    error: type[BBParseError] = ConfigError,
) -> None:  # fmt: skip
    """Raise `error` unless a value is of a type, or of one of several."""
    if not isinstance(value, kind):
        raise error(f"{name} is of type {type(value).__name__}, expected {expected}")
