"""Clip and shift scores around the best trees, so that masks do not swamp float64.

Let P be the sum of the maximum scores of words, parts, factors and count factors, each by itself,
and L the score of a known tree. A tree that scores at least L loses at most D = P - L against these
maxima, and so has nothing that loses more by itself, and everything that gains more. Scores are
therefore cut off at a loss of 2 D and at a gain of 2 D, and the maxima of words and count factors
are subtracted. What remains is of the size of D: a mask of -1e38 on an arc that no good tree has is
2 D below the word's best arc, and a reward of 1e38 that every good tree has is a constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from bbparse.core.parts import FIELDS, KINDS, ProblemArrays, pair_keys
from bbparse.core.tree import arcs_left
from bbparse.runtime.arrays import Flags, Float64s

P = TypeVar("P", bound=ProblemArrays)


@dataclass(frozen=True, slots=True)
class Scaled(Generic[P]):
    """A problem with the same trees, whose scores are of size 1.

    No tree scores more than ``unit`` times its score in ``problem`` plus `constant`; a tree that
    scores at least L scores just that.
    """

    problem: P
    unit: float  #: A power of two of the size of ``loss``.
    loss: float  #: D; 0: no tree scores more than L.
    word_best: Float64s  #: [n]: this and the next three are the constants.
    part_gain: Float64s  #: [4, n + 1], by kind and modifier
    factor_gain: Float64s  #: [F]
    count_best: Float64s  #: [C]
    poor: Flags  #: [A], the arcs that no tree of at least L has.

    @property
    def constants(self) -> list[float]:
        """The terms of the constant."""
        parts = (self.word_best, self.part_gain.ravel(), self.factor_gain, self.count_best)
        return np.concatenate(parts).tolist()

    def score(self, terms: list[float]) -> float:
        """Return the score in ``problem`` of a tree of at least L with these terms."""
        return math.fsum(terms + [-x for x in self.constants]) / self.unit


def scaled(problem: P, terms: list[float]) -> Scaled[P]:
    """Return a problem at the scale of trees that score at least the sum of a tree's ``terms``."""
    p = problem
    alive = arcs_left(p.arc_mod, p.arc_state == 1, p.arc_state == -1)
    best = np.full(p.n_words + 1, -np.inf)
    np.maximum.at(best, p.arc_mod[alive], p.arc_score[alive])
    joined = np.unique(pair_keys(p.n_words, p.arc_head[alive], p.arc_mod[alive]))

    def possible(head: Any, mod: Any) -> Flags:
        """Return True where arcs can join two words; -1 and below stand for no word."""
        is_joined: Flags = np.isin(pair_keys(p.n_words, head, mod), joined)
        return is_joined | (head < 0) | (mod < 0)

    part_peaks = np.zeros((len(KINDS), p.n_words + 1))
    for peaks, part in zip(part_peaks, p.parts):
        can = possible(part.head, part.mod) & possible(part.grand, part.head)
        can &= possible(part.head, part.inner)
        np.maximum.at(peaks, part.mod[can], part.score[can])
    weights, table = p.factor_score, p.count_score
    gains = np.zeros(len(weights))
    if len(weights):
        can = np.logical_and.reduceat(alive[p.factor_arcs], p.factor_ptr[:-1])
        gains = np.where(can, np.maximum(weights, 0.0), 0.0)
    sizes, count_best = np.diff(p.count_score_ptr), np.zeros(0)
    if len(sizes):
        count_best = np.maximum.reduceat(table, p.count_score_ptr[:-1])
    maxima = np.concatenate((best[1:], part_peaks.ravel(), gains, count_best)).tolist()
    loss = max(0.0, math.fsum(maxima + [-x for x in terms]))
    most = 2.0 * loss
    part_gain = np.maximum(part_peaks - most, 0.0)
    factor_gain = np.maximum(gains - most, 0.0)
    unit = 2.0 ** max(math.frexp(loss)[1], -1000) if loss else 1.0

    def cut(scores: Float64s) -> Float64s:
        """Cut off losses, but -inf, and divide by the unit."""
        return np.where(np.isneginf(scores), scores, np.clip(scores, -most, most)) / unit

    changes: dict[str, Any] = {
        "arc_score": np.zeros(len(alive)),
        "factor_score": cut(weights - factor_gain),
        "count_score": cut(table - np.repeat(count_best, sizes)),
        "quantum": 0.0,
    }
    changes["arc_score"][alive] = cut(p.arc_score[alive] - best[p.arc_mod[alive]])
    for kind, part, gain in zip(KINDS, p.parts, part_gain):
        changes[f"{kind}_score"] = cut(part.score - gain[part.mod])
    poor = alive & (best[p.arc_mod] - p.arc_score > loss * (1.0 + 1e-9))
    cut_off = p.changed(**changes)
    return Scaled(cut_off, unit, loss, best[1:], part_gain, factor_gain, count_best, poor)


def grain_of(problem: ProblemArrays) -> float:
    """Return the largest power of two that divides all scores of a problem; inf if all are 0."""
    names = [name for name in FIELDS if name.endswith("_score")]
    sizes = np.abs(np.concatenate([getattr(problem, name) for name in names]))
    mantissa, exponent = np.frexp(sizes[np.isfinite(sizes) & (sizes > 0.0)])
    whole = (mantissa * 2.0**53).astype(np.int64)
    low = np.log2((whole & -whole).astype(np.float64)) + exponent - 53
    return float(2.0 ** low.min(initial=np.inf))
