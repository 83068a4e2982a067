"""Charts and tag sequences as oracles: the best structure, and max-marginals of coordinates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.oracle.projective.passes import inside_pass, outside_pass
from bbparse.oracle.protocol import Best, Flags, Floats, Oracle
from bbparse.phrases.chart import Chart

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


@kernel
def reweigh(weight, coordinate, scores, out):
    """Weights of steps with the scores of their coordinates added."""
    for e in range(weight.shape[0]):
        c = coordinate[e]
        out[e] = weight[e] + (scores[c] if c >= 0 else 0.0)


@kernel
def best_steps(chart, weight, inside):
    """The steps of the best derivation, from the top; ties go to the first."""
    n = chart.item_ptr.shape[0] - 1
    stack = np.empty(2 * n + 2, np.int32)
    out = np.empty(n, np.int32)
    stack[0], depth, found = n - 1, 1, 0
    while depth > 0:
        depth -= 1
        i = stack[depth]
        if i == 0:
            continue
        best, at = NEG, chart.item_ptr[i]
        for e in range(chart.item_ptr[i], chart.item_ptr[i + 1]):
            value = inside[chart.left[e]] + inside[chart.right[e]] + weight[e]
            if value > best:
                best, at = value, e
        out[found] = at
        found += 1
        stack[depth] = chart.left[at]
        stack[depth + 1] = chart.right[at]
        depth += 2
    return out[:found]


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
def k_best_steps(chart, weight, k):
    """The k best derivations: float64[K] and a list of their steps, from the top."""
    n = chart.item_ptr.shape[0] - 1
    value = np.full((n, k), NEG)
    step, rank = np.zeros((n, k), np.int32), np.zeros((n, k, 2), np.int32)
    count = np.zeros(n, np.int32)
    value[0, 0], count[0] = 0.0, 1
    for i in range(1, n):
        for e in range(chart.item_ptr[i], chart.item_ptr[i + 1]):
            x, y = chart.left[e], chart.right[e]
            for a in range(count[x]):
                for b in range(min(count[y], k // (a + 1))):
                    v = value[x, a] + value[y, b] + weight[e]
                    at = count[i]
                    if v == NEG or (at == k and v <= value[i, k - 1]):
                        break
                    at = min(at, k - 1)
                    while at > 0 and value[i, at - 1] < v:
                        value[i, at], step[i, at] = value[i, at - 1], step[i, at - 1]
                        rank[i, at] = rank[i, at - 1]
                        at -= 1
                    value[i, at], step[i, at] = v, e
                    rank[i, at, 0], rank[i, at, 1] = a, b
                    count[i] = min(count[i] + 1, k)
    found = [np.empty(0, np.int32) for _ in range(count[n - 1])]
    stack = np.empty((2 * n + 2, 2), np.int32)
    out = np.empty(n, np.int32)
    for t in range(count[n - 1]):
        stack[0, 0], stack[0, 1] = n - 1, t
        depth, length = 1, 0
        while depth > 0:
            depth -= 1
            i, a = stack[depth]
            if i == 0:
                continue
            e = step[i, a]
            out[length] = e
            length += 1
            stack[depth, 0], stack[depth, 1] = chart.left[e], rank[i, a, 0]
            stack[depth + 1, 0], stack[depth + 1, 1] = chart.right[e], rank[i, a, 1]
            depth += 2
        found[t] = out[:length].copy()
    return value[n - 1, : count[n - 1]], found


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
            np.array([n]),
        )  # fmt: skip
        self._inside, self._outside = np.empty(n), np.empty(n)

    def restrict(self, required: Flags, forbidden: Flags) -> ChartOracle:
        own = np.zeros(self.n_coordinates) if self._own is None else self._own.copy()
        own[forbidden | (np.isin(self.group, self.group[required]) & ~required)] = NEG
        return ChartOracle(self.chart, self.group, own)

    def k_best(self, scores: Floats, k: int) -> list[Best]:
        """See `bbparse.oracle.protocol.Oracle`: derivations, as `k_steps` lists them."""
        return [Best(value, self._on(steps)) for value, steps in self.k_steps(scores, k)]

    def _sweep(self, scores: Floats) -> float:
        c = self.chart
        if self._own is not None:
            scores = scores + self._own
        reweigh(c.weight, c.coordinate, scores, self._weight)
        return float(inside_pass(self._swept, _NONE, self._inside))

    def steps(self, scores: Floats) -> tuple[float, Ints]:
        """The best derivation and its score: numbers of steps, from the top."""
        value = self._sweep(scores)
        if value == NEG:
            return value, np.empty(0, np.int32)
        return value, best_steps(self.chart, self._weight, self._inside)

    def best(self, scores: Floats) -> Best:
        value, steps = self.steps(scores)
        return Best(value, self._on(steps))

    def _on(self, steps: Ints) -> Flags:
        on = np.zeros(self.n_coordinates, np.bool_)
        used = self.chart.coordinate[steps]
        on[used[used >= 0]] = True
        return on

    def k_steps(self, scores: Floats, k: int) -> list[tuple[float, Ints]]:
        """The k best derivations with their scores, best first; see `steps`."""
        if self._sweep(scores) == NEG:
            return []
        values, steps = k_best_steps(self.chart, self._weight, k)
        return list(zip(values.tolist(), steps))

    def with_each(self, scores: Floats) -> Floats:
        """See `bbparse.oracle.protocol.Oracle`; exact."""
        out = np.full(self.n_coordinates, NEG)
        if self._sweep(scores) > NEG:
            outside_pass(self._swept, _NONE, self._inside, self._outside)
            coordinate_marginals(self.chart, self._weight, self._inside, self._outside, out)
        return out


class Scaled:
    """An oracle whose scores count more or less: `scale` times its own."""

    def __init__(self, oracle: Oracle, scale: float) -> None:
        self._oracle, self._scale = oracle, scale
        self.n_coordinates = oracle.n_coordinates

    def best(self, scores: Floats) -> Best:
        found = self._oracle.best(scores / self._scale)
        return Best(found.value * self._scale, found.on)

    def with_each(self, scores: Floats) -> Floats:
        return self._oracle.with_each(scores / self._scale) * self._scale

    def k_best(self, scores: Floats, k: int) -> list[Best]:
        found = self._oracle.k_best(scores / self._scale, k)
        return [Best(one.value * self._scale, one.on) for one in found]

    def restrict(self, required: Flags, forbidden: Flags) -> Scaled:
        return Scaled(self._oracle.restrict(required, forbidden), self._scale)
