"""Charts as oracles: best derivation, k best structures, and max-marginals of coordinates."""

from __future__ import annotations

import numpy as np

from bbparse.grammar.chart import Chart
from bbparse.grammar.k_best import Combine, best_structures
from bbparse.inference.oracles.projective.passes import best_edge, inside_pass, outside_pass
from bbparse.inference.oracles.protocol import Best
from bbparse.runtime.arrays import NEG, Flags, Float64s, Ints
from bbparse.runtime.deadline import NO_DEADLINE, Deadline
from bbparse.runtime.jit import kernel

_NONE = np.empty(0)


@kernel
def best_steps(chart, inside):
    """Return the steps of the best derivation, top down; ties go to the first."""
    n = inside.shape[0]
    stack, out = np.empty(n + 1, np.int32), np.empty(n, np.int32)
    stack[0] = n - 1
    depth, length = 1, 0
    while depth > 0:
        depth -= 1
        i = stack[depth]
        if i != 0:
            best = best_edge(chart, inside, i)
            out[length] = best
            length += 1
            stack[depth], stack[depth + 1] = chart.left[best], chart.right[best]
            depth += 2
    return out[:length]


class ChartOracle:
    """Oracle over the derivations of a chart, whose steps turn on coordinates.

    A derivation has exactly one coordinate of each group (int32[C]) on. ``offsets`` float64[C] are
    added to all scores; -inf turns a coordinate off.
    """

    def __init__(self, chart: Chart, group: Ints, offsets: Float64s | None = None) -> None:
        self.chart, self.group = chart, group
        self.n_coordinates = len(group)
        self._offsets = offsets
        self._weight = np.empty(len(chart.weight))
        self._swept = chart._replace(weight=self._weight)
        self._inside, self._outside = np.empty((2, len(chart.kind)))

    def restrict(self, required: Flags, forbidden: Flags) -> ChartOracle:
        """Require and forbid coordinates; see `bbparse.inference.oracles.protocol.Oracle`."""
        offsets = np.zeros(self.n_coordinates) if self._offsets is None else self._offsets.copy()
        offsets[forbidden | (np.isin(self.group, self.group[required]) & ~required)] = NEG
        return ChartOracle(self.chart, self.group, offsets)

    def _sweep(self, scores: Float64s) -> float:
        c = self.chart
        if self._offsets is not None:
            scores = scores + self._offsets
        # the 0 at the end is for steps without a coordinate: `FREE` is the index -1
        np.add(c.weight, np.append(scores, 0.0)[c.coordinate], out=self._weight)
        return float(inside_pass(self._swept, _NONE, self._inside))

    def best(self, scores: Float64s) -> Best:
        """Find the best derivation; see `bbparse.inference.oracles.protocol.Oracle`."""
        value = self._sweep(scores)
        if value == NEG:
            return Best(NEG, np.zeros(self.n_coordinates, np.bool_))
        return Best(value, self._on(best_steps(self._swept, self._inside)))

    def _on(self, steps: Ints) -> Flags:
        on = np.zeros(self.n_coordinates, np.bool_)
        used = self.chart.coordinate[steps]
        on[used[used >= 0]] = True
        return on

    def k_steps(
        self, scores: Float64s, k: int, combine: Combine, deadline: Deadline = NO_DEADLINE
    ) -> list[tuple[float, Ints]]:
        """Find the k best structures that `combine` makes; see `best_structures`.

        There are fewer if the chart has no more, or the deadline passes, but at least one.
        """
        value = self._sweep(scores)
        if value == NEG:
            return []
        best = [(value, best_steps(self._swept, self._inside))]
        if k == 1:
            return best
        return best_structures(self._swept, self._with_steps(), combine, k, deadline) or best

    def _with_steps(self) -> Float64s:
        """Return the score of the best derivation with each step, after an inside pass."""
        chart = self._swept
        outside_pass(chart, _NONE, self._inside, self._outside)
        around = np.repeat(self._outside, np.diff(chart.item_ptr)) + self._weight
        return around + self._inside[chart.left] + self._inside[chart.right]

    def with_each(self, scores: Float64s) -> Float64s:
        """Compute exact max-marginals of coordinates; see `inference.oracles.protocol.Oracle`."""
        out = np.full(self.n_coordinates, NEG)
        if self._sweep(scores) > NEG:
            on = self.chart.coordinate >= 0
            np.maximum.at(out, self.chart.coordinate[on], self._with_steps()[on])
        return out
