"""Pricing of grandparent triples: those that may improve a solution become columns.

Duals price most triples out (RSM12 §4.3). The duals of missing rows are chosen as high as the
reduced costs of the arcs allow (§4.3.3):

* OneGP of (p, c) rises by the slack of z_pc, which all triples of (p, c) share;
* GPArc of a triple without a row rises by the reduced cost of the triple, as long as all triples
  over (g, p) together do not need more than the slack of z_gp.

With these duals the whole program is dual feasible, so that omitted triples do not change the
bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bbparse.core import Problem
from bbparse.runtime.arrays import Flags, Float64s, Longs


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


class Columns:
    """The triples of a problem, its grandchildren, and which of them have columns.

    ``varies[h, m]``: arcs with triples of a score other than 0; ``bound[h, m]``: their highest.
    """

    def __init__(self, problem: Problem) -> None:
        p, size = problem, problem.n_words + 1
        self._pairs = pairs = np.zeros((size, size), np.bool_)
        pairs[p.arc_head, p.arc_mod] = True
        g, h, m = (a.astype(np.int64) for a in (p.gc_grand, p.gc_head, p.gc_mod))
        used = pairs[g, h] & pairs[h, m] & (g != m) & (p.gc_score != 0.0)
        g, h, m, score = g[used], h[used], m[used], p.gc_score[used]
        order = np.argsort((g * size + h) * size + m)
        self._keys, self._scores = ((g * size + h) * size + m)[order], score[order]
        scored = np.zeros((size, size), np.int64)
        np.add.at(scored, (h, m), 1)
        grands = pairs.sum(axis=0)[:, None] - pairs.T  # no tree has c → p → c
        self.varies = scored > 0
        self.bound = np.where(self.varies & (scored == grands), -np.inf, 0.0)  # others may have 0
        np.maximum.at(self.bound, (h, m), score)
        self.total = int(grands[self.varies].sum())
        #: For each opened arc and each grandparent: the score, and True if the triple exists but
        #: has no column.
        self._head, self._mod = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._value = np.zeros((0, size))
        self._free = np.zeros((0, size), np.bool_)

    def _score(self, head: Longs, mod: Longs) -> Float64s:
        """Return the scores of all triples over arcs, float64[len(head), n + 1]; 0 by default."""
        size = len(self._pairs)
        keys = (np.arange(size) * size + head[:, None]) * size + mod[:, None]
        if not len(self._keys):
            return np.zeros(keys.shape)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, self._scores[place], 0.0)

    def open(self, head: Longs, mod: Longs, used: Flags) -> Triples:
        """Start to price the triples of arcs; return those that become columns immediately."""
        rows, start = np.arange(len(head)), len(self._head)
        there = self._pairs[:, head].T
        there[rows, mod] = False
        value = np.where(there, self._score(head, mod), -np.inf)
        chosen = there & used[:, head].T
        chosen[rows, value.argmax(axis=1)] = True
        self._head, self._mod = np.append(self._head, head), np.append(self._mod, mod)
        self._value = np.vstack((self._value, value))
        self._free = np.vstack((self._free, there))
        row, grand = np.nonzero(chosen)
        return self._take(start + row, grand)

    def _take(self, row: Longs, grand: Longs, excess: float = 0.0) -> Triples:
        self._free[row, grand] = False
        return Triples(grand, self._head[row], self._mod[row], self._value[row, grand], excess)

    def price(self, duals: Duals) -> Triples:
        """Return the triples of opened arcs with a positive reduced cost; they become columns."""
        p, c = self._head, self._mod
        room = duals.room.copy()
        worth = np.where(self._free, self._value - duals.one[p, c][:, None], -np.inf)
        most = worth.max(axis=1)
        lift = np.where((most > 0.0) & (most <= room[p, c]), most, 0.0)
        room[p, c] -= lift
        worth -= lift[:, None]
        row, grand = np.nonzero(worth > duals.least)
        needed = np.zeros_like(room)
        np.add.at(needed, (grand, p[row]), worth[row, grand])
        short = (needed > room)[grand, p[row]]
        row, grand = row[short], grand[short]
        # every word has one head and one grandparent
        gain = np.zeros(len(room))
        np.maximum.at(gain, c[row], worth[row, grand])
        return self._take(row, grand, float(gain.sum()))

    def rest(self) -> Triples:
        """Return all triples of opened arcs that have no column yet."""
        row, grand = np.nonzero(self._free)
        return self._take(row, grand)
