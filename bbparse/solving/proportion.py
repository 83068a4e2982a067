"""Best trees of problems whose scores are out of proportion.

A search is exact up to a share of the largest sum of scores that a tree could have. Where what the
best trees are made of is far smaller than that, as with masks of -1e12, this says little about
them. Such a problem is solved again, as far as trees matter that are as good as the worst of those
found (:mod:`bbparse.problem.reduction`), which takes out what has decided already; and again, as
long as that makes scores smaller. What is then still out of proportion, rewards that no good tree
has, is decided one by one. Of the k best trees, all that need it have their turn, the last first:
the best may be of size 1 and the next of 1e12. Observers and ``stats`` tell of the first search.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.problem import Problem, Solution
from bbparse.problem.parts import FIELDS
from bbparse.problem.proof import TOLERANCE
from bbparse.problem.reduction import Nothing, Reduction
from bbparse.problem.tree import heads_of, tree_terms

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

#: Terms of less than this share of others are so small that they call for a closer look.
_MINUTE = 1e-7
#: What was found may be short by so many times the slack of a search.
_SHORT = 4.0
#: Most problems that are solved in place of one.
_MOST = 500


class Answer(NamedTuple):
    """What a method says of a problem."""

    solution: Solution
    slack: float  # bounds may be wrong by so much; 0: by no more than the rounding of a sum
    sizes: Floats  # [2, K], the last two rows of :func:`bbparse.solving.rescore.rescore_trees`


def in_doubt(slack: float, size: float, least: float) -> bool:
    """Whether a tree's terms, of these magnitudes in all and at least, are beyond a slack."""
    return slack > TOLERANCE * size or least < max(slack / TOLERANCE * 1e-6, _MINUTE * size)


class Proportion:
    """Several searches for one problem, and the best trees of all of them.

    ``run(problem, k, left)`` solves a problem, where ``left`` of the time is spent by now.
    """

    def __init__(
        self, problem: Problem, answer: Answer, run: Callable[[Problem, int], Answer]
    ) -> None:
        self.problem, self._run = problem, run
        found = answer.solution
        self.k = len(found)
        self.first = found
        self.terms: dict[tuple[int, ...], list[float]] = {}
        self.ranked: list[tuple[int, ...]] = []
        self._offer(found.arcs)
        # by how much the first, the first two, … of the trees may be worse than they should be
        self.error = np.maximum(found.upper_bounds - found.scores, 0.0) + _SHORT * answer.slack
        self.stats = dict(found.stats)
        self.solved = 1
        self.status = found.status
        self._settled = [False] * self.k
        self._grain: float | None = None

    def solution(self) -> Solution:
        """The best trees, after as many searches as it takes."""
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
        # no tree that comes after one that is proved scores more
        bounds = np.minimum(bounds, np.minimum.accumulate(np.where(proved, scores, np.inf)))
        self.stats |= {"upper_bound": float(bounds[0]), "searches": self.solved}
        return Solution.trusted(
            heads_of(self.problem, arcs), arcs, scores, bounds, proved, self.status, self.stats
        )

    # ---- trees -----------------------------------------------------------------------------------

    def _offer(self, trees: Ints) -> None:
        """Take trees, and rank all: scores that are the same as far as floats tell, exactly."""
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
        """Find the first trees as exactly as tree i needs it."""
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
            if short <= max(TOLERANCE * self._size(i), 0.0) or short < self.grain:
                error = max(error, short if short >= self.grain else 0.0)
                continue
            if self.solved >= _MOST:
                self.status = "gap"
                return
            waiting += space.children()
        if self.status == "optimal":
            self._settled[i] = True
            self.error[: i + 1] = np.minimum(self.error[: i + 1], error)

    def _short(self, space: Reduction, k: int) -> float:
        """By how much a tree of a space may still be better than the k-th best."""
        before, short = math.inf, math.inf
        while True:
            space.reduce(self.terms[self.ranked[k - 1]])
            if space.lacking > before / 4.0:
                return short
            before = space.lacking
            normal = space.normal()
            solution, slack, _ = self._run(normal.problem, k)
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

    @property
    def grain(self) -> float:
        """All scores, and so their sums, are multiples of this power of two; 0: all are 0."""
        if self._grain is None:
            names = [name for name in FIELDS if name.endswith("_score")]
            scores = np.concatenate([getattr(self.problem, name) for name in names])
            scores = scores[np.isfinite(scores) & (scores != 0.0)]
            mantissa, exponent = np.frexp(scores)
            whole = (np.abs(mantissa) * 2.0**53).astype(np.int64)
            low = np.log2((whole & -whole).astype(np.float64)) + exponent - 53
            self._grain = float(2.0 ** low.min()) if len(low) else 0.0
        return self._grain


def in_proportion(
    problem: Problem, answer: Answer, run: Callable[[Problem, Any], Answer], options: Any
) -> Solution:
    """The solution of a problem, solved again where its trees' terms are beyond the slack."""

    def again(reduced: Problem, k: int) -> Answer:
        return run(reduced, replace(options, k_best=k, gap=0.0, observer=None))

    return Proportion(problem, answer, again).solution()
