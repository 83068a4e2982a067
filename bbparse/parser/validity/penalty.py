"""`Penalty`: what a fault costs where no tree is valid."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sized

import numpy as np

from bbparse.core import Problem
from bbparse.core.scale import grain_of, scaled
from bbparse.core.tree import tree_terms
from bbparse.inference.relaxation.state import RELATIVE_SLACK
from bbparse.runtime.arrays import Ints

#: Ratio of penalties paid to scores beyond which a search may be wrong about the scores.
_COARSE = 1000.0


class Penalty:
    """The cost of a fault, which depends on the trees that were found so far.

    At first it is more than the scores of any two trees can differ by. If it is so large that it
    hides scores, the next one outweighs only what trees score more than the best tree.
    """

    def __init__(self) -> None:
        self.hides = False  #: Whether it is too large to tell the scores of trees apart.
        self._value = self._enough = np.inf
        self._least = 0.0
        self._fewest = np.inf  # faults of the tree with the fewest that was seen
        self._faults = 0  # of the last tree

    def of(self, problem: Problem) -> float:
        """Return the penalty in a problem."""
        self._value = min(self._enough, _more_than_all(problem))
        return self._value

    def see(self, faults: Iterable[Sized]) -> None:
        """Note the faults of the trees that were found, the best one first."""
        counts = [*map(len, faults)]
        self._fewest = min([self._fewest, *counts])
        self._faults = counts[0] if counts else 0

    def settles(self, problem: Problem, arcs: Ints, all_known: bool) -> bool:
        """Return True if the best tree, with these arcs, is the answer; else change the penalty.

        ``all_known`` says whether the problem has all rules that the tree breaks.
        """
        if self._faults > self._fewest and self._value == self._enough:
            # scores of whole trees have outweighed it
            self._least = self._enough = 10.0 * self._value
            return False
        if not all_known:
            return False
        terms = tree_terms(problem, arcs)
        size = math.fsum(map(abs, terms))
        paid = self._value * self._faults
        is_exact = bool(problem.quantum) or paid * RELATIVE_SLACK < grain_of(problem)
        self.hides = not is_exact and paid > _COARSE * size
        # it outweighs what any tree scores more
        enough = 2.0 * scaled(problem, terms).loss + size
        self._enough = max(self._least, enough or 1.0)
        return not self.hides or self._enough > self._value / 2.0


def _more_than_all(problem: Problem) -> float:
    """Return a multiple of the quantum by which the scores of no two trees can differ."""
    p = problem
    most, least = np.full((2, p.n_words + 1), [[-np.inf], [np.inf]])
    np.maximum.at(most, p.arc_mod, p.arc_score)
    np.minimum.at(least, p.arc_mod, p.arc_score)
    others = np.concatenate([*(part.score for part in p.parts), p.factor_score, p.count_score])
    spread = float((most - least)[1:].sum())
    spread += 2.0 * float(np.abs(others[np.isfinite(others)]).sum())
    # by more than a search can be wrong, also beside scores that all trees have
    margin = 1e-6 * (spread + float(np.abs(most[1:]).sum())) + 1.0
    quantum = p.quantum or 1.0
    return float(np.ceil((spread + margin) / quantum) + 1.0) * quantum
