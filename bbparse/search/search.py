"""Branch and bound: one queue, one loop and one set of limits, whatever bounds the nodes.

A node is a set of structures. A `Bounder` says what is true of it: no structure of it scores more
than its bound, and it falls into smaller sets. Nodes wait in a queue ordered by their bounds, so
that a search ends as soon as the highest one does not beat the k-th best structure (Land & Doig
1960; Lawler & Wood 1966). The bounders: a Lagrangian relaxation over an oracle
(:mod:`bbparse.search.lagrangian`), the agreement of several oracles (:mod:`bbparse.agreement`),
linear programs (:mod:`bbparse.pricing.search`), and one whose bounds a checker can follow
(:mod:`bbparse.proof.certify`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from bbparse.deadline import NO_DEADLINE, Deadline


@dataclass(eq=False, slots=True, kw_only=True)
class Node:
    """A set of structures that waits, or is to be bounded."""

    number: int = 1  # in the order in which nodes are made; 1: the root
    parent: int = 0
    depth: int = 0
    bound: float = math.inf  # its own, or its parent's


N = TypeVar("N", bound=Node)


class Bounder(ABC, Generic[N]):
    """What one relaxation knows of nodes, and the best structures that it has met."""

    @property
    @abstractmethod
    def worst(self) -> float:
        """Score of the k-th best structure; -inf where fewer are known."""

    @property
    def work(self) -> float:
        """What was done so far, in the unit of the work limit."""
        return 0.0

    @abstractmethod
    def bound(self, node: N) -> None:
        """Lower the bound of a node; to -inf where nothing is left to look for in it."""

    @abstractmethod
    def divide(self, node: N) -> list[N]:
        """Return the parts of a bounded node, or the node itself, to be bounded again.

        Parts need not have numbers, and inherit the bound of the node.
        """

    def matters(self, node: N) -> bool:
        """Return whether a structure of a node could change the k best."""
        return node.bound > self.worst

    def align(self, level: list[N]) -> None:
        """Have all nodes of a level divided in the same way."""


class Watcher(Protocol):
    """What is told of a search, node by node."""

    def bounded(self, node: Any, inherited: float, stays: bool) -> None:
        """Take note of a node's bound, of that which it had before, and whether it stays open."""

    def branched(self, node: Any, children: list[Any]) -> None:
        """Take note of a node's parts, before they are bounded."""


class SearchLimits(NamedTuple):
    """What ends a search before its time."""

    deadline: Deadline = NO_DEADLINE
    nodes: float = math.inf  # most nodes that are bounded
    work: float = math.inf  # most work, in a unit of the bounder's
    gap: float = 0.0  # share of k-th score or bound that the bound may be above that score


NO_LIMITS = SearchLimits()


class Search(Generic[N]):
    """The open nodes of one search, and how many were bounded."""

    def __init__(
        self, bounder: Bounder[N], limits: SearchLimits = NO_LIMITS,
        watch: Watcher | None = None,
    ) -> None:  # fmt: skip
        self.bounder, self.limits = bounder, limits
        self.n_nodes = 0
        self._watch = watch
        self._made = 1

    def run(self, root: N, order: str = "best-first") -> tuple[float, str]:
        """Search below a bounded root; return the highest bound that is left and a status.

        The bound is -inf where the search has ended by itself, with the status "optimal".
        """
        return self._by_levels(root) if order == "level" else self._by_bounds(root)

    def bound(self, node: N) -> bool:
        """Bound a node; return whether it stays open."""
        inherited = node.bound
        self.n_nodes += 1
        self.bounder.bound(node)
        stays = node.bound > -math.inf and self.bounder.matters(node)
        if self._watch is not None:
            self._watch.bounded(node, inherited, stays)
        return stays

    def divide(self, node: N) -> list[N]:
        """Return the parts of a node, with their numbers; or itself, to be bounded again."""
        children = self.bounder.divide(node)
        if len(children) == 1 and children[0] is node:
            return children
        for child in children:
            self._made += 1
            child.number, child.parent = self._made, node.number
            child.depth, child.bound = node.depth + 1, node.bound
        if self._watch is not None:
            self._watch.branched(node, children)
        return children

    def _is_tight(self, bound: float) -> bool:
        gap, worst = self.limits.gap, self.bounder.worst
        if gap <= 0.0 or worst == -math.inf:
            return False
        return bound - worst <= gap * max(abs(worst), abs(bound))

    def _reached(self) -> str:
        """Return the limit that is reached; empty: none."""
        if self.n_nodes >= self.limits.nodes:
            return "node_limit"
        if self.limits.deadline.is_over():
            return "time_limit"
        return "work_limit" if self.bounder.work >= self.limits.work else ""

    def _by_bounds(self, root: N) -> tuple[float, str]:
        """Take the highest bound first; ties by age, so that the order is the same in every run."""
        queue = [(-root.bound, root.number, root)]
        while queue:
            node = heappop(queue)[2]
            if not self.bounder.matters(node):
                continue
            if self._is_tight(node.bound):
                return node.bound, "gap"
            for child in self.divide(node):
                if limit := self._reached():
                    return node.bound, limit
                if self.bound(child):
                    heappush(queue, (-child.bound, child.number, child))
        return -math.inf, "optimal"

    def _by_levels(self, root: N) -> tuple[float, str]:
        """Take level by level, divided in the same way throughout (QL13 Algorithm 1)."""
        level = [root]
        while level := [node for node in level if self.bounder.matters(node)]:
            bound = max(node.bound for node in level)
            if self._is_tight(bound):
                return bound, "gap"
            self.bounder.align(level)
            below: list[N] = []
            for i, node in enumerate(level):
                for child in self.divide(node):
                    if limit := self._reached():
                        return max(n.bound for n in level[i:] + below), limit
                    if self.bound(child):
                        below.append(child)
            level = below
        return -math.inf, "optimal"
