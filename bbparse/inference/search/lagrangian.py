"""Branch and bound over fixed-arc subspaces (QL13 §3.3) with a Lagrangian relaxation.

A node is the set of trees over the arcs that are still alive in it. Bounding a node
(`inference.relaxation.node`) either closes it or names the arc with the largest factor
gap. One child requires that arc, the other forbids it. If the bound is the score of the node's best
tree and more trees are wanted, the rest of the node is partitioned around that tree (Lawler 1972):
child i requires the tree's arcs into the words before the i-th free word, and forbids its arc into
that word. The children are therefore disjoint, and none of them contains the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bbparse.core import Problem
from bbparse.inference.oracles.arcs import alive_arcs
from bbparse.inference.oracles.calls import oracle_over
from bbparse.inference.oracles.projective.build import Chart
from bbparse.inference.relaxation.counts import largest_counts
from bbparse.inference.relaxation.incumbents import insert_trees, margin_of
from bbparse.inference.relaxation.node import (
    CLOSED,
    SOLVED,
    WAITS,
    branching_arc,
    call_oracle,
    list_best,
)
from bbparse.inference.relaxation.state import (
    Limits,
    NodeState,
    hard_weight,
    no_trees,
    score_spread,
    slack_of,
)
from bbparse.inference.search.factors import node_counts, node_factors, possible_factors, take_parts
from bbparse.inference.search.search import Bounder, Node, Search, SearchLimits
from bbparse.inference.search.settings import SearchSettings
from bbparse.runtime.arrays import Ints, Longs

NO_ARCS = np.empty(0, np.int64)

#: Maximum number of listed trees, or one less than twice as many, that choose the branching arc.
_SAMPLED = 16

#: Receives the number of oracle calls, an upper bound on all trees, and the best known score.
Observer = Callable[[int, float, float], None]

#: Oracle calls for each call in the settings, at the root and at other nodes, by whether trees are
#: projective. A call of the automata is cheaper than a call of the chart, and more are needed.
CALLS = {True: (1, 1), False: (6, 3)}


class Root(NamedTuple):
    """The root of a problem's search, not bounded yet: the node of all its trees.

    Arcs are sorted, factors that cannot fire are dropped, and those that equal parts of the
    oracle's recurrence become parts. The rest is bounded by multipliers.
    """

    node: NodeState
    order: Ints  # the problem's arc for each arc of the oracle
    slack: float  # this and the next: see `inference.relaxation.state.Limits`
    hard: float


def make_root(problem: Problem, mode: int, until: float = np.inf) -> Root:
    """Make the root of a problem's search; `TimeOver` if that is not done at the time ``until``."""
    p, n = problem, problem.n_words
    order = alive_arcs(n, p.arc_head, p.arc_mod, p.arc_state)
    if len(order) < n:  # some word has no arc: an oracle without arcs has no tree
        order = order[:0]
    head, mod, base = p.arc_head[order], p.arc_mod[order], p.arc_score[order]
    place = np.full(len(p.arc_head), -1, np.int32)
    place[order] = np.arange(len(order))
    sets, weight = possible_factors(p, place, head, mod)
    if mode > 0 and len(weight) and p.arc_label is None:
        p, sets, weight = take_parts(p, mode, head, mod, sets, weight)
    oracle, counts = oracle_over(p, mode, head, mod, until), node_counts(place, p)
    spread = score_spread(n, base, oracle.part_scores(), weight, largest_counts(counts))
    slack, hard = slack_of(spread), hard_weight(spread)
    factors = node_factors(sets, weight, len(order), hard)
    return Root(NodeState(oracle, mod, base, np.zeros(1), factors, counts), order, slack, hard)


@dataclass(eq=False, slots=True, kw_only=True)
class Subspace(Node):
    """The set of trees over the arcs that are alive."""

    state: NodeState  # the node as bounded; its parent's before it is bounded
    dead: Longs  # the parent's arcs that it forbids
    trees: Ints | None = None  # [T, n], found when it was bounded
    solved: bool = False  # True if the first of them is its best tree


class Outcome(NamedTuple):
    """The result of a search."""

    trees: Ints  # [K, n], the problem's arc into each word, best tree first
    bound: float  # upper bound on the score of every other tree; -inf: there is none
    status: str  # as in `Solution.status`
    stats: dict[str, float | int]


class Lagrangian(Bounder[Subspace]):
    """Lagrangian bounds of subspaces, and the k best trees so far."""

    def __init__(
        self,
        root: Root,
        k_best: int,
        settings: SearchSettings,
        quantum: float,
        observer: Observer | None = None,
    ) -> None:
        self.settings = settings
        self.order = root.order
        self.slack, self.hard = root.slack, root.hard
        self.margin = margin_of(quantum, root.slack)
        self.best = no_trees(k_best, int(root.node.arc_mod.max(initial=0)))
        self.observer = observer
        self.counters = np.zeros(3)
        self.full_size = root.node.oracle.positions()
        self._calls = CALLS[isinstance(root.node.oracle, Chart)]
        self.root = Subspace(state=root.node, dead=NO_ARCS)

    def run(self, limits: SearchLimits) -> Outcome:
        """Search until the end or a limit; the work limit counts positions of the oracle."""
        self.limits = limits._replace(work=limits.work / max(1, self.full_size))
        search = Search(self)
        bound, status = -np.inf, "optimal"
        stays = search.bound(self.root)
        if stays:
            bound, status = search.run(self.root)
        count = int(self.best.found[0])
        if count == 0 and status == "optimal":
            status = "infeasible"
        stats: dict[str, float | int] = {
            "nodes": search.n_nodes,
            "dp_calls": int(self.counters[0]),
            "dp_work": float(self.counters[1]),
            "trees_tried": int(self.counters[2]),
            "closed_at_root": int(not stays),
            "edges": self.full_size,
        }
        trees = self.order[self.best.trees[:count]]
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
        return node.bound >= self.worst + self.margin

    def bound(self, node: Subspace) -> None:
        s, (at_root, at_others) = self.settings, self._calls
        calls = s.root_calls * at_root if node.depth == 0 else s.node_calls * at_others
        record = np.zeros((calls if self.observer and node.depth == 0 else 0, 3))
        # a root is its own copy already; a large chart takes a second
        state = node.state.trimmed() if node.depth else node.state
        state.base[node.dead] = -np.inf
        shared = self.best, self._limits(calls), self.counters
        status, bound, tree = call_oracle(state, *shared, record)
        trees = tree[np.newaxis]
        if status == WAITS:
            trees, scores, rest = list_best(state, *shared)
            insert_trees(self.best, trees, scores)
            bound, trees = min(bound, rest), trees[:: max(1, len(trees) // _SAMPLED)].copy()
        if self.observer:
            for number, upper, known in record[record[:, 0] > 0].tolist():
                self.observer(int(number), max(upper, known), known)
        if status == CLOSED or bound < self.worst + self.margin:
            node.bound = -np.inf
            return
        node.state, node.dead = state, NO_ARCS
        if not self.limits.deadline.is_over():  # less memory while the node waits
            node.state = state.trimmed()
        node.trees, node.solved = trees, status == SOLVED
        node.bound = min(node.bound, bound)

    def divide(self, node: Subspace) -> list[Subspace]:
        """Partition a node around its best tree if that is known, else branch on an arc."""
        arc_mod, alive = node.state.arc_mod, node.state.base > -np.inf
        if not node.solved or node.trees is None:
            limits = self._limits(0)
            arc = branching_arc(node.state, limits, node.trees, len(self.best.scores))
            if arc < 0:
                return [node] if self.limits.deadline.is_over() else []
            choices = np.flatnonzero((arc_mod == arc_mod[arc]) & alive)
            parts = [choices[choices != arc], np.array([arc])]
        else:
            tree = node.trees[0]
            alive[tree] = False
            # by word: each child forbids those of the words before
            rivals = np.flatnonzero(alive)
            rivals = rivals[np.argsort(arc_mod[rivals], kind="stable")]
            ends = np.searchsorted(arc_mod[rivals], np.arange(1, len(tree) + 2))
            parts = [
                np.append(rivals[:before], own)
                for own, before, after in zip(tree, ends, ends[1:])
                if after > before
            ]
        return [Subspace(state=node.state, dead=dead) for dead in parts]

    def on_bound_improved(self, bound: float) -> None:
        if self.observer:
            known = float(self.best.scores[0])
            self.observer(int(self.counters[0]), max(bound, known), known)

    def _limits(self, calls: int) -> Limits:
        s = self.settings
        return Limits(
            calls,
            self.limits.work,
            self.limits.deadline.at,
            s.eliminate_every,
            s.close_k,
            self.margin,
            self.slack,
            self.hard,
            float(max(1, self.full_size)),
        )
