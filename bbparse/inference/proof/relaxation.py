"""The bound that proofs use: multipliers of factors and count factors over an oracle.

It is the bound of the search (`inference.relaxation.node`) without simplification: multipliers
always belong to the user's problem. Arcs that are fixed change the multipliers instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bbparse.core import Problem
from bbparse.inference.oracles import calls
from bbparse.inference.oracles.projective.recurrences import part_kinds, recurrence_for
from bbparse.inference.oracles.tree_oracles import oracle_of, restricted
from bbparse.inference.relaxation.counts import (
    apply_counts,
    count_gaps,
    disagreement,
    start_counts,
    step_counts,
)
from bbparse.inference.relaxation.multipliers import (
    apply_multipliers,
    factor_gaps,
    start_multipliers,
    step_subgradient,
    subgradient_norm,
)
from bbparse.inference.relaxation.state import NodeCounts, NodeFactors
from bbparse.runtime.arrays import Flags, Float64s, Ints

#: Multipliers of factors, counts and pairs, as in a proof.
Multipliers = tuple[Float64s, Float64s, Float64s]


@dataclass(slots=True)
class Space:
    """A subspace, with inherited multipliers; ``pair_lam`` float64[2, P] has u and v."""

    alive: Flags
    lam: Float64s
    count_lam: Float64s
    pair_lam: Float64s
    empty: bool = False

    def copy(self) -> Space:
        """Return an independent copy."""
        return Space(
            self.alive.copy(), self.lam.copy(), self.count_lam.copy(), self.pair_lam.copy()
        )


@dataclass(slots=True)
class Bound:
    """An upper bound `value` on the trees of a space; `tree` is the best under the multipliers."""

    value: float
    shift: float
    tree: Ints = field(default_factory=lambda: np.empty(0, np.int32))


class Relaxation:
    """Bounds of the subspaces of one problem whose arcs are sorted; -inf weights become ``-hard``.

    If not ``scored``, all finite scores are 0, and a bound below 0 proves that no tree is feasible.
    """

    def __init__(self, problem: Problem, scored: bool, hard: float) -> None:
        p = problem
        self.n_words, self.mod, self.hard = p.n_words, p.arc_mod, hard
        weights, table = p.factor_score, p.count_score
        score = p.arc_score
        if not scored:
            score = np.zeros_like(score)
            weights = np.where(np.isfinite(weights), 0.0, weights)
            table = np.where(np.isfinite(table), 0.0, table)
        self.base = restricted(score, self.mod, p.arc_state == 1, p.arc_state == -1)
        self._oracle, _ = oracle_of(p, recurrence_for(p, None).mode if scored else 0)
        self._scratch = calls.scratch_of(self._oracle)
        first = self._oracle.group_ptr[:-1]
        self._pair = np.repeat(np.arange(len(first)), np.diff(self._oracle.group_ptr))
        self._pair_mod = self.mod[first]
        self._n_pairs = len(first) if part_kinds(p) and not p.projective else 0
        #: True if the oracle has multipliers of its own: its components must agree.
        self.has_multipliers = scored and self._n_pairs > 0
        self._factors = NodeFactors(
            p.factor_ptr.copy(),
            p.factor_arcs.copy(),
            np.maximum(weights, -hard),
            np.zeros(len(p.factor_arcs)),
            np.array([len(weights)]),
        )
        self.cnt_arcs = p.count_arcs.copy()
        self._counts = NodeCounts(
            p.count_ptr.copy(),
            self.cnt_arcs,
            p.count_score_ptr.copy(),
            table.copy(),
            np.zeros(len(self.cnt_arcs)),
            np.array([len(p.count_ptr) - 1]),
        )
        self._copy = np.zeros(len(self.cnt_arcs), np.int8)
        self._chosen = np.zeros(len(self.mod), np.int8)
        self._arc_score = np.empty(len(self.mod))
        self._simplex = np.empty(p.n_words + 2)

    def whole(self) -> Space:
        """Return the space of all trees, with the initial multipliers of QL13."""
        lam = np.zeros_like(self._factors.lam)
        start_multipliers(self._factors.ptr, self._factors.weight, lam)
        count_lam = start_counts(np.split(self._counts.score, self._counts.score_ptr[1:-1]))
        return Space(self.base > -np.inf, lam, count_lam, np.zeros((2, self._n_pairs)))

    def _of(self, space: Space) -> tuple[Any, NodeFactors, NodeCounts]:
        """Return oracle, factors and counts with the multipliers of a space."""
        oracle = self._oracle
        if self.has_multipliers:
            oracle = oracle._replace(u=space.pair_lam[0], v=space.pair_lam[1])
        factors = self._factors._replace(lam=space.lam)
        return oracle, factors, self._counts._replace(lam=space.count_lam)

    def free(self, space: Space) -> Flags:
        """Return the arcs, bool[A], that are alive and not the only ones into their words."""
        choices = np.bincount(self.mod[space.alive], minlength=self.n_words + 1)
        return space.alive & (choices > 1)[self.mod]

    def tighten(self, space: Space) -> None:
        """Change multipliers in place so that fixed arcs tighten the bounds."""
        free, alive = self.free(space), space.alive[self.cnt_arcs]
        tighten_factors(self._of(space)[1], space.alive, free)
        counts, fixed = self._counts, alive & ~free[self.cnt_arcs]
        for lo, hi, start in zip(counts.ptr, counts.ptr[1:], counts.score_ptr):
            left = slice(start + fixed[lo:hi].sum(), start + alive[lo:hi].sum() + 1)
            space.empty |= bool((counts.score[left] == -np.inf).all())
        # `hard` forces the copies of fixed arcs to their values
        space.count_lam[~free[self.cnt_arcs]] = -self.hard
        space.count_lam[~alive] = self.hard
        if self.has_multipliers:  # the same for the arcs of automata
            alive, fixed = self._pairs(space)
            space.pair_lam[:, ~alive] = 0.0
            space.pair_lam[0, fixed], space.pair_lam[1, fixed] = -self.hard, 0.0

    def _pairs(self, space: Space) -> tuple[Flags, Flags]:
        """Return the pairs that are alive, and those that are the only ones into their words."""
        alive = np.bincount(self._pair[space.alive], minlength=len(self._pair_mod)) > 0
        heads = np.bincount(self._pair_mod[alive], minlength=self.n_words + 1)
        return alive, alive & (heads == 1)[self._pair_mod]

    def proof_multipliers(self, space: Space) -> Multipliers:
        """Return the multipliers for a proof; those of fixed arcs have no effect and are 0."""
        count_lam = np.where(self.free(space)[self.cnt_arcs], space.count_lam, 0.0)
        pair_lam = space.pair_lam.copy()
        if self.has_multipliers:
            pair_lam[:, self._pairs(space)[1]] = 0.0
        return space.lam, count_lam, pair_lam

    def bound(self, space: Space) -> Bound:
        """Compute the bound of a space under its multipliers."""
        if space.empty:
            return Bound(-np.inf, -np.inf)
        oracle, factors, counts = self._of(space)
        base = np.where(space.alive, self.base, -np.inf)
        shift = apply_multipliers(base, factors, self._arc_score)
        shift += apply_counts(counts, self._copy, self._arc_score)
        goal = calls.best(oracle, self._scratch, self._arc_score, np.inf)
        if goal == -np.inf or shift == -np.inf:
            return Bound(-np.inf, shift)
        tree = np.empty(self.n_words, np.int32)
        calls.tree_of(oracle, self._scratch, self._arc_score, tree)
        self._chosen[:] = 0
        self._chosen[tree] = 1
        return Bound(goal + shift, shift, tree)

    def max_marginals(self, space: Space, bound: Bound) -> Float64s:
        """Return bounds on the trees with each arc, float64[A]; `bound` must be the latest."""
        marginals = np.empty(len(self.mod))
        calls.max_marginals(self._of(space)[0], self._scratch, self._arc_score, marginals)
        return marginals + bound.shift

    def step(self, space: Space, gap: float) -> bool:
        """Take one Polyak step; return False if all bounds are exact at the best tree."""
        oracle, factors, counts = self._of(space)
        norm = disagreement(counts, self._copy, self._chosen)
        norm += subgradient_norm(factors, self._chosen)
        norm += calls.inner_norm(oracle, self._scratch)
        if norm <= 0.0:
            return False
        step_subgradient(factors, self._chosen, gap / norm, self._simplex)
        step_counts(counts, self._copy, self._chosen, gap / norm)
        calls.inner_step(oracle, self._scratch, gap / norm)
        return True

    def gaps(self, space: Space) -> Float64s:
        """Return for each arc the sum of bound minus score of all its components, float64[A]."""
        oracle, factors, counts = self._of(space)
        gap = np.zeros(len(self.mod))
        factor_gaps(factors, self._chosen, gap)
        count_gaps(counts, self._copy, self._chosen, self.hard, gap)
        calls.inner_gaps(oracle, self._scratch, gap)
        return gap


def tighten_factors(factors: NodeFactors, alive: Flags, free: Flags) -> None:
    """Change multipliers in place so that fixed arcs tighten the bounds of factors.

    A factor with a dead arc scores 0: its positive weight moves to that arc, or its multiplier to
    zero. Required arcs give their share to the free arcs. With at most one free arc left, the bound
    of a factor of negative weight is exact at its full weight.
    """
    lam, weight, count = factors.lam, factors.weight, len(factors.weight)
    owner = np.repeat(np.arange(count), np.diff(factors.ptr))
    alive, free = alive[factors.arcs], free[factors.arcs]
    n_free = np.bincount(owner, free, count)
    lost = np.bincount(owner, np.where(alive & ~free, lam, 0.0), count)
    dead = np.full(count, -1)  # the last dead arc of each factor
    dead[owner[~alive]] = np.flatnonzero(~alive)
    is_dead = dead >= 0
    shares = (~is_dead & (weight >= 0.0) & (n_free > 0))[owner]
    given = lam + (lost / np.maximum(n_free, 1))[owner]
    lam[shares] = np.where(free, given, 0.0)[shares]
    full = ~is_dead & (weight < 0.0) & (n_free <= 1)
    lam[factors.ptr[:-1][full]] = -weight[full]
    lam[is_dead[owner]] = 0.0
    lam[dead[is_dead]] = np.where(weight < 0.0, 0.0, weight)[is_dead]
