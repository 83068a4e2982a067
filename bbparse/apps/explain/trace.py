"""Record of a search: its nodes, and bounds after every DP call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bbparse.core import Problem
from bbparse.inference.search.observer import (
    BranchEvent,
    Finished,
    NodeEvent,
    Observer,
    State,
)
from bbparse.inference.solve import solve

Arc = tuple[int, int]

#: Number of nodes whose calls are recorded one by one; later nodes are recorded as a whole.
DETAILED = 60


@dataclass(slots=True)
class TracedNode:
    """A node of the search tree."""

    number: int  # in the order of bounding, from 1
    parent: int  # 0 for the root
    arc: Arc | None  # the arc that was branched on to get here
    present: bool  # True if the node's trees have that arc
    start: float  # the bound that the node inherits
    steps: list[State] = field(default_factory=list)
    bound: float = np.inf  # the final bound; -inf if no better tree is left
    closed: bool = False
    branched: Arc | None = None  # the arc in which its children differ


@dataclass(frozen=True, slots=True)
class Point:
    """The search after some calls: every tree scores at most `upper`, some tree scores `lower`."""

    calls: int
    upper: float
    lower: float


@dataclass(slots=True)
class Trace:
    """Record of a search for the best tree."""

    nodes: list[TracedNode] = field(default_factory=list)
    #: Upper bounds never rise, lower bounds never fall.
    curve: list[Point] = field(default_factory=list)
    status: str = "optimal"
    upper: float = np.inf  #: Final upper bound.
    lower: float = -np.inf
    dp_calls: int = 0


class Recorder(Observer):
    """Observer that records a search over the arcs (head, modifier) of a problem."""

    wants_calls = True

    def __init__(self, pairs: list[Arc]) -> None:
        self.trace = Trace()
        self._pairs = pairs
        self._open: dict[int, float] = {1: np.inf}  # bounds by number
        self._by_number: dict[int, TracedNode] = {}

    def bounded(self, event: NodeEvent) -> None:
        node, last = self._by_number.get(event.node), event.state
        if node is None:
            node = self._by_number[event.node] = TracedNode(
                len(self.trace.nodes) + 1,
                self._by_number[event.parent].number if event.parent else 0,
                self._pairs[event.arc] if event.arc >= 0 else None,
                event.present, event.inherited,
            )
            self.trace.nodes.append(node)
        for state in event.calls:
            if node.number <= DETAILED and state.calls < last.calls:
                self._add(node, event.node, state)
        node.closed, node.bound = event.closed, last.bound
        if event.closed:
            self._open.pop(event.node, None)
        else:
            self._open[event.node] = last.bound
        self._add(node, event.node, last)

    def branched(self, event: BranchEvent) -> None:
        bound = self._open.pop(event.node)
        self._open.update(dict.fromkeys(event.children, bound))
        if event.arc >= 0:
            self._by_number[event.node].branched = self._pairs[event.arc]

    def finished(self, event: Finished) -> None:
        trace = self.trace
        trace.status, trace.dp_calls = event.status, event.calls
        trace.lower, trace.upper = event.lower, event.upper
        if trace.curve and trace.curve[-1].upper > trace.upper:
            if trace.curve[-1].calls == trace.dp_calls:
                trace.curve.pop()
            trace.curve.append(Point(trace.dp_calls, trace.upper, trace.lower))

    def _add(self, node: TracedNode, number: int, state: State) -> None:
        """Add a step of a node, and the bounds of the search after it."""
        node.steps.append(state)
        bounds = [bound for key, bound in self._open.items() if key != number]
        bounds += [] if node.closed else [min(state.bound, node.start)]
        upper, lower, curve = max([state.lower, *bounds]), state.lower, self.trace.curve
        if curve:
            upper, lower = min(upper, curve[-1].upper), max(lower, curve[-1].lower)
            if curve[-1].calls == state.calls:
                curve.pop()
        curve.append(Point(state.calls, upper, lower))


def trace_search(problem: Problem, **options: Any) -> Trace:
    """Solve a problem with these options of `bbparse.solve`, and return the record."""
    recorder = Recorder(list(zip(problem.arc_head.tolist(), problem.arc_mod.tolist())))
    solve(problem, observer=recorder, explain=False, **options)
    return recorder.trace
