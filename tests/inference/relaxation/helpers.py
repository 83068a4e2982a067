"""Random factors over the arcs of a few words, and every way of giving each word an arc.

The bounds and simplifications hold for any choice of one arc per word, be it a tree or not; that
makes them testable without any dynamic program.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from bbparse.inference.relaxation.state import NodeCounts, NodeFactors

HARD = 1e6


@dataclass
class Case:
    """Arcs of a few words with factors and count factors over them, as the kernels take them."""

    n_words: int
    arc_mod: np.ndarray
    base: np.ndarray
    fac_ptr: np.ndarray
    fac_arcs: np.ndarray
    fac_weight: np.ndarray
    lam: np.ndarray
    cnt_ptr: np.ndarray
    cnt_arcs: np.ndarray
    cnt_score_ptr: np.ndarray
    cnt_score: np.ndarray
    cnt_lam: np.ndarray
    sizes: np.ndarray

    @property
    def factors(self) -> NodeFactors:
        """The factors as kernels take them."""
        return NodeFactors(
            self.fac_ptr, self.fac_arcs, self.fac_weight, self.lam, self.sizes[1:2]
        )

    @property
    def counts(self) -> NodeCounts:
        """The count factors as kernels take them."""
        return NodeCounts(
            self.cnt_ptr, self.cnt_arcs, self.cnt_score_ptr, self.cnt_score, self.cnt_lam,
            self.sizes[2:3],
        )  # fmt: skip

    def assignments(self) -> Iterator[np.ndarray]:
        """For each word one of its arcs that are alive; the arcs of all words as marks."""
        choices = [
            [a for a in range(len(self.base)) if self.arc_mod[a] == m and self.base[a] > -math.inf]
            for m in range(1, self.n_words + 1)
        ]
        for arcs in product(*choices):
            chosen = np.zeros(len(self.base), np.int8)
            chosen[list(arcs)] = 1
            yield chosen

    def factor_score(self, chosen: np.ndarray) -> float:
        """Sum of the weights of the factors that fire; -inf for a hard one."""
        total = 0.0
        for c in range(int(self.sizes[1])):
            arcs = self.fac_arcs[self.fac_ptr[c] : self.fac_ptr[c + 1]]
            if chosen[arcs].all():
                total += -math.inf if self.fac_weight[c] <= -HARD else self.fac_weight[c]
        return total

    def count_score(self, chosen: np.ndarray) -> float:
        """Sum of the scores of the count factors."""
        total = 0.0
        for c in range(int(self.sizes[2])):
            on = int(chosen[self.cnt_arcs[self.cnt_ptr[c] : self.cnt_ptr[c + 1]]].sum())
            total += self.cnt_score[self.cnt_score_ptr[c] + on]
        return total

    def arc_total(self, chosen: np.ndarray) -> float:
        """Sum of the scores of the arcs."""
        return float(self.base[chosen == 1].sum())

    def draw_multipliers(self, rng: np.random.Generator) -> None:
        """Random feasible multipliers, corners of the simplex among them."""
        for c in range(int(self.sizes[1])):
            lo, hi = int(self.fac_ptr[c]), int(self.fac_ptr[c + 1])
            weight = self.fac_weight[c]
            if weight >= 0:
                share = rng.dirichlet(np.full(hi - lo, float(rng.choice([0.05, 1.0, 10.0]))))
                self.lam[lo:hi] = weight * share
            else:
                self.lam[lo:hi] = 0.0
                self.lam[lo] = -weight * float(rng.choice([0.0, 1.0, rng.random()]))
        self.cnt_lam[:] = rng.normal(size=len(self.cnt_lam)) * float(rng.choice([0.0, 1.0, 5.0]))


def random_case(
    rng: np.random.Generator,
    *,
    factors: int = 8,
    counts: int = 4,
    hard: bool = False,
    dead: float = 0.0,
    whole: bool = False,
) -> Case:
    """Up to four words with up to three arcs each, and sets over these arcs.

    Parameters
    ----------
    hard : bool
        Whether factors of weight ``-HARD`` and scores of -inf come up.
    dead : float
        Share of arcs with score -inf.
    whole : bool
        Scores are small whole numbers, so that sums are exact.
    """

    def scores(size: int) -> np.ndarray:
        if whole:
            return rng.integers(-5, 6, size).astype(np.float64)
        return rng.normal(size=size) * float(rng.choice([1e-3, 1.0, 100.0]))

    n = int(rng.integers(1, 5))
    arc_mod = np.concatenate([np.full(int(rng.integers(1, 4)), m) for m in range(1, n + 1)])
    arc_mod = rng.permutation(arc_mod).astype(np.int32)
    n_arcs = len(arc_mod)
    base = scores(n_arcs)
    base[rng.random(n_arcs) < dead] = -math.inf

    def sets(count: int, least: int) -> list[np.ndarray]:
        if n_arcs < least:
            return []
        sizes = rng.integers(least, min(5, n_arcs) + 1, int(rng.integers(0, count + 1)))
        return [rng.permutation(n_arcs)[:size].astype(np.int32) for size in sizes]

    factor_sets, count_sets = sets(factors, 2), sets(counts, 1)
    weight = scores(len(factor_sets))
    score = scores(sum(len(s) + 1 for s in count_sets))
    if hard:
        weight[rng.random(len(weight)) < 0.3] = -HARD
        score[rng.random(len(score)) < 0.3] = -math.inf
    none = [np.zeros(0, np.int32)]
    fac_arcs = np.concatenate(none + factor_sets)
    cnt_arcs = np.concatenate(none + count_sets)
    return Case(
        n, arc_mod, base,
        np.cumsum([0] + [len(s) for s in factor_sets]).astype(np.int64), fac_arcs, weight,
        np.zeros(len(fac_arcs)),
        np.cumsum([0] + [len(s) for s in count_sets]).astype(np.int64), cnt_arcs,
        np.cumsum([0] + [len(s) + 1 for s in count_sets]).astype(np.int64), score,
        np.zeros(len(cnt_arcs)),
        np.array([0, len(factor_sets), len(count_sets)], np.int64),
    )  # fmt: skip
