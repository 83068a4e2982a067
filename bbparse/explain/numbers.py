"""Numbers as readers expect them."""

from __future__ import annotations

import math

_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def number(value: float, digits: int = 2) -> str:
    """A number with a real minus sign; more digits where it would look like 0."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.{digits}f}"
    if value and not text.strip("-0.,"):
        text = f"{value:.1g}" if abs(value) >= 1e-4 else f"{value:.1e}"
    return text.replace("-", "−")


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign."""
    return ("+" if value >= 0 else "") + number(value, digits)


def grouped(n: int) -> str:
    """A whole number with commas."""
    return f"{n:,}"


def count(n: int, noun: str) -> str:
    """A number of things, with its noun in the plural where it should be."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def spelled(n: int, noun: str) -> str:
    """The same, with small numbers in words."""
    return count(n, noun).replace(str(n), _SMALL[n], 1) if n < len(_SMALL) else count(n, noun)


def ordinal(n: int) -> str:
    """1st, 2nd, 3rd, …"""
    ending = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


#: What templates know by name.
FILTERS = {f.__name__: f for f in (count, grouped, number, signed, spelled)}
