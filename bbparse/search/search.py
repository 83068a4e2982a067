"""Branch and bound over fixed-arc subspaces (QL13 §3.3 and Algorithm 1), over any oracle.

A node is a set of trees, given by the arcs still alive in it. Bounding it
(:func:`bbparse.bounding.node.bound_node`) either closes it, or names the arc with the largest
factor gap; its children have that arc and do not have it. Nodes wait in a queue ordered by their
bound, so that the search stops as soon as the best bound does not beat the k-th tree.

Where the bound is the score of a node's best tree and more trees are wanted, the rest of the node
is divided by that tree (Lawler 1972): child i has the tree's arcs of the words before the i-th free
word and lacks its arc of that word, so no tree is in two children and the tree itself in none.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sortedcontainers import SortedKeyList

from bbparse.bounding.node import CLOSED, SOLVED
from bbparse.bounding.slack import IMBALANCE, slack_of
from bbparse.bounding.state import Incumbents
from bbparse.oracle.projective.build import Chart
from bbparse.search.kernels import (
    bound_nonprojective,
    bound_projective,
    start_nonprojective,
    start_projective,
)
from bbparse.search.observer import (
    BranchEvent,
    CallEvent,
    Finished,
    NodeEvent,
    Observer,
    Started,
    State,
)
from bbparse.search.settings import METHODS, SearchSettings

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

# Oracle calls that look for a tree without the largest penalties, where these are out of
# proportion.
_PROBE_CALLS = 5
#: Calls to count as one in the settings: those of automata are cheaper than those of charts, and
#: more of them are needed. By whether trees are projective.
CALLS = {True: 1, False: 12}
#: Places of an oracle that are visited in a second, roughly: where there is a time limit, and
#: nothing was measured yet.
WORK_PER_SECOND = 3e7
_NOT_RECORDED = (
    np.empty((0, 4)), np.empty(0, np.int64), np.empty(0, np.int64), np.zeros(1, np.int64),
)  # fmt: skip
_NO_ARCS = np.empty(0, np.int32)


class Root(NamedTuple):
    """A root as :mod:`bbparse.solving.root` makes it; arcs are in the oracle's order.

    Attributes
    ----------
    node : tuple
        As :func:`bbparse.search.kernels.plain_node` makes it.
    best : tuple
        Fields of :class:`bbparse.bounding.state.Incumbents`.
    order : int32[A]
        The problem's arc at each place.
    status, bound, arc, lower, tree
        What bounding said: the fields of a :class:`bbparse.bounding.node.Verdict`.
    margin : float
        By how much a tree must be better than the k-th one to change the k best.
    slack, hard : float
        See :class:`bbparse.bounding.state.Limits`.
    size, high : float
        Largest sums of magnitudes and of positive scores of a tree.
    moved_factors : int
        Factors that the oracle took over.
    """

    node: tuple[Any, ...]
    best: tuple[Any, ...]
    order: Ints
    status: int
    bound: float
    arc: int
    lower: float
    tree: Ints
    margin: float
    slack: float
    hard: float
    size: float
    high: float
    moved_factors: int


@dataclass(slots=True)
class Open:
    """A node that waits, or is to be bounded.

    Attributes
    ----------
    state : tuple
        What is left of it; of a node that is to be bounded, what is left of its parent.
    number, parent, depth : int
        Numbers count from 1, the root.
    branched : (arc, present)
        What it differs in from its sibling; arc -1: nothing.
    dead : int32[]
        Arcs of the parent's that it lacks.
    bound : float
        Its own, or its parent's.
    arc : int
        To branch on.
    lower : float
        Score of the best tree that was met in it.
    tree : int32[n], optional
        Its best tree, where that is known.
    margin : float
        By how much the bound must be above the k-th score for the node to matter.
    """

    state: tuple[Any, ...]
    number: int = 1
    parent: int = 0
    depth: int = 0
    branched: tuple[int, bool] = (-1, False)
    dead: Ints = field(default_factory=lambda: _NO_ARCS)
    bound: float = np.inf
    arc: int = -1
    lower: float = -np.inf
    tree: Ints | None = None
    margin: float = 0.0


@dataclass(slots=True)
class Outcome:
    """What a search found, in the problem's arcs.

    Attributes
    ----------
    trees : int32[K, n]
        Best first.
    scores : float64[K]
    bound : float
        On every tree that is not among them; -inf: there is none.
    status : str
        optimal, gap, time_limit, node_limit, work_limit or infeasible.
    stats : dict
    """

    trees: Ints
    scores: Floats
    bound: float
    status: str
    stats: dict[str, float | int]


class Search:
    """One search: the k best trees so far and the open nodes.

    Parameters
    ----------
    root : Root
    bounded : bool
        Whether the root is bounded, and open.
    full_size : int
        Of the oracle at the root.
    counters : float64[3 or more]
        What was done so far.
    settings : SearchSettings
    quantum : float
        All tree scores are integer multiples of it; 0 where that is not known.
    observer : Observer, optional
    given : int32[A], optional
        For the observer: each arc of the oracle in the problem that was given.
    projective : bool
        Which oracle it is.
    """

    def __init__(
        self, root: Root, bounded: bool, full_size: int, counters: Floats,
        settings: SearchSettings, quantum: float = 0.0, observer: Observer | None = None,
        given: Ints | None = None, projective: bool = True,
    ) -> None:  # fmt: skip
        self.settings = settings
        self.quantum = quantum
        self.order = root.order
        self.slack, self.hard = root.slack, root.hard
        self.best = Incumbents(*root.best)
        self.counters = counters
        self.full_size = full_size
        self.n_nodes = int(bounded)
        self._bound_node, self._start = bound_projective, start_projective
        if not projective:
            self._bound_node, self._start = bound_nonprojective, start_nonprojective
        self._calls = CALLS[projective]
        self._made = 1  # nodes, so that each has a number
        self._deadline = self._most_nodes = self._most_work = np.inf
        self._began = self._done_before = 0.0
        self._observer = observer
        self._given = root.order if given is None else given
        self._wild, self._high = root.size > IMBALANCE * root.high, root.high
        self.root = Open(
            root.node, bound=root.bound, arc=root.arc, lower=root.lower, margin=root.margin
        )
        if root.status == SOLVED:
            self.root.tree = root.tree
        if observer is not None:
            observer.started(
                Started(self._given, full_size, _factors(root.node), root.moved_factors)
            )

    def run(
        self, time_limit: float | None = None, node_limit: int | None = None,
        work_limit: float | None = None, gap: float = 0.0,
    ) -> Outcome:  # fmt: skip
        """Search until done or a limit is reached.

        Parameters
        ----------
        time_limit : float, optional
            Seconds.
        node_limit : int, optional
        work_limit : float, optional
            Places of the oracle that are visited, all calls together.
        gap : float
            Stop when the bound is within this share of the k-th score.
        """
        self._began, self._done_before = time.monotonic(), float(self.counters[1])
        if time_limit is not None:
            self._deadline = self._began + time_limit
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
        if self._observer is not None:
            self._observer.finished(Finished(status, max(bound, top), top, calls, self.n_nodes))
        return Outcome(
            self.order[self.best.trees[:found]], self.best.scores[:found].copy(), bound, status,
            stats,
        )  # fmt: skip

    # --- nodes ------------------------------------------------------------------------------------

    def _limits(self, calls: int) -> tuple[Any, ...]:
        s = self.settings
        work = self._most_work
        if self._deadline < np.inf:  # as much as fits into the time, at the pace so far
            now, done = time.monotonic(), float(self.counters[1])
            pace = max(1, self.full_size) / WORK_PER_SECOND
            if done > self._done_before:
                pace = (now - self._began) / (done - self._done_before)
            work = min(work, done + (self._deadline - now) / pace)
        return (
            METHODS[s.method], calls, work, s.eliminate_every, s.close_k, s.precision, self.quantum,
            self.slack, self.hard, self._wild, float(max(1, self.full_size)),
        )  # fmt: skip

    def _bound(self, node: Open) -> bool:
        """Bound a node; whether it stays open."""
        calls = self.settings.root_calls if node.depth == 0 else self.settings.node_calls
        calls *= self._calls
        inherited, record = node.bound, _NOT_RECORDED
        if self._observer is not None and self._observer.wants_calls:
            rows, arcs = calls + 2, len(self.order)
            record = (
                np.empty((rows, 4)), np.empty(rows, np.int64), np.zeros(arcs, np.int64),
                np.zeros(1, np.int64),
            )  # fmt: skip
        self.n_nodes += 1
        status, bound, node.arc, node.lower, tree, node.margin, node.state = self._bound_node(
            node.state, node.dead, tuple(self.best), self._limits(calls), self.counters, record
        )
        node.dead = _NO_ARCS
        node.bound = min(node.bound, bound)
        node.tree = tree if status == SOLVED else None
        stays = bool(status != CLOSED and self._matters(node))
        if self._observer is not None:
            self._tell(node, inherited, stays, record)
        return stays

    def _tell(self, node: Open, inherited: float, stays: bool, record: tuple[Any, ...]) -> None:
        """Tell the observer of a node, call by call if it wants to know."""
        observer = self._observer
        if observer is None:
            return
        rows, factors, died, used = record
        lower = float(self.best.scores[0]) if self.best.found[0] else -np.inf
        for row in range(int(used[0])):
            calls, bound, known, size = rows[row].tolist()
            alive = self._given[died > row]
            state = State(int(calls), bound, known, alive, int(size), int(factors[row]))
            observer.called(CallEvent(node.number, state))
        last = State(
            int(self.counters[0]), node.bound if stays else -np.inf, lower,
            self._given[node.state[2] > -np.inf], _size(node.state), _factors(node.state),
        )  # fmt: skip
        arc, present = node.branched
        observer.bounded(
            NodeEvent(
                node.number, node.parent, node.depth, int(self._given[arc]) if arc >= 0 else -1,
                present, inherited, not stays, last,
            )
        )  # fmt: skip

    def _children(self, node: Open, arc: int) -> list[Open]:
        """The subspaces that a node falls into; a node where the arc is not free is its own."""
        _, arc_mod, base, *_ = node.state
        alive = base > -np.inf
        parts: list[tuple[Ints, int, bool]] = []
        if node.tree is not None:
            arc = -1
            fixed = _NO_ARCS
            for own in node.tree:
                rivals = np.flatnonzero((arc_mod == arc_mod[own]) & alive).astype(np.int32)
                if len(rivals) > 1:
                    parts.append((np.append(fixed, own), int(own), False))
                    fixed = np.append(fixed, rivals[rivals != own])
        else:
            rivals = np.flatnonzero((arc_mod == arc_mod[arc]) & alive).astype(np.int32)
            if len(rivals) == 1 or not alive[arc]:
                return [node]
            without = np.array([arc], np.int32)
            parts = [(rivals[rivals != arc], arc, True), (without, arc, False)]
        children = []
        for dead, own, present in parts:
            self._made += 1
            children.append(
                Open(
                    node.state, self._made, node.number, node.depth + 1, (own, present),
                    dead.astype(np.int32), node.bound,
                )
            )  # fmt: skip
        if self._observer is not None:
            given = int(self._given[arc]) if arc >= 0 else -1
            numbers = tuple(child.number for child in children)
            self._observer.branched(BranchEvent(node.number, given, numbers))
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
        if self._wild:
            self._probe()
        if self.settings.lower_start and _factors(self.root.state):
            self._start_with(self.settings.lower_start)

    def _start_with(self, calls: int) -> None:
        self._start(self.root.state, tuple(self.best), self._limits(calls), self.counters)

    def _probe(self) -> None:
        """Reduce the slack where it comes from penalties that no good tree pays.

        A tree that scores L has positive terms of at most H in all, so its negative terms are at
        most H - L. Arcs and factors that cost more are in no tree that matters: such arcs go, and
        such factors keep just enough weight to stay out.
        """
        self._start_with(_PROBE_CALLS)
        k = len(self.best.scores)
        if self.best.found[0] < k:
            return
        reach = 2.0 * self._high + abs(float(self.best.scores[k - 1]))
        self.slack = min(self.slack, float(slack_of(reach)))
        _, _, base, _, factors, _ = self.root.state
        weight = factors[2]
        base[base < -2.0 * reach] = -np.inf
        soft = weight > -self.hard
        weight[soft] = np.maximum(weight[soft], -2.0 * reach)

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
        if time.monotonic() >= self._deadline:
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


def _factors(state: tuple[Any, ...]) -> int:
    """Factors and count factors that are alive in a node."""
    return int(state[4][-1][0] + state[5][-1][0])


def _size(state: tuple[Any, ...]) -> int:
    """Size of the oracle of a node."""
    if len(state[0]) != len(Chart._fields):
        return int((state[2] > -np.inf).sum())
    item_ptr, size = state[0][0], state[0][5]
    return int(item_ptr[size[0]])
