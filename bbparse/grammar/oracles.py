"""Charts as oracles: best derivation, k best structures, and max-marginals of coordinates."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np

from bbparse.grammar.chart import PhraseChart
from bbparse.inference.oracles.projective.passes import (
    best_edge,
    inside_pass,
    list_derivations,
    outside_pass,
)
from bbparse.inference.oracles.protocol import Best
from bbparse.runtime.arrays import NEG, Flags, Float64s, Ints
from bbparse.runtime.deadline import NO_DEADLINE, Deadline
from bbparse.runtime.jit import kernel

T = TypeVar("T", bound=Hashable)
_NONE = np.empty(0)
#: For k structures, fewer than k·4**_LONGEST derivations are listed.
_LONGEST = 7


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


def _steps(chart: PhraseChart, lists: Any, place: Any, item: int, rank: int) -> Ints:
    """Return the steps of a derivation in the lists of `list_derivations`, top down."""
    steps, waiting = [], [(item, rank)]
    while waiting:
        item, rank = waiting.pop()
        _, step, left, right, _ = lists[place[item]][rank]
        steps.append(step)
        tails = ((int(chart.left[step]), left), (int(chart.right[step]), right))
        waiting += [tail for tail in tails if tail[0]]
    return np.array(steps, np.int32)


class ChartOracle:
    """Oracle over the derivations of a chart, whose steps turn on coordinates.

    A derivation has exactly one coordinate of each group (int32[C]) on. ``offsets`` float64[C] are
    added to all scores; -inf turns a coordinate off.
    """

    def __init__(self, chart: PhraseChart, group: Ints, offsets: Float64s | None = None) -> None:
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

    def k_best(
        self, scores: Float64s, k: int, read: Callable[[Ints], T], deadline: Deadline = NO_DEADLINE
    ) -> tuple[dict[T, tuple[float, Ints]], bool]:
        """Find the k best different structures that `read` makes of the steps of derivations.

        Returns each with the score and the steps of its best derivation, and whether these are the
        k best, or all that there are. With a deadline, there is at least one.
        """
        found: dict[T, tuple[float, Ints]] = {}
        if self._sweep(scores) == NEG:
            return found, True
        for count in (k * 4**i for i in range(k > 1, _LONGEST)):
            derivations, is_all = self._derivations(count, deadline)
            for score, steps in derivations[len(found) :]:
                found.setdefault(read(steps), (score, steps))
                if len(found) == k:
                    return found, True
            if is_all or deadline.is_over():
                return found, is_all
        return found, False

    def _derivations(self, k: int, deadline: Deadline) -> tuple[list[tuple[float, Ints]], bool]:
        """List the k best derivations: scores and steps top down, and whether these are all."""
        c, none = self._swept, np.empty(0, np.int32)
        lists, place, is_all = list_derivations(
            c, _NONE, none, none, self._inside, k, NEG, deadline.at
        )
        top = int(c.size[0]) - 1
        return [
            (-found[0], _steps(c, lists, place, top, rank))
            for rank, found in enumerate(lists[place[top]])
        ], is_all

    def _with_steps(self) -> Float64s:
        """Return the score of the best derivation with each step, after an inside pass."""
        chart = self._swept
        outside_pass(chart, _NONE, self._inside, self._outside)
        around = np.repeat(self._outside, np.diff(chart.item_ptr)) + self._weight
        return around + self._inside[chart.left] + self._inside[chart.right]

    def max_marginals(self, scores: Float64s) -> Float64s:
        """Compute exact max-marginals of coordinates; see `inference.oracles.protocol.Oracle`."""
        out = np.full(self.n_coordinates, NEG)
        if self._sweep(scores) > NEG:
            on = self.chart.coordinate >= 0
            np.maximum.at(out, self.chart.coordinate[on], self._with_steps()[on])
        return out
