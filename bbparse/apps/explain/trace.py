"""Record of a search: its bounds over the calls of the dynamic program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bbparse.core import Problem
from bbparse.inference.solve import solve


@dataclass(frozen=True, slots=True)
class Point:
    """The search after some calls: every tree scores at most `upper`, some tree scores `lower`."""

    calls: int
    upper: float
    lower: float


@dataclass(slots=True)
class Trace:
    """Record of a search for the best tree."""

    #: Upper bounds never rise, lower bounds never fall.
    curve: list[Point] = field(default_factory=list)
    status: str = "optimal"
    upper: float = np.inf  #: Final upper bound.
    lower: float = -np.inf
    dp_calls: int = 0
    nodes: int = 0  #: Number of search nodes; 0 if whole trees were scored instead.


def trace_search(problem: Problem, **options: Any) -> Trace:
    """Solve a problem with these options of `bbparse.solve`, and return the record."""
    curve: list[Point] = []

    def add(calls: int, upper: float, lower: float) -> None:
        """Add a point to the curve; it replaces one after as many calls."""
        if curve:
            upper, lower = min(upper, curve[-1].upper), max(lower, curve[-1].lower)
            if curve[-1].calls == calls:
                curve.pop()
        curve.append(Point(calls, upper, lower))

    solution = solve(problem, observer=add, explain=False, **options)
    stats, best = solution.stats, float(solution.scores.max(initial=-np.inf))
    calls, upper = int(stats.get("dp_calls", 0)), float(stats["upper_bound"])
    if curve or len(solution):
        add(calls, upper, best)
    return Trace(curve, solution.status, upper, best, calls, int(stats.get("nodes", 0)))
