"""Charts and tag sequences as oracles: the best structure, and max-marginals of coordinates."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.deadline import NO_DEADLINE, Deadline
from bbparse.jit import kernel
from bbparse.oracle.projective.passes import inside_pass, outside_pass
from bbparse.oracle.protocol import Best, Flags, Floats
from bbparse.phrases.chart import Chart
from bbparse.phrases.listing import Combine, Listing

NEG = -np.inf
_NONE = np.empty(0)
Ints = NDArray[np.int32]


class _Swept(NamedTuple):
    """What the sweeps of `bbparse.oracle.projective.passes` read; no item has a group."""

    item_ptr: Ints
    item_group: Ints
    left: Ints
    right: Ints
    weight: Floats
    size: NDArray[np.int64]
    group_ptr: Ints


@kernel
def reweigh(weight, coordinate, scores, out):
    """Weights of steps with the scores of their coordinates added."""
    for e in range(weight.shape[0]):
        c = coordinate[e]
        out[e] = weight[e] + (scores[c] if c >= 0 else 0.0)


@kernel
def coordinate_marginals(chart, weight, inside, outside, out):
    """The best score of a derivation with each coordinate, into float64[C]."""
    out[:] = NEG
    for i in range(1, outside.shape[0]):
        if outside[i] > NEG:
            for e in range(chart.item_ptr[i], chart.item_ptr[i + 1]):
                c = chart.coordinate[e]
                if c >= 0:
                    value = outside[i] + weight[e] + inside[chart.left[e]] + inside[chart.right[e]]
                    out[c] = max(out[c], value)


@kernel
def best_steps(chart, weight, inside):
    """The steps of the best derivation, from the top; the first of those that are as good."""
    n = inside.shape[0]
    stack, out = np.empty(n + 1, np.int32), np.empty(n, np.int32)
    stack[0] = n - 1
    depth, length = 1, 0
    while depth > 0:
        depth -= 1
        i = stack[depth]
        if i != 0:
            best, value = -1, NEG
            for e in range(chart.item_ptr[i], chart.item_ptr[i + 1]):
                own = inside[chart.left[e]] + inside[chart.right[e]] + weight[e]
                if own > value:
                    best, value = e, own
            out[length] = best
            length += 1
            stack[depth], stack[depth + 1] = chart.left[best], chart.right[best]
            depth += 2
    return out[:length]


class ChartOracle:
    """The derivations of a chart, with what its steps turn on as coordinates.

    Each coordinate is in a group, int32[C]: every derivation has exactly one on of each that it can
    have. Scores of their own, float64[C], are added to all; -inf for coordinates that are off.
    """

    def __init__(self, chart: Chart, group: Ints, own: Floats | None = None) -> None:
        self.chart, self.group = chart, group
        self.n_coordinates = len(group)
        n = len(chart.item_ptr) - 1
        self._own = own
        self._weight = np.empty(len(chart.weight))
        self._swept = _Swept(
            chart.item_ptr, np.full(n, -1, np.int32), chart.left, chart.right, self._weight,
            np.array([n]), np.zeros(1, np.int32),
        )  # fmt: skip
        self._inside, self._outside = np.empty(n), np.empty(n)

    def restrict(self, required: Flags, forbidden: Flags) -> ChartOracle:
        own = np.zeros(self.n_coordinates) if self._own is None else self._own.copy()
        own[forbidden | (np.isin(self.group, self.group[required]) & ~required)] = NEG
        return ChartOracle(self.chart, self.group, own)

    def _sweep(self, scores: Floats) -> float:
        c = self.chart
        if self._own is not None:
            scores = scores + self._own
        reweigh(c.weight, c.coordinate, scores, self._weight)
        return float(inside_pass(self._swept, _NONE, self._inside))

    def best(self, scores: Floats) -> Best:
        value = self._sweep(scores)
        if value == NEG:
            return Best(NEG, np.zeros(self.n_coordinates, np.bool_))
        return Best(value, self._on(best_steps(self.chart, self._weight, self._inside)))

    def k_best(self, scores: Floats, k: int) -> list[Best]:
        """See `bbparse.oracle.protocol.Oracle`: different sets of coordinates, best first."""
        coordinate = self.chart.coordinate.tolist()

        def combine(step: int, left: Hashable, right: Hashable) -> Hashable:
            own = frozenset(coordinate[step : step + 1] if coordinate[step] >= 0 else ())
            return own.union(*(s for s in (left, right) if isinstance(s, frozenset)))

        return [Best(value, self._on(steps)) for value, steps in self.k_steps(scores, k, combine)]

    def _on(self, steps: Ints) -> Flags:
        on = np.zeros(self.n_coordinates, np.bool_)
        used = self.chart.coordinate[steps]
        on[used[used >= 0]] = True
        return on

    def k_steps(
        self, scores: Floats, k: int, combine: Combine, deadline: Deadline = NO_DEADLINE
    ) -> list[tuple[float, Ints]]:
        """The k best structures, by what `combine` makes of derivations (`Listing.best`)."""
        value = self._sweep(scores)
        if value == NEG:
            return []
        if k == 1:
            return [(value, best_steps(self.chart, self._weight, self._inside))]
        chart = self.chart._replace(weight=self._weight)
        return Listing(chart, self._inside, combine).best(k, deadline)

    def with_each(self, scores: Floats) -> Floats:
        """See `bbparse.oracle.protocol.Oracle`; exact."""
        out = np.full(self.n_coordinates, NEG)
        if self._sweep(scores) > NEG:
            outside_pass(self._swept, _NONE, self._inside, self._outside)
            coordinate_marginals(self.chart, self._weight, self._inside, self._outside, out)
        return out
