"""Branch, price and cut: linear programs as the bounds of an exact search.

A node is solved by pricing and cutting. The best tree under the point's arc values is scored. If
the node may still contain a better tree, it is branched on the most fractional arc. Triples and
rows found in one node are valid in all nodes.

For the k best trees, a tree that is the optimum of a node is cut off, and the node is solved again.
"""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.core.order import ranked, with_sorted_scores
from bbparse.inference.programs.columns import Columns
from bbparse.inference.programs.master import Master
from bbparse.inference.programs.points import WeightedTree, best_by_weight
from bbparse.inference.search.search import Bounder, Node, Search, SearchLimits
from bbparse.runtime.arrays import Float64s

_WHOLE = 1e-6  # values as near to an integer count as integral
_TREES = 30  # maximum number of trees before the first linear program
_NO_LIMITS = SearchLimits()


def price_and_cut(
    problem: Problem, k_best: int = 1, limits: SearchLimits = _NO_LIMITS, delayed: bool = True
) -> Solution:
    """Find the k best trees of a problem by branch, price and cut (RSM12).

    Siblings, outermost grandchildren, grand-siblings, factors and count factors are columns and
    rows from the start. Grandchildren become columns when their reduced cost may be positive, or,
    if not ``delayed``, all at once. In projective problems crossing arcs are cut off.

    ``stats`` has: ``tolerance``, to which ``optimal`` and bounds hold; ``nodes``; ``rounds`` and
    ``pivots`` of the linear programs; the final number of ``rows`` and ``columns``, and of ``cuts``
    among the rows; the number of ``triples``, how many were ``added``, and their share,
    ``share_added``; ``opened`` arcs; ``root_bound``; ``integral_at_root``, 1 if the root's optimum
    is a tree, else 0; ``lp_seconds``, ``pricing_seconds`` and ``seconds``. Raises `BBParseError` if
    highspy is not installed.
    """
    return _Programs(problem, k_best, delayed, limits).run()


@dataclass(eq=False, slots=True, kw_only=True)
class _Node(Node):
    """The trees within bounds on some columns: (column, minimum, maximum)."""

    fixed: tuple[tuple[int, float, float], ...] = ()
    parts: tuple[tuple[int, float, float], ...] = ()  # bounds of the children; empty: solve again


class _Programs(Bounder[_Node]):
    """Bounds from linear programs, and the best trees found at their points."""

    def __init__(self, problem: Problem, k_best: int, delayed: bool, limits: SearchLimits) -> None:
        self.started = time.perf_counter()
        self.limits = limits
        self.problem, self.k_best = problem, k_best
        self.columns = Columns(problem)
        self.master = Master(with_sorted_scores(problem), self.columns, delayed)
        program = self.master.program
        self.trees: dict[tuple[int, ...], float] = {}
        self.required = set(np.flatnonzero(problem.arc_state == 1).tolist())
        for _ in range(_TREES):
            tree = self._try(self.master.relax())
            if tree is None:  # no tree is better than those found
                self.master.bound = -math.inf
                break
            if not self.master.narrow(tree, self.worst):
                break
        self.master.begin()
        self.lower = np.array(program.lower[: self.master.static])
        self.upper = np.array(program.upper[: self.master.static])
        self.integral = np.flatnonzero(program.integral[: self.master.static])
        self.root_bound = math.nan
        self.integral_at_root = False

    def run(self) -> Solution:
        """Search until the end or a limit; return the solution."""
        search = Search(self)
        bound, status = -math.inf, "optimal"
        if self.master.bound > -math.inf and not self.master.program.impossible():
            bound, status = search.run(_Node(bound=self.master.bound))
        if math.isnan(self.root_bound):
            self.root_bound = self.master.bound
            self.integral_at_root = status in ("optimal", "gap")
        return self._solution(bound, status, search.n_nodes)

    @property
    def worst(self) -> float:
        if len(self.trees) < self.k_best:
            return -math.inf
        return heapq.nlargest(self.k_best, self.trees.values())[-1]

    def matters(self, node: _Node) -> bool:
        return node.bound > self.worst + self.master.tolerance

    def _try(self, weight: Float64s) -> WeightedTree | None:
        """Return the best tree by arc weights float64[A]; record its score if it is feasible."""
        p, upper = self.problem, np.array(self.master.program.upper[: len(weight)])
        tree = best_by_weight(p, np.where(upper > 0.0, weight, -np.inf))
        if tree is None:
            return None
        key = tuple(tree.arcs.tolist())
        if key in self.trees or not self.required.issubset(key):
            return tree
        score = p.score(tree.arcs)
        if score > -math.inf:
            self.trees[key] = score
        return tree

    def bound(self, node: _Node) -> None:
        """Solve a node and choose its branching column."""
        if not self.matters(node):  # its sibling may have found a better tree
            return
        lower, upper = self.lower.copy(), self.upper.copy()
        for column, low, high in node.fixed:
            lower[column], upper[column] = low, high
        floor = self.worst + self.master.tolerance
        bound, x = self.master.solve(lower, upper, floor, self.limits.deadline)
        node.bound, arcs = min(node.bound, bound), self.master.program.count
        solved = x is not None
        if not solved and self.matters(node) and not self.limits.deadline.is_over():
            x = upper  # HiGHS has no answer: branch on any arc
        tree = None if x is None else self._try(x[:arcs])
        off = np.zeros(1) if x is None else np.abs(x[self.integral] - np.rint(x[self.integral]))
        closed = not self.matters(node)
        if math.isnan(self.root_bound):
            self.root_bound = bound
            self.integral_at_root = closed or (solved and off.max() <= _WHOLE)
        if solved and off.max() <= _WHOLE and self.k_best > 1 and tree is not None:
            if tuple(tree.arcs.tolist()) in self.trees:
                self.master.forbid(tree.arcs)
                return  # the node is solved again
        if closed or x is None:  # without a point: the time limit was reached
            return
        if off.max() > _WHOLE:
            # arcs first: they determine the numbers of count factors
            place = int(np.argmax(np.where(off > _WHOLE, off + (self.integral < arcs), 0.0)))
            column = int(self.integral[place])
            value = float(x[column])
        else:  # integral, yet not closed: by rounding, or because the tree is infeasible
            free = np.flatnonzero((x[:arcs] > 0.5) & (lower[:arcs] < 1.0))
            if not len(free):
                node.bound = -math.inf
                return
            column, value = int(free[0]), 0.5
        low, high = float(lower[column]), float(upper[column])
        node.parts = ((column, math.ceil(value), high), (column, low, math.floor(value)))

    def divide(self, node: _Node) -> list[_Node]:
        return [_Node(fixed=(*node.fixed, part)) for part in node.parts] or [node]

    def _solution(self, bound: float, status: str, nodes: int) -> Solution:
        best = heapq.nsmallest(self.k_best, ((-score, arcs) for arcs, score in self.trees.items()))
        master, columns = self.master, self.columns
        stats: dict[str, float | int] = {
            "nodes": nodes,
            "rounds": master.rounds,
            "pivots": master.linear.pivots,
            "rows": len(master.program.low),
            "columns": len(master.program.cost),
            "cuts": master.cuts,
            "triples": columns.total,
            "added": master.added,
            "share_added": master.added / max(1, columns.total),
            "opened": master.opened,
            "tolerance": master.tolerance,
            "root_bound": self.root_bound,
            "integral_at_root": int(self.integral_at_root),
            "lp_seconds": master.seconds["lp"],
            "pricing_seconds": master.seconds["pricing"],
            "seconds": time.perf_counter() - self.started,
        }
        trees = [np.array(arcs, np.int32) for _, arcs in best]
        return ranked(self.problem, trees, [-score for score, _ in best], bound, status, stats)
