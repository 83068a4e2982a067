"""Best trees of a problem under changed arc scores, as oracles whose coordinates are its arcs.

Factors and count factors are ignored. Charts score the part kinds of their recurrence;
arborescences, which may cross, score none.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from bbparse.core import Problem
from bbparse.core.order import in_order
from bbparse.core.tree import arcs_left
from bbparse.inference.oracles.calls import oracle_over
from bbparse.inference.oracles.nonprojective.arborescence import best_arborescence
from bbparse.inference.oracles.projective.calls import (
    chart_best,
    chart_scratch,
    chart_tree,
    chart_with_each,
)
from bbparse.inference.oracles.projective.recurrences import recurrence_for
from bbparse.inference.oracles.protocol import Best
from bbparse.runtime.arrays import Flags, Float64s, Ints
from bbparse.runtime.errors import ProblemError


def restricted(scores: Float64s, mod: Ints, required: Flags, forbidden: Flags) -> Float64s:
    """Set the scores float64[A] of arcs that are not among `arcs_left` to -inf."""
    return np.where(arcs_left(mod, required, forbidden), scores, -np.inf)


def oracle_of(problem: Problem, mode: int) -> tuple[Any, Ints]:
    """Make the oracle of a problem, projective or not, over all its arcs, forbidden ones too.

    It scores the parts of the recurrence ``mode``. Returns also the problem's arc at each position
    of the oracle, int32[A].
    """
    p, order = in_order(problem)
    positions = np.arange(len(p.arc_head)) if order is None else order
    return oracle_over(p, mode, p.arc_head.copy(), p.arc_mod.copy()), positions.astype(np.int32)


class _Trees:
    """Trees over the arcs of a problem, with its required and forbidden arcs.

    ``order`` int32[A] has the problem's arc at each position of the oracle.
    """

    def __init__(self, problem: Problem, order: Ints) -> None:
        p = problem
        self.n_coordinates, self.order = len(order), order
        self._n_words, self._mod = p.n_words, p.arc_mod
        self._base = restricted(p.arc_score, self._mod, p.arc_state == 1, p.arc_state == -1)

    def restrict(self, required: Flags, forbidden: Flags) -> Self:
        """See `Oracle.restrict`; everything but the scores of arcs is shared."""
        restricted_trees = object.__new__(type(self))
        restricted_trees.__dict__.update(self.__dict__)
        restricted_trees._base = restricted(self._base, self._mod, required, forbidden)
        return restricted_trees

    def _scores(self, scores: Float64s) -> Float64s:
        """Add the problem's own scores of arcs, and sort them in the order of the oracle."""
        return (self._base + scores)[self.order]

    def _best(self, value: float, tree: Ints) -> Best:
        on = np.zeros(self.n_coordinates, np.bool_)
        if value > -np.inf:
            on[self.order[tree]] = True
        return Best(value, on)

    def _each(self, value: float, values: Float64s) -> Float64s:
        each = np.full(self.n_coordinates, -np.inf)
        if value > -np.inf:
            each[self.order] = values
        return each


class ProjectiveTrees(_Trees):
    """Projective trees, by a chart; exact.

    ``backbone`` names the recurrence of the chart (default: the cheapest that scores every part of
    the problem); ProblemError if there is none that can.
    """

    def __init__(self, problem: Problem, backbone: str | None = None) -> None:
        if not problem.projective:
            raise ProblemError("the charts are projective; this problem allows crossing arcs")
        self.chart, order = oracle_of(problem, recurrence_for(problem, backbone).mode)
        super().__init__(problem, order)

    def best(self, scores: Float64s) -> Best:
        """Find the best tree; see `Oracle.best`."""
        arc_score, scratch, goal = self._pass(scores)
        tree = np.empty(self._n_words, np.int32)
        if goal > -np.inf:
            chart_tree(self.chart, scratch, arc_score, tree)
        return self._best(goal, tree)

    def with_each(self, scores: Float64s) -> Float64s:
        """Compute exact max-marginals; see `Oracle.with_each`."""
        arc_score, scratch, goal = self._pass(scores)
        each = np.empty(self.n_coordinates)
        if goal > -np.inf:
            chart_with_each(self.chart, scratch, arc_score, each)
        return self._each(goal, each)

    def _pass(self, scores: Float64s) -> tuple[Float64s, Any, float]:
        arc_score, scratch = self._scores(scores), chart_scratch(self.chart)
        return arc_score, scratch, float(chart_best(self.chart, scratch, arc_score, np.inf))


class Arborescences(_Trees):
    """Trees by arcs alone, crossing or not; exact."""

    def __init__(self, problem: Problem) -> None:
        p = problem
        order = np.lexsort((np.arange(len(p.arc_mod)), p.arc_mod)).astype(np.int32)
        super().__init__(p, order)
        self._head, self._single_root = p.arc_head[order], p.single_root
        self._ptr = np.searchsorted(p.arc_mod[order], np.arange(p.n_words + 2)).astype(np.int32)

    def best(self, scores: Float64s) -> Best:
        """Find the best tree; see `Oracle.best`."""
        value, tree, _ = self._search(scores)
        return self._best(value, tree)

    def with_each(self, scores: Float64s) -> Float64s:
        """Bound trees with each arc, by the dual of a linear program; see `Oracle.with_each`."""
        value, _, reduced = self._search(scores)
        return self._each(value, value + reduced)

    def _search(self, scores: Float64s) -> tuple[float, Ints, Float64s]:
        tree, reduced = np.empty(self._n_words, np.int32), np.zeros(self.n_coordinates)
        value = best_arborescence(
            self._ptr, self._head, self._scores(scores), self._single_root, tree, reduced,
            np.empty(1), np.inf,
        )  # fmt: skip
        return float(value), tree, reduced
