"""Exact enumeration of the k best different structures of a chart.

Several derivations can stand for one structure: for a tree, derivations with other heads or with
labels that are split differently, neither of which is written. So items have lists of structures
instead of derivations, each with its best derivation. Two derivations of one item with the same
structure lead to the same larger structures, of which only those of the better one count. An item
gets a structure from each step at most once, so that k of them cost at most k times its steps,
however many derivations there are. Otherwise this is the lazy enumeration of Huang & Chiang (2005,
algorithm 3).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.runtime.arrays import Ints
from bbparse.runtime.deadline import NO_DEADLINE, Deadline

#: Makes the structure of an item from a step and the structures of its left and right tails.
Combine = Callable[[int, Hashable, Hashable], Hashable]

_NOTHING = 0  # the item without steps
_CHECKS = 256  # derivations between two checks of the deadline


class _Derivation(NamedTuple):
    """The best derivation of a structure: `left` and `right` are ranks of the tails' structures."""

    value: float
    step: int
    left: int
    right: int
    structure: Hashable


class _Item:
    """State of an item: its best structures so far, and candidates for the next ones."""

    def __init__(self, candidates: list[tuple[float, int, int, int]]) -> None:
        self.candidates = candidates  # a heap: minus the value, step, ranks of the tails
        self.best: list[_Derivation] = []
        self.structures: set[Hashable] = set()
        self.expanding: tuple[int, int, int] | None = None  # candidate whose successors are missing


class KBestStructures:
    """Structures of the last item of a chart, best first."""

    def __init__(self, chart: Any, inside: NDArray[np.float64], combine: Combine) -> None:
        """Take a chart (`bbparse.grammar.oracles`) and the values of an inside pass over it."""
        self._ptr, self._weight, self._inside = chart.item_ptr, chart.weight, inside
        self._left, self._right = chart.left.tolist(), chart.right.tolist()
        self._chart, self._combine = chart, combine
        empty = _Item([])
        empty.best.append(_Derivation(0.0, -1, 0, 0, None))
        self._items = {_NOTHING: empty}
        self._goal = len(inside) - 1

    def best(self, k: int, deadline: Deadline = NO_DEADLINE) -> list[tuple[float, Ints]]:
        """Return the k best structures with their scores, each as its steps from the top.

        There are fewer if the chart has no more, or the deadline passes, but at least one.
        """
        goal = self._item(self._goal)
        while len(goal.best) < k and self._grow(len(goal.best), deadline):
            pass
        return [(d.value, self._steps(rank)) for rank, d in enumerate(goal.best[:k])]

    def _item(self, i: int) -> _Item:
        if i not in self._items:
            begin, end = self._ptr[i], self._ptr[i + 1]
            tails = self._chart.left[begin:end], self._chart.right[begin:end]
            values = self._inside[tails[0]] + self._inside[tails[1]] + self._weight[begin:end]
            finite = np.flatnonzero(values > -np.inf).tolist()
            heap = [
                (-value, int(begin) + e, 0, 0) for e, value in zip(finite, values[finite].tolist())
            ]
            heapify(heap)
            self._items[i] = _Item(heap)
        return self._items[i]

    def _grow(self, rank: int, deadline: Deadline) -> bool:
        """Find the structure of a rank of the goal; False if there is none, or no time for it."""
        waiting = [(self._goal, rank)]
        n_checks = 0
        while waiting:
            n_checks += 1
            if n_checks % _CHECKS == 0 and rank and deadline.is_over():
                return False
            i, target_rank = waiting[-1]
            item = self._item(i)
            if len(item.best) > target_rank:
                waiting.pop()
                continue
            if item.expanding is not None:
                missing = self._succeed(item, *item.expanding)
                if missing is not None:
                    waiting.append(missing)
                    continue
                item.expanding = None
            if not item.candidates:
                waiting.pop()
                continue
            _, e, x, y = item.candidates[0]
            left, right = self._item(self._left[e]), self._item(self._right[e])
            if len(left.best) <= x:
                waiting.append((self._left[e], x))
            elif len(right.best) <= y:
                waiting.append((self._right[e], y))
            else:
                value = -heappop(item.candidates)[0]
                item.expanding = e, x, y
                structure = self._combine(e, left.best[x].structure, right.best[y].structure)
                if structure not in item.structures:
                    item.structures.add(structure)
                    item.best.append(_Derivation(value, e, x, y, structure))
        return len(self._items[self._goal].best) > rank

    def _succeed(self, item: _Item, e: int, x: int, y: int) -> tuple[int, int] | None:
        """Add the candidates that follow one, or return the item and rank that they need first.

        Each pair of ranks is reached once: (x, y) after (x, y - 1), and (x, 0) after (x - 1, 0).
        """
        left, right = self._left[e], self._right[e]
        for tail, rank in ((right, y + 1), (left, x + 1))[: 1 if y else 2]:
            if len(self._item(tail).best) <= rank and self._may_have_more(tail):
                return tail, rank
        lefts, rights = self._item(left).best, self._item(right).best
        for a, b in ((x, y + 1), (x + 1, 0))[: 1 if y else 2]:
            if a < len(lefts) and b < len(rights):
                value = lefts[a].value + rights[b].value + float(self._weight[e])
                heappush(item.candidates, (-value, e, a, b))
        return None

    def _may_have_more(self, i: int) -> bool:
        item = self._item(i)
        return bool(item.candidates) or item.expanding is not None

    def _steps(self, rank: int) -> Ints:
        """Return the steps of a structure of the goal, each before those of its tails."""
        steps = []
        waiting = [(self._goal, rank)]
        while waiting:
            i, rank = waiting.pop()
            if i != _NOTHING:
                derivation = self._items[i].best[rank]
                steps.append(derivation.step)
                waiting += [
                    (self._left[derivation.step], derivation.left),
                    (self._right[derivation.step], derivation.right),
                ]
        return np.array(steps, np.int32)
