"""Best projective trees of a problem under changed arc scores: the chart as an `Oracle`.

Factors and count factors are ignored: it is the dynamic program alone, over arcs and the part kinds
that its recurrence holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.oracle.projective.build import Chart
from bbparse.oracle.projective.calls import (
    chart_best,
    chart_k_best,
    chart_scratch,
    chart_tree,
    chart_with_each,
)
from bbparse.oracle.projective.recurrences import recurrence_for
from bbparse.oracle.protocol import Best
from bbparse.oracle.restrict import restricted
from bbparse.oracle.whole import oracle_of
from bbparse.problem import Problem

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


def chart_of(problem: Problem, backbone: str | None = None) -> tuple[Chart, Ints]:
    """The chart of all candidate arcs of a problem, and its arcs in the order of the chart.

    Arcs that are forbidden are in the chart, too. ValueError where the recurrence of that name
    (default: the cheapest that can) cannot hold a part kind that the problem has, or the problem is
    not projective.
    """
    if not problem.projective:
        raise ValueError("the charts are projective; this problem allows crossing arcs")
    return oracle_of(problem, recurrence_for(problem, backbone).mode)


class ProjectiveTrees:
    """Projective trees over the arcs of a problem, which are its coordinates; exact.

    Parameters
    ----------
    problem : Problem
        Its required and forbidden arcs are kept to.
    backbone : str, optional
        As `chart_of` takes it.
    scored : bool
        Whether the oracle has the problem's scores for its own; else trees score nothing by
        themselves.
    """

    def __init__(self, problem: Problem, backbone: str | None = None, scored: bool = True) -> None:
        self.n_coordinates = len(problem.arc_head)
        self.chart, self._order = chart_of(problem, backbone)
        if not scored:
            self.chart = self.chart._replace(weight=np.zeros_like(self.chart.weight))
        self._n_words = problem.n_words
        self._mod = problem.arc_mod
        scores = problem.arc_score if scored else np.zeros(self.n_coordinates)
        self._base = restricted(
            scores, self._mod, problem.arc_state == 1, problem.arc_state == -1
        )

    def best(self, scores: Floats) -> Best:
        """See `Oracle.best`."""
        arc_score, scratch, goal = self._pass(scores)
        if goal == -np.inf:
            return Best(goal, np.zeros(self.n_coordinates, np.bool_))
        tree = np.empty(self._n_words, np.int32)
        chart_tree(self.chart, scratch, arc_score, tree)
        return Best(goal, self._on(tree))

    def with_each(self, scores: Floats) -> Floats:
        """See `Oracle.with_each`; exact."""
        arc_score, scratch, goal = self._pass(scores)
        each = np.full(self.n_coordinates, -np.inf)
        if goal > -np.inf:
            found = np.empty(self.n_coordinates)
            chart_with_each(self.chart, scratch, arc_score, found)
            each[self._order] = found
        return each

    def k_best(self, scores: Floats, k: int) -> list[Best]:
        """See `Oracle.k_best`."""
        arc_score, scratch, _ = self._pass(scores)
        trees, values, _, _ = chart_k_best(self.chart, scratch, arc_score, self._n_words, k)
        return [Best(float(value), self._on(tree)) for tree, value in zip(trees, values)]

    def restrict(self, required: Flags, forbidden: Flags) -> ProjectiveTrees:
        """See `Oracle.restrict`; the chart is shared."""
        other = object.__new__(ProjectiveTrees)
        other.__dict__.update(self.__dict__)
        other._base = restricted(self._base, self._mod, required, forbidden)
        return other

    def _pass(self, scores: Floats) -> tuple[Floats, Any, float]:
        arc_score = (self._base + scores)[self._order]
        scratch = chart_scratch(self.chart)
        return arc_score, scratch, float(chart_best(self.chart, scratch, arc_score))

    def _on(self, tree: Ints) -> Flags:
        on = np.zeros(self.n_coordinates, np.bool_)
        on[self._order[tree]] = True
        return on
