"""The bound that proofs are made of: multipliers of terms and counts over a backbone (QL13 §3.2).

Factors, and the parts of non-projective problems, are terms (:mod:`bbparse.bounding.terms`) in the
order in which a proof gives their multipliers (:mod:`bbparse.proof.terms`). Nothing is simplified
where arcs are fixed: multipliers always belong to the problem as it was given.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bbparse.bounding.counts import apply_counts, count_gaps, disagreement, step_counts
from bbparse.bounding.terms import (
    apply_terms,
    mark_literals,
    start_terms,
    step_terms,
    term_gaps,
    term_norm,
)
from bbparse.problem import Problem
from bbparse.proof.backbones import Backbone, Nonprojective, Projective
from bbparse.proof.settle import settle
from bbparse.proof.terms import Literal, Term, part_terms

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
        self.backbone: Backbone = (
            Projective(p, scored) if p.projective else Nonprojective(p)
        )
        order = self.backbone.order
        self.mod = self.backbone.mod
        self.place = np.empty(len(order), np.int32)
        self.place[order] = np.arange(len(order), dtype=np.int32)
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
        self._add_terms([*parts, *factors])
        if not scored:
            self.weight[: len(parts)] = 0.0
        self.cnt_ptr, self.cnt_arcs = p.count_ptr, self.place[p.count_arcs]
        self.cnt_score_ptr, self.cnt_score = p.count_score_ptr, table
        self.n_sets = len(self.cnt_ptr) - 1
        self.copy = np.zeros(len(self.cnt_arcs), np.int8)
        self.chosen = np.zeros(len(order), np.int8)
        self.arc_score = np.empty(len(order))
        self.scratch = np.empty(int(np.diff(self.ptr).max(initial=0)) + 2)

    def _add_terms(self, terms: list[Term]) -> None:
        literals: dict[tuple[int, ...], int] = {}
        flat: list[Literal] = [literal for term in terms for literal in term.literals]
        for arcs, _ in flat:
            literals.setdefault(arcs, len(literals))
        lengths = [len(term.literals) for term in terms]
        self.ptr = np.cumsum([0, *lengths], dtype=np.int64)
        self.lit = np.array([literals[arcs] for arcs, _ in flat], dtype=np.int32)
        self.neg = np.array([negated for _, negated in flat], dtype=np.int8)
        self.weight = np.array([term.weight for term in terms], dtype=np.float64)
        self.lit_ptr = np.cumsum([0, *map(len, literals)], dtype=np.int32)
        arcs_of = np.array([a for arcs in literals for a in arcs], dtype=np.int32)
        self.lit_arcs = self.place[arcs_of]
        self.lit_mod = self.mod[self.lit_arcs[self.lit_ptr[:-1]]]
        self.on = np.zeros(len(literals), np.int8)
        self.n_terms = len(terms)

    def whole(self) -> Space:
        """All trees, with the multipliers that QL13 start from."""
        lam = np.empty(len(self.lit))
        start_terms(self.n_terms, self.ptr, self.weight, lam)
        return Space(self.base > -np.inf, lam, np.zeros(len(self.cnt_arcs)))

    def choices(self, space: Space) -> NDArray[np.int64]:
        """int64[n + 1]: how many arcs into each word are alive."""
        return np.bincount(self.mod[space.alive], minlength=self.n_words + 1)

    def free(self, space: Space) -> Flags:
        """bool[A]: arcs that are alive, and not the only ones into their words."""
        return space.alive & (self.choices(space) > 1)[self.mod]

    def settle(self, space: Space) -> None:
        """Move multipliers to where the fixed arcs make bounds tighter, in place."""
        settle(
            space.alive, self.choices(space), self.mod, self.hard,
            self.n_terms, self.ptr, self.lit, self.neg, self.weight, space.lam,
            self.lit_ptr, self.lit_arcs, self.lit_mod,
            self.n_sets, self.cnt_ptr, self.cnt_arcs, space.count_lam,
        )  # fmt: skip

    def bound(self, space: Space) -> Bound:
        """The bound of a space under its multipliers."""
        self.arc_score = np.where(space.alive, self.base, -np.inf)
        shift = apply_terms(
            self.n_terms, self.ptr, self.lit, self.neg, self.weight, space.lam, self.lit_ptr,
            self.lit_arcs, self.arc_score, np.zeros(len(self.base)), np.zeros(1),
        ) + apply_counts(
            self.n_sets, self.cnt_ptr, self.cnt_arcs, self.cnt_score_ptr, self.cnt_score,
            space.count_lam, self.copy, self.arc_score,
        )  # fmt: skip
        goal, tree = self.backbone.best(self.arc_score)
        if goal == -np.inf or shift == -np.inf:
            return Bound(-np.inf, float(shift))
        self.chosen[:] = 0
        self.chosen[tree] = 1
        mark_literals(self.lit_ptr, self.lit_arcs, self.chosen, self.on)
        return Bound(goal + float(shift), float(shift), tree)

    def with_each(self, bound: Bound) -> Floats:
        """float64[A]: a bound of the trees with each arc, where `bound` was the last one made."""
        return self.backbone.with_each() + bound.shift

    def with_some(self, bound: Bound, arcs: NDArray[np.int64]) -> float:
        """The best of the trees with one of the arcs at least, as `with_each`."""
        return self.backbone.with_some(arcs.astype(np.int32)) + bound.shift

    def step(self, space: Space, gap: float) -> bool:
        """One step of Polyak's; False where the best tree makes all bounds exact."""
        apart = disagreement(self.n_sets, self.cnt_ptr, self.cnt_arcs, self.copy, self.chosen)
        norm = apart + term_norm(
            self.n_terms, self.ptr, self.lit, self.neg, self.weight, space.lam, self.on
        )
        if norm <= 0.0:
            return False
        step_terms(
            self.n_terms, self.ptr, self.lit, self.neg, self.weight, space.lam, self.on,
            gap / norm, self.scratch,
        )  # fmt: skip
        if apart > 0.0:
            step_counts(
                self.n_sets, self.cnt_ptr, self.cnt_arcs, space.count_lam, self.copy, self.chosen,
                gap / norm,
            )  # fmt: skip
        return True

    def gaps(self, space: Space) -> Floats:
        """float64[A]: what the bounds of an arc's terms and sets are above their scores."""
        gap = np.zeros(len(self.base))
        term_gaps(
            self.n_terms, self.ptr, self.lit, self.neg, self.weight, space.lam, self.on,
            self.lit_ptr, self.lit_arcs, gap,
        )  # fmt: skip
        count_gaps(
            self.n_sets, self.cnt_ptr, self.cnt_arcs, self.cnt_score_ptr, self.cnt_score,
            space.count_lam, self.copy, self.chosen, self.hard, gap,
        )  # fmt: skip
        return gap
