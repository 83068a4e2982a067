"""Making proofs: a bounder for a search that knows the k best trees already.

The search visits subspaces depth first, and the bounder writes the nodes of a
:class:`bbparse.core.proof.Proof` in that order. In each subspace it lowers the bound of
`inference.proof.relaxation` by Polyak steps towards the k-th score. It eliminates together all
arcs whose max-marginals show that they are in no better tree. Then it branches: on the arc with the
largest gap, or, if the best tree is one of the solution, by Lawler's partition around that tree.

Bounds refer to the user's problem: arcs that are fixed in a subspace only change multipliers.

If fewer than k trees exist, there is no k-th score, and the proof must show that no other tree is
feasible. All finite scores are then replaced by zero, and bounds are lowered until they are
negative.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.core.order import in_order
from bbparse.core.proof import (
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
from bbparse.core.tree import broken_constraint, rivals, tree_score, tree_terms
from bbparse.inference.proof.crossing import pairs_of
from bbparse.inference.proof.relaxation import Bound, Relaxation, Space
from bbparse.inference.search.search import Bounder, Search, SearchLimits
from bbparse.runtime.arrays import Float64s, Longs
from bbparse.runtime.deadline import Deadline

#: Number of oracle calls at the root, at other nodes, and from one elimination to the next.
ROOT_CALLS, NODE_CALLS, EVERY = 60, 15, 4
#: Factor on the number of calls if the oracle has components that must agree.
MORE_CALLS = 8
#: Without scores, bounds are lowered towards -1; this value is low enough.
CLEARLY_NEGATIVE = -1e-3


class _BetterTree(Exception):
    """A tree better than the k-th one that the solution lacks."""


class Aim(NamedTuple):
    """The relaxation that bounds a subspace, and how low its bound has to be."""

    relaxation: Relaxation
    target: float  # score of the worst tree of the solution in the subspace
    limit: float  # bounds up to this close the subspace
    precision: float  # smaller differences of bound and target do not matter
    noise: float = 0.0  # rounding errors of bounds, if exact ones decide


class Certifier(Bounder[Space]):
    """Bounder that writes the proof of one solution.

    A subclass may have another relaxation for each subspace.
    """

    calls = (ROOT_CALLS, NODE_CALLS)

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
        if self.all_trees:
            self.scores = np.zeros_like(solution.scores)
            self.limit, self.target, self.tree_limit = CLEARLY_NEGATIVE, -1.0, -math.inf
            self.precision, hard = 1e-3, 8.0
        else:
            self.scores = solution.scores
            self.target = float(solution.scores[-1])
            # half of the tolerance: the other half is for the checker's rounding
            self.limit = self.target + max(0.5 * rounding, above - rounding)
            self.tree_limit = self.target + rounding
            self.precision, hard = 0.5 * rounding, 4.0 * largest_score(problem)
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
        return -math.inf  # every subspace must be closed by its own proof

    def bound(self, space: Space) -> None:
        self._left = self._prove(space)
        if not self._left:
            space.bound = -math.inf

    def divide(self, space: Space) -> list[Space]:
        return self._left

    # ---- one subspace --------------------------------------------------------------------------

    def _prove(self, space: Space) -> list[Space]:
        """Write the node of a subspace; return the subspaces left to prove, the last one first."""
        self.relaxation.settle(space)
        inside = [t for t, tree in enumerate(self.trees) if space.alive[tree].all()]
        target = max([self.target, *(float(self.scores[t]) for t in inside)])
        aim = Aim(self.relaxation, target, self.limit, self.precision)
        bound = self._lower(space, aim)
        return [] if bound is None else self._branch(space, bound)

    def _lower(self, space: Space, aim: Aim) -> Bound | None:
        """Lower the bound of a subspace; return the last one, None if it closed the subspace."""
        relaxation = aim.relaxation
        calls = self.calls[space.depth > 0] * (MORE_CALLS if relaxation.apart else 1)
        previous, mild = math.inf, 1.0
        call = 0
        while True:
            bound = relaxation.bound(space)
            if bound.value <= aim.limit + aim.noise:
                return None if self._close(space, bound, aim) else bound
            call += 1
            last = call >= calls or bound.value <= aim.target + aim.precision
            if (last or call % EVERY == 1) and self._eliminate(space, bound, aim):
                continue
            if last:
                return bound
            if bound.value > previous:
                mild *= 0.7
            previous = bound.value
            if not relaxation.step(space, mild * (bound.value - aim.target)):
                return bound

    def _eliminate(self, space: Space, bound: Bound, aim: Aim) -> bool:
        """Remove the arcs that are in no tree above the limit; return True if any were."""
        value = aim.relaxation.with_each(space, bound)
        poor = aim.relaxation.free(space) & (value <= aim.limit)
        if not poor.any() or not self._split_off(space, np.flatnonzero(poor), value, aim):
            return False
        space.alive[poor] = False
        aim.relaxation.settle(space)
        return True

    def _split_off(self, space: Space, poor: Longs, value: Float64s, aim: Aim) -> bool:
        """Write the leaf of the trees with one of some arcs, whose bounds are float64[A]."""
        self.nodes.split(poor)
        most = self.relaxation.with_some(space, value, poor)
        if len(poor) == 1:
            # the leaf requires this arc, which tightens its bound: bound the leaf itself
            space = self._without_and_with(space, int(poor[0]))[1]
            self.relaxation.settle(space)
            most = self.relaxation.bound(space).value
        self._bound_leaf(space, most)
        return True

    def _close(self, space: Space, bound: Bound, aim: Aim) -> bool:
        """Write the leaf of a subspace whose bound is low enough."""
        self._bound_leaf(space, bound.value)
        return True

    def _bound_leaf(self, space: Space, bound: float) -> None:
        """Write the leaf of a subspace that has no tree above the limit, or no tree."""
        if bound == -math.inf:
            self.nodes.leaf(EMPTY, bound)
            return
        kind, claim = (EMPTY, -math.inf) if self.all_trees else (BOUND, bound)
        self.nodes.leaf(kind, claim, self.relaxation.recorded(space))

    # ---- branching -----------------------------------------------------------------------------

    def _branch(self, space: Space, bound: Bound) -> list[Space]:
        arcs, free = bound.tree, self.relaxation.free(space)
        score, fault = tree_score(self.problem, arcs), broken_constraint(self.problem, arcs)
        if tuple(arcs.tolist()) not in self.known:
            if score > self.tree_limit and not fault:
                raise _BetterTree(f"a tree of score {score} is not in the solution")
            gap = np.where(free, self.relaxation.gaps(space), 0.0)
            if gap.max(initial=0.0) > 0.0:
                arc = int(gap.argmax())
                self.nodes.split([arc])
                return self._without_and_with(space, arc)
        # Lawler's partition: for each i, the trees that first differ at the i-th free arc
        spaces: list[Space] = []
        for arc in arcs[free[arcs]].tolist():
            self.nodes.split([arc])
            without, space = self._without_and_with(space, arc)
            spaces.append(without)
        self.nodes.leaf(*((EMPTY, -math.inf) if fault else (TREE, score)))
        return spaces

    def _without_and_with(self, space: Space, arc: int) -> list[Space]:
        without, having = space.copy(), space.copy()
        without.alive[arc] = False
        having.alive[rivals(self.relaxation.mod, arc)] = False
        return [without, having]


class Nodes:
    """Nodes in pre-order, and the rows of multipliers that they share."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, list[int], float, int]] = []
        self._rows: dict[tuple[bytes, ...], int] = {}

    def split(self, arcs: Iterable[int]) -> None:
        """Split on whether a tree has one of these arcs."""
        self._nodes.append((SPLIT, np.asarray(arcs).tolist(), 0.0, -1))

    def leaf(self, kind: int, bound: float, multipliers: tuple[Float64s, ...] = ()) -> None:
        """Close a subspace, with or without multipliers of factors, counts and pairs."""
        row = -1
        if multipliers:
            key = tuple(lam.tobytes() for lam in multipliers)
            row = self._rows.setdefault(key, len(self._rows))
        self._nodes.append((kind, [], bound, row))

    def proof(self, problem: Problem, k_best: int, order: Longs | None = None) -> Proof:
        """Convert the nodes to a proof; ``order`` maps their arcs to those of the problem."""
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
