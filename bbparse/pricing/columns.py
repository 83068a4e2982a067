"""Grandparent triples as columns: which of them may improve a solution, without scoring them all.

A triple is known by an upper bound until its score is asked for. Duals price most of them out by
their bounds alone (RSM12 §4.3); those of rows that are not there are chosen here, as high as the
reduced costs of the arcs allow (§4.3.3):

* OneGP of (p, c) rises by what z_pc may still lose: all triples of (p, c) share it;
* GPArc of a triple that has no row rises by what its reduced cost needs, as long as all triples
  over (g, p) together do not need more than z_gp may lose.

So a triple is left out for good reason: with these duals the whole program is dual feasible, and
the bound stays as it is.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.problem import Problem

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
_BROKEN = 1e-6


class Duals(NamedTuple):
    """Prices of a solution, each float64[n + 1, n + 1].

    Attributes
    ----------
    one, no : float64[n + 1, n + 1]
        one[p, c] of OneGP, no[g, p] of NoGP.
    room : float64[n + 1, n + 1]
        What the arc may lose without coming in, >= 0; inf for one that cannot be used.
    own : bool
        Whether one[p, c] may take from room[p, c]: OneGP has rows.
    each : float
        What each triple may take from room[g, p] by itself; 0: they share it (GPArc).
    least : float
        Reduced costs up to this are none.
    """

    one: Floats
    no: Floats
    room: Floats
    own: bool
    each: float
    least: float


class Triples(NamedTuple):
    """Triples with their scores, and what the triples without a column may still add."""

    grand: Ints
    head: Ints
    mod: Ints
    score: Floats
    excess: float = 0.0


class Columns(ABC):
    """Where a master gets its triples from: upper bounds, and a subclass that says what they score.

    Parameters
    ----------
    pairs : bool[n + 1, n + 1]
        pairs[h, m]: there is a candidate arc.
    bound, grand_bound : float64[n + 1, n + 1]
        No triple (·, p, c) scores more than bound[p, c], none (g, p, ·) more than
        grand_bound[g, p]. Not looked at for the root's arcs and where there are none.
    varies : bool[n + 1, n + 1], optional
        Arcs whose triples may score anything but 0; all by default.

    Attributes
    ----------
    bound : float64[n + 1, n + 1]
    varies : bool[n + 1, n + 1]
    total, scored : int
        Triples of the arcs that vary, and those whose score has been asked for.
    seconds : float
        Time spent on scores.
    """

    def __init__(
        self, pairs: Flags, bound: Floats, grand_bound: Floats, varies: Flags | bool = True
    ) -> None:
        size = len(pairs)
        self.pairs = pairs
        grands = pairs.sum(axis=0)[:, None] - pairs.T  # no tree has c → p → c
        self.varies = pairs & (grands > 0) & varies
        self.varies[0] = False
        self.bound = np.where(self.varies, bound, 0.0)
        self.grand_bound = grand_bound
        self.total = int(grands[self.varies].sum())
        self.scored = 0
        self.seconds = 0.0
        self._head, self._mod = np.zeros(0, np.int64), np.zeros(0, np.int64)
        #: For each opened arc and grandparent: the score or its bound, whether it is the score, and
        #: whether there is such a triple that has no column yet.
        self._value = np.zeros((0, size))
        self._known = np.zeros((0, size), np.bool_)
        self._free = np.zeros((0, size), np.bool_)

    @abstractmethod
    def score(self, grand: Ints, head: Ints, mod: Ints) -> Floats:
        """Scores of triples, each an array of the same length."""

    def open(self, head: Ints, mod: Ints, used: Flags) -> Triples:
        """From now on, price the triples of some arcs; at once come those over used[g, p]."""
        place = np.arange(len(head))
        free = self.pairs[:, head].T
        free[place, mod] = False
        bound = np.minimum(self.bound[head, mod][:, None], self.grand_bound[:, head].T)
        value = np.where(free, bound, -np.inf)
        chosen = free & used[:, head].T
        none = ~chosen.any(axis=1)
        chosen[place[none], value[none].argmax(axis=1)] = True
        row, grand = np.nonzero(chosen)
        row += len(self._head)
        self._head, self._mod = np.append(self._head, head), np.append(self._mod, mod)
        self._value = np.vstack((self._value, value))
        self._known = np.vstack((self._known, ~free))
        self._free = np.vstack((self._free, free))
        return self._take(row, grand)

    def _ask(self, row: Ints, grand: Ints) -> None:
        """Find the scores of triples that are known by their bounds only."""
        new = ~self._known[row, grand]
        row, grand = row[new], grand[new]
        if len(row):
            started = time.perf_counter()
            self._value[row, grand] = self.score(grand, self._head[row], self._mod[row])
            self._known[row, grand] = True
            self.scored += len(row)
            self.seconds += time.perf_counter() - started

    def _take(self, row: Ints, grand: Ints, excess: float = 0.0) -> Triples:
        self._ask(row, grand)
        self._free[row, grand] = False
        score = self._value[row, grand]
        return Triples(grand, self._head[row], self._mod[row], score, excess)

    def price(self, duals: Duals) -> Triples:
        """Triples of opened arcs with a positive reduced cost, which then have columns."""
        p, c = self._head, self._mod
        room = duals.room.copy()
        paid = duals.one[p, c][:, None] + duals.no[:, p].T
        worth = np.where(self._free, self._value - paid, -np.inf)
        if duals.own and len(p):
            most = worth.max(axis=1)
            lift = np.where((most > 0.0) & (most <= room[p, c]), most, 0.0)
            room[p, c] -= lift
            paid += lift[:, None]
        while True:
            worth = np.where(self._free, self._value - paid, -np.inf)
            row, grand = np.nonzero(worth > duals.least)
            if duals.each:
                short = worth[row, grand] > duals.each * room[grand, p[row]]
            else:
                needed = np.zeros_like(room)
                np.add.at(needed, (grand, p[row]), worth[row, grand])
                short = (needed > room)[grand, p[row]]
            row, grand = row[short], grand[short]
            if self._known[row, grand].all():
                break
            self._ask(row, grand)
        # every word has one head and one grandparent
        most = np.zeros(len(room))
        np.maximum.at(most, c[row], worth[row, grand])
        return self._take(row, grand, float(most.sum()))

    def rest(self) -> Triples:
        """All triples of opened arcs that have no column yet."""
        row, grand = np.nonzero(self._free)
        return self._take(row, grand)

    def forced(self, x: Floats) -> Triples:
        """Those of them whose arcs have more than 1 together in a point float64[n + 1, n + 1]."""
        together = x[:, self._head].T + x[self._head, self._mod][:, None]
        row, grand = np.nonzero(self._free & (together > 1.0 + _BROKEN))
        return self._take(row, grand)

    def tree_score(self, heads: NDArray[np.int32]) -> float:
        """What the triples of a tree, int32[n + 1], score."""
        mod = np.flatnonzero(heads > 0)
        head = heads[mod].astype(np.int64)
        return float(self.score(heads[head].astype(np.int64), head, mod).sum())


class GivenColumns(Columns):
    """The grandchildren of a problem, whose scores are all at hand."""

    def __init__(self, problem: Problem) -> None:
        p, size = problem, problem.n_words + 1
        pairs = np.zeros((size, size), np.bool_)
        pairs[p.arc_head, p.arc_mod] = True
        g, h, m = (a.astype(np.int64) for a in (p.gc_grand, p.gc_head, p.gc_mod))
        used = pairs[g, h] & pairs[h, m] & (g != m) & (p.gc_score != 0.0)
        g, h, m, score = g[used], h[used], m[used], p.gc_score[used]
        keys = (g * size + h) * size + m
        order = np.argsort(keys)
        self._keys, self._scores, self._size = keys[order], score[order], size
        bound, grand_bound = np.zeros((2, size, size))
        grands, mods = pairs.sum(axis=0)[:, None] - pairs.T, pairs.sum(axis=1)[None] - pairs.T
        for table, first, second, all_there in ((bound, h, m, grands), (grand_bound, g, h, mods)):
            count = np.zeros((size, size), np.int64)
            np.add.at(count, (first, second), 1)
            table[count == all_there] = -np.inf  # otherwise there is one that scores 0
            np.maximum.at(table, (first, second), score)
        touched = np.zeros_like(pairs)
        touched[h, m] = True
        super().__init__(pairs, bound, grand_bound, touched)

    def score(self, grand: Ints, head: Ints, mod: Ints) -> Floats:
        """Scores of triples, 0 where none is given."""
        if not len(self._keys):
            return np.zeros(len(grand))
        key = (grand * self._size + head) * self._size + mod
        place = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        return np.where(self._keys[place] == key, self._scores[place], 0.0)
