"""Presolve of count factors: smaller sets, shorter tables, and arcs that these decide about.

Plain Python, as problems have few of them. With the arcs that are still alive, a set loses
- the arcs that are gone,
- the arcs of a word all of whose arcs it has (the table moves by one, as one of them is in every
  tree), and likewise all arcs from the root if the root has one modifier.
Numbers that no tree can reach, as a word has one head, get the score -inf. Sets over the same arcs
are added up. Where only the number 0 is left, all arcs of the set go; where only the number of its
words is, all rivals of its arcs do. A table that rises by the same step becomes arc scores.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bbparse.problem import Problem

_Set = tuple[tuple[int, ...], tuple[float, ...]]


@dataclass
class ReducedCounts:
    """What is left of the count factors, in the arc indices of the original problem.

    Attributes
    ----------
    feasible : bool
        False if no number of arcs of some set is allowed; the rest then says nothing.
    alive : bool[A]
        Arcs that are left. Where these are fewer than before, the rest is to be found anew.
    gain, constant : float64[A], float
        What is to be added to the score of each arc and of every tree.
    merged : int
        How many sets were added to another one.
    ptr, arcs, scores : int64[C' + 1], int32[], float64[]
        The sets that are left, in canonical order.
    """

    feasible: bool
    alive: NDArray[np.bool_]
    gain: NDArray[np.float64]
    constant: float = 0.0
    merged: int = 0
    ptr: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    arcs: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    scores: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0, dtype=np.float64))

    def same_as(self, problem: Problem) -> bool:
        """Whether these are the count factors of the problem, unchanged."""
        return (
            np.array_equal(self.ptr, problem.count_ptr)
            and np.array_equal(self.arcs, problem.count_arcs)
            and np.array_equal(self.scores, problem.count_score)
        )


def reduce_counts(problem: Problem, alive: NDArray[np.bool_]) -> ReducedCounts:
    """The count factors of a problem, given the arcs bool[A] that may still be in a tree."""
    p = problem
    result = ReducedCounts(True, alive.copy(), np.zeros(len(p.arc_head), dtype=np.float64))
    view = _View(p, alive)
    sets = _merged(sorted((view.shrunk(c) for c in range(len(p.count_ptr) - 1)), key=_order))
    result.merged = len(p.count_ptr) - 1 - len(sets)
    for arcs, table in sets:
        allowed = [k for k, score in enumerate(table) if score > -np.inf]
        if not allowed:
            result.feasible = False
            return result
        words = {view.mod[a] for a in arcs}
        if allowed[-1] == 0:
            result.alive[list(arcs)] = False
        elif allowed[0] == len(words):
            rivals = np.isin(p.arc_mod, list(words))
            rivals[list(arcs)] = False
            result.alive &= ~rivals
    if not np.array_equal(alive, result.alive):
        return result
    kept: list[_Set] = []
    for arcs, table in sets:
        numbers = table[: view.most(arcs) + 1]
        steps = {high - low for low, high in pairwise(numbers)}
        if -np.inf in numbers or len(steps) > 1:
            kept.append((arcs, table))
            continue
        result.constant += numbers[0]
        if steps:
            result.gain[list(arcs)] += steps.pop()
    result.ptr = np.cumsum([0, *(len(arcs) for arcs, _ in kept)], dtype=np.int64)
    result.arcs = np.array([a for arcs, _ in kept for a in arcs], dtype=np.int32)
    result.scores = np.array([s for _, table in kept for s in table], dtype=np.float64)
    return result


def _order(item: _Set) -> tuple[int, tuple[int, ...], tuple[float, ...]]:
    arcs, table = item
    return len(arcs), arcs, table


def _merged(sets: list[_Set]) -> list[_Set]:
    """Sets in canonical order, those over the same arcs added up in this order."""
    merged: list[_Set] = []
    for arcs, table in sets:
        if merged and merged[-1][0] == arcs:
            table = tuple(left + right for left, right in zip(merged.pop()[1], table))
        merged.append((arcs, table))
    return merged


class _View:
    """A problem's arcs as plain lists, with the counts that the rules ask for."""

    def __init__(self, problem: Problem, alive: NDArray[np.bool_]) -> None:
        self.problem = problem
        self.head: list[int] = problem.arc_head.tolist()
        self.mod: list[int] = problem.arc_mod.tolist()
        self.alive: list[bool] = alive.tolist()
        self.choices = Counter(problem.arc_mod[alive].tolist())
        self.root_arcs = int(np.count_nonzero(alive & (problem.arc_head == 0)))

    def shrunk(self, c: int) -> _Set:
        """Set c without the arcs that are no longer open, sorted, and its scores."""
        p = self.problem
        arcs = p.count_arcs[p.count_ptr[c] : p.count_ptr[c + 1]].tolist()
        scores = p.count_score[p.count_score_ptr[c] : p.count_score_ptr[c + 1]].tolist()
        arcs = sorted(a for a in arcs if self.alive[a])
        inside = Counter(self.mod[a] for a in arcs)
        whole = {m for m, size in inside.items() if size == self.choices[m]}
        arcs = [a for a in arcs if self.mod[a] not in whole]
        present = len(whole)
        from_root = sum(self.head[a] == 0 for a in arcs)
        if p.single_root and 0 < from_root == self.root_arcs:
            arcs = [a for a in arcs if self.head[a] != 0]
            present += 1
        most = self.most(arcs)
        unreachable = [-np.inf] * (len(arcs) - most)
        return tuple(arcs), tuple(scores[present : present + most + 1] + unreachable)

    def most(self, arcs: list[int] | tuple[int, ...]) -> int:
        """No tree has more of these arcs: words have one head, and roots may have one modifier."""
        p = self.problem
        words = {self.mod[a] for a in arcs}
        below = {self.mod[a] for a in arcs if self.head[a] != 0}
        most = len(words)
        if p.single_root:
            most = min(most, len(below) + 1)
        if all(self.head[a] != 0 for a in arcs):
            # Some word hangs from the root.
            most = min(most, p.n_words - 1)
        return most
