"""Branch and bound: one queue, one loop and one set of limits for every kind of relaxation.

A node is a set of structures. A `Bounder` computes an upper bound on the scores of a node's
structures and partitions the node into smaller sets. Open nodes wait in a queue ordered by bound,
so that a search ends as soon as the highest bound does not beat the k-th best structure (Land &
Doig 1960; Lawler & Wood 1966). There are three bounders: a Lagrangian relaxation over an oracle
(`inference.search.lagrangian`), the agreement of several oracles (`inference.agreement`), and
linear programs (`inference.programs.price_and_cut`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from sortedcontainers import SortedKeyList

from bbparse.runtime.deadline import NO_DEADLINE, Deadline


@dataclass(eq=False, slots=True, kw_only=True)
class Node:
    """A set of structures, bounded or still to be bounded."""

    number: int = 1  # in the order in which nodes are created; 1: the root
    depth: int = 0
    bound: float = math.inf  # upper bound; the parent's until the node is bounded


N = TypeVar("N", bound=Node)


class SearchLimits(NamedTuple):
    """Limits that end a search early."""

    deadline: Deadline = NO_DEADLINE
    nodes: float = math.inf  # maximum number of nodes to bound
    work: float = math.inf  # maximum work, in the unit of the bounder
    gap: float = 0.0  # relative gap of bound and k-th score at which to stop

    @staticmethod
    def of(
        deadline: Deadline,
        node_limit: int | None,
        work_limit: float | None = None,
        gap: float = 0.0,
    ) -> SearchLimits:
        """Return the limits for some options, where None stands for no limit."""
        nodes, work = (math.inf if x is None else float(x) for x in (node_limit, work_limit))
        return SearchLimits(deadline, nodes, work, gap)

    def is_tight(self, bound: float, worst: float) -> bool:
        """Return True if a bound exceeds the k-th best score by no more than the gap."""
        if self.gap <= 0.0 or worst == -math.inf:
            return False
        return bound - worst <= self.gap * max(abs(worst), abs(bound))


class Bounder(ABC, Generic[N]):
    """A relaxation that bounds and divides nodes, and the best structures found so far."""

    limits = SearchLimits()

    @property
    @abstractmethod
    def worst(self) -> float:
        """Score of the k-th best structure; -inf if fewer are known."""

    @property
    def work(self) -> float:
        """Work done so far, in the unit of the work limit."""
        return 0.0

    @abstractmethod
    def bound(self, node: N) -> None:
        """Lower the bound of a node; to -inf if the node needs no further search."""

    @abstractmethod
    def divide(self, node: N) -> list[N]:
        """Return the children of a node, not yet numbered; or the node, to bound it again."""

    def matters(self, node: N) -> bool:
        """Return True if a structure of a node could change the k best."""
        return node.bound > self.worst

    def on_bound_improved(self, bound: float) -> None:
        """Receive a new upper bound on the structures of all open nodes."""


class Search(Generic[N]):
    """One search: it counts the nodes that it bounds and numbers those that it creates."""

    def __init__(self, bounder: Bounder[N]) -> None:
        self.bounder, self.limits = bounder, bounder.limits
        self.n_nodes = 0
        self._made = 1

    def run(self, root: N) -> tuple[float, str]:
        """Search below a bounded root; return the highest bound of an open node and a status.

        Nodes are taken by decreasing bound, ties by age, so that the order is the same in every
        run. If the search is complete, the bound is -inf and the status "optimal".
        """
        queue = SortedKeyList([root], key=lambda node: (-node.bound, node.number))
        while queue:
            node = queue.pop(0)
            while queue and not self.bounder.matters(queue[-1]):
                queue.pop()  # free the memory of nodes that better structures have ruled out
            if not self.bounder.matters(node):
                continue
            self.bounder.on_bound_improved(node.bound)
            if self.limits.is_tight(node.bound, self.bounder.worst):
                return node.bound, "gap"
            for child in self.divide(node):
                if limit := self._reached():
                    return node.bound, limit
                if self.bound(child):
                    queue.add(child)
        return -math.inf, "optimal"

    def bound(self, node: N) -> bool:
        """Bound a node; return True if it stays open."""
        self.n_nodes += 1
        self.bounder.bound(node)
        return node.bound > -math.inf and self.bounder.matters(node)

    def divide(self, node: N) -> list[N]:
        """Return the numbered children of a node; or the node itself, to bound it again."""
        children = self.bounder.divide(node)
        if len(children) == 1 and children[0] is node:
            return children
        for child in children:
            self._made += 1
            child.number, child.depth, child.bound = self._made, node.depth + 1, node.bound
        return children

    def _reached(self) -> str:
        """Return the name of the limit that is reached, or an empty string."""
        if self.n_nodes >= self.limits.nodes:
            return "node_limit"
        if self.limits.deadline.is_over():
            return "time_limit"
        return "work_limit" if self.bounder.work >= self.limits.work else ""
