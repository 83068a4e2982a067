"""`Penalty`: what a fault costs where no tree is valid."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sized

import numpy as np

from bbparse.core import Problem
from bbparse.core.tree import tree_terms
from bbparse.inference.relaxation.state import RELATIVE_SLACK
from bbparse.inference.search.proportion import grain_of
from bbparse.runtime.arrays import Float64s, Ints

#: Ratio of penalties paid to scores beyond which they may hide scores.
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
        self.hides = _hides(self._value * self._faults, problem, arcs)
        self._enough = max(self._least, _enough(problem, arcs))
        return not self.hides or self._enough > self._value / 2.0


def _more_than_all(problem: Problem) -> float:
    """Return a multiple of the quantum by which the scores of no two trees can differ."""
    p = problem
    smallest = np.full(p.n_words + 1, np.inf)
    np.minimum.at(smallest, p.arc_mod, p.arc_score)
    spread = float((_largest(p) - smallest[1:]).sum())
    for scores in (*(part.score for part in p.parts), p.factor_score):
        spread += float(np.abs(scores[np.isfinite(scores)]).sum())
    for finite in _finite_tables(p):
        spread += float(np.ptp(finite)) if len(finite) else 0.0
    quantum = p.quantum or 1.0
    # by more than a search can be wrong, also beside scores that all trees have
    margin = 1e-6 * (spread + float(np.abs(_largest(p)).sum())) + 1.0
    return float(np.ceil((spread + margin) / quantum) + 1.0) * quantum


def _enough(problem: Problem, arcs: Ints) -> float:
    """Return a penalty that outweighs what any tree scores more than the tree of these arcs."""
    p = problem
    terms = tree_terms(p, arcs)
    most = [*_largest(p).tolist(), *(-term for term in terms)]
    for scores in (*(part.score for part in p.parts), p.factor_score):
        most.append(float(np.maximum(scores, 0.0).sum()))
    most += [float(finite.max()) for finite in _finite_tables(p) if len(finite)]
    return 2.0 * max(math.fsum(most), 0.0) + math.fsum(map(abs, terms)) or 1.0


def _hides(paid: float, problem: Problem, arcs: Ints) -> bool:
    """Return True if a search may be wrong about the score of a tree that pays penalties."""
    p = problem
    if p.quantum or paid <= _COARSE * math.fsum(map(abs, tree_terms(p, arcs))):
        return False
    return paid * RELATIVE_SLACK >= grain_of(p)


def _largest(problem: Problem) -> Float64s:
    """Return the largest score of an arc into each word, float64[n]."""
    largest = np.full(problem.n_words + 1, -np.inf)
    np.maximum.at(largest, problem.arc_mod, problem.arc_score)
    return largest[1:]


def _finite_tables(problem: Problem) -> list[Float64s]:
    """Return the finite scores of each count factor."""
    tables = np.split(problem.count_score, problem.count_score_ptr[1:-1])
    return [table[np.isfinite(table)] for table in tables]
