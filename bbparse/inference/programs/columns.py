"""Pricing of grandparent triples as columns, without scoring all of them.

A triple has an upper bound until its score is computed. Duals price most triples out by their
bounds alone (RSM12 §4.3). The duals of missing rows are chosen as high as the reduced costs of the
arcs allow (§4.3.3):

* OneGP of (p, c) rises by the slack of z_pc, which all triples of (p, c) share;
* GPArc of a triple without a row rises by the reduced cost of the triple, as long as all triples
  over (g, p) together do not need more than the slack of z_gp.

With these duals the whole program is dual feasible, so that omitted triples do not change the
bound.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from bbparse.core import Problem
from bbparse.runtime.arrays import Flags, Float64s, Ints, Longs


class Duals(NamedTuple):
    """Duals of a solution; tables are float64[n + 1, n + 1]."""

    one: Float64s  # one[p, c] of OneGP
    room: Float64s  # slack of the arc's reduced cost, >= 0; inf: the arc cannot be used
    least: float  # reduced costs up to this count as 0


class Triples(NamedTuple):
    """Triples (int64) with their scores; ``excess`` bounds what others can add."""

    grand: Longs
    head: Longs
    mod: Longs
    score: Float64s
    excess: float = 0.0


class Columns(ABC):
    """Source of the master's triples: upper bounds here, scores in a subclass.

    ``pairs[h, m]`` is True for candidate arcs. ``bound[p, c]`` bounds the scores of the triples
    (·, p, c), ``grand_bound[g, p]`` those of (g, p, ·), and ``outer_bound[g, c]`` those of
    (g, ·, c); entries of the root's arcs and of other pairs are ignored. ``varies`` is True for
    arcs whose triples may have a score other than 0. All arrays are [n + 1, n + 1].

    ``total`` is the number of triples of arcs that vary, ``scored`` the number of those whose score
    was computed, and ``seconds`` the processor time that this took.
    """

    def __init__(
        self, pairs: Flags, bound: Float64s, grand_bound: Float64s, outer_bound: Float64s,
        varies: Flags | bool = True,
    ) -> None:  # fmt: skip
        size = len(pairs)
        self.pairs = pairs
        grands = pairs.sum(axis=0)[:, None] - pairs.T  # no tree has c → p → c
        self.varies = pairs & (grands > 0) & varies
        self.varies[0] = False
        above = np.where(pairs, grand_bound, -np.inf).max(axis=0, initial=-np.inf)
        self.bound = np.where(self.varies, np.minimum(bound, above[:, None]), 0.0)
        self.grand_bound, self.outer_bound = grand_bound, outer_bound
        self.total = int(grands[self.varies].sum())
        self.scored = 0
        self.seconds = 0.0
        self._head, self._mod = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._row = np.full((size, size), -1)
        #: For each visited arc and each grandparent: the score or its bound; True if it is the
        #: score; True if the triple exists, has no column, and may be priced.
        self._value = np.zeros((0, size))
        self._known = np.zeros((0, size), np.bool_)
        self._free = np.zeros((0, size), np.bool_)

    @abstractmethod
    def score(self, grand: Longs, head: Longs, mod: Longs) -> Float64s:
        """Return the scores of triples; all arrays have the same length."""

    def _rows(self, head: Longs, mod: Longs) -> Longs:
        """Return the rows of arcs in the tables; new arcs get new rows."""
        new = self._row[head, mod] < 0
        h, m = head[new], mod[new]
        self._row[h, m] = np.arange(len(self._head), len(self._head) + len(h))
        there = self._there(h, m)
        bound = np.minimum(self.grand_bound[:, h].T, self.outer_bound[:, m].T)
        bound = np.minimum(bound, self.bound[h, m][:, None])
        self._head, self._mod = np.append(self._head, h), np.append(self._mod, m)
        self._value = np.vstack((self._value, np.where(there, bound, -np.inf)))
        self._known = np.vstack((self._known, ~there))
        self._free = np.vstack((self._free, np.zeros_like(there)))
        return self._row[head, mod]

    def _there(self, head: Longs, mod: Longs) -> Flags:
        """Return the possible grandparents of arcs, bool[len(head), n + 1]."""
        there = self.pairs[:, head].T
        there[np.arange(len(head)), mod] = False
        return there

    def settle(self, head: Longs, mod: Longs) -> Longs:
        """Make the bounds of arcs exact; return their best grandparents."""
        row, few = self._rows(head, mod), 1
        while True:
            grand = self._value[row].argmax(axis=1)
            left = row[~self._known[row, grand]]
            if not len(left):
                break
            best = np.argpartition(self._value[left], -few, axis=1)[:, -few:]
            self._ask(np.repeat(left, few), best.ravel())
            few = min(2 * few, len(self._row))
        self.bound[head, mod] = self._value[row, grand]
        return grand

    def open(self, head: Longs, mod: Longs, used: Flags) -> Triples:
        """Start to price the triples of some arcs; return those that become columns at once.

        These are the triples over arcs with used[g, p], and the best triple of each arc.
        """
        grand = self.settle(head, mod)
        row = self._row[head, mod]
        there = self._there(head, mod)
        self._free[row] = there
        chosen = there & used[:, head].T
        chosen[np.arange(len(row)), grand] = True
        place, grand = np.nonzero(chosen)
        return self._take(row[place], grand)

    def _ask(self, row: Longs, grand: Longs) -> None:
        """Compute the scores of triples that have a bound only."""
        new = ~self._known[row, grand]
        row, grand = row[new], grand[new]
        if len(row):
            started = time.thread_time()
            self._value[row, grand] = self.score(grand, self._head[row], self._mod[row])
            self._known[row, grand] = True
            self.scored += len(row)
            self.seconds += time.thread_time() - started

    def _take(self, row: Longs, grand: Longs, excess: float = 0.0) -> Triples:
        self._ask(row, grand)
        self._free[row, grand] = False
        score = self._value[row, grand]
        return Triples(grand, self._head[row], self._mod[row], score, excess)

    def price(self, duals: Duals) -> Triples:
        """Return the triples of opened arcs with a positive reduced cost; they become columns."""
        p, c = self._head, self._mod
        room = duals.room.copy()
        paid = np.repeat(duals.one[p, c][:, None], len(room), axis=1)
        worth = np.where(self._free, self._value - paid, -np.inf)
        if len(p):
            most = worth.max(axis=1)
            lift = np.where((most > 0.0) & (most <= room[p, c]), most, 0.0)
            room[p, c] -= lift
            paid += lift[:, None]
        while True:
            worth = np.where(self._free, self._value - paid, -np.inf)
            row, grand = np.nonzero(worth > duals.least)
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
        """Return all triples of opened arcs that have no column yet."""
        row, grand = np.nonzero(self._free)
        return self._take(row, grand)

    def tree_score(self, heads: Ints) -> float:
        """Return the total score of the triples of a tree, int32[n + 1]."""
        mod = np.flatnonzero(heads > 0)
        head = heads[mod].astype(np.int64)
        return float(self.score(heads[head].astype(np.int64), head, mod).sum())


class GivenColumns(Columns):
    """Columns for the grandchildren of a problem, whose scores are all known."""

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
        bounds = np.zeros((3, size, size))
        grands, mods = pairs.sum(axis=0)[:, None] - pairs.T, pairs.sum(axis=1)[None] - pairs.T
        heads = pairs.astype(np.int64) @ pairs
        for table, first, second, all_there in zip(
            bounds, (h, g, g), (m, h, m), (grands, mods, heads)
        ):
            count = np.zeros((size, size), np.int64)
            np.add.at(count, (first, second), 1)
            table[count == all_there] = -np.inf  # otherwise some triple has no score, that is 0
            np.maximum.at(table, (first, second), score)
        touched = np.zeros_like(pairs)
        touched[h, m] = True
        super().__init__(pairs, bounds[0], bounds[1], bounds[2], touched)

    def score(self, grand: Longs, head: Longs, mod: Longs) -> Float64s:
        """Return the scores of triples; 0 for triples that the problem does not score."""
        if not len(self._keys):
            return np.zeros(len(grand))
        key = (grand * self._size + head) * self._size + mod
        place = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        return np.where(self._keys[place] == key, self._scores[place], 0.0)
