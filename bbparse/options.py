"""What numbers options may be: one table, which Python, the command line and settings share.

It needs nothing but Python, so that ``bbparse --help`` can have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, NamedTuple

from bbparse.errors import BBParseError, ConfigError


class Range(NamedTuple):
    """The numbers that an option may be: all from `least` on."""

    least: int
    whole: bool = True
    optional: bool = False  #: None is as good: no limit, or the model's own choice.


OPTIONS: Mapping[str, Range] = MappingProxyType({
    "k_best": Range(1),
    "prune": Range(0, optional=True),
    "time_limit": Range(0, whole=False, optional=True),
    "node_limit": Range(1, optional=True),
    "work_limit": Range(0, whole=False, optional=True),
    "gap": Range(0, whole=False),
    "threads": Range(1),
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
    right, kind = (Integral, "a whole number") if within.whole else (Real, "a number")
    number: Any = value
    if isinstance(value, bool) or not isinstance(value, right):
        raise error(f"{name} is {value!r:.60}, expected {kind}")
    if not number >= within.least:  # so that nan is none
        raise error(f"{name} is {value}, expected at least {within.least}")
