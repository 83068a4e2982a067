"""Best trees of numerically unbalanced problems.

A search is exact up to a fraction of the largest sum of scores that a tree could have. If the terms
of the best trees are far smaller than that sum, as with masks of -1e12, this tolerance can hide
differences between them. Such a problem is solved again, restricted to trees that are at least as
good as the worst tree found (:mod:`bbparse.core.reduction`): the reduction removes the large
scores that are decided already. This is repeated as long as scores get smaller. Large scores that
are still left, rewards that no good tree has, are branched on one by one. All of the k best trees
that need it are treated, the last one first: the best may have scores of size 1, the next of 1e12.
Observers and ``stats`` report the first search.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.core.parts import FIELDS
from bbparse.core.proof import TOLERANCE
from bbparse.core.reduction import Nothing, Reduction
from bbparse.core.tree import heads_of, tree_terms
from bbparse.runtime.arrays import Float64s, Ints

#: Terms below this fraction of the sum of magnitudes are so small that they need a closer look.
_MINUTE = 1e-7
#: Maximum error of a tree found, as a multiple of the slack of its search.
_SHORT = 4.0
#: Maximum number of problems that are solved for one.
_MOST = 500


class Answer(NamedTuple):
    """The solution of a problem by one method, and its accuracy."""

    solution: Solution
    slack: float  # maximum error of bounds; 0: no more than the rounding error of a sum
    sizes: Float64s  # [2, K], the last two rows of `inference.search.rescore.rescore_trees`


def in_doubt(slack: float, size: float, least: float) -> bool:
    """Return True if ``slack`` could hide terms of a tree.

    ``size`` is the sum of the magnitudes of its terms, ``least`` the smallest magnitude.
    """
    return slack > TOLERANCE * size or least < max(slack / TOLERANCE * 1e-6, _MINUTE * size)


class Proportion:
    """Repeated searches for one problem, and the best trees of all of them.

    ``run(problem, options)`` solves a problem.
    """

    def __init__(
        self, problem: Problem, answer: Answer, run: Callable[[Problem, Any], Answer], options: Any
    ) -> None:
        self.problem, self._run = problem, run
        self._options = replace(options, gap=0.0, observer=None)
        found = answer.solution
        self.k = len(found)
        self.terms: dict[tuple[int, ...], list[float]] = {}
        self.ranked: list[tuple[int, ...]] = []
        self._offer(found.arcs)
        # maximum error of the first, the first two, … trees
        self.error = np.maximum(found.upper_bounds - found.scores, 0.0) + _SHORT * answer.slack
        self.stats = dict(found.stats)
        self.solved = 1
        self.status = found.status
        self._settled = [False] * self.k
        self._grain = grain_of(problem)

    def solution(self) -> Solution:
        """Return the best trees, after as many searches as needed."""
        if self.status in ("optimal", "gap"):
            self.status = "optimal"
            while self.status == "optimal":
                doubtful = [i for i in range(self.k) if self._doubtful(i)]
                if not doubtful:
                    break
                self._settle(doubtful[-1])
        best = self.ranked[: self.k]
        arcs = np.array(best, np.int32)
        scores = np.array([math.fsum(self.terms[tree]) for tree in best])
        sizes = np.array([self._size(i) for i in range(self.k)])
        proved = self.error <= TOLERANCE * sizes
        if self.status == "optimal":
            proved[:] = True
        bounds = np.where(proved, scores, scores + self.error)
        bounds = np.maximum.accumulate(bounds[::-1])[::-1]
        # no tree scores more than a proved tree before it
        bounds = np.minimum(bounds, np.minimum.accumulate(np.where(proved, scores, np.inf)))
        self.stats |= {"upper_bound": float(bounds[0]), "searches": self.solved}
        return Solution.trusted(
            heads_of(self.problem, arcs), arcs, scores, bounds, proved, self.status, self.stats
        )

    # ---- trees -----------------------------------------------------------------------------------

    def _offer(self, trees: Ints) -> None:
        """Add trees and rank all; scores that are equal as floats are compared exactly."""
        for tree in map(tuple, trees.tolist()):
            if tree not in self.terms:
                self.terms[tree] = tree_terms(self.problem, np.array(tree, np.int32))
        scores = {tree: math.fsum(terms) for tree, terms in self.terms.items()}
        seen: dict[float, int] = {}
        for score in scores.values():
            seen[score] = seen.get(score, 0) + 1

        def key(tree: tuple[int, ...]) -> tuple[float, Fraction]:
            exact = sum(map(Fraction, self.terms[tree])) if seen[scores[tree]] > 1 else 0
            return -scores[tree], -Fraction(exact)

        self.ranked = sorted(self.terms, key=key)[: self.k]
        self.terms = {tree: self.terms[tree] for tree in self.ranked}

    def _size(self, i: int) -> float:
        return math.fsum(map(abs, self.terms[self.ranked[i]]))

    def _doubtful(self, i: int) -> bool:
        error = float(self.error[i])
        if error == 0.0:
            return False
        terms = [abs(x) for x in self.terms[self.ranked[i]] if x]
        if error > TOLERANCE * math.fsum(terms):
            return True
        return not self._settled[i] and in_doubt(error / _SHORT, math.fsum(terms), min(terms))

    # ---- searches --------------------------------------------------------------------------------

    def _settle(self, i: int) -> None:
        """Find the first i + 1 trees, as accurately as tree i requires."""
        waiting = [Reduction(self.problem)]
        error = 0.0
        while waiting and self.status == "optimal":
            space = waiting.pop()
            try:
                short = self._short(space, i + 1)
            except Nothing:
                continue
            if self.status != "optimal":
                return
            if short <= TOLERANCE * self._size(i) or short < self._grain:
                error = max(error, short if short >= self._grain else 0.0)
                continue
            if self.solved >= _MOST:
                self.status = "gap"
                return
            waiting += space.children()
        if self.status == "optimal":
            self._settled[i] = True
            self.error[: i + 1] = np.minimum(self.error[: i + 1], error)

    def _short(self, space: Reduction, k: int) -> float:
        """Return by how much a tree of a space may still be better than the k-th best."""
        before, short = math.inf, math.inf
        while True:
            space.reduce(self.terms[self.ranked[k - 1]])
            if space.lacking > before / 4.0:
                return short
            before = space.lacking
            normal = space.normal()
            options = replace(self._options, k_best=k)
            solution, slack, _ = self._run(normal.problem, options)
            self.solved += 1
            self._offer(solution.arcs)
            if solution.status not in ("optimal", "infeasible"):
                self.status = solution.status
                return math.inf
            if len(solution) < k:
                raise Nothing  # all trees of the space are known
            last = tree_terms(self.problem, solution.arcs[-1])
            known = self.terms[self.ranked[k - 1]]
            short = math.fsum(last + [-x for x in known] + [_SHORT * slack / normal.unit])


def grain_of(problem: Problem) -> float:
    """Return the largest power of two that divides all scores of a problem; 0: all are 0."""
    names = [name for name in FIELDS if name.endswith("_score")]
    scores = np.concatenate([getattr(problem, name) for name in names])
    scores = scores[np.isfinite(scores) & (scores != 0.0)]
    mantissa, exponent = np.frexp(scores)
    whole = (np.abs(mantissa) * 2.0**53).astype(np.int64)
    low = np.log2((whole & -whole).astype(np.float64)) + exponent - 53
    return float(2.0 ** low.min()) if len(low) else 0.0

