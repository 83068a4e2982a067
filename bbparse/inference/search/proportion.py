"""Best trees of numerically unbalanced problems.

A search is exact up to a fraction of the largest sum of scores that a tree could have. If the terms
of the best trees are far smaller than that sum, as with masks of -1e12, this tolerance can hide
differences between them. Such a problem is solved again at the scale of the worst tree found
(:mod:`bbparse.core.scale`), as long as that gets smaller. Among k best trees the last one comes
first: the best may have scores of size 1, the next of 1e12. Trees that rounding can hide even then
are listed and compared exactly. What remains is the difference of bound and score, and the status
says ``gap``. Observers and ``stats`` report the first search.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.core.proof import TOLERANCE
from bbparse.core.scale import Scaled, grain_of, scaled
from bbparse.core.tree import heads_of, tree_terms
from bbparse.runtime.arrays import Float64s, Ints

#: Maximum error of a tree found, as a multiple of the slack of its search.
_SHORT = 4.0
#: Maximum number of trees, beyond those asked for, that are compared exactly.
_MORE = 256


class Answer(NamedTuple):
    """The solution of a problem by one method, and its accuracy."""

    solution: Solution
    slack: float  # maximum error of bounds; 0: no more than the rounding error of a sum
    sizes: Float64s  # [2, K], the last two rows of the scores of `write_trees`


def in_doubt(slack: float, size: float, least: float) -> bool:
    """Return True if an error of a search could hide a term of a tree, or a billionth of all.

    ``size`` is the sum of the magnitudes of its terms, ``least`` the smallest magnitude.
    """
    return _SHORT * slack > min(TOLERANCE * size, least)


class Proportion:
    """Repeated searches for one problem, and the best trees of all of them.

    ``run(problem, options)`` solves a problem.
    """

    def __init__(
        self, problem: Problem, answer: Answer, run: Callable[[Problem, Any], Answer], options: Any
    ) -> None:
        self.problem, self._run = problem, run
        self._options, self._gap = replace(options, gap=0.0, observer=None), options.gap
        found = answer.solution
        self.k, self.status, self.stats = len(found), found.status, dict(found.stats)
        self.terms: dict[tuple[int, ...], list[float]] = {}
        self.ranked: list[tuple[int, ...]] = []  # the k best of all trees
        self._offer(found.arcs)
        # maximum error of the first, the first two, … trees
        self.error = np.maximum(found.upper_bounds - found.scores, 0.0) + _SHORT * answer.slack
        self.error[self.error < grain_of(problem)] = 0.0  # scores differ by multiples of that
        self.searches, self._listed = 1, math.inf  # the last scale at which listing did not help

    def solution(self) -> Solution:
        """Return the best trees, after as many searches as help."""
        if self.status in ("optimal", "gap"):
            self.status = "optimal"
            for k in range(self.k, 0, -1):
                if self.status == "optimal" and not self._is_settled(k - 1):
                    self._settle(k)
        arcs = np.array(self.ranked, np.int32)
        scores = np.array([math.fsum(self.terms[tree]) for tree in self.ranked])
        # terms may cancel out, and a fraction of their size would hide trees without them
        proved = self.error <= TOLERANCE * np.abs(scores)
        bounds = np.where(proved, scores, scores + self.error)
        bounds = np.maximum.accumulate(bounds[::-1])[::-1]
        # no tree scores more than a proved tree before it
        bounds = np.minimum(bounds, np.minimum.accumulate(np.where(proved, scores, np.inf)))
        if self.status == "optimal" and not proved.all():
            self.status = "gap"
        self.stats |= {"upper_bound": float(bounds[0]), "searches": self.searches}
        return Solution.trusted(
            heads_of(self.problem, arcs), arcs, scores, bounds, proved, self.status, self.stats
        )

    def _offer(self, trees: Ints) -> None:
        """Add trees; keep the k best of all, compared exactly."""
        for tree in map(tuple, trees.tolist()):
            self.terms[tree] = tree_terms(self.problem, np.array(tree, np.int32))
        self.ranked = sorted(self.terms, key=lambda tree: -sum(map(Fraction, self.terms[tree])))
        self.ranked = self.ranked[: self.k]
        self.terms = {tree: self.terms[tree] for tree in self.ranked}

    def _is_settled(self, i: int) -> bool:
        """Return True if tree i is proved and no term of it hidden, or if it is within the gap."""
        terms, error = self.terms[self.ranked[i]], float(self.error[i])
        score, least = abs(math.fsum(terms)), min((abs(x) for x in terms if x), default=0.0)
        return error <= max(min(TOLERANCE * score, least), self._gap * score)

    def _settle(self, k: int) -> None:
        """Search at the scale of the k-th tree, while that gets smaller; set the errors.

        If these are too large even so, list further trees, which are compared exactly: no other one
        scores more than the last of them.
        """
        problem, before, count = self.problem, self._listed, k
        while True:
            scale = scaled(problem, self.terms[self.ranked[k - 1]])
            if scale.loss > before / 4.0:
                if self._is_settled(k - 1):
                    return
                if count >= k + _MORE or scale.loss > self._listed / 4.0:
                    self._listed = scale.loss  # the next in doubt scores nearly the same
                    return
                count = min(4 * count, k + _MORE)
            before = min(before, scale.loss)
            error = self._excess(scale, k, count) if scale.loss else 0.0
            if self.status != "optimal":
                return
            if error < grain_of(self.problem):  # scores differ by multiples of that
                error = 0.0
            self._lower(k, error)
            if not error:
                return
            state = np.where(scale.poor, -1, problem.arc_state).astype(np.int8)
            problem = problem.changed(arc_state=state)

    def _lower(self, k: int, error: float) -> None:
        """Lower the errors of the k best, none but each other of which exceed the k-th by more."""
        terms = [error, *self.terms[self.ranked[k - 1]]]
        for i, tree in enumerate(self.ranked[:k]):
            own = max(0.0, math.fsum([*terms, *(-x for x in self.terms[tree])]))
            self.error[i] = min(self.error[i], own)

    def _excess(self, scale: Scaled[Problem], k: int, count: int) -> float:
        """List trees at a scale; return by how much others may exceed the k-th; set the status."""
        solution, slack, _ = self._run(scale.problem, replace(self._options, k_best=count))
        self.searches += 1
        if solution.status not in ("optimal", "infeasible"):
            self.status = solution.status
            return math.inf
        self._offer(solution.arcs)
        if len(solution) < count:  # there are no others
            return 0.0
        last = math.fsum(tree_terms(scale.problem, solution.arcs[-1])) + _SHORT * slack
        worst = self.terms[self.ranked[k - 1]]
        return max(0.0, math.fsum([last * scale.unit, *scale.constants, *(-x for x in worst)]))
