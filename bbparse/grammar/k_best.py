"""Exact enumeration of the k best different structures of a chart.

Several derivations can stand for one structure: for a tree, derivations with other heads or with
labels that are split differently, neither of which is written. So items have lists of structures
instead of derivations, each with its best derivation. Two derivations of one item with the same
structure lead to the same larger structures, of which only those of the better one count.

The steps that are in a derivation at most `margin` below the best one are known from an inside and
an outside pass. All structures within the margin are made of these, so the k best of them are the k
best of the chart if the last of them is within the margin; otherwise the margin is doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.runtime.arrays import Float64s, Ints
from bbparse.runtime.deadline import Deadline

#: Makes the structure of an item from a step and the structures of its left and right tails.
Combine = Callable[[int, Hashable, Hashable], Hashable]

#: Margin of the first attempt, and slack for rounding.
_MARGIN, _SLACK = 2.0, 1e-6


class _Derivation(NamedTuple):
    """The best derivation of a structure: `left` and `right` are those of the tails."""

    value: float
    step: int
    left: _Derivation | None
    right: _Derivation | None
    structure: Hashable


_EMPTY = _Derivation(0.0, -1, None, None, None)


def best_structures(
    chart: Any, values: Float64s, combine: Combine, k: int, deadline: Deadline
) -> list[tuple[float, Ints]]:
    """Return the k best structures with their scores, each as its steps from the top.

    There are fewer if the chart has no more, or the deadline passes: then there may be none.
    ``values`` float64[E] is the score of the best derivation with each step, -inf if there is none.
    """
    best, n_finite = values.max(), np.count_nonzero(values > -np.inf)
    margin, found = _MARGIN, list[_Derivation]()
    while True:
        steps = np.flatnonzero(values >= best - margin - _SLACK)
        listed = _list(chart, steps, combine, k, deadline)
        if listed is None:
            break
        found = listed
        if len(steps) == n_finite or (len(found) == k and found[-1].value >= best - margin):
            break
        margin *= 2.0
    return [(derivation.value, _steps(derivation)) for derivation in found]


def _list(
    chart: Any, steps: NDArray[np.intp], combine: Combine, k: int, deadline: Deadline
) -> list[_Derivation] | None:
    """List the k best structures of the last item that some steps make; None if time is over."""
    item_of = np.searchsorted(chart.item_ptr, steps, side="right") - 1
    columns = (steps, item_of, chart.left[steps], chart.right[steps], chart.weight[steps])
    rows = zip(*(column.tolist() for column in columns))
    lists, item = {0: [_EMPTY]}, 0
    for item, group in groupby(rows, key=lambda row: row[1]):
        if deadline.is_over():
            return None
        candidates = [
            (left.value + right.value + weight, step, left, right)
            for step, _, i, j, weight in group
            for x, left in enumerate(lists[i])
            for right in lists[j][: k // (x + 1)]  # the others are worse than k of this step
        ]
        candidates.sort(key=lambda candidate: -candidate[0])
        distinct: dict[Hashable, _Derivation] = {}
        for value, step, left, right in candidates:
            structure = combine(step, left.structure, right.structure)
            distinct.setdefault(structure, _Derivation(value, step, left, right, structure))
            if len(distinct) == k:
                break
        lists[item] = list(distinct.values())
    return lists[item]


def _steps(derivation: _Derivation) -> Ints:
    """Return the steps of a derivation, each before those of its tails."""
    steps, waiting = [], [derivation]
    while waiting:
        one = waiting.pop()
        if one.left is not None and one.right is not None:
            steps.append(one.step)
            waiting += [one.left, one.right]
    return np.array(steps, np.int32)
