"""Watching a search: hooks that it calls, and what it tells them.

An observer is an object with the hooks of `Observer`, which do nothing by themselves. They are
called in the order of what happens, between nodes, and must leave the search alone. All arcs are
numbered as in the problem that was given to `solve`; nodes are numbered from 1, the root, in the
order in which they are made. Nothing is recorded where nobody watches. Where scores are out of
proportion, and a problem is solved again (:mod:`bbparse.solving.proportion`), they are told of the
first search.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.bounding.state import Incumbents
from bbparse.oracle.projective.build import Chart

Ints = NDArray[np.int32]


class Started(NamedTuple):
    """What a search begins with."""

    arcs: Ints  # candidates: neither forbidden nor rivals of required ones
    edges: int  # hyperedges of the chart, or places of the automata
    factors: int  # and count factors that are left for multipliers
    moved_factors: int  # that the oracle scores by itself


class State(NamedTuple):
    """A node as it stands after some oracle calls."""

    calls: int  # of the whole search so far (a pass for max-marginals counts as two more)
    bound: float  # on every tree of the node not among the best ones found; inf: none yet
    lower: float  # score of the best tree that the search knows; -inf: none
    arcs: Ints  # that are alive in the node
    edges: int  # this and the next: as in `Started`, alive in the node
    factors: int


class CallEvent(NamedTuple):
    """A node was bounded by one more oracle call (and what it eliminated after it)."""

    node: int
    state: State


class NodeEvent(NamedTuple):
    """A node was bounded."""

    node: int
    parent: int  # 0: this is the root
    depth: int
    arc: int  # what the node differs in from its sibling; -1 at the root
    present: bool  # whether the node's trees have that arc, or lack it
    inherited: float  # the parent's bound; inf at the root
    closed: bool  # nothing is left to look for in the node; its bound is then -inf in `state`
    state: State


class BranchEvent(NamedTuple):
    """A node was divided."""

    node: int
    arc: int  # that the children differ in; -1: it was divided by the arcs of its best tree
    children: tuple[int, ...]  # bounded next or later; they inherit the node's bound until then


class Finished(NamedTuple):
    """The end of a search."""

    status: str  # as in `Solution.status`
    upper: float  # no tree scores more
    lower: float  # score of the best one found
    calls: int
    nodes: int


class Observer:
    """Hooks for what a search does; override those that matter.

    Whether `called` is to be called, `wants_calls` says: it costs a record of each oracle call.
    """

    wants_calls: bool = False

    def started(self, event: Started) -> None:
        """Presolve is done, and there may be a tree."""

    def called(self, event: CallEvent) -> None:
        """An oracle call was made in a node."""

    def bounded(self, event: NodeEvent) -> None:
        """A node is bounded, after its calls."""

    def branched(self, event: BranchEvent) -> None:
        """A node has got children."""

    def finished(self, event: Finished) -> None:
        """The search is over; the last hook that is called, and always."""


#: A record of :class:`bbparse.bounding.state.Record` with room for nothing.
NOT_RECORDED = (
    np.empty((0, 4)), np.empty(0, np.int64), np.empty(0, np.int64), np.zeros(1, np.int64),
)  # fmt: skip


class Watch:
    """An observer of a search, and the arc of the given problem at each place of the oracle."""

    def __init__(
        self, observer: Observer, given: Ints, counters: NDArray[np.float64], best: Incumbents
    ) -> None:
        self._observer, self._given = observer, given
        self._counters, self._best = counters, best
        self._record = NOT_RECORDED

    def started(self, state: tuple[Any, ...], full_size: int, moved_factors: int) -> None:
        self._observer.started(Started(self._given, full_size, n_factors(state), moved_factors))

    def record(self, calls: int) -> tuple[Any, ...]:
        """Room for what happens in the next node, where that is asked for."""
        if self._observer.wants_calls:
            rows, arcs = calls + 2, len(self._given)
            self._record = (
                np.empty((rows, 4)), np.empty(rows, np.int64), np.zeros(arcs, np.int64),
                np.zeros(1, np.int64),
            )  # fmt: skip
        return self._record

    def bounded(self, node: Any, inherited: float, stays: bool) -> None:
        """Tell of a node: call by call if that was asked for, then as a whole."""
        rows, factors, died, used = self._record
        for row in range(int(used[0])):
            calls_so_far, bound, known, size = rows[row].tolist()
            alive = self._given[died > row]
            state = State(int(calls_so_far), bound, known, alive, int(size), int(factors[row]))
            self._observer.called(CallEvent(node.number, state))
        lower = float(self._best.scores[0]) if self._best.found[0] else -np.inf
        last = State(
            int(self._counters[0]), node.bound if stays else -np.inf, lower,
            self._given[node.state[2] > -np.inf], _size(node.state), n_factors(node.state),
        )  # fmt: skip
        arc, present = node.branched
        self._observer.bounded(
            NodeEvent(
                node.number, node.parent, node.depth, self._arc(arc), present, inherited,
                not stays, last,
            )
        )  # fmt: skip

    def branched(self, node: Any, children: list[Any]) -> None:
        """Tell of a node's parts."""
        arc = -1 if node.tree is not None else node.arc
        numbers = tuple(child.number for child in children)
        self._observer.branched(BranchEvent(node.number, self._arc(arc), numbers))

    def finished(self, event: Finished) -> None:
        self._observer.finished(event)

    def _arc(self, arc: int) -> int:
        return int(self._given[arc]) if arc >= 0 else -1


def n_factors(state: tuple[Any, ...]) -> int:
    """Factors and count factors that are alive in a node."""
    return int(state[4][-1][0] + state[5][-1][0])


def _size(state: tuple[Any, ...]) -> int:
    """Size of the oracle of a node."""
    if len(state[0]) != len(Chart._fields):
        return int((state[2] > -np.inf).sum())
    item_ptr, size = state[0][0], state[0][5]
    return int(item_ptr[size[0]])
