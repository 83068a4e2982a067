"""A search that is watched: its nodes, its bounds after every DP call, and what it eliminated.

The search itself keeps no record. `TracedSearch` runs the same search and, in front of each node,
the same bounding of a copy of the node with fewer calls, once for each number of calls: what the
node's bounds were after one call, two calls and so on. So the record costs time only where it is
asked for, and what it shows is what happens. A stop after i calls ends with a look at the best tree
under the multipliers so far, which is just what call i + 1 does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.oracle.projective.chart import build, parts_of
from bbparse.oracle.projective.recurrences import RECURRENCES, cheapest
from bbparse.problem import Problem
from bbparse.problem.order import in_order
from bbparse.search.settings import DEFAULT, SearchSettings
from bbparse.search.tree import Node, Outcome, Search
from bbparse.solving.presolve import presolve

__all__ = ["Point", "Step", "Trace", "TracedNode", "TracedSearch", "trace_search"]

Arc = tuple[int, int]

#: Nodes whose calls are watched one by one; later nodes are recorded as a whole.
DETAILED = 60


@dataclass(frozen=True, slots=True)
class Step:
    """A node after some of its calls.

    Attributes
    ----------
    calls : int
        DP calls of the whole search so far (an inside-outside pass counts as three).
    bound : float
        On every tree of the node.
    lower : float
        Best tree known to the search.
    arcs, edges, factors : int
        Candidate arcs, hyperedges of the chart and factors that are alive in the node.
    """

    calls: int
    bound: float
    lower: float
    arcs: int
    edges: int
    factors: int


@dataclass(slots=True)
class TracedNode:
    """A node of the search tree.

    Attributes
    ----------
    number : int
        In the order of bounding, from 1.
    parent : int
        Number of the parent, 0 for the root.
    arc : (head, modifier) or None
        Arc that was branched on to get here; None at the root.
    present : bool
        Whether the node's trees have that arc.
    depth : int
    start : float
        Bound the node inherits.
    steps : list of Step
    bound : float
        In the end; -inf where no tree is left that would be better.
    closed : bool
    branched : (head, modifier) or None
        Arc its children differ in.
    """

    number: int
    parent: int
    arc: Arc | None
    present: bool
    depth: int
    start: float
    steps: list[Step] = field(default_factory=list)
    bound: float = np.inf
    closed: bool = False
    branched: Arc | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """The whole search after some calls: every tree scores at most `upper`, one scores `lower`."""

    calls: int
    upper: float
    lower: float


@dataclass(slots=True)
class Trace:
    """What happened in a search for the best tree.

    Attributes
    ----------
    nodes : list of TracedNode
    curve : list of Point
        Upper bounds never rise, lower bounds never fall.
    gone : dict of (head, modifier) → int
        DP calls after which an arc was eliminated at the root node; 0: before the search.
    left : set of (head, modifier)
        Arcs still alive when the root node was done.
    candidates, edges, factors : int
        Candidate arcs that the search began with, hyperedges of its chart, and factors.
    moved_factors : int
        Factors that the dynamic program took over.
    status : str
    upper, lower : float
        In the end.
    dp_calls : int
    """

    nodes: list[TracedNode] = field(default_factory=list)
    curve: list[Point] = field(default_factory=list)
    gone: dict[Arc, int] = field(default_factory=dict)
    left: set[Arc] = field(default_factory=set)
    candidates: int = 0
    edges: int = 0
    factors: int = 0
    moved_factors: int = 0
    status: str = "optimal"
    upper: float = np.inf
    lower: float = -np.inf
    dp_calls: int = 0


class TracedSearch(Search):
    """The search for the best tree, with a record of it in `trace`.

    Parameters
    ----------
    pairs : list of (head, modifier)
        Of each arc of the chart.
    others : as for `Search`
    """

    def __init__(self, pairs: list[Arc], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.pairs = pairs
        self.trace = Trace(
            candidates=len(pairs),
            edges=self.n_edges,
            factors=int(self.root.sizes[1] + self.root.sizes[2]),
        )
        self._record: dict[int, TracedNode] = {}
        self._kept: list[Node] = []  # so that no other node gets the id of one that is gone
        self._open: dict[int, float] = {}

    def _note(self, node: Node, parent: TracedNode | None, arc: int, present: bool) -> TracedNode:
        noted = TracedNode(
            0, parent.number if parent else 0, self.pairs[arc] if parent else None, present,
            node.depth, node.bound,
        )  # fmt: skip
        self._record[id(node)] = noted
        self._kept.append(node)
        self._open[id(node)] = node.bound
        return noted

    def _children(self, node: Node, arc: int) -> list[Node]:
        parent = self._record[id(node)]
        bound = self._open.pop(id(node))
        children = super()._children(node, arc)
        if len(children) == 1:
            self._open[id(node)] = bound
            return children
        parent.branched = self.pairs[arc]
        for child, present in zip(children, (True, False)):
            self._note(child, parent, arc, present)
        return children

    def _bound(self, node: Node) -> bool:
        noted = self._record.get(id(node)) or self._note(node, None, -1, False)
        if not noted.number:
            noted.number = len(self.trace.nodes) + 1
            self.trace.nodes.append(noted)
        if noted.number <= DETAILED:
            self._watch(node, noted)
        stays = super()._bound(node)
        noted.closed = not stays
        noted.bound = node.bound if stays else -np.inf
        if stays:
            self._open[id(node)] = node.bound
        else:
            self._open.pop(id(node), None)
        self._add(noted, self._step(node, node.bound, self))
        if noted.number == 1:
            self.trace.left = set(self._alive(node))
            for arc in set(self.pairs) - self.trace.left - set(self.trace.gone):
                self.trace.gone[arc] = int(self.counters[0])
        return stays

    def _watch(self, node: Node, noted: TracedNode) -> None:
        """Record the bounds of a node call by call, on copies."""
        most = self.settings.root_calls if node.depth == 0 else self.settings.node_calls
        spent = -1
        for calls in range(most):
            probe = _Probe(self, calls)
            copy = node.copy()
            stays = probe.bound(copy)
            if probe.counters[0] == spent:
                break  # the node stopped by itself before this call
            spent = int(probe.counters[0])
            if noted.number == 1 and calls:
                alive = set(self._alive(copy))
                for arc in self.pairs:
                    if arc not in alive:
                        self.trace.gone.setdefault(arc, spent)
            if not stays:
                break  # the whole node ends here, and `_bound` says how
            self._add(noted, self._step(copy, copy.bound, probe))

    def _step(self, node: Node, bound: float, search: Search | _Probe) -> Step:
        return Step(
            int(search.counters[0]),
            float(bound),
            float(search.scores[0]) if search.count[0] else -np.inf,
            len(self._alive(node)),
            int(node.item_ptr[node.sizes[0]]),
            int(node.sizes[1] + node.sizes[2]),
        )

    def _alive(self, node: Node) -> list[Arc]:
        return [self.pairs[a] for a in np.flatnonzero(node.base > -np.inf)]

    def _add(self, noted: TracedNode, step: Step) -> None:
        noted.steps.append(step)
        others = [b for key, b in self._open.items() if self._record[key] is not noted]
        mine = [] if noted.closed else [min(step.bound, noted.start)]
        upper = max([step.lower, *others, *mine])
        curve = self.trace.curve
        lower = step.lower
        if curve:
            upper, lower = min(upper, curve[-1].upper), max(lower, curve[-1].lower)
            if curve[-1].calls == step.calls:
                curve.pop()
        curve.append(Point(step.calls, upper, lower))


class _Probe:
    """The state of a search, copied, to bound a copy of a node with fewer calls."""

    def __init__(self, search: TracedSearch, calls: int) -> None:
        twin: Any = object.__new__(Search)
        twin.__dict__.update(search.__dict__)
        s = search.settings
        twin.settings = SimpleNamespace(
            method=s.method, root_calls=calls, node_calls=calls,
            eliminate_every=s.eliminate_every, close_k=1, precision=s.precision,
        )  # fmt: skip
        for name in ("trees", "scores", "count", "counters"):
            setattr(twin, name, getattr(search, name).copy())
        self._twin = twin

    @property
    def counters(self) -> NDArray[np.float64]:
        return self._twin.counters

    @property
    def scores(self) -> NDArray[np.float64]:
        return self._twin.scores

    @property
    def count(self) -> NDArray[np.int64]:
        return self._twin.count

    def bound(self, node: Node) -> bool:
        """Bound the copy; whether it stays open."""
        return Search._bound(self._twin, node)


def trace_search(
    problem: Problem,
    *,
    backbone: str | None = None,
    settings: SearchSettings = DEFAULT,
    node_limit: int | None = None,
    time_limit: float | None = None,
) -> Trace:
    """Find the best tree of a projective problem, as `bbparse.solve` does, and say how.

    Parameters
    ----------
    problem : Problem
        ``problem.projective`` must hold.
    backbone, settings, node_limit, time_limit : as for `bbparse.solve`

    Raises
    ------
    ValueError
        If the problem allows crossing arcs.
    """
    if not problem.projective:
        raise ValueError("only searches over projective trees are traced")
    problem, _ = in_order(problem)
    recurrence = cheapest(parts_of(problem)) if backbone is None else RECURRENCES[backbone]
    small, info = presolve(problem, recurrence.holds)
    every = set(zip(problem.arc_head.tolist(), problem.arc_mod.tolist()))
    if info.infeasible:
        return Trace(gone=dict.fromkeys(every, 0), status="infeasible")
    chart = build(small, recurrence)
    place = np.empty(chart.order.shape[0], np.int32)
    place[chart.order] = np.arange(chart.order.shape[0], dtype=np.int32)
    pairs = list(
        zip(small.arc_head[chart.order].tolist(), small.arc_mod[chart.order].tolist())
    )  # fmt: skip
    search = TracedSearch(
        pairs, chart, (small.factor_ptr, place[small.factor_arcs], small.factor_score), 1,
        settings, problem.quantum,
        (small.count_ptr, place[small.count_arcs], small.count_score_ptr, small.count_score),
    )  # fmt: skip
    outcome = search.run(time_limit, node_limit, 0.0)
    trace = search.trace
    trace.moved_factors = info.moved_factors
    for arc in every - set(pairs):
        trace.gone[arc] = 0
    _finish(trace, outcome)
    return trace


def _finish(trace: Trace, outcome: Outcome) -> None:
    trace.status = outcome.status
    trace.dp_calls = int(outcome.stats["dp_calls"])
    trace.lower = float(outcome.scores[0]) if len(outcome.scores) else -np.inf
    trace.upper = max(trace.lower, float(outcome.bound))
    if trace.curve and trace.curve[-1].upper > trace.upper:
        trace.curve.append(Point(trace.dp_calls, trace.upper, trace.lower))
        if trace.curve[-2].calls == trace.dp_calls:
            del trace.curve[-2]
