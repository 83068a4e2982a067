"""Best trees of a problem under changed arc scores, as oracles whose coordinates are its arcs.

Factors and count factors are ignored. Charts score the part kinds of their recurrence;
arborescences, which may cross, score none.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np

from bbparse.core import Problem
from bbparse.core.order import sort_arcs
from bbparse.core.tree import arcs_left
from bbparse.inference.oracles.calls import oracle_over
from bbparse.inference.oracles.nonprojective.arborescence import Arborescence, arborescence_over
from bbparse.inference.oracles.projective.calls import (
    chart_best,
    chart_max_marginals,
    chart_scratch,
    chart_tree,
)
from bbparse.inference.oracles.projective.recurrences import recurrence_for
from bbparse.inference.oracles.protocol import Best
from bbparse.runtime.arrays import Flags, Float64s, Ints
from bbparse.runtime.errors import ProblemError


def restricted(scores: Float64s, mod: Ints, required: Flags, forbidden: Flags) -> Float64s:
    """Set the scores float64[A] of arcs that are not among `arcs_left` to -inf."""
    return np.where(arcs_left(mod, required, forbidden), scores, -np.inf)


def oracle_of(problem: Problem, mode: int) -> tuple[Any, Ints]:
    """Make the oracle of a problem over all its arcs; return also its arcs as indices, int32[A]."""
    p, order = sort_arcs(problem)
    positions = np.arange(len(p.arc_head)) if order is None else order
    return oracle_over(p, mode, p.arc_head.copy(), p.arc_mod.copy()), positions.astype(np.int32)


class _Trees:
    """Trees over the arcs of a problem, with its required and forbidden arcs."""

    def __init__(self, problem: Problem) -> None:
        p = self._problem = problem
        self.n_coordinates = len(p.arc_head)
        self._base = restricted(p.arc_score, p.arc_mod, p.arc_state == 1, p.arc_state == -1)

    def restrict(self, required: Flags, forbidden: Flags) -> Self:
        """See `Oracle.restrict`; everything but the scores of arcs is shared."""
        trees = copy(self)
        trees._base = restricted(self._base, self._problem.arc_mod, required, forbidden)
        return trees

    def _best(self, value: float, arcs: Ints) -> Best:
        on = np.zeros(self.n_coordinates, np.bool_)
        on[arcs] = True
        return Best(value, on)


class ProjectiveTrees(_Trees):
    """Projective trees, by a chart; exact.

    ``backbone`` names the recurrence of the chart (default: the cheapest that scores every part of
    the problem); ProblemError if there is none that can.
    """

    def __init__(self, problem: Problem, backbone: str | None = None) -> None:
        if not problem.projective:
            raise ProblemError("the charts are projective; this problem allows crossing arcs")
        self.chart, self.order = oracle_of(problem, recurrence_for(problem, backbone).mode)
        super().__init__(problem)

    def best(self, scores: Float64s) -> Best:
        """Find the best tree; see `Oracle.best`."""
        arc_score, scratch, goal = self._pass(scores)
        tree = np.empty(self._problem.n_words if goal > -np.inf else 0, np.int32)
        if goal > -np.inf:
            chart_tree(self.chart, scratch, arc_score, tree)
        return self._best(goal, self.order[tree])

    def max_marginals(self, scores: Float64s) -> Float64s:
        """Compute exact max-marginals; see `Oracle.max_marginals`."""
        arc_score, scratch, goal = self._pass(scores)
        marginals, values = np.full((2, self.n_coordinates), -np.inf)
        if goal > -np.inf:
            chart_max_marginals(self.chart, scratch, arc_score, values)
        marginals[self.order] = values
        return marginals

    def _pass(self, scores: Float64s) -> tuple[Float64s, Any, float]:
        """Return scores in the order of the chart, the arrays of an inside pass, and its value."""
        arc_score, scratch = (self._base + scores)[self.order], chart_scratch(self.chart)
        return arc_score, scratch, float(chart_best(self.chart, scratch, arc_score, np.inf))


class Arborescences(_Trees):
    """Trees by arcs alone, crossing or not; exact."""

    def best(self, scores: Float64s) -> Best:
        """Find the best tree; see `Oracle.best`."""
        tree = self._search(scores)
        return self._best(tree.value, tree.arcs)

    def max_marginals(self, scores: Float64s) -> Float64s:
        """Bound trees with each arc by reduced scores; see `Oracle.max_marginals`."""
        tree = self._search(scores)
        if not len(tree.arcs):
            return np.full(self.n_coordinates, -np.inf)
        return tree.value + tree.reduced

    def _search(self, scores: Float64s) -> Arborescence:
        p = self._problem
        return arborescence_over(
            p.n_words, p.arc_head, p.arc_mod, self._base + scores, p.single_root
        )
