"""The integer program of a parsing problem: its rows and columns.

There is a column z_a for each arc; these and the counts of count factors must be integers. Flows
carry one unit from the root to each word, and rows keep arcs from crossing, unless the caller cuts
off points that are no trees. Further columns stand for adjacent siblings, outermost modifiers, and
each part, factor and count of several arcs.
"""

from __future__ import annotations

import math

from bbparse.core import Problem
from bbparse.core.parts import rows_of, set_rows
from bbparse.inference.programs.highs import Program


class TreeProgram(Program):
    """The trees of a problem and their scores.

    If not ``complete``, integer points need not be trees, and grandchildren have no columns.
    """

    def __init__(self, problem: Problem, complete: bool = True) -> None:
        super().__init__()
        self.problem = p = problem
        self.n = p.n_words
        self.head, self.mod = p.arc_head.tolist(), p.arc_mod.tolist()
        self.count = len(self.head)
        state = p.arc_state.tolist()
        self.cost = [float(s) for s in p.arc_score]
        self.lower = [1.0 if s == 1 else 0.0 for s in state]
        self.upper = [0.0 if s == -1 else 1.0 for s in state]
        self.integral = [True] * self.count
        self.by_words: dict[tuple[int, int], list[int]] = {}
        #: Sets of arcs that share exactly one arc with every tree.
        self.exclusive: list[list[int]] = [[] for _ in range(self.n)]
        for a, (h, m) in enumerate(zip(self.head, self.mod)):
            self.by_words.setdefault((h, m), []).append(a)
            self.exclusive[m - 1].append(a)
        if p.single_root:
            self.exclusive.append([a for a, h in enumerate(self.head) if h == 0])
        #: Columns that are 1 where (head, inner, mod) are adjacent siblings (inner is -1 for the
        #: nearest modifier), and columns of which one is 1 where (head, mod) is outermost.
        self.adjacent: dict[tuple[int, int, int], int] = {}
        self.last: dict[tuple[int, int], list[int]] = {}
        for arcs in self.exclusive:
            self.equal([(a, 1.0) for a in arcs], 1)
        if complete:
            self._flows()
        if complete and p.projective:
            self._keep_from_crossing()
        self._siblings()
        self._parts(complete)
        self.constant = self._take_out()
        self._factors()
        self._counts()

    def _flows(self) -> None:
        arcs = range(self.count)
        flow = [self.column(0.0, float(self.n)) for _ in arcs]
        for m in range(1, self.n + 1):
            balance = [(flow[a], 1.0) for a in arcs if self.mod[a] == m]
            balance += [(flow[a], -1.0) for a in arcs if self.head[a] == m]
            self.equal(balance, 1)
        for a in arcs:
            self.at_most([(flow[a], 1.0), (a, -float(self.n))], 0)

    def _keep_from_crossing(self) -> None:
        """Require that words between the two of an arc have their heads from one to the other."""
        for low, high in sorted({(min(pair), max(pair)) for pair in self.by_words}):
            joined = [(a, 1.0) for a in self._arcs(low, high) + self._arcs(high, low)]
            for word in range(low + 1, high):
                inside = [a for head in range(low, high + 1) for a in self._arcs(head, word)]
                self.at_most(joined + [(a, -1.0) for a in inside], 0.0)

    def _siblings(self) -> None:
        """Add a path over the modifiers of each side of a head with parts, from the inside out."""
        parts = self.problem.parts
        sides = {
            (h, m > h)
            for part in (parts.sib, parts.gsib, parts.ogc)
            for h, m in zip(part.head.tolist(), part.mod.tolist())
        }
        for h, right in sorted(sides):
            line = range(h + 1, self.n + 1) if right else range(h - 1, 0, -1)
            mods = [m for m in line if (h, m) in self.by_words]
            leaving: dict[int, list[int]] = {-1: [], **{m: [] for m in mods}}
            for i, m in enumerate(mods):
                entering = []
                for inner in [-1, *mods[:i]]:
                    y = self.adjacent[h, inner, m] = self.column(0.0, 1.0)
                    entering.append(y)
                    leaving[inner].append(y)
                end = self.column(0.0, 1.0)
                self.last[h, m] = [end]
                leaving[m].append(end)
                self._as_arc(entering, h, m)
            for m in mods:
                self._as_arc(leaving[m], h, m)
            self.at_most([(y, 1.0) for y in leaving[-1]], 1)

    def _as_arc(self, columns: list[int], head: int, mod: int) -> None:
        """Make the columns add up to the columns of the arc."""
        arcs = [(a, -1.0) for a in self.by_words[head, mod]]
        self.equal([(y, 1.0) for y in columns] + arcs, 0)

    def _take_out(self) -> float:
        """Subtract from the arcs of each exclusive set its best score; return the sum of these."""
        total = 0.0
        for group in self.exclusive:
            best = max((self.cost[a] for a in group if self.upper[a] > 0.0), default=0.0)
            for a in group:
                self.cost[a] -= best
            total += best
        return total

    def _conjunction(self, present: list[list[int]], score: float) -> None:
        """Score the trees with a column of each list; columns of one list exclude each other."""
        if not all(present) or score == 0.0:
            return
        terms = [(a, 1.0) for columns in present for a in columns]
        if score == -math.inf:
            self.at_most(terms, len(present) - 1)
            return
        y = self.column(score, 1.0)
        if score < 0.0:  # only the row that keeps the column from its better bound can be tight
            self.at_least([(y, 1.0)] + [(a, -1.0) for a, _ in terms], 1 - len(present))
            return
        for columns in present:
            self.at_most([(y, 1.0)] + [(a, -1.0) for a in columns], 0)

    def _arcs(self, head: int, mod: int) -> list[int]:
        return self.by_words.get((head, mod), [])

    def _parts(self, complete: bool) -> None:
        parts, arcs = self.problem.parts, self._arcs
        for _, h, i, m, s in rows_of(parts.sib):
            if (h, i, m) in self.adjacent:
                self.cost[self.adjacent[h, i, m]] += s
        for g, h, i, m, s in rows_of(parts.gsib):
            if (h, i, m) in self.adjacent:
                upper = [] if g == -1 else [arcs(g, h)]
                self._conjunction([*upper, [self.adjacent[h, i, m]]], s)
        for g, h, _, m, s in rows_of(parts.gc) if complete else ():
            self._conjunction([arcs(g, h), arcs(h, m)], s)
        for g, h, _, m, s in rows_of(parts.ogc):
            self._conjunction([arcs(g, h), self.last.get((h, m), [])], s)

    def _factors(self) -> None:
        for arcs, (weight,) in set_rows(self.problem, "factor"):
            self._conjunction([[a] for a in arcs], weight)

    def _counts(self) -> None:
        """Add one column for each possible number of arcs, of which exactly one is 1."""
        for arcs, scores in set_rows(self.problem, "count"):
            columns = {
                number: self.column(score, 1.0, integral=True)
                for number, score in enumerate(scores)
                if score > -math.inf
            }
            self.equal([(column, 1.0) for column in columns.values()], 1)
            terms = [(a, 1.0) for a in arcs]
            terms += [(column, -float(number)) for number, column in columns.items() if number]
            self.equal(terms, 0)
