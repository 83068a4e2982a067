"""Branch and bound: one queue, one loop and one set of limits, whatever bounds the nodes.

A node is a set of structures. A `Bounder` says what is true of it: no structure of it scores more
than its bound, and it falls into smaller sets. Nodes wait in a queue ordered by their bounds, so
that a search ends as soon as the highest one does not beat the k-th best structure (Land & Doig
1960; Lawler & Wood 1966). The bounders: a Lagrangian relaxation over an oracle
(:mod:`bbparse.search.lagrangian`), the agreement of several oracles (:mod:`bbparse.agreement`),
linear programs (:mod:`bbparse.pricing.search`), and one whose bounds a checker can follow
(:mod:`bbparse.proof.certifier`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from sortedcontainers import SortedKeyList

from bbparse.deadline import NO_DEADLINE, Deadline


@dataclass(eq=False, slots=True, kw_only=True)
class Node:
    """A set of structures that waits, or is to be bounded."""

    number: int = 1  # in the order in which nodes are made; 1: the root
    parent: int = 0
    depth: int = 0
    bound: float = math.inf  # its own, or its parent's


N = TypeVar("N", bound=Node)


class SearchLimits(NamedTuple):
    """What ends a search before its time."""

    deadline: Deadline = NO_DEADLINE
    nodes: float = math.inf  # most nodes that are bounded
    work: float = math.inf  # most work, in a unit of the bounder's
    gap: float = 0.0  # share of k-th score or bound that the bound may be above that score

    @staticmethod
    def of(
        deadline: Deadline, node_limit: int | None, work_limit: float | None = None,
        gap: float = 0.0,
    ) -> SearchLimits:  # fmt: skip
        """Return the limits that options name; None: there is none."""
        nodes, work = (math.inf if x is None else float(x) for x in (node_limit, work_limit))
        return SearchLimits(deadline, nodes, work, gap)


class Bounder(ABC, Generic[N]):
    """What one relaxation knows of nodes, and the best structures that it has met."""

    limits = SearchLimits()

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
        """Return the parts of a node, without numbers; or itself, to be bounded again."""

    def matters(self, node: N) -> bool:
        """Return whether a structure of a node could change the k best."""
        return node.bound > self.worst

    def align(self, level: list[N]) -> None:
        """Have all nodes of a level divided in the same way."""

    def bounded(self, node: N, inherited: float, stays: bool) -> None:
        """Take note of a node's bound, of that of its parent, and whether it stays open."""

    def branched(self, node: N, children: list[N]) -> None:
        """Take note of a node's parts, which have numbers and are not bounded."""


def _by_bound(node: Node) -> tuple[float, int]:
    return -node.bound, node.number


def _by_age(node: Node) -> int:
    return node.number


class Search(Generic[N]):
    """The open nodes of one search, and how many were bounded."""

    def __init__(self, bounder: Bounder[N]) -> None:
        self.bounder, self.limits = bounder, bounder.limits
        self.n_nodes = 0
        self._made = 1

    def run(self, root: N, by_level: bool = False) -> tuple[float, str]:
        """Search below a bounded root; return the highest bound that is left and a status.

        The highest bound comes first, ties by age, so that the order is the same in every run; or
        level by level (QL13 Algorithm 1). The bound is -inf where the search has ended by itself,
        with the status "optimal".
        """
        queue = SortedKeyList([root], key=_by_age if by_level else _by_bound)
        while queue:
            batch = list(queue) if by_level else [queue[0]]
            del queue[: len(batch)]
            while queue and not self.bounder.matters(queue[-1]):
                queue.pop()  # what better structures have ruled out needs no memory
            if not (batch := [node for node in batch if self.bounder.matters(node)]):
                continue
            bound = max(node.bound for node in batch)
            if self._is_tight(bound):
                return bound, "gap"
            self.bounder.align(batch)
            for i, node in enumerate(batch):
                for child in self.divide(node):
                    if limit := self._reached():
                        return max(other.bound for other in [*batch[i:], *queue]), limit
                    if self.bound(child):
                        queue.add(child)
        return -math.inf, "optimal"

    def in_depth(self, root: N) -> str:
        """Bound nodes and divide them depth first, the last part first; return a status.

        Each is bounded when its turn comes: what a bounder writes of nodes is in pre-order.
        """
        waiting = [root]
        while waiting:
            if limit := self._reached():
                return limit
            node = waiting.pop()
            if self.bound(node):
                waiting += self.divide(node)
        return "optimal"

    def bound(self, node: N) -> bool:
        """Bound a node; return whether it stays open."""
        inherited = node.bound
        self.n_nodes += 1
        self.bounder.bound(node)
        stays = node.bound > -math.inf and self.bounder.matters(node)
        self.bounder.bounded(node, inherited, stays)
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
        self.bounder.branched(node, children)
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
