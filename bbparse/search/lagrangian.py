"""Fixed-arc subspaces (QL13 §3.3), bounded by a Lagrangian relaxation over an oracle.

A node is a set of trees, given by the arcs still alive in it. Bounding it
(:func:`bbparse.bounding.node.bound_node`) either closes it, or names the arc with the largest
factor gap; its children have that arc and do not have it. Where the bound is the score of a node's
best tree and more trees are wanted, the rest of the node is divided by that tree (Lawler 1972):
child i has the tree's arcs of the words before the i-th free word and lacks its arc of that word,
so no tree is in two children and the tree itself in none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.bounding.node import CLOSED, SOLVED, WAITS
from bbparse.bounding.state import Incumbents
from bbparse.search.observer import NOT_RECORDED, Finished, Observer, Watch
from bbparse.search.search import Bounder, Node, Search, SearchLimits
from bbparse.search.settings import METHODS, SearchSettings

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
NO_ARCS = np.empty(0, np.int32)

#: What is asked of a node: a bound; a bound, and what is left of it though it may be closed; first
#: trees of it (:func:`bbparse.bounding.incumbents.lower_bound_start`).
BOUND, WATCH, START = 2, 3, 4

#: Calls to count as one in the settings: those of automata are cheaper than those of charts, and
#: more of them are needed. By whether trees are projective.
CALLS = {True: 1, False: 12}


class Left(NamedTuple):
    """What is left of a node, as :mod:`bbparse.solving.root` gives it."""

    node: tuple[Any, ...]  # as :func:`bbparse.bounding.state.plain_node` makes it
    order: Ints  # of a root, the problem's arc at each place of the oracle's
    status: int  # this and the next four: what bounding said, a `Verdict`
    bound: float
    arc: int
    lower: float
    tree: Ints
    margin: float  # by how much a tree must be better than the k-th one to change the k best
    slack: float  # this and the next: see :class:`bbparse.bounding.state.Limits`
    hard: float
    moved_factors: int  # of a root, factors that the oracle took over


class Called(NamedTuple):
    """What bounding a root gives."""

    heads: Ints  # this and the next two: its best trees if it is closed, see `call_projective`
    arcs: Ints
    scores: Floats
    full_size: float  # of the oracle
    left: Left | None
    best: Incumbents
    counters: Floats  # [4], what was done so far, and the slack


@dataclass(eq=False, slots=True, kw_only=True)
class Subspace(Node):
    """The trees over some arcs."""

    state: tuple[Any, ...]  # what is left of it, or of its parent where it is to be bounded
    branched: tuple[int, bool] = (-1, False)  # arc and whether it is present; -1: no one arc
    dead: Ints = field(default_factory=lambda: NO_ARCS)  # the parent's arcs that it lacks
    arc: int = -1  # to branch on
    lower: float = -np.inf  # score of the best tree that was met in it
    tree: Ints | None = None  # its best one, where that is known
    margin: float = 0.0  # by how much the bound must be above the k-th score for it to matter


class Outcome(NamedTuple):
    """What a search found."""

    trees: Ints  # [K, n], in the problem's arcs, best first
    bound: float  # on every tree that is not among them; -inf: there is none
    status: str  # of a `Solution`
    stats: dict[str, float | int]


class Lagrangian(Bounder[Subspace]):
    """Bounds of subspaces, and the k best trees so far.

    The root is bounded, and open; or it waits. ``call_node`` is that of
    :mod:`bbparse.solving.root`, and ``projective`` says which oracle it calls. ``given`` int32[A]
    is for the observer: each arc of the oracle in the problem that was given.
    """

    def __init__(
        self, root: Left, found: Called, call_node: Callable[..., Left | None],
        settings: SearchSettings, projective: bool, quantum: float = 0.0,
        observer: Observer | None = None, given: Ints | None = None,
    ) -> None:  # fmt: skip
        self.settings = settings
        self.quantum = quantum
        self.order = root.order
        self.slack, self.hard = root.slack, root.hard
        self.best, self.counters = found.best, found.counters
        self.full_size = int(found.full_size)
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
            self._watch = Watch(observer, arcs, found.counters, found.best)
            self._watch.started(root.node, self.full_size, root.moved_factors)

    def run(self, limits: SearchLimits) -> Outcome:
        """Search until done or a limit is reached; that of work is in places of the oracle."""
        self.limits = limits._replace(work=limits.work / max(1, self.full_size))
        search = Search(self)
        stays, bound, status = True, -np.inf, "optimal"
        if self.waits:
            factors, counts = (int(sets[-1][0]) for sets in self.root.state[4:6])
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
        left = self._call(
            BOUND if watch is None else WATCH, node, calls,
            NOT_RECORDED if watch is None else watch.record(calls),
        )  # fmt: skip
        if left is None:
            node.bound = -np.inf
            return
        node.arc, node.lower, node.margin, node.state = left.arc, left.lower, left.margin, left.node
        node.dead = NO_ARCS
        node.bound = min(node.bound, left.bound) if left.status != CLOSED else -np.inf
        node.tree = left.tree if left.status == SOLVED else None

    def divide(self, node: Subspace) -> list[Subspace]:
        """Return the parts by the best tree where that is known, else with an arc and without.

        A node where the arc is not free is its own.
        """
        _, arc_mod, base, *_ = node.state
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
        """Take the arc of the node with the highest lower bound (QL13 §3.3) in all."""
        # nodes whose best tree is known are divided by that, and name no arc
        arc = max(level, key=lambda node: (node.arc >= 0, node.lower)).arc
        for node in level:
            node.arc = arc

    def bounded(self, node: Subspace, inherited: float, stays: bool) -> None:
        if self._watch is not None:
            self._watch.bounded(node, inherited, stays)

    def branched(self, node: Subspace, children: list[Subspace]) -> None:
        if self._watch is not None:
            self._watch.branched(node, children)

    def _call(self, task: int, node: Subspace, calls: int, record: tuple[Any, ...]) -> Left | None:
        s = self.settings
        limits = (
            METHODS[s.method], calls, self.limits.work, self.limits.deadline.at,
            s.eliminate_every, s.close_k, s.precision, self.quantum, self.slack, self.hard,
            float(max(1, self.full_size)),
        )  # fmt: skip
        return self._call_node(
            task, node.state, node.dead, self.best, limits, self.counters, record
        )

    def _first_trees(self, calls: int) -> None:
        """Look for trees before the root is bounded."""
        if calls:
            self._call(START, self.root, calls, NOT_RECORDED)
