"""Geometry of the page's chart, which a template draws, and numbers formatted for readers."""

from __future__ import annotations

import math
from typing import Any

from bbparse.apps.explain.trace import Point
from bbparse.runtime.errors import counted


def number(value: float, digits: int = 2) -> str:
    """Format a number with a real minus sign, and with more digits if it would look like 0."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.{digits}f}"
    if value and not text.strip("-0.,"):
        text = f"{value:.1g}" if abs(value) >= 1e-4 else f"{value:.1e}"
    return text.replace("-", "−")


def signed(value: float, digits: int = 2) -> str:
    return ("+" if value >= 0 else "") + number(value, digits)


def ordinal(n: int) -> str:
    """Format as 1st, 2nd, 3rd, …"""
    ending = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


#: Filters of the templates by name.
FILTERS = {f.__name__: f for f in (counted, number, signed)}


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers from low to high, at most `most` steps apart."""
    span = high - low
    if span <= 0:
        return [low]
    step = 10.0 ** math.floor(math.log10(span / most))
    step *= next(times for times in (1.0, 2.0, 5.0, 10.0) if span / (step * times) <= most)
    first = math.ceil(low / step - 1e-9)
    return [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]


def bound_curve(curve: list[Point]) -> dict[str, Any]:
    """Draw the bounds on the best score over DP calls; return {} if no bound is finite."""
    finite = [v for p in curve for v in (p.upper, p.lower) if math.isfinite(v)]
    if not finite:
        return {}
    width, height, left, right, top, bottom = 660, 300, 74, 636, 26, 256
    low, high = min(finite), max(finite)
    room = (high - low) * 0.08 or abs(high) * 0.01 or 1.0
    low, high = low - room, high + room
    last = max(p.calls for p in curve)

    def x(calls: float) -> float:
        return round(left + (right - left) * calls / last, 1)

    def y(value: float) -> float:
        return round(top + (bottom - top) * (high - value) / (high - low), 1)

    def steps(name: str, points: list[Point]) -> list[tuple[float, float]]:
        corners: list[tuple[float, float]] = []
        for p in points:
            if math.isfinite(value := getattr(p, name)):
                corners += [(x(p.calls), corners[-1][1])] if corners else []
                corners.append((x(p.calls), y(value)))
        return corners

    def written(corners: list[tuple[float, float]]) -> str:
        return " ".join(f"{a},{b}" for a, b in corners)

    both = [p for p in curve if math.isfinite(p.upper) and math.isfinite(p.lower)]
    values = ticks(low, high, 5)
    digits = max(0, 1 - math.floor(math.log10(values[1] - values[0]))) if len(values) > 1 else 2
    met = curve[-1].upper <= curve[-1].lower
    return {
        "width": width,
        "height": height,
        "left": left,
        "right": right,
        "bottom": bottom,
        "label": f"Upper and lower bound over {last:,} dynamic-program calls;"
        f" {'they meet at' if met else 'the upper bound ends at'} {number(curve[-1].upper, 4)}",
        "levels": [(y(value), number(value, min(digits, 4))) for value in values],
        "calls": [(x(calls), int(calls)) for calls in ticks(0, last, 8) if calls == int(calls)],
        "lines": {name: written(steps(name, curve)) for name in ("upper", "lower")},
        "between": written(steps("upper", both) + steps("lower", both)[::-1]),
    }
