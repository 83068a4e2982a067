"""Making proofs of solutions: `certify`, and `with_proof`, which `bbparse.solve` calls.

Bounds are lowered in floats, which is fast (`inference.proof.certifier`). If scores are so
unbalanced that rounding could exceed the tolerance of a proof, as with rewards of 1e16 that no tree
gets, beside 1e-4, bounds in floats are useless. Each subspace is then reduced to the trees that
score at least as much as the last tree of the solution (:mod:`bbparse.core.reduction`), which
gives it a scale of its own. Multipliers are optimized at that scale and converted back to the
user's problem. No float result is trusted: a leaf is written only if the checker's exact bound
(`inference.proof.bounds`) closes it; otherwise the subspace is split. Splitting ends at single
trees.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.core.proof import BOUND, EMPTY, Proof, largest_score
from bbparse.core.reduction import Normal, Nothing, Reduction
from bbparse.core.tree import tree_terms
from bbparse.inference.proof.bounds import Bounds, Subspace
from bbparse.inference.proof.certifier import Aim, Certifier
from bbparse.inference.proof.crossing import pairs_of
from bbparse.inference.proof.exact import exists, rounded, whole
from bbparse.inference.proof.relaxation import Bound, Relaxation, Space
from bbparse.inference.proof.spans import Trees
from bbparse.runtime.arrays import Flags, Float64s, Longs

#: Multipliers of factors, counts and pairs, as in a proof.
Multipliers = tuple[Float64s, Float64s, Float64s]

#: Rounding errors of sums stay below this fraction of the largest score that a tree could have.
NOISE = 1e-13
#: Number of oracle calls in each subspace.
CALLS = 40


def certify(
    problem: Problem, solution: Solution, k_best: int, *, time_limit: float | None = None
) -> tuple[Proof | None, str]:
    """Prove that the trees of a solution are the k best of a problem, or all that exist.

    The solution has the status "optimal" or "infeasible". The time limit, in seconds, is checked
    between subspaces. Returns the proof, None if the limit was reached or the solution lacks a
    better tree, and the reason why there is none; empty if there is one.
    """
    certifier = Certifier(problem, solution, k_best)
    if is_unbalanced(certifier):
        certifier = UnbalancedCertifier(problem, solution, k_best)
    return certifier.run(time_limit)


def with_proof(
    problem: Problem, solution: Solution, k_best: int, *, time_limit: float | None = None
) -> tuple[Solution, str]:
    """Return the solution with its proof, and the reason if there is none.

    Arguments are those of `certify`. ``stats`` gain ``proof_seconds`` and, with a proof,
    ``proof_leaves``. A solution whose search reached a limit gets no proof.
    """
    started = time.perf_counter()
    if solution.status in ("optimal", "infeasible"):
        proof, reason = certify(problem, solution, k_best, time_limit=time_limit)
    else:
        proof, reason = None, f"the search ended with the status {solution.status}"
    stats = dict(solution.stats)
    stats["proof_seconds"] = time.perf_counter() - started
    if proof is not None:
        stats["proof_leaves"] = proof.n_leaves
    return replace(solution, proof=proof, stats=stats), reason


def is_unbalanced(certifier: Certifier) -> bool:
    """Return True if rounding errors may exceed the tolerance of a proof."""
    if certifier.all_trees:  # scores do not matter
        return False
    return certifier.rounding < NOISE * largest_score(certifier.problem)


class UnbalancedCertifier(Certifier):
    """A certifier whose leaves are all confirmed without rounding."""

    calls = (CALLS, CALLS)

    def __init__(self, problem: Problem, solution: Solution, k_best: int) -> None:
        super().__init__(problem, solution, k_best)
        trees = Trees(self.problem)
        self._bounds = Bounds(self.problem, trees, scored=True)
        self._exact_limit = whole(self.limit)
        self._n_pairs = len(pairs_of(self.problem))
        #: Relaxation of the user's problem, without reduction.
        self._plain = self.relaxation
        self._known_terms = {tuple(t): tree_terms(self.problem, t) for t in self.trees}
        self._normal: Normal  # the reduction of the current subspace

    # ---- one subspace --------------------------------------------------------------------------

    def _prove(self, space: Space) -> list[Space]:
        self.relaxation = self._plain
        alive = space.alive
        if self._closed(alive, self._start(alive)):
            return []
        try:
            state = np.where(alive, 0, -1).astype(np.int8)
            reduction = Reduction(self.problem.changed(arc_state=state))
            dead = self._dead(alive, reduction)
            while dead.any():
                if not self._clause(alive, np.flatnonzero(dead)):
                    return self._split(alive, int(np.flatnonzero(dead)[0]))
                alive = alive & ~dead
                dead = self._dead(alive, reduction)
            aim = self._aim(reduction)
        except Nothing:
            return self._parted(alive)
        self.relaxation = aim.relaxation
        space = self.relaxation.whole()
        self.relaxation.settle(space)
        bound = self._lower(space, aim)
        if bound is None:
            return []
        return self._branch(space, bound) if len(bound.tree) else self._parted(space.alive)

    def _dead(self, alive: Flags, reduction: Reduction) -> Flags:
        """Return the arcs that a reduction removes next; raise `Nothing` if no tree is left."""
        while reduction.reduce_once(self.terms):
            if (alive & ~reduction.alive).any():
                break
        return alive & ~reduction.alive

    def _split(self, alive: Flags, arc: int) -> list[Space]:
        self.nodes.split([arc])
        return self._without_and_with(self._space(alive), arc)

    def _space(self, alive: Flags) -> Space:
        """Make a subspace with initial multipliers; its scale determines them later."""
        whole_space = self._plain.whole()
        whole_space.alive = alive.copy()
        return whole_space

    def _parted(self, alive: Flags) -> list[Space]:
        """Split a subspace that no bound closes although its reduction has no tree.

        Float64s only choose where to split.
        """
        self.relaxation = self._plain
        space = self._space(alive)
        self._plain.settle(space)
        bound = self._plain.bound(space)
        if len(bound.tree):
            return self._branch(space, bound)
        free = self._plain.free(space)
        return self._split(alive, int(free.argmax()))

    def _close(self, space: Space, bound: Bound, aim: Aim) -> bool:
        return self._closed(space.alive, self._multipliers(space))

    def _split_off(self, space: Space, poor: Longs, value: Float64s, aim: Aim) -> bool:
        return self._clause(space.alive, poor, self._multipliers(space))

    # ---- leaves --------------------------------------------------------------------------------

    def _clause(self, alive: Flags, arcs: Longs, multipliers: Multipliers | None = None) -> bool:
        """Split off the trees with one of some arcs; return False if one may be too good."""
        listed = arcs.tolist()
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
        """Write the leaf of a subspace, after ``split``; return False if its bound is too high."""
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
        """Return the initial multipliers of QL13, changed so that fixed arcs tighten bounds."""
        space = self._space(alive)
        self._plain.settle(space)
        lam, counts, pairs = self._plain.recorded(space)
        return self._capped(lam), counts, pairs.ravel()

    def _capped(self, lam: Float64s) -> Float64s:
        """Cap multipliers of factors of negative weight at the magnitude of the weight."""
        p = self.problem
        most = np.where(p.factor_score < 0.0, -p.factor_score, np.inf)
        return np.minimum(lam, np.repeat(most, np.diff(p.factor_ptr)))

    def _multipliers(self, space: Space) -> Multipliers:
        """Convert the multipliers of a subspace back to the scale of the user's problem."""
        normal = self._normal
        own, counts, pairs = self.relaxation.recorded(space)
        lam = self._start(space.alive)[0].copy()
        kept, sizes = normal.kept.copy(), np.diff(self.problem.factor_ptr)
        score = self.problem.factor_score[kept]
        # weights that are nothing at the scale of the subspace have no multipliers there
        there = (score < 0.0) | (normal.problem.factor_score / normal.unit == score)
        own, kept[kept] = own[np.repeat(there, sizes[kept])], there
        lam[np.repeat(kept, sizes)] = own / normal.unit
        pairs = pairs.ravel() if pairs.size else np.zeros(2 * self._n_pairs)
        return self._capped(lam), counts / normal.unit, pairs / normal.unit

    def _aim(self, reduction: Reduction) -> Aim:
        """Return the relaxation and the limits of a subspace at its own scale."""
        normal = self._normal = reduction.normal()
        p, unit = normal.problem, normal.unit
        less = [-x for x in normal.constants]
        target = math.fsum(self.terms + less) * unit
        for tree, terms in self._known_terms.items():
            if reduction.alive[list(tree)].all():
                target = max(target, math.fsum(terms + less) * unit)
        limit = math.fsum([*self.terms, *less, self.limit - self.target]) * unit
        largest = largest_score(p)
        relaxation = Relaxation(p, True, 4.0 * largest)
        return Aim(relaxation, target, limit, self.precision * unit, NOISE * largest)
