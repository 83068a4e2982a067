"""Observers of a search: the hooks that a search calls, and the events that they receive.

A subclass of `Observer` overrides the hooks that it needs; by default they do nothing. The search
calls hooks between nodes, in chronological order. A hook must not change the search. Arcs have the
numbers of the problem that was passed to `solve`. Nodes are numbered from 1, the root, in the order
in which they are created. Without an observer nothing is recorded. If scores are numerically
unbalanced and the problem is solved again (`inference.search.proportion`), the observer sees
the first search only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bbparse.inference.relaxation.state import Incumbents, Node, Record
from bbparse.runtime.arrays import Float64s, Ints


class Started(NamedTuple):
    """The size of the problem when a search begins."""

    arcs: Ints  # candidates: neither forbidden nor rivals of required arcs
    edges: int  # hyperedges of the chart, or positions of the automata
    factors: int  # factors and count factors that are bounded by multipliers


class State(NamedTuple):
    """The state of a node after some oracle calls."""

    calls: int  # oracle calls of the whole search so far (a max-marginal pass counts as two more)
    bound: float  # on every tree of the node not among the best trees found; inf: none yet
    lower: float  # score of the best tree found by the search; -inf: none
    arcs: Ints  # alive in the node
    edges: int  # this and the next field: as in `Started`, alive in the node
    factors: int


class NodeEvent(NamedTuple):
    """The bounding of a node."""

    node: int
    parent: int  # 0: the node is the root
    depth: int
    arc: int  # the arc that distinguishes the node from its sibling; -1 at the root
    present: bool  # True if the node's trees have that arc, False if they lack it
    inherited: float  # the parent's bound; inf at the root
    closed: bool  # True if the node needs no further search; the bound in `state` is then -inf
    state: State
    calls: list[State]  # after each oracle call and elimination, if the observer wants them


class BranchEvent(NamedTuple):
    """The branching of a node."""

    node: int
    arc: int  # the branching arc; -1: the node was partitioned around its best tree
    children: tuple[int, ...]  # bounded next or later; until then they inherit the node's bound


class Finished(NamedTuple):
    """The end of a search."""

    status: str  # as in `Solution.status`
    upper: float  # upper bound on the score of any tree
    lower: float  # score of the best tree found
    calls: int  # oracle calls
    nodes: int


class Observer:
    """Hooks of a search; override those that you need.

    Set `wants_calls` to True for a record of each oracle call.
    """

    wants_calls: bool = False

    def started(self, event: Started) -> None:
        """Handle the start of the search: presolve is done and has not proved infeasibility."""

    def bounded(self, event: NodeEvent) -> None:
        """Handle a bounded node, after its oracle calls."""

    def branched(self, event: BranchEvent) -> None:
        """Handle a node that has children now."""

    def finished(self, event: Finished) -> None:
        """Handle the end of the search; always called, and last."""


class Watch:
    """Adapter from a search to its observer; ``given`` maps oracle arcs to the user's arcs."""

    def __init__(
        self, observer: Observer, given: Ints, counters: Float64s, best: Incumbents
    ) -> None:
        self._observer, self._given = observer, given
        self._counters, self._best = counters, best
        self._record: Record | None = None

    def started(self, node: Node, full_size: int) -> None:
        self._observer.started(Started(self._given, full_size, n_factors(node)))

    def record(self, calls: int) -> Record | None:
        """Return a record for the next node; None unless the observer wants calls."""
        if self._observer.wants_calls:
            rows, arcs = calls + 2, len(self._given)
            self._record = Record(
                np.empty((rows, 4)), np.empty(rows, np.int64), np.zeros(arcs, np.int64),
                np.zeros(1, np.int64),
            )  # fmt: skip
        return self._record

    def bounded(self, node: Any, inherited: float, stays: bool) -> None:
        """Report a node, with each of its calls if the observer wants them."""
        calls = []
        if self._record is not None:
            rows, factors, died, used = self._record
            for row in range(int(used[0])):
                count, bound, known, size = rows[row].tolist()
                alive = self._given[died > row]
                calls.append(State(int(count), bound, known, alive, int(size), int(factors[row])))
        lower = float(self._best.scores[0]) if self._best.found[0] else -np.inf
        last = State(
            int(self._counters[0]), node.bound if stays else -np.inf, lower,
            self._given[node.state.base > -np.inf], node.state.oracle.positions(),
            n_factors(node.state),
        )  # fmt: skip
        arc, present = self._arc(node.branched[0]), node.branched[1]
        self._observer.bounded(NodeEvent(
            node.number, node.parent, node.depth, arc, present, inherited, not stays, last, calls
        ))  # fmt: skip

    def branched(self, node: Any, children: list[Any]) -> None:
        """Report the children of a node."""
        arc = -1 if node.tree is not None else node.arc
        numbers = tuple(child.number for child in children)
        self._observer.branched(BranchEvent(node.number, self._arc(arc), numbers))

    def finished(self, event: Finished) -> None:
        self._observer.finished(event)

    def _arc(self, arc: int) -> int:
        return int(self._given[arc]) if arc >= 0 else -1


def n_factors(node: Node) -> int:
    """Return the number of factors and count factors that are alive in a node."""
    return int(node.factors.size[0] + node.counts.size[0])
