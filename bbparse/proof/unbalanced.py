"""Proofs for numerically unbalanced problems: rewards of 1e16 that no tree gets, beside 1e-4.

Floats tell nothing of bounds here. Each subspace is reduced to the trees that score as much as the
last one of the solution (:mod:`bbparse.problem.reduction`), which has them at a scale of their
own; multipliers are found there, and said for the problem as it was given. What floats found is
believed nowhere: a leaf is written if the checker's exact bound (:mod:`bbparse.proof.bounds`) shows
that it holds, and the subspace is split otherwise. At the end of all splits are single trees.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.problem import Problem, Solution
from bbparse.problem.proof import BOUND, EMPTY, largest_score
from bbparse.problem.reduction import Normal, Nothing, Reduction
from bbparse.problem.tree import tree_terms
from bbparse.proof.bounds import Bounds, Subspace
from bbparse.proof.certifier import EVERY, Certifier
from bbparse.proof.crossing import pairs_of
from bbparse.proof.exact import exists, rounded, whole
from bbparse.proof.relaxation import Bound, Relaxation, Space
from bbparse.proof.spans import Trees

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
#: Multipliers of factors, counts and pairs, as a proof has them.
Multipliers = tuple[Floats, Floats, Floats]

#: Sums of floats are wrong by less than this share of the largest score that a tree could have.
NOISE = 1e-13
#: Calls of the oracle in each subspace.
CALLS = 40


def is_unbalanced(certifier: Certifier) -> bool:
    """Whether floats may be wrong by more than what a proof may be wrong by."""
    if certifier.all_trees:  # scores do not matter
        return False
    return certifier.rounding < NOISE * largest_score(certifier.problem)


class _Scale(NamedTuple):
    """A subspace at a scale of its own: its problem, and limits of the certifier there."""

    normal: Normal
    relaxation: Relaxation
    target: float
    limit: float
    precision: float
    noise: float


class UnbalancedCertifier(Certifier):
    """A certifier whose leaves are all confirmed without rounding."""

    def __init__(self, problem: Problem, solution: Solution, k_best: int) -> None:
        super().__init__(problem, solution, k_best)
        trees = Trees(self.problem)
        self._bounds = Bounds(self.problem, trees, scored=True)
        self._exact_limit = whole(self.limit)
        self._n_pairs = len(pairs_of(self.problem))
        #: That of the given problem: where nothing was reduced.
        self._plain = self.relaxation
        self._known_terms = {tuple(t): tree_terms(self.problem, t) for t in self.trees}

    # ---- one subspace --------------------------------------------------------------------------

    def _prove(self, space: Space, calls: int) -> list[Space]:
        """Write the node of a subspace; the subspaces that are left to prove, the last first."""
        self.relaxation = self._plain
        alive = space.alive
        if self._closed(alive, self._start(alive)):
            return []
        try:
            reduction = Reduction(self._restricted(alive))
            dead = self._dead(alive, reduction)
            while dead.any():
                if not self._clause(alive, dead):
                    return self._split(alive, int(np.flatnonzero(dead)[0]))
                alive = alive & ~dead
                dead = self._dead(alive, reduction)
            scale = self._scale(reduction)
        except Nothing:
            scale = None
        return self._bounded(alive, scale)

    def _restricted(self, alive: Flags) -> Problem:
        return self.problem.changed(arc_state=np.where(alive, 0, -1).astype(np.int8))

    def _dead(self, alive: Flags, reduction: Reduction) -> Flags:
        """The arcs that a reduction takes out at once; `Nothing` if it takes out all trees."""
        while reduction.reduce_once(self.terms):
            if (alive & ~reduction.alive).any():
                break
        return alive & ~reduction.alive

    def _split(self, alive: Flags, arc: int) -> list[Space]:
        self.nodes.split([arc])
        return self._without_and_with(self._space(alive), arc)

    def _space(self, alive: Flags) -> Space:
        """A subspace; multipliers are those of the scale that it will get."""
        whole_space = self._plain.whole()
        whole_space.alive = alive.copy()
        return whole_space

    def _bounded(self, alive: Flags, scale: _Scale | None) -> list[Space]:
        """Close a subspace by multipliers, or split it."""
        if scale is None:
            return self._parted(alive)
        relaxation = self.relaxation = scale.relaxation
        space = relaxation.whole()
        relaxation.settle(space)
        previous = math.inf
        mild = 1.0
        calls = CALLS * (8 if relaxation.apart else 1)
        for call in range(1, calls + 1):
            bound = relaxation.bound(space)
            if bound.value <= scale.limit + scale.noise:
                if self._closed(space.alive, self._multipliers(space, scale)):
                    return []
                break
            last = call == calls or bound.value <= scale.target + scale.precision
            if (last or call % EVERY == 1) and self._eliminated(space, bound, scale):
                continue
            if last:
                break
            mild *= 0.7 if bound.value > previous else 1.0
            previous = bound.value
            if not relaxation.step(space, mild * (bound.value - scale.target)):
                break
        return self._branch(space, bound) if len(bound.tree) else self._parted(space.alive)

    def _parted(self, alive: Flags) -> list[Space]:
        """Split a subspace of which a reduction has no tree, but that no bound closes.

        Floats tell where to split, and no more.
        """
        self.relaxation = self._plain
        space = self._space(alive)
        self._plain.settle(space)
        bound = self._plain.bound(space)
        if len(bound.tree):
            return self._branch(space, bound)
        free = self._plain.free(space)
        return self._split(alive, int(free.argmax()))

    def _eliminated(self, space: Space, bound: Bound, scale: _Scale) -> bool:
        """Take out the arcs that are in no tree above the limit; whether there were any."""
        value = scale.relaxation.with_each(space, bound)
        poor = scale.relaxation.free(space) & (value <= scale.limit)
        if not poor.any() or not self._clause(space.alive, poor, self._multipliers(space, scale)):
            return False
        space.alive[poor] = False
        scale.relaxation.settle(space)
        return True

    # ---- leaves --------------------------------------------------------------------------------

    def _clause(self, alive: Flags, arcs: Flags, multipliers: Multipliers | None = None) -> bool:
        """Split off the trees that have one of some arcs, if none of them is above the limit."""
        listed = np.flatnonzero(arcs).tolist()
        some = frozenset(listed)
        if len(listed) == 1:
            alive = self._without_and_with(self._space(alive), listed[0])[1].alive
            some, multipliers = frozenset(), None
        if multipliers is None:
            multipliers = self._start(alive)
        return self._closed(alive, multipliers, some, listed)

    def _closed(
        self,
        alive: Flags,
        multipliers: Multipliers,
        some: frozenset[int] = frozenset(),
        split: list[int] | None = None,
    ) -> bool:
        """Write the leaf of a subspace, behind a split, if no tree in it is above the limit."""
        factors, counts, pairs = (lam.tolist() for lam in multipliers)
        row = self._bounds.row(factors, counts, pairs, "multipliers")
        bound = self._bounds.bound(Subspace(alive.tolist(), some), row)
        if bound > self._exact_limit:
            return False
        if split:
            self.nodes.split(split)
        if not exists(bound):
            self.nodes.leaf(EMPTY, -math.inf)
            return True
        claim = rounded(bound)
        if whole(claim) < bound:
            claim = math.nextafter(claim, math.inf)
        self.nodes.leaf(BOUND, claim, multipliers)
        return True

    # ---- multipliers ---------------------------------------------------------------------------

    def _start(self, alive: Flags) -> Multipliers:
        """The multipliers that QL13 start from, moved to where fixed arcs make bounds tighter."""
        space = self._space(alive)
        self._plain.settle(space)
        lam, counts, pairs = self._plain.recorded(space)
        return self._capped(lam), counts, pairs.ravel()

    def _capped(self, lam: Floats) -> Floats:
        """No more than a factor of negative weight may have."""
        p = self.problem
        most = np.where(p.factor_score < 0.0, -p.factor_score, np.inf)
        return np.minimum(lam, np.repeat(most, np.diff(p.factor_ptr)))

    def _multipliers(self, space: Space, scale: _Scale) -> Multipliers:
        """The multipliers of a subspace, said for the problem as it was given."""
        normal = scale.normal
        own, counts, pairs = scale.relaxation.recorded(space)
        lam = self._start(space.alive)[0].copy()
        lam[np.repeat(normal.kept, np.diff(self.problem.factor_ptr))] = own / normal.unit
        pairs = pairs.ravel() if pairs.size else np.zeros(2 * self._n_pairs)
        return self._capped(lam), counts / normal.unit, pairs / normal.unit

    def _scale(self, reduction: Reduction) -> _Scale:
        normal = reduction.normal()
        p, unit = normal.problem, normal.unit
        less = [-x for x in normal.constants]
        target = math.fsum(self.terms + less) * unit
        for tree, terms in self._known_terms.items():
            if reduction.alive[list(tree)].all():
                target = max(target, math.fsum(terms + less) * unit)
        limit = math.fsum([*self.terms, *less, self.limit - self.target]) * unit
        largest = largest_score(p)
        relaxation = Relaxation(p, True, 4.0 * largest)
        precision = self.precision * unit
        return _Scale(normal, relaxation, target, limit, precision, NOISE * largest)
