"""The restricted master: the linear program that the triples and rows found so far make.

An arc whose triples may score anything is *closed* until a solution uses it: it scores as if its
best triple came with it, so that OneGP's dual is as high as it can be and none of its triples needs
a column. Opened, it scores by itself, and OneGP says that one of its triples comes with it.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from bbparse.highs import Linear, LinearAnswer
from bbparse.ilp.program import TreeProgram
from bbparse.pricing.columns import Columns, Duals, Triples
from bbparse.pricing.cuts import broken_sets, broken_spans
from bbparse.pricing.settings import PricingSettings
from bbparse.problem import Problem

Floats = NDArray[np.float64]
_USED = 1e-9  # an arc with less is not used
_LEAST = 1e-10  # of the largest score: no more is a positive reduced cost


class Master:
    """A program with the triples and rows it has so far, valid for all nodes of a search.

    Parameters
    ----------
    problem : Problem
    columns : Columns
    settings : PricingSettings

    Attributes
    ----------
    program : TreeProgram
    linear : Linear
    static : int
        Columns there are from the start; the first are the arcs.
    added, cuts, rounds, opened : int
        Triples with columns, rows against cycles and crossing arcs, solves, arcs with OneGP.
    seconds : dict of str to float
        Time of the linear programs and of pricing, scores left out.
    """

    def __init__(self, problem: Problem, columns: Columns, settings: PricingSettings) -> None:
        self.problem, self.columns, self.settings = problem, columns, settings
        self.program = p = TreeProgram(problem, settings.connectivity == "flow", triples=False)
        self.static = len(p.cost)
        self.added = self.cuts = self.rounds = self.opened = 0
        self.seconds = {"lp": 0.0, "pricing": 0.0}
        self._one_row: dict[tuple[int, int], int] = {}
        self._no_row: dict[tuple[int, int], int] = {}
        self._linking = set(settings.constraints)
        self._size = (problem.n_words + 1,) * 2
        self._seen_spans: set[tuple[int, int, int]] = set()
        self._head, self._mod = problem.arc_head, problem.arc_mod
        self._alone = p.cost[: p.count]  # what arcs score by themselves
        self._closed = np.zeros(self._size, np.bool_)
        if "OneGP" in self._linking:
            self._closed |= columns.varies
            bonus = np.where(columns.varies, columns.bound, 0.0)[self._head, self._mod]
            p.cost[: p.count] = (np.array(self._alone) + bonus).tolist()
        if not self._closed.any() or not settings.delayed or not settings.raised:
            from_root = np.zeros(self._size)
            from_root[0] = 1.0
            head, mod = np.nonzero(columns.varies)
            self._open(head, mod, from_root)
        if not settings.delayed:
            self._add(columns.rest())

    def begin(self, floor: float) -> None:
        """Forbid the arcs that no tree above a score has, and start the linear program.

        Arcs of large negative scores would only hide small differences between the others.
        """
        p, bound = self.program, self.first_bound()
        cost, upper = np.array(p.cost[: p.count]), np.array(p.upper[: p.count])
        best = np.full(self._size[0], -np.inf)
        np.maximum.at(best, self._mod, np.where(upper > 0.0, cost, -np.inf))
        if floor > -np.inf:
            slack = 1e-9 * (abs(bound) + np.abs(cost))
            upper[bound - best[self._mod] + cost < floor - slack] = 0.0
            p.upper[: p.count] = upper.tolist()
        used = np.array(p.upper) > 0.0
        self.scale = float(np.abs(np.array(p.cost)[used]).max(initial=0.0)) or 1.0
        self.linear = Linear(p, self.scale)

    # ---- growing -------------------------------------------------------------------------------

    def _terms(self, pair: tuple[int, int], value: float) -> list[tuple[int, float]]:
        return [(a, value) for a in self.program.by_words.get(pair, [])]

    def _open(self, head: NDArray[np.intp], mod: NDArray[np.intp], x: Floats) -> None:
        """Let arcs score by themselves, with triples over the arcs of a point, by words."""
        p = self.program
        for pair in zip(head.tolist(), mod.tolist()):
            if self._closed[pair]:
                for a in p.by_words[pair]:
                    p.cost[a] = self._alone[a]
                self._one_row[pair] = p.equal(self._terms(pair, -1.0), 0.0)
        self._closed[head, mod] = False
        self.opened += len(head)
        self._add(self.columns.open(head, mod, x > _USED))

    def _add(self, triples: Triples) -> None:
        """Give triples columns, with the rows that tie them to their arcs."""
        p, kinds = self.program, self._linking
        for g, h, m, score in zip(*(column.tolist() for column in triples[:4])):
            upper, arc = (g, h), (h, m)
            rows = []
            if arc in self._one_row:
                rows.append(self._one_row[arc])
            if "NoGP" in kinds and "GPArc" not in kinds:  # which implies it
                if upper not in self._no_row:
                    self._no_row[upper] = p.at_most(self._terms(upper, -float(p.n)), 0.0)
                rows.append(self._no_row[upper])
            y = p.column(score, 1.0, rows=rows)
            if "GPArc" in kinds:
                p.at_most([(y, 1.0), *self._terms(upper, -1.0)], 0.0)
                if "OneGP" not in kinds:
                    p.at_most([(y, 1.0), *self._terms(arc, -1.0)], 0.0)
            if "ArcGP" in kinds:
                p.at_most([(y, -1.0), *self._terms(upper, 1.0), *self._terms(arc, 1.0)], 1.0)
        self.added += len(triples.score)

    def first_bound(self) -> float:
        """No tree scores more, whatever the program: the best arc of each word, and all else."""
        p, bound = self.program, self.columns.bound
        best = np.full(p.n + 1, -np.inf)
        usable = np.array(p.upper[: p.count]) > 0.0
        np.maximum.at(best, self._mod, np.where(usable, p.cost[: p.count], -np.inf))
        if not self._closed.any():
            best += np.maximum(bound.max(axis=0), 0.0)
        others = zip(p.cost[p.count : self.static], p.upper[p.count : self.static])
        return math.fsum([p.constant, *best[1:], *(max(c, 0.0) * u for c, u in others)])

    def forbid(self, arcs: NDArray[np.int32]) -> None:
        """Leave a tree out."""
        self.program.at_most([(int(a), 1.0) for a in arcs], self.problem.n_words - 1)

    # ---- one node ------------------------------------------------------------------------------

    def solve(
        self, lower: Floats, upper: Floats, floor: float, deadline: float
    ) -> tuple[float, Floats | None]:
        """Price and cut until nothing is found, within bounds float64[static] of the columns.

        Returns
        -------
        bound : float
            No tree within these bounds scores more; -inf: there is none.
        x : float64[C] or None
            The last point; None where the bound is at most `floor`, or the time was up.
        """
        bound = math.inf
        while True:
            answer = self._run(lower, upper, deadline)
            if answer.status == "infeasible" or (answer.status == "failed" and not len(answer.x)):
                missing = self.columns.rest()  # which the rows may be waiting for
                self._add(missing)
                if len(missing.score):
                    continue
            if answer.status == "infeasible":
                return -math.inf, None
            if not len(answer.x):
                return bound, None
            started = time.perf_counter() - self.columns.seconds
            x = self._table(answer.x[: self.program.count])
            priced = self.columns.price(self._duals(answer, lower, upper))
            bound = min(bound, answer.bound + priced.excess)
            grew = 0
            if bound > floor:
                self._add(priced)
                grew = self._open_used(x) + len(priced.score) or self._cut(x)
            self.seconds["pricing"] += time.perf_counter() - self.columns.seconds - started
            if not grew:
                return bound, answer.x if bound > floor else None

    def _run(self, lower: Floats, upper: Floats, deadline: float) -> LinearAnswer:
        started = time.perf_counter()
        self.rounds += 1
        more = len(self.program.cost) - self.static
        lower, upper = np.append(lower, np.zeros(more)), np.append(upper, np.ones(more))
        answer = self.linear.solve(lower, upper, deadline - started)
        self.seconds["lp"] += time.perf_counter() - started
        return answer

    def _table(self, values: Floats) -> Floats:
        """Arcs' values by head and modifier, labels added up."""
        out = np.zeros(self._size)
        np.add.at(out, (self._head, self._mod), np.maximum(values, 0.0))
        return out

    def _duals(self, answer: LinearAnswer, lower: Floats, upper: Floats) -> Duals:
        kinds, arcs = self._linking, self.program.count
        room = np.full(self._size, np.inf)
        loss = np.where(upper[:arcs] > 0.0, np.maximum(-answer.reduced[:arcs], 0.0), np.inf)
        loss[lower[:arcs] > 0.0] = 0.0  # it is there, whatever it costs
        np.minimum.at(room, (self._head, self._mod), loss)
        one, no = np.zeros((2, *self._size))
        for table, rows in ((one, self._one_row), (no, self._no_row)):
            if rows:
                table[tuple(np.array(list(rows)).T)] = answer.dual[list(rows.values())]
        if not self.settings.raised:
            room[:] = 0.0
        each = 0.0 if "GPArc" in kinds else 1.0 / self.problem.n_words
        return Duals(one, no, room, "OneGP" in kinds, each, _LEAST * self.scale)

    def _open_used(self, x: Floats) -> int:
        """Open the closed arcs of a point; how many there were."""
        head, mod = np.nonzero(self._closed & (x > _USED))
        if len(head):
            self._open(head, mod, x)
        return len(head)

    def _cut(self, x: Floats) -> int:
        """Add rows that a point breaks; how many there were."""
        p, found = self.program, 0
        if "ArcGP" in self._linking and not self._one_row:  # elsewhere it is implied
            forced = self.columns.forced(x)
            self._add(forced)
            found += len(forced.score)
        if self.settings.connectivity == "flow":
            return found
        for inside in broken_sets(x):
            entering = np.flatnonzero(inside[self._mod] & ~inside[self._head])
            p.at_least([(a, 1.0) for a in entering.tolist()], 1.0)
            self.cuts += 1
            found += 1
        if not self.problem.projective:
            return found
        for left, right, word in broken_spans(x):
            if (left, right, word) in self._seen_spans:
                continue
            self._seen_spans.add((left, right, word))
            terms = self._terms((left, right), 1.0) + self._terms((right, left), 1.0)
            for head in range(left, right + 1):
                terms += self._terms((head, word), -1.0)
            p.at_most(terms, 0.0)
            self.cuts += 1
            found += 1
        return found
