"""Record of a search: its bounds over the calls of the dynamic program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bbparse.core import Problem
from bbparse.inference.search.observer import BranchEvent, Finished, NodeEvent, Observer
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


class Recorder(Observer):
    """Observer that records the bounds of a search."""

    wants_calls = True

    def __init__(self) -> None:
        self.trace = Trace()
        self._open: dict[int, float] = {}  # bounds of open nodes by number

    def bounded(self, event: NodeEvent) -> None:
        self._open.pop(event.node, None)
        others = max(self._open.values(), default=-np.inf)
        for state in (*event.calls, event.state):
            bound = min(state.bound, event.inherited)
            self._add(Point(state.calls, max(bound, others, state.lower), state.lower))
        if not event.closed:
            self._open[event.node] = bound

    def branched(self, event: BranchEvent) -> None:
        bound = self._open.pop(event.node)
        self._open.update(dict.fromkeys(event.children, bound))

    def finished(self, event: Finished) -> None:
        trace = self.trace
        trace.status, trace.dp_calls, trace.nodes = event.status, event.calls, event.nodes
        trace.lower, trace.upper = event.lower, event.upper
        if trace.curve:
            self._add(Point(event.calls, event.upper, event.lower))

    def _add(self, point: Point) -> None:
        """Add a point to the curve; it replaces one after as many calls."""
        curve = self.trace.curve
        if curve:
            upper, lower = min(point.upper, curve[-1].upper), max(point.lower, curve[-1].lower)
            point = Point(point.calls, upper, lower)
            if curve[-1].calls == point.calls:
                curve.pop()
        curve.append(point)


def trace_search(problem: Problem, **options: Any) -> Trace:
    """Solve a problem with these options of `bbparse.solve`, and return the record."""
    recorder = Recorder()
    solve(problem, observer=recorder, explain=False, **options)
    return recorder.trace
