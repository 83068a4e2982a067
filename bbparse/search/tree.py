"""Branch and bound over fixed-arc subspaces (QL13 §3.3 and Algorithm 1).

A node is a set of trees, given by the arcs still alive in it. Bounding it
(:func:`bbparse.bounding.node.bound_node`) either closes it, or names the arc with the largest
factor gap; its children have that arc and do not have it. Nodes wait in a queue ordered by their
bound, so that the search stops as soon as the best bound does not beat the k-th tree.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sortedcontainers import SortedKeyList

from bbparse.bounding.lower import lower_bound_start
from bbparse.bounding.multipliers import start_multipliers
from bbparse.bounding.node import CLOSED, bound_node, floor_to_beat
from bbparse.bounding.slack import hard_weight, score_spread, slack_of
from bbparse.oracle.projective.chart import Chart
from bbparse.search.root import IMBALANCE, OpenRoot
from bbparse.search.settings import METHODS, SearchSettings

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

CountArrays = tuple[NDArray[np.int64], Ints, NDArray[np.int64], Floats]
_NO_COUNTS: CountArrays = (
    np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0),
)  # fmt: skip

# DP calls that look for a tree without the largest penalties, where these are out of proportion.
_PROBE_CALLS = 5


@dataclass(slots=True)
class Node:
    """One subspace: its chart, live arc scores, factors and multipliers (chart order)."""

    item_ptr: Ints
    item_group: Ints
    left: Ints
    right: Ints
    weight: Floats
    base: Floats
    fac_ptr: NDArray[np.int64]
    fac_arcs: Ints
    fac_weight: Floats
    lam: Floats
    cnt_ptr: NDArray[np.int64]
    cnt_arcs: Ints
    cnt_score_ptr: NDArray[np.int64]
    cnt_score: Floats
    cnt_lam: Floats
    sizes: NDArray[np.int64]
    constant: Floats
    bound: float = np.inf
    arc: int = -1
    lower: float = -np.inf
    depth: int = 0

    def copy(self) -> Node:
        """An independent node with the same content, trimmed to what is alive."""
        items, factors = int(self.sizes[0]), int(self.sizes[1])
        edges = int(self.item_ptr[items])
        used = int(self.fac_ptr[factors])
        sets = int(self.sizes[2])
        members = int(self.cnt_ptr[sets])
        return Node(
            self.item_ptr[: items + 1].copy(), self.item_group[:items].copy(),
            self.left[:edges].copy(), self.right[:edges].copy(), self.weight[:edges].copy(),
            self.base.copy(), self.fac_ptr[: factors + 1].copy(), self.fac_arcs[:used].copy(),
            self.fac_weight[:factors].copy(), self.lam[:used].copy(),
            self.cnt_ptr[: sets + 1].copy(), self.cnt_arcs[:members].copy(),
            self.cnt_score_ptr[: sets + 1].copy(),
            self.cnt_score[: int(self.cnt_score_ptr[sets])].copy(),
            self.cnt_lam[:members].copy(), self.sizes.copy(),
            self.constant.copy(), self.bound, self.arc, self.lower, self.depth,
        )  # fmt: skip


@dataclass(slots=True)
class Outcome:
    """What a search found, in chart arcs; see :func:`search`."""

    trees: Ints
    scores: Floats
    bound: float
    status: str
    stats: dict[str, float | int]


class Search:
    """One search: the chart, the k best trees so far and the open nodes.

    Parameters
    ----------
    chart : Chart
        Backbone of the problem.
    factors : (fac_ptr int64[F+1], fac_arcs int32[], fac_weight float64[F])
        In chart arcs; weight -inf: never together.
    k : int
        Number of trees wanted.
    settings : SearchSettings
    quantum : float
        All tree scores are integer multiples of it; 0 where that is not known.
    counts : (cnt_ptr, cnt_arcs, cnt_score_ptr, cnt_score), optional
        Count factors in chart arcs (:mod:`bbparse.bounding.counts`).
    """

    def __init__(
        self,
        chart: Chart,
        factors: tuple[NDArray[np.int64], Ints, Floats],
        k: int,
        settings: SearchSettings,
        quantum: float = 0.0,
        counts: CountArrays | None = None,
    ) -> None:
        self.n_words = chart.n_words
        self.n_edges = chart.n_edges
        self.group_ptr = chart.group_ptr
        self.group_mod = chart.group_mod
        self.settings = settings
        self.quantum = quantum
        fac_ptr, fac_arcs, fac_weight = factors
        cnt_ptr, cnt_arcs, cnt_score_ptr, cnt_score = _NO_COUNTS if counts is None else counts
        largest, highest = score_spread(
            chart.n_words, chart.arc_score, chart.weight, fac_weight, cnt_score
        )
        self.hard = float(hard_weight(largest))
        if not np.isfinite(fac_weight).all():
            fac_weight = np.where(np.isfinite(fac_weight), fac_weight, -self.hard)
        self.slack = float(slack_of(largest))
        self._highest = highest
        self._largest = largest
        self.trees = np.zeros((k, chart.n_words), np.int32)
        self.scores = np.full(k, -np.inf)
        self.count = np.zeros(1, np.int64)
        self.counters = np.zeros(3)
        self.n_nodes = 0
        self.arc_mod = np.repeat(chart.group_mod, np.diff(chart.group_ptr))
        lam = np.empty(fac_arcs.shape[0])
        fac_ptr = np.array(fac_ptr, np.int64)
        fac_weight = np.array(fac_weight, np.float64)
        start_multipliers(fac_weight.shape[0], fac_ptr, fac_weight, lam)
        self.root = Node(
            chart.item_ptr, chart.item_group, chart.left, chart.right, chart.weight,
            chart.arc_score, fac_ptr, np.array(fac_arcs, np.int32), fac_weight, lam,
            np.array(cnt_ptr, np.int64), np.array(cnt_arcs, np.int32),
            np.array(cnt_score_ptr, np.int64), np.array(cnt_score, np.float64),
            np.zeros(cnt_arcs.shape[0]),
            np.array([chart.n_items, fac_weight.shape[0], cnt_ptr.shape[0] - 1], np.int64),
            np.zeros(1),
        )  # fmt: skip

    @classmethod
    def resume(
        cls, left: OpenRoot, n_edges: int, counters: Floats, settings: SearchSettings,
        quantum: float,
    ) -> Search:  # fmt: skip
        """A search whose root is bounded already (:func:`bbparse.search.root.solve_root`)."""
        run = cls.__new__(cls)
        run.n_words = left.trees.shape[1]
        run.n_edges = n_edges
        run.group_ptr, run.group_mod, run.arc_mod = left.group_ptr, left.mod, left.mod
        run.settings = settings
        run.quantum = quantum
        run.hard, run.slack = left.hard, left.slack
        run.trees, run.scores, run.count = left.trees, left.scores, left.found
        run.counters = counters
        run.n_nodes = 1
        run.root = Node(
            left.item_ptr, left.item_group, left.left, left.right, left.weight, left.base,
            left.fac_ptr, left.fac_arcs, left.fac_weight, left.lam, *_NO_COUNTS, np.empty(0),
            left.sizes, left.constant, bound=left.bound, arc=left.arc, lower=left.lower,
        )  # fmt: skip
        return run

    @property
    def floor(self) -> float:
        """Least score that would still change the k best."""
        return float(floor_to_beat(self.scores, self.count, self.quantum, self.slack))

    def _bound(self, node: Node) -> bool:
        """Bound a node in place; whether it stays open."""
        s = self.settings
        out = np.empty(3)
        self.n_nodes += 1
        status = bound_node(
            self.n_words, self.group_ptr, self.group_mod, self.arc_mod,
            node.item_ptr, node.item_group, node.left, node.right, node.weight,
            node.base, node.fac_ptr, node.fac_arcs, node.fac_weight, node.lam,
            node.cnt_ptr, node.cnt_arcs, node.cnt_score_ptr, node.cnt_score, node.cnt_lam,
            node.sizes, node.constant, self.trees, self.scores, self.count,
            METHODS[s.method], s.root_calls if node.depth == 0 else s.node_calls,
            s.eliminate_every, s.close_k, s.precision, self.quantum, self.slack, self.hard,
            float(max(1, self.n_edges)), self.counters, out,
        )  # fmt: skip
        node.bound = min(node.bound, float(out[0]))
        node.arc = int(out[1])
        node.lower = float(out[2])
        return status != CLOSED and node.bound >= self.floor

    def _lower_start(self, calls: int) -> None:
        root = self.root
        lower_bound_start(
            self.n_words, self.group_ptr, self.group_mod,
            root.item_ptr, root.item_group, root.left, root.right, root.weight,
            root.base, root.fac_ptr, root.fac_arcs, root.fac_weight, root.sizes,
            root.constant, self.trees, self.scores, self.count, calls,
            self.slack, self.hard, float(max(1, self.n_edges)), self.counters,
        )  # fmt: skip

    def _probe(self) -> None:
        """Reduce the slack where it comes from penalties that no good tree pays.

        A tree that scores L has positive terms of at most H in all, so its negative terms are at
        most H - L. Arcs and factors that cost more are in no tree that matters: such arcs go, and
        such factors keep just enough weight to stay out.
        """
        self._lower_start(_PROBE_CALLS)
        k = self.scores.shape[0]
        if self.count[0] < k:
            return
        reach = 2.0 * self._highest + abs(float(self.scores[k - 1]))
        self.slack = min(self.slack, float(slack_of(reach)))
        root = self.root
        root.base[root.base < -2.0 * reach] = -np.inf
        soft = root.fac_weight > -self.hard
        root.fac_weight[soft] = np.maximum(root.fac_weight[soft], -2.0 * reach)

    def _children(self, node: Node, arc: int) -> list[Node]:
        """The subspaces with and without an arc; a node where it is not free is its own child."""
        mod = self.arc_mod[arc]
        rivals = np.flatnonzero((self.arc_mod == mod) & (node.base > -np.inf))
        if node.base[arc] == -np.inf or rivals.shape[0] == 1:
            return [node]
        with_arc = node.copy()
        with_arc.base[rivals[rivals != arc]] = -np.inf
        node.base[arc] = -np.inf
        with_arc.depth = node.depth = node.depth + 1
        return [with_arc, node]

    def run(
        self, time_limit: float | None, node_limit: int | None, gap: float
    ) -> Outcome:
        """Search until done or a limit is reached; see :func:`search`."""
        deadline = np.inf if time_limit is None else time.monotonic() + time_limit
        root = self.root
        if not root.sizes[2]:  # π has no form for count factors
            if self._largest > IMBALANCE * self._highest:
                self._probe()
            if self.settings.lower_start and root.sizes[1]:
                self._lower_start(self.settings.lower_start)
        return self._finish(self._bound(root), deadline, node_limit, gap)

    def go_on(self, time_limit: float | None, node_limit: int | None, gap: float) -> Outcome:
        """Search below an open root."""
        deadline = np.inf if time_limit is None else time.monotonic() + time_limit
        return self._finish(True, deadline, node_limit, gap)

    def _finish(
        self, open_root: bool, deadline: float, node_limit: int | None, gap: float
    ) -> Outcome:
        most = np.inf if node_limit is None else node_limit
        if not open_root:
            bound, status = -np.inf, "optimal"
        elif self.settings.order == "level":
            bound, status = self._run_levels(deadline, most, gap)
        else:
            bound, status = self._run_queue(deadline, most, gap)
        found = int(self.count[0])
        if found == 0 and status == "optimal":
            status = "infeasible"
        best = float(self.scores[0]) if found else -np.inf
        stats: dict[str, float | int] = {
            "nodes": self.n_nodes,
            "dp_calls": int(self.counters[0]),
            "dp_work": float(self.counters[1]),
            "trees_tried": int(self.counters[2]),
            "closed_at_root": int(not open_root),
            "edges": self.n_edges,
            "upper_bound": max(bound, best),
        }
        return Outcome(
            self.trees[:found].copy(), self.scores[:found].copy(), bound, status, stats
        )

    def _tight_enough(self, bound: float, gap: float) -> bool:
        k = self.scores.shape[0]
        if bound < self.floor:
            return True
        if gap <= 0.0 or self.count[0] < k:
            return False
        worst = float(self.scores[k - 1])
        return bound - worst <= gap * max(abs(worst), abs(bound))

    def _run_queue(self, deadline: float, most: float, gap: float) -> tuple[float, str]:
        """Best bound first; ties by age, so that the order is the same in every run."""
        queue = SortedKeyList(key=lambda entry: (-entry[0], entry[1]))
        queue.add((self.root.bound, 0, self.root))
        born = 1
        while queue:
            bound, _, node = queue[0]
            if self._tight_enough(bound, gap):
                return (-np.inf, "optimal") if bound < self.floor else (bound, "optimal")
            if self.n_nodes >= most:
                return bound, "node_limit"
            if time.monotonic() >= deadline:
                return bound, "time_limit"
            queue.pop(0)
            for child in self._children(node, node.arc):
                if self._bound(child):
                    queue.add((child.bound, born, child))
                    born += 1
        return -np.inf, "optimal"

    def _run_levels(self, deadline: float, most: float, gap: float) -> tuple[float, str]:
        """Level by level, one branching arc for all nodes of a level (QL13 Algorithm 1)."""
        level = [self.root]
        while level:
            level = [node for node in level if node.bound >= self.floor]
            if not level:
                break
            bound = max(node.bound for node in level)
            if self._tight_enough(bound, gap):
                return bound, "optimal"
            arc = max(level, key=lambda node: node.lower).arc
            below: list[Node] = []
            for i, node in enumerate(level):
                late = time.monotonic() >= deadline
                if late or self.n_nodes >= most:
                    rest = max(n.bound for n in level[i:] + below)
                    return rest, "time_limit" if late else "node_limit"
                below.extend(child for child in self._children(node, arc) if self._bound(child))
            level = below
        return -np.inf, "optimal"


def search(
    chart: Chart,
    factors: tuple[NDArray[np.int64], Ints, Floats],
    k: int = 1,
    settings: SearchSettings | None = None,
    *,
    counts: CountArrays | None = None,
    quantum: float = 0.0,
    time_limit: float | None = None,
    node_limit: int | None = None,
    gap: float = 0.0,
) -> Outcome:
    """Find the k best trees of a chart with factors. The chart is used up.

    Returns
    -------
    Outcome
        Trees in chart arcs, best first; ``bound`` is an upper bound on every tree that is not
        among them (-inf: there is none); ``status`` is optimal, time_limit, node_limit or
        infeasible.
    """
    run = Search(chart, factors, k, settings or SearchSettings(), quantum, counts)
    return run.run(time_limit, node_limit, gap)
