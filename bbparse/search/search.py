"""Branch and bound over fixed-arc subspaces (QL13 §3.3 and Algorithm 1), over any oracle.

A node is a set of trees, given by the arcs still alive in it. Bounding it
(:func:`bbparse.bounding.node.bound_node`) either closes it, or names the arc with the largest
factor gap; its children have that arc and do not have it. Nodes wait in a queue ordered by their
bound, so that the search stops as soon as the best bound does not beat the k-th tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sortedcontainers import SortedKeyList

from bbparse.bounding.node import CLOSED, SOLVED, WAITS
from bbparse.bounding.state import Incumbents
from bbparse.deadline import NO_DEADLINE, Deadline
from bbparse.search.nodes import BOUND, NO_ARCS, START, WATCH, Left, Open, divided
from bbparse.search.observer import NOT_RECORDED, Finished, Observer, Watch, n_factors
from bbparse.search.settings import METHODS, SearchSettings

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

#: Calls to count as one in the settings: those of automata are cheaper than those of charts, and
#: more of them are needed. By whether trees are projective.
CALLS = {True: 1, False: 12}


@dataclass(slots=True)
class Outcome:
    """What a search found, in the problem's arcs."""

    trees: Ints  # [K, n], best first
    scores: Floats  # [K]
    bound: float  # on every tree that is not among them; -inf: there is none
    status: str  # of a `Solution`
    stats: dict[str, float | int]


class Search:
    """One search: the k best trees so far and the open nodes.

    The root is bounded, and open; or it waits. ``call_node`` is that of
    :mod:`bbparse.solving.root`, ``full_size`` the size of the oracle at the root, ``counters``
    float64[3] what was done so far. ``given`` int32[A] is for the observer: each arc of the oracle
    in the problem that was given. ``projective`` says which oracle it is.
    """

    def __init__(
        self, root: Left, call_node: Callable[..., Left | None], full_size: float,
        best: Incumbents, counters: Floats, settings: SearchSettings, quantum: float = 0.0,
        observer: Observer | None = None, given: Ints | None = None, projective: bool = True,
    ) -> None:  # fmt: skip
        self.settings = settings
        self.quantum = quantum
        self.order = root.order
        self.slack, self.hard = root.slack, root.hard
        self.best = best
        self.counters = counters
        self.full_size = int(full_size)
        self.n_nodes = int(root.status != WAITS)
        self._call_node = partial(call_node, projective)
        self._calls = CALLS[projective]
        self._made = 1  # nodes, so that each has a number
        self._deadline = NO_DEADLINE
        self._most_nodes = self._most_work = np.inf
        self.root = Open(
            root.node, bound=root.bound, arc=root.arc, lower=root.lower, margin=root.margin
        )
        if root.status == SOLVED:
            self.root.tree = root.tree
        self._watch = None
        if observer is not None:
            self._watch = Watch(observer, root.order if given is None else given)
            self._watch.started(root.node, self.full_size, root.moved_factors)

    def run(
        self, deadline: Deadline = NO_DEADLINE, node_limit: int | None = None,
        work_limit: float | None = None, gap: float = 0.0,
    ) -> Outcome:  # fmt: skip
        """Search until done or a limit of `bbparse.solve` is reached."""
        self._deadline = deadline
        if node_limit is not None:
            self._most_nodes = node_limit
        if work_limit is not None:
            self._most_work = work_limit / max(1, self.full_size)
        stays = True
        if not self.n_nodes:
            self._first_trees()
            stays = self._bound(self.root)
        bound, status = -np.inf, "optimal"
        if stays:
            order = self._run_levels if self.settings.order == "level" else self._run_queue
            bound, status = order(gap)
        found = int(self.best.found[0])
        if found == 0 and status == "optimal":
            status = "infeasible"
        top = float(self.best.scores[0]) if found else -np.inf
        calls = int(self.counters[0])
        stats: dict[str, float | int] = {
            "nodes": self.n_nodes,
            "dp_calls": calls,
            "dp_work": float(self.counters[1]),
            "trees_tried": int(self.counters[2]),
            "closed_at_root": int(not stays),
            "edges": self.full_size,
            "upper_bound": max(bound, top),
        }
        if self._watch is not None:
            self._watch.finished(Finished(status, max(bound, top), top, calls, self.n_nodes))
        trees = self.order[self.best.trees[self.best.place[:found]]]
        return Outcome(trees, self.best.scores[:found].copy(), bound, status, stats)

    # --- nodes ------------------------------------------------------------------------------------

    def _limits(self, calls: int) -> tuple[Any, ...]:
        s = self.settings
        return (
            METHODS[s.method], calls, self._most_work, self._deadline.at, s.eliminate_every,
            s.close_k, s.precision, self.quantum, self.slack, self.hard,
            float(max(1, self.full_size)),
        )  # fmt: skip

    def _bound(self, node: Open) -> bool:
        """Bound a node; whether it stays open."""
        calls = self.settings.root_calls if node.depth == 0 else self.settings.node_calls
        calls *= self._calls
        inherited = node.bound
        record = NOT_RECORDED if self._watch is None else self._watch.record(calls)
        self.n_nodes += 1
        left = self._call_node(
            BOUND if self._watch is None else WATCH, node.state, node.dead, self.best,
            self._limits(calls), self.counters, record,
        )  # fmt: skip
        if left is None:
            return False
        node.arc, node.lower, node.margin, node.state = left.arc, left.lower, left.margin, left.node
        node.dead = NO_ARCS
        node.bound = min(node.bound, left.bound)
        node.tree = left.tree if left.status == SOLVED else None
        stays = bool(left.status != CLOSED and self._matters(node))
        if self._watch is not None:
            calls = int(self.counters[0])
            self._watch.bounded(node, inherited, stays, record, calls, self.best)
        return stays

    def _children(self, node: Open, arc: int) -> list[Open]:
        """The subspaces that a node falls into; a node where the arc is not free is its own."""
        children = []
        for part in divided(node, arc):
            self._made += 1
            children.append(
                Open(
                    node.state, self._made, node.number, node.depth + 1, (part.arc, part.present),
                    part.dead, node.bound,
                )
            )  # fmt: skip
        if not children and node.tree is None:
            return [node]
        if self._watch is not None:
            self._watch.branched(node, arc, children)
        return children

    def _matters(self, node: Open) -> bool:
        """Whether a tree of a node could change the k best."""
        full = self.best.found[0] == len(self.best.scores)
        return not full or node.bound >= float(self.best.scores[-1]) + node.margin

    # --- the start --------------------------------------------------------------------------------

    def _first_trees(self) -> None:
        """Look for trees before the root is bounded, where that is asked for or needed."""
        if int(self.root.state[5][-1][0]):  # π has no form for count factors
            return
        if self.settings.lower_start and n_factors(self.root.state):
            self._start_with(self.settings.lower_start)

    def _start_with(self, calls: int) -> None:
        self._call_node(
            START, self.root.state, NO_ARCS, self.best, self._limits(calls), self.counters,
            NOT_RECORDED,
        )  # fmt: skip

    # --- orders -----------------------------------------------------------------------------------

    def _is_tight(self, bound: float, gap: float) -> bool:
        k = len(self.best.scores)
        if gap <= 0.0 or self.best.found[0] < k:
            return False
        worst = float(self.best.scores[k - 1])
        return bound - worst <= gap * max(abs(worst), abs(bound))

    def _reached(self) -> str:
        """The limit that is reached; empty: none."""
        if self.n_nodes >= self._most_nodes:
            return "node_limit"
        if self._deadline.is_over():
            return "time_limit"
        return "work_limit" if self.counters[1] >= self._most_work else ""

    def _run_queue(self, gap: float) -> tuple[float, str]:
        """Best bound first; ties by age, so that the order is the same in every run."""
        queue = SortedKeyList([self.root], key=lambda node: (-node.bound, node.number))
        while queue:
            node = queue.pop(0)
            if not self._matters(node):
                continue
            if self._is_tight(node.bound, gap):
                return node.bound, "gap"
            for child in self._children(node, node.arc):
                if limit := self._reached():
                    return node.bound, limit
                if self._bound(child):
                    queue.add(child)
        return -np.inf, "optimal"

    def _run_levels(self, gap: float) -> tuple[float, str]:
        """Level by level, one branching arc for all nodes of a level (QL13 Algorithm 1)."""
        level = [self.root]
        while level := [node for node in level if self._matters(node)]:
            bound = max(node.bound for node in level)
            if self._is_tight(bound, gap):
                return bound, "gap"
            # nodes whose best tree is known are divided by that, and name no arc
            arc = max(level, key=lambda node: (node.arc >= 0, node.lower)).arc
            below: list[Open] = []
            for i, node in enumerate(level):
                for child in self._children(node, arc):
                    if limit := self._reached():
                        return max(n.bound for n in level[i:] + below), limit
                    if self._bound(child):
                        below.append(child)
            level = below
        return -np.inf, "optimal"
