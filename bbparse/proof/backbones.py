"""Best trees under arc scores, for making proofs: oracles that have no scores of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.oracle.nonprojective.trees import Arborescences
from bbparse.oracle.projective.trees import ProjectiveTrees
from bbparse.oracle.restrict import restricted
from bbparse.problem import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class Backbone:
    """A problem's best trees under changing scores of its arcs.

    Parameters
    ----------
    problem : Problem
    scored : bool
        Whether the parts of a projective problem score.

    Attributes
    ----------
    base : float64[A]
        Scores; -inf for arcs that are forbidden or rivals of required ones.
    """

    def __init__(self, problem: Problem, scored: bool) -> None:
        p = problem
        state = p.arc_state
        self.base = restricted(p.arc_score, p.arc_mod, state == 1, state == -1)
        arcless = p.changed(arc_score=np.zeros(len(p.arc_score)))
        self._exact = p.projective
        self._oracle: ProjectiveTrees | Arborescences = (
            ProjectiveTrees(arcless, scored=scored) if p.projective else Arborescences(arcless)
        )
        self._mod = p.arc_mod
        self._score = self.base

    def best(self, score: Floats) -> tuple[float, Ints]:
        """The best score of a tree (-inf: there is none), and its arc into each word."""
        self._score = score
        found = self._oracle.best(score)
        arcs = np.flatnonzero(found.on).astype(np.int32)
        return found.value, arcs[np.argsort(self._mod[arcs])]

    def with_each(self) -> Floats:
        """No tree with an arc scores more than this, under the scores last given to `best`."""
        return self._oracle.with_each(self._score)

    def with_some(self, arcs: Ints) -> float:
        """The best score of a tree that has one of some arcs at least, under the same scores."""
        limit = self.with_each()[arcs]
        if self._exact:
            return float(limit.max())
        found = -np.inf
        required, none = np.zeros((2, len(self._mod)), np.bool_)
        for i in np.argsort(-limit, kind="stable"):
            if limit[i] <= found:
                break
            required[:] = False
            required[arcs[i]] = True
            found = max(found, self._oracle.restrict(required, none).best(self._score).value)
        return found
