"""Branch and bound over fixed-arc subspaces (QL13 §3.3) with a Lagrangian relaxation.

A node is the set of trees over the arcs that are still alive in it. Bounding a node
(`inference.relaxation.node.bound_node`) either closes it or names the arc with the largest factor
gap. One child requires that arc, the other forbids it. If the bound is the score of the node's best
tree and more trees are wanted, the rest of the node is partitioned around that tree (Lawler 1972):
child i requires the tree's arcs into the words before the i-th free word, and forbids its arc into
that word. The children are therefore disjoint, and none of them contains the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bbparse.inference.relaxation.node import CLOSED, SOLVED, WAITS
from bbparse.inference.relaxation.state import Incumbents
from bbparse.inference.search.observer import NOT_RECORDED, Finished, Observer, Watch
from bbparse.inference.search.search import Bounder, Node, Search, SearchLimits
from bbparse.inference.search.settings import SearchSettings
from bbparse.runtime.arrays import Float64s, Ints

NO_ARCS = np.empty(0, np.int32)

#: Oracle calls for each call in the settings, by whether trees are projective. A call of the
#: automata is cheaper than a call of the chart, and more of them are needed.
CALLS = {True: 1, False: 12}


class BoundedNode(NamedTuple):
    """A bounded node, as :mod:`bbparse.inference.search.root` returns it."""

    node: tuple[Any, ...]  # as :func:`bbparse.inference.relaxation.state.plain_node` makes it
    order: Ints  # root only: the problem's arc for each arc of the oracle
    status: int  # this and the next four fields: a `Verdict`
    bound: float
    arc: int
    lower: float
    tree: Ints
    margin: float  # by how much a tree must be better than the k-th one to change the k best
    slack: float  # this and the next field: see :class:`bbparse.inference.relaxation.state.Limits`
    hard: float
    moved_factors: int  # root only: factors that the oracle absorbed


class OpenRoot(NamedTuple):
    """A root that is not closed."""

    node: BoundedNode
    best: Incumbents
    counters: Float64s  # [4], the work done so far (3 counters), and the slack
    full_size: float  # of the whole oracle


@dataclass(eq=False, slots=True, kw_only=True)
class Subspace(Node):
    """The set of trees over the arcs that are alive."""

    state: tuple[Any, ...]  # the node as bounded; its parent's state before it is bounded
    branched: tuple[int, bool] = (-1, False)  # branching arc, True if required; -1: no single arc
    dead: Ints = field(default_factory=lambda: NO_ARCS)  # the parent's arcs that it forbids
    arc: int = -1  # to branch on
    lower: float = -np.inf  # score of the best tree found in it
    tree: Ints | None = None  # its best tree, if known
    margin: float = 0.0  # minimum difference of bound and k-th score for the node to matter


class Outcome(NamedTuple):
    """The result of a search."""

    trees: Ints  # [K, n], the problem's arc into each word, best tree first
    bound: float  # upper bound on the score of every other tree; -inf: there is none
    status: str  # as in `Solution.status`
    stats: dict[str, float | int]


class Lagrangian(Bounder[Subspace]):
    """Lagrangian bounds of subspaces, and the k best trees so far.

    The root is either bounded and open, or still to be bounded. ``call_node`` is the function of
    that name in `inference.search.root`; ``projective`` selects its oracle. ``given`` int32[A]
    is for the observer: it maps the arcs of the oracle to those of the user's problem.
    """

    def __init__(
        self, left: OpenRoot, call_node: Callable[..., BoundedNode | None],
        settings: SearchSettings, projective: bool, quantum: float = 0.0,
        observer: Observer | None = None, given: Ints | None = None,
    ) -> None:  # fmt: skip
        root = left.node
        self.settings = settings
        self.quantum = quantum
        self.order = root.order
        self.slack, self.hard = root.slack, root.hard
        self.best, self.counters = left.best, left.counters
        self.full_size = int(left.full_size)
        self.waits = root.status == WAITS
        self._call_node = partial(call_node, projective)
        self._calls = CALLS[projective]
        self.root = Subspace(
            state=root.node, bound=root.bound, arc=root.arc, lower=root.lower, margin=root.margin,
            tree=root.tree if root.status == SOLVED else None,
        )  # fmt: skip
        self._watch = None
        if observer is not None:
            arcs = root.order if given is None else given
            self._watch = Watch(observer, arcs, left.counters, left.best)
            self._watch.started(root.node, self.full_size, root.moved_factors)

    def run(self, limits: SearchLimits) -> Outcome:
        """Search until the end or a limit; the work limit counts positions of the oracle."""
        self.limits = limits._replace(work=limits.work / max(1, self.full_size))
        search = Search(self)
        stays, bound, status = True, -np.inf, "optimal"
        if self.waits:
            factors, counts = (int(sets[-1][0]) for sets in self.root.state[2:])
            if factors and not counts:  # π has no form for count factors
                self._first_trees(self.settings.lower_start)
            stays = search.bound(self.root)
        else:
            search.n_nodes = 1
        if stays:
            bound, status = search.run(self.root, by_level=self.settings.order == "level")
        found = int(self.best.found[0])
        if found == 0 and status == "optimal":
            status = "infeasible"
        top = float(self.best.scores[0]) if found else -np.inf
        calls = int(self.counters[0])
        stats: dict[str, float | int] = {
            "nodes": search.n_nodes, "dp_calls": calls, "dp_work": float(self.counters[1]),
            "trees_tried": int(self.counters[2]), "closed_at_root": int(not stays),
            "edges": self.full_size, "upper_bound": max(bound, top),
        }  # fmt: skip
        if self._watch is not None:
            self._watch.finished(Finished(status, max(bound, top), top, calls, search.n_nodes))
        trees = self.order[self.best.trees[self.best.place[:found]]]
        return Outcome(trees, bound, status, stats)

    # --- nodes ------------------------------------------------------------------------------------

    @property
    def worst(self) -> float:
        full = self.best.found[0] == len(self.best.scores)
        return float(self.best.scores[-1]) if full else -np.inf

    @property
    def work(self) -> float:
        return float(self.counters[1])

    def matters(self, node: Subspace) -> bool:
        return node.bound >= self.worst + node.margin

    def bound(self, node: Subspace) -> None:
        calls = self.settings.root_calls if node.depth == 0 else self.settings.node_calls
        calls *= self._calls
        watch = self._watch
        record = NOT_RECORDED if watch is None else watch.record(calls)
        bounded = self._call((True, watch is not None), node, calls, record)
        if bounded is None:
            node.bound = -np.inf
            return
        node.arc, node.lower, node.margin = bounded.arc, bounded.lower, bounded.margin
        node.state = bounded.node
        node.dead = NO_ARCS
        node.bound = min(node.bound, bounded.bound) if bounded.status != CLOSED else -np.inf
        node.tree = bounded.tree if bounded.status == SOLVED else None

    def divide(self, node: Subspace) -> list[Subspace]:
        """Partition a node around its best tree if that is known, else branch on its arc.

        If the arc is not free, return the node itself.
        """
        _, (arc_mod, base, _), *_ = node.state
        alive = base > -np.inf

        def rivals(own: int) -> Ints:
            return np.flatnonzero((arc_mod == arc_mod[own]) & alive).astype(np.int32)

        def part(dead: Any, arc: int, present: bool) -> Subspace:
            return Subspace(
                state=node.state, dead=np.array(dead, np.int32), branched=(arc, present)
            )

        if node.tree is None:
            arc, choices = node.arc, rivals(node.arc)
            if len(choices) == 1 or not alive[arc]:
                return [node]
            return [part(choices[choices != arc], arc, True), part([arc], arc, False)]
        parts = []
        fixed = NO_ARCS
        for own in node.tree.tolist():
            choices = rivals(own)
            if len(choices) > 1:
                parts.append(part(np.append(fixed, own), own, False))
                fixed = np.append(fixed, choices[choices != own])
        return parts

    def align(self, level: list[Subspace]) -> None:
        """Branch all nodes on the arc of the node with the highest lower bound (QL13 §3.3)."""
        # a node whose best tree is known is partitioned around that tree, and names no arc
        arc = max(level, key=lambda node: (node.arc >= 0, node.lower)).arc
        for node in level:
            node.arc = arc

    def bounded(self, node: Subspace, inherited: float, stays: bool) -> None:
        if self._watch is not None:
            self._watch.bounded(node, inherited, stays)

    def branched(self, node: Subspace, children: list[Subspace]) -> None:
        if self._watch is not None:
            self._watch.branched(node, children)

    def _call(
        self, tasks: tuple[bool, bool], node: Subspace, calls: int, record: tuple[Any, ...]
    ) -> BoundedNode | None:
        limits = self.settings.limits(
            calls, self.limits.work, self.limits.deadline.at, self.quantum, self.slack, self.hard,
            float(max(1, self.full_size)),
        )  # fmt: skip
        return self._call_node(
            tasks, (node.state, node.dead), self.best, limits, self.counters, record
        )

    def _first_trees(self, calls: int) -> None:
        """Search for trees before the root is bounded."""
        if calls:
            self._call((False, False), self.root, calls, NOT_RECORDED)
