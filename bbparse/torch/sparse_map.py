"""SparseMAP: the sparse distribution over trees whose arc marginals are closest to the scores.

It maximises ``scores @ mu - |mu_arcs|^2 / 2`` over convex combinations mu of trees. The active set
method keeps a few trees, solves the problem over them exactly, and asks the exact best-tree oracle
for one that improves on it; without any the solution is optimal. Siblings, grandchildren and
factors are coordinates of mu that the penalty leaves out.

Source: Niculae et al. 2018; the method is that of Wolfe 1976 for nearest points of polytopes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bbparse.runtime.arrays import Float64s
from bbparse.torch.sentence import ScoredSentence

_TOLERANCE = 1e-10  # of the gain of another tree, for scores of magnitude 1
_INDEPENDENT = 1e-8  # squared distance from the affine hull of other trees; arcs are 0 or 1


class SparseMap(NamedTuple):
    """Trees float64[K, C] of positive weight, and their weights float64[K]."""

    trees: Float64s
    weights: Float64s
    n_arcs: int

    @property
    def marginals(self) -> Float64s:
        """The convex combination."""
        return self.weights @ self.trees

    def back(self, gradient: Float64s) -> Float64s:
        """Return the gradient of the scores from that of the marginals, float64[C]."""
        solved = _equal_gradients(self.trees[:, : self.n_arcs], self.trees @ gradient, 0.0)
        return solved @ self.trees


def sparse_map(sentence: ScoredSentence) -> SparseMap:
    """Find the SparseMAP distribution over the trees of a sentence."""
    scores, n_arcs = sentence.scores, sentence.n_arcs
    tolerance = _TOLERANCE * max(1.0, float(np.abs(scores).max()))
    trees, weights = sentence.best(scores)[np.newaxis], np.ones(1)
    while True:
        gradient, mean = scores.copy(), weights @ trees
        gradient[:n_arcs] -= mean[:n_arcs]
        tree = sentence.best(gradient)
        if gradient @ (tree - mean) <= tolerance or (trees == tree).all(1).any():
            return SparseMap(trees, weights, n_arcs)
        arcs = trees[:, :n_arcs]
        trees, weights = np.vstack([trees, tree]), np.append(weights, 0.0)
        # an affine combination of trees that has the arcs of the new one trades for it at no cost
        same = _equal_gradients(arcs, arcs @ tree[:n_arcs], 1.0)
        if ((same @ arcs - tree[:n_arcs]) ** 2).sum() < _INDEPENDENT:
            weights, kept = _step(weights, np.append(-same, 1.0))
            trees = trees[kept]
        while (target := _equal_gradients(trees[:, :n_arcs], trees @ scores, 1.0)).min() <= 0.0:
            if weights[-1] == 0.0 and target[-1] <= 0.0:  # what it gains is lost in rounding
                return SparseMap(trees[:-1], weights[:-1], n_arcs)
            weights, kept = _step(weights, target - weights)
            trees = trees[kept]
        weights = target


def _equal_gradients(arcs: Float64s, gains: Float64s, total: float) -> Float64s:
    """Return the weights, of this sum, that maximise ``gains @ w - |w @ arcs|^2 / 2``."""
    system = np.ones((len(arcs) + 1, len(arcs) + 1))
    system[:-1, :-1], system[-1, -1] = arcs @ arcs.T, 0.0
    return np.linalg.solve(system, np.append(gains, total))[:-1]


def _step(weights: Float64s, direction: Float64s) -> tuple[Float64s, np.ndarray]:
    """Move until a weight is zero; return the other weights, and a mask of them."""
    falling = np.flatnonzero(direction < 0.0)
    lengths = weights[falling] / -direction[falling]
    moved = weights + lengths.min() * direction
    moved[falling[lengths.argmin()]] = 0.0
    return moved[moved > 0.0], moved > 0.0
