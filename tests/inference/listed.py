"""An oracle that lists all its structures: slow and plainly right."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.inference.oracles.protocol import Best
from bbparse.runtime.arrays import Flags, Float64s


class Listed:
    """Structures bool[N, C] with scores float64[N]."""

    def __init__(self, structures: NDArray[np.bool_], scores: Float64s) -> None:
        self.structures, self.scores = structures, scores
        self.n_coordinates = structures.shape[1]

    def _values(self, scores: Float64s) -> Float64s:
        return self.scores + np.where(self.structures, scores, 0.0).sum(1)

    def best(self, scores: Float64s) -> Best:
        if not len(self.scores):
            return Best(-np.inf, np.zeros(self.n_coordinates, np.bool_))
        values = self._values(scores)
        return Best(float(values.max()), self.structures[values.argmax()])

    def max_marginals(self, scores: Float64s) -> Float64s:
        values = np.where(self.structures, self._values(scores)[:, None], -np.inf)
        return values.max(0, initial=-np.inf)

    def restrict(self, required: Flags, forbidden: Flags) -> Listed:
        fit = ~(self.structures & forbidden).any(1) & ~(~self.structures & required).any(1)
        return Listed(self.structures[fit], self.scores[fit])


def random_oracle(rng: np.random.Generator, n: int, integers: bool) -> Listed:
    """Up to twelve random structures over n coordinates."""
    structures = np.unique(rng.random((rng.integers(1, 13), n)) < 0.5, axis=0)
    scores = rng.normal(size=len(structures)) * 3
    return Listed(structures, np.round(scores) if integers else scores)
