"""Making proofs: the bounder of a search that knows the k best trees already.

The subspaces come depth first, and it writes the nodes of a :class:`bbparse.problem.proof.Proof` as
they come. In each it lowers the bound of :mod:`bbparse.proof.relaxation` by Polyak's steps, aiming
at the k-th score; takes out at once all arcs that are in no better tree, which the
max-marginals under the same multipliers show; and then branches: on the arc with the largest
gap, or, where the best tree is one of the solution, by Lawler's partition around it.

Bounds refer to the problem as it was given: what is fixed in a subspace only moves multipliers.

Where fewer than k trees exist, there is no k-th score, and what has to be shown is that nothing
else is feasible. All finite scores are then replaced by zero, and bounds are lowered until they
are negative.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bbparse.deadline import Deadline
from bbparse.problem import Problem, Solution
from bbparse.problem.order import in_order
from bbparse.problem.proof import (
    BOUND,
    EMPTY,
    SPLIT,
    TREE,
    Proof,
    digest,
    hardened,
    largest_score,
    tolerances,
)
from bbparse.problem.tree import broken_constraint, tree_score, tree_terms
from bbparse.proof.crossing import pairs_of
from bbparse.proof.relaxation import Bound, Relaxation, Space
from bbparse.search.search import Bounder, Search, SearchLimits

#: Calls of the oracle at the root and at other nodes, and how many lie between two eliminations.
ROOT_CALLS, NODE_CALLS, EVERY = 60, 15, 4
#: So many times more of them where the oracle has components that are to agree.
MORE_CALLS = 8
#: Without scores bounds are lowered towards -1, and are low enough here.
CLEARLY_NEGATIVE = -1e-3

Floats = NDArray[np.float64]


class _BetterTree(Exception):
    """A tree that the solution lacks."""


class Certifier(Bounder[Space]):
    """What writes the proof of one solution."""

    def __init__(self, problem: Problem, solution: Solution, k_best: int) -> None:
        self.given, self.k_best = problem, k_best
        self.all_trees = len(solution) < k_best
        terms = None if self.all_trees else tree_terms(problem, solution.arcs[-1])
        if terms is not None:
            problem = hardened(problem, terms)
        self.problem, self.order = in_order(problem)
        rounding, above = tolerances(problem, terms)
        self.rounding, self.terms = rounding, terms or []
        self.trees = solution.arcs
        if self.order is not None:
            self.trees = np.argsort(self.order).astype(np.int32)[solution.arcs]
        self.known = {tuple(arcs) for arcs in self.trees.tolist()}
        self.tree_limit = -math.inf if self.all_trees else float(solution.scores[-1]) + rounding
        if self.all_trees:
            self.limit, self.target, hard = CLEARLY_NEGATIVE, -1.0, 8.0
            self.precision = 1e-3
            self.scores = np.zeros_like(solution.scores)
        else:
            # half the tolerance, so that the checker's rounding has the other half
            self.target, hard = float(solution.scores[-1]), 4.0 * largest_score(problem)
            self.precision = 0.5 * rounding
            self.limit = self.target + max(0.5 * rounding, above - rounding)
            self.scores = solution.scores
        self.relaxation = Relaxation(self.problem, not self.all_trees, hard)
        self.nodes = Nodes()
        self._left: list[Space] = []

    def run(self, time_limit: float | None) -> tuple[Proof | None, str]:
        self.limits = SearchLimits(Deadline.after(time_limit))
        try:
            status = Search(self).in_depth(self.relaxation.whole())
        except _BetterTree as better:
            return None, str(better)
        if status != "optimal":
            return None, "the time limit was reached"
        return self.nodes.proof(self.given, self.k_best, self.order), ""

    @property
    def worst(self) -> float:
        return -math.inf  # what is not closed is to be proved

    def bound(self, space: Space) -> None:
        calls = NODE_CALLS if space.depth else ROOT_CALLS
        self._left = self._prove(space, calls * (MORE_CALLS if self.relaxation.apart else 1))
        if not self._left:
            space.bound = -math.inf

    def divide(self, space: Space) -> list[Space]:
        return self._left

    # ---- one subspace --------------------------------------------------------------------------

    def _prove(self, space: Space, calls: int) -> list[Space]:
        """Write the node of a subspace; the subspaces that are left to prove, the last first."""
        self.relaxation.settle(space)
        inside = [t for t, tree in enumerate(self.trees) if space.alive[tree].all()]
        target = max([self.target, *(float(self.scores[t]) for t in inside)])
        best = previous = math.inf
        mild = 1.0
        call = 0
        while True:
            bound = self.relaxation.bound(space)
            if bound.value <= self.limit:
                self._bound_leaf(space, bound.value)
                return []
            call += 1
            best = min(best, bound.value)
            last = call >= calls or bound.value <= target + self.precision
            if (last or call % EVERY == 1) and self._eliminate(space, bound):
                continue
            if last:
                break
            if bound.value > previous:
                mild *= 0.7
            previous = bound.value
            if not self.relaxation.step(space, mild * (bound.value - target)):
                break
        return self._branch(space, bound)

    def _eliminate(self, space: Space, bound: Bound) -> bool:
        """Take out the arcs that are in no tree above the limit; whether there were any."""
        value = self.relaxation.with_each(space, bound)
        poor = np.flatnonzero(self.relaxation.free(space) & (value <= self.limit))
        if not len(poor):
            return False
        self.nodes.split(poor)
        most = self.relaxation.with_some(space, value, poor)
        if len(poor) == 1:
            # the arc is required in its leaf, which fixes more: bound the leaf as it is
            required = self._without_and_with(space, int(poor[0]))[1]
            self.relaxation.settle(required)
            self._bound_leaf(required, self.relaxation.bound(required).value)
        else:
            self._bound_leaf(space, most)
        space.alive[poor] = False
        self.relaxation.settle(space)
        return True

    def _bound_leaf(self, space: Space, bound: float) -> None:
        """Write the leaf of a subspace that has no tree above the limit, or none at all."""
        if bound == -math.inf:
            self.nodes.leaf(EMPTY, bound)
            return
        kind, claim = (EMPTY, -math.inf) if self.all_trees else (BOUND, bound)
        self.nodes.leaf(kind, claim, self.relaxation.recorded(space))

    # ---- branching -----------------------------------------------------------------------------

    def _branch(self, space: Space, bound: Bound) -> list[Space]:
        arcs = bound.tree
        known = tuple(arcs.tolist()) in self.known
        if not known:
            score = tree_score(self.problem, arcs)
            if score > self.tree_limit and not broken_constraint(self.problem, arcs):
                raise _BetterTree(f"a tree of score {score} is not in the solution")
        free = self.relaxation.free(space)
        if not known:
            gap = self.relaxation.gaps(space)
            gap[~free] = 0.0
            if gap.max(initial=0.0) > 0.0:
                arc = int(gap.argmax())
                self.nodes.split([arc])
                return self._without_and_with(space, arc)
        # Lawler: the trees that first leave this one at its i-th free arc, for each i
        spaces: list[Space] = []
        for arc in bound.tree[free[bound.tree]].tolist():
            self.nodes.split([arc])
            without, space = self._without_and_with(space, arc)
            spaces.append(without)
        score = tree_score(self.problem, arcs)
        if broken_constraint(self.problem, arcs):
            self.nodes.leaf(EMPTY, -math.inf)
        else:
            self.nodes.leaf(TREE, score)
        return spaces

    def _without_and_with(self, space: Space, arc: int) -> list[Space]:
        without, having = space.copy(), space.copy()
        without.alive[arc] = False
        rivals = self.relaxation.mod == self.relaxation.mod[arc]
        rivals[arc] = False
        having.alive[rivals] = False
        return [without, having]


class Nodes:
    """Nodes in pre-order, and the rows of multipliers that they share."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, list[int], float, int]] = []
        self._rows: dict[tuple[bytes, ...], int] = {}

    def split(self, arcs: Iterable[int]) -> None:
        """Ask whether a tree has one of these arcs."""
        self._nodes.append((SPLIT, np.asarray(arcs).tolist(), 0.0, -1))

    def leaf(self, kind: int, bound: float, multipliers: tuple[Floats, ...] = ()) -> None:
        """Close a subspace, with multipliers of factors, counts and pairs or without."""
        row = -1
        if multipliers:
            key = tuple(lam.tobytes() for lam in multipliers)
            row = self._rows.setdefault(key, len(self._rows))
        self._nodes.append((kind, [], bound, row))

    def proof(
        self, problem: Problem, k_best: int, order: NDArray[np.int64] | None = None
    ) -> Proof:
        """The proof that these nodes are; order: the problem's arc for each arc they name."""
        widths = (len(problem.factor_arcs), len(problem.count_arcs), 2 * len(pairs_of(problem)))
        multipliers = [
            np.frombuffer(b"".join(row[i] for row in self._rows)).reshape(len(self._rows), width)
            for i, width in enumerate(widths)
        ]
        kinds, asked, bounds, rows = zip(*self._nodes)
        arcs = np.array([a for own in asked for a in own], np.int32)
        return Proof(
            digest(problem), k_best, np.array(kinds, np.int8), np.cumsum([0, *map(len, asked)]),
            arcs if order is None else order[arcs].astype(np.int32), np.array(bounds),
            np.array(rows, np.int32), *multipliers,
        )  # fmt: skip
