"""The chart of a problem, and plain answers from it."""

from __future__ import annotations

import numpy as np

from bbparse.core import Problem
from bbparse.inference.oracles.projective.build import Chart
from bbparse.inference.oracles.projective.calls import chart_k_best, chart_scratch
from bbparse.inference.oracles.trees import ProjectiveTrees, restricted


class Charted:
    """A problem with its chart: answers are in the arcs of the problem."""

    def __init__(self, problem: Problem, backbone: str | None = None) -> None:
        p = self.problem = problem
        self.oracle = ProjectiveTrees(p, backbone)
        self.chart, self.order = self.oracle.chart, self.oracle.order
        scores = restricted(p.arc_score, p.arc_mod, p.arc_state == 1, p.arc_state == -1)
        self.arc_score = scores[self.order]
        self.nothing = np.zeros(len(p.arc_head))

    def viterbi(self) -> tuple[float, np.ndarray]:
        """Score and arcs of the best tree; no arcs where there is none."""
        value, on = self.oracle.best(self.nothing)
        arcs = np.flatnonzero(on)
        return value, arcs[np.argsort(self.problem.arc_mod[arcs])]

    def k_best(self, k: int, chart: Chart | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Scores and arcs of the k best trees, of what is left of the chart."""
        chart = self.chart if chart is None else chart
        trees, scores, _, _ = chart_k_best(
            chart, chart_scratch(chart), self.arc_score, self.problem.n_words, k, -np.inf, np.inf
        )
        return scores, self.order[trees]

    def max_marginals(self) -> np.ndarray:
        """For each arc the best score of a tree that has it."""
        return self.oracle.with_each(self.nothing)
