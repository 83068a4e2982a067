"""Multipliers of terms while a proof is made: their bound, a step, and what fixed arcs mean.

A term (:mod:`bbparse.proof.terms`) scores φ when all its literals are true. A literal says that one
of some arcs into one word is in the tree (its value is l = Σ z_e), or that none is (l = 1 - Σ z_e).
As l is 0 or 1 and linear in z, the bounds of QL13 §3.2 hold with l in the place of z:

* φ ≥ 0:  φ Π l ≤ Σ_j lam_j l_j             lam_j ≥ 0, Σ_j lam_j = φ
* φ < 0:  φ Π l ≤ -lam (Σ_j l_j - (r - 1))   0 ≤ lam ≤ |φ|, kept in the term's first place

Multipliers always belong to the terms of the whole problem. Plain numpy over all terms at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.proof.terms import Literal, Term

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]


class TermMultipliers:
    """The terms of a problem, and what is done with multipliers lam float64[S] of theirs.

    Parameters
    ----------
    terms : list of Term
        Each with one literal at least; S is the number of literals of all of them.
    mod : int32[A]
        Modifier of each arc.
    """

    def __init__(self, terms: list[Term], mod: NDArray[np.int32]) -> None:
        numbers: dict[tuple[int, ...], int] = {}
        flat: list[Literal] = [literal for term in terms for literal in term.literals]
        for arcs, _ in flat:
            numbers.setdefault(arcs, len(numbers))
        self.weight = np.array([term.weight for term in terms], dtype=np.float64)
        self._size = np.array([len(term.literals) for term in terms], dtype=np.int64)
        self._first = np.cumsum(self._size) - self._size
        self._term = np.repeat(np.arange(len(terms)), self._size)
        self._lit = np.array([numbers[arcs] for arcs, _ in flat], dtype=np.int64)
        self._neg = np.array([negated for _, negated in flat], dtype=np.bool_)
        self._rising = self.weight >= 0.0
        self._n_arcs = len(mod)
        self._arcs = np.array([a for arcs in numbers for a in arcs], dtype=np.int64)
        sizes = np.array([len(arcs) for arcs in numbers], dtype=np.int64)
        self._lit_first = np.cumsum(sizes) - sizes
        self._lit_of = np.repeat(np.arange(len(sizes)), sizes)
        self._lit_mod = mod[self._arcs[self._lit_first]]

    def start(self) -> Floats:
        """The paper's start: uniform for φ ≥ 0, 0 for φ < 0 (QL13 §4.4)."""
        return (np.maximum(self.weight, 0.0) / self._size)[self._term]

    def _sum(self, values: NDArray) -> NDArray:
        """By term."""
        return np.add.reduceat(values, self._first) if len(self._first) else np.zeros(0)

    def _by_arc(self, values: Floats) -> Floats:
        """The sum over all places of values whose literal has an arc, for each arc."""
        by_literal = np.bincount(self._lit, values, len(self._lit_first))
        weights = by_literal[self._lit_of]
        return np.bincount(self._arcs, weights, self._n_arcs).astype(np.float64)

    def linear(self, lam: Floats) -> tuple[Floats, float]:
        """The bound as scores of arcs float64[A] and a constant."""
        first = lam[self._first]
        share = np.where(self._rising[self._term], lam, -first[self._term])
        constant = np.where(self._rising, 0.0, first * (self._size - 1)).sum()
        signed = np.where(self._neg, -share, share)
        return self._by_arc(signed), float(constant + share[self._neg].sum())

    def true(self, chosen: Flags) -> Flags:
        """Which literals, by place, are true of a tree that is marked bool[A]."""
        if not len(self._lit):
            return np.zeros(0, np.bool_)
        on = np.logical_or.reduceat(chosen[self._arcs], self._lit_first)
        return on[self._lit] != self._neg

    def _excess(self, true: Flags) -> Ints:
        """Of each term, how many literals are true less all of them but one."""
        return self._sum(true.astype(np.int64)) - (self._size - 1)

    def norm(self, lam: Floats, true: Flags) -> float:
        """Squared length of the subgradient, without what the limits of lam cut off."""
        over = self._excess(true)
        number = over + self._size - 1
        can_give = self._sum(np.where(true, lam, 0.0)) > 0.0
        rising = self._rising & can_give & (over <= 0)
        first = lam[self._first]
        moves = ((over > 0) & (first < -self.weight)) | ((over < 0) & (first > 0.0))
        falling = ~self._rising & moves
        share = number * (self._size - number) / self._size
        return float(share[rising].sum() + (over[falling] ** 2).sum())

    def step(self, lam: Floats, true: Flags, alpha: float) -> None:
        """One projected subgradient step of length ``alpha``, in place."""
        over = self._excess(true)
        moved = self._rising & (over <= 0) & (over > 1 - self._size)
        lam[moved[self._term] & true] -= alpha
        for size in np.unique(self._size[moved]):
            rows = np.flatnonzero(moved & (self._size == size))
            places = self._first[rows, np.newaxis] + np.arange(size)
            lam[places] = _on_simplex(lam[places], self.weight[rows])
        falling = ~self._rising
        places = self._first[falling]
        lam[places] = np.clip(lam[places] + alpha * over[falling], 0.0, -self.weight[falling])

    def gaps(self, lam: Floats, true: Flags) -> Floats:
        """float64[A]: what the bounds of an arc's terms are above their scores."""
        over = self._excess(true)
        rising = self._sum(np.where(true, lam, 0.0))
        gap = np.where(self._rising, rising, -lam[self._first] * over)
        gap -= np.where(over == 1, self.weight, 0.0)
        return self._by_arc(np.maximum(gap, 0.0)[self._term])

    def settle(self, lam: Floats, alive: Flags, choices: Ints) -> None:
        """Move multipliers, in place, so that fixed arcs make bounds tighter.

        A term with a literal that is false scores nothing: its weight goes to that literal, or its
        multiplier to zero. Literals that are true give their share to the open ones, and with a
        single open literal left a negative term is exact at its full weight.

        Parameters
        ----------
        lam : float64[S]
        alive : bool[A]
        choices : int64[n + 1]
            How many arcs into each word are alive.
        """
        if not len(lam):
            return
        left = np.add.reduceat(alive[self._arcs], self._lit_first, dtype=np.int64)
        none, fixed = (left == 0)[self._lit], (left == choices[self._lit_mod])[self._lit]
        false = np.where(self._neg, fixed & ~none, none)
        opened = ~none & ~fixed
        last_false = np.maximum.reduceat(np.where(false, np.arange(len(lam)), -1), self._first)
        lies = last_false >= 0
        free = self._sum(opened.astype(np.int64))
        lost = self._sum(np.where(opened, 0.0, lam))
        lam[lies[self._term]] = 0.0
        weighed = lies & (self.weight > 0.0)
        lam[last_false[weighed]] = self.weight[weighed]
        exact = ~lies & ~self._rising & (free <= 1)
        lam[self._first[exact]] = -self.weight[exact]
        gives = ~lies & (self.weight > 0.0) & (free > 0) & (lost > 0.0)
        share = (np.where(gives, lost, 0.0) / np.maximum(free, 1))[self._term]
        lam[:] = np.where(gives[self._term], np.where(opened, lam + share, 0.0), lam)


def _on_simplex(rows: Floats, total: Floats) -> Floats:
    """Each row's nearest point with no number below 0 and this total (Duchi et al. 2008)."""
    falling = -np.sort(-rows, axis=1)
    ranks = np.arange(1, rows.shape[1] + 1)
    above = (np.cumsum(falling, axis=1) - total[:, np.newaxis]) / ranks
    last = rows.shape[1] - 1 - np.argmax((falling >= above)[:, ::-1], axis=1)
    return np.maximum(rows - above[np.arange(len(rows)), last][:, np.newaxis], 0.0)
