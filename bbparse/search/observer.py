"""Watching a search: hooks that it calls, and what it tells them.

An observer is an object with the hooks of `Observer`, which do nothing by themselves. They are
called in the order of what happens, between nodes, and must leave the search alone. All arcs are
numbered as in the problem that was given to `solve`; nodes are numbered from 1, the root, in the
order in which they are made. Nothing is recorded where nobody watches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]


class Started(NamedTuple):
    """What a search begins with.

    Attributes
    ----------
    arcs : int32[A]
        Candidate arcs: neither forbidden nor rivals of required ones.
    edges : int
        Hyperedges of the chart, or places of the automata.
    factors : int
        Factors and count factors that are left for multipliers.
    moved_factors : int
        Factors that the oracle scores by itself.
    """

    arcs: Ints
    edges: int
    factors: int
    moved_factors: int


class State(NamedTuple):
    """A node as it stands after some oracle calls.

    Attributes
    ----------
    calls : int
        Of the whole search so far (a pass for max-marginals counts as two more).
    bound : float
        On every tree of the node that is not among the best ones found; inf: none yet.
    lower : float
        Score of the best tree that the search knows; -inf: none.
    arcs : int32[A]
        Arcs that are alive in the node.
    edges, factors : int
        As in `Started`, alive in the node.
    """

    calls: int
    bound: float
    lower: float
    arcs: Ints
    edges: int
    factors: int


class CallEvent(NamedTuple):
    """A node was bounded by one more oracle call (and what it eliminated after it)."""

    node: int
    state: State


class NodeEvent(NamedTuple):
    """A node was bounded.

    Attributes
    ----------
    node, parent : int
        Numbers; the parent of the root is 0.
    depth : int
    arc : int
        What the node differs in from its sibling: -1 at the root.
    present : bool
        Whether the node's trees have that arc, or lack it.
    inherited : float
        The parent's bound; inf at the root.
    closed : bool
        Nothing is left to look for in the node. Its bound is then -inf in `state`.
    state : State
    """

    node: int
    parent: int
    depth: int
    arc: int
    present: bool
    inherited: float
    closed: bool
    state: State


class BranchEvent(NamedTuple):
    """A node was divided.

    Attributes
    ----------
    node : int
    arc : int
        That the children differ in; -1 where the node was divided by the arcs of its best tree.
    children : tuple of int
        They are bounded next or later, and inherit the node's bound until then.
    """

    node: int
    arc: int
    children: tuple[int, ...]


class Finished(NamedTuple):
    """The end of a search.

    Attributes
    ----------
    status : str
        As in `Solution.status`.
    upper, lower : float
        No tree scores more than `upper`; the best one found scores `lower`.
    calls, nodes : int
    """

    status: str
    upper: float
    lower: float
    calls: int
    nodes: int


class Observer:
    """Hooks for what a search does; override those that matter.

    Attributes
    ----------
    wants_calls : bool
        Whether `called` is to be called. It costs a record of each oracle call.
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
