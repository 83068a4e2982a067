"""The bound that proofs are made of: multipliers of terms and counts over a backbone (QL13 §3.2).

Factors, and the parts of non-projective problems, are terms (:mod:`bbparse.proof.multipliers`) in
the order in which a proof gives their multipliers (:mod:`bbparse.proof.terms`). Nothing is
simplified where arcs are fixed: multipliers always belong to the problem as it was given.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from bbparse.bounding.counts import apply_counts, count_gaps, disagreement, step_counts
from bbparse.bounding.state import NodeCounts
from bbparse.problem import Problem
from bbparse.proof.backbones import Backbone
from bbparse.proof.multipliers import TermMultipliers
from bbparse.proof.terms import Term, part_terms

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(slots=True)
class Space:
    """A subspace, in the backbone's arcs, with multipliers that were good for the one around it."""

    alive: Flags
    lam: Floats
    count_lam: Floats

    def copy(self) -> Space:
        """An independent one."""
        return Space(self.alive.copy(), self.lam.copy(), self.count_lam.copy())


@dataclass(slots=True)
class Bound:
    """No tree of a space scores more than `value`; `tree` is the best under the multipliers."""

    value: float
    shift: float
    tree: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))


class Relaxation:
    """Bounds of the subspaces of one problem.

    Parameters
    ----------
    problem : Problem
    scored : bool
        Without, all finite scores are 0: bounds below 0 show that no tree is feasible.
    hard : float
        What a score of -inf is replaced by, negated.
    """

    def __init__(self, problem: Problem, scored: bool, hard: float) -> None:
        p = problem
        self.n_words = p.n_words
        self.hard = hard
        self.backbone = Backbone(p, scored)
        self.mod = p.arc_mod
        self.base = self.backbone.base
        weights, table = p.factor_score, p.count_score
        if not scored:
            self.base = np.where(np.isfinite(self.base), 0.0, self.base)
            weights = np.where(np.isfinite(weights), 0.0, weights)
            table = np.where(np.isfinite(table), 0.0, table)
        parts = part_terms(p)
        self.n_parts = sum(len(part.literals) for part in parts)
        ptr, arcs = p.factor_ptr.tolist(), p.factor_arcs.tolist()
        factors = [
            Term(max(w, -hard), tuple(((a,), False) for a in arcs[ptr[f] : ptr[f + 1]]))
            for f, w in enumerate(weights.tolist())
        ]
        if not scored:
            parts = [replace(part, weight=0.0) for part in parts]
        self.terms = TermMultipliers([*parts, *factors], self.mod)
        self.cnt_arcs = p.count_arcs
        self._counts = NodeCounts(
            p.count_ptr, p.count_arcs, p.count_score_ptr, table, np.zeros(len(self.cnt_arcs)),
            np.array([len(p.count_ptr) - 1]),
        )  # fmt: skip
        self.copy = np.zeros(len(self.cnt_arcs), np.int8)
        self.chosen = np.zeros(len(self.mod), np.int8)
        self.arc_score = np.empty(len(self.mod))
        self.true = np.zeros(0, np.bool_)

    def whole(self) -> Space:
        """All trees, with the multipliers that QL13 start from."""
        return Space(self.base > -np.inf, self.terms.start(), np.zeros(len(self.cnt_arcs)))

    def counts(self, space: Space) -> NodeCounts:
        """The count factors with the multipliers of a space."""
        return self._counts._replace(lam=space.count_lam)

    def choices(self, space: Space) -> NDArray[np.int64]:
        """int64[n + 1]: how many arcs into each word are alive."""
        return np.bincount(self.mod[space.alive], minlength=self.n_words + 1)

    def free(self, space: Space) -> Flags:
        """bool[A]: arcs that are alive, and not the only ones into their words."""
        return space.alive & (self.choices(space) > 1)[self.mod]

    def settle(self, space: Space) -> None:
        """Move multipliers to where the fixed arcs make bounds tighter, in place."""
        choices = self.choices(space)
        self.terms.settle(space.lam, space.alive, choices)
        # copies of fixed arcs are fixed by `hard`
        alive, only = space.alive[self.cnt_arcs], choices[self.mod[self.cnt_arcs]] == 1
        space.count_lam[alive & only] = -self.hard
        space.count_lam[~alive] = self.hard

    def bound(self, space: Space) -> Bound:
        """The bound of a space under its multipliers."""
        self.arc_score = np.where(space.alive, self.base, -np.inf)
        linear, shift = self.terms.linear(space.lam)
        self.arc_score += linear
        shift += apply_counts(self.counts(space), self.copy, self.arc_score)
        goal, tree = self.backbone.best(self.arc_score)
        if goal == -np.inf or shift == -np.inf:
            return Bound(-np.inf, float(shift))
        self.chosen[:] = 0
        self.chosen[tree] = 1
        self.true = self.terms.true(self.chosen > 0)
        return Bound(goal + float(shift), float(shift), tree)

    def with_each(self, bound: Bound) -> Floats:
        """float64[A]: a bound of the trees with each arc, where `bound` was the last one made."""
        return self.backbone.with_each() + bound.shift

    def with_some(self, bound: Bound, arcs: NDArray[np.int64]) -> float:
        """The best of the trees with one of the arcs at least, as `with_each`."""
        return self.backbone.with_some(arcs.astype(np.int32)) + bound.shift

    def step(self, space: Space, gap: float) -> bool:
        """One step of Polyak's; False where the best tree makes all bounds exact."""
        apart = disagreement(self.counts(space), self.copy, self.chosen)
        norm = apart + self.terms.norm(space.lam, self.true)
        if norm <= 0.0:
            return False
        self.terms.step(space.lam, self.true, gap / norm)
        if apart > 0.0:
            step_counts(self.counts(space), self.copy, self.chosen, gap / norm)
        return True

    def gaps(self, space: Space) -> Floats:
        """float64[A]: what the bounds of an arc's terms and sets are above their scores."""
        gap = self.terms.gaps(space.lam, self.true)
        count_gaps(self.counts(space), self.copy, self.chosen, self.hard, gap)
        return gap
