"""The restricted master: the linear program over the triples and rows found so far.

An arc whose triples may have scores is *closed* until a solution uses it. The score of a closed arc
includes its best triple, so that the dual of OneGP is as high as possible and none of its triples
needs a column. The score of an open arc is its own, and OneGP requires one of its triples.

Two kinds of rows link the triples y_gpc of an arc to the arcs z (RSM12 §3.2): OneGP, Σ_g y_gpc =
z_pc, and GPArc, y_gpc <= z_gp. They imply the paper's other two. Cycles and crossing arcs are cut
off by rows that a point violates.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Problem
from bbparse.inference.programs.columns import Columns, Duals, Triples
from bbparse.inference.programs.highs import Linear, LinearAnswer
from bbparse.inference.programs.integer_program import TreeProgram
from bbparse.inference.programs.points import WeightedTree, broken_sets, broken_spans
from bbparse.runtime.arrays import Float64s, Ints
from bbparse.runtime.deadline import Deadline

#: Error of bounds, relative to n_words times the largest score plus the score common to all trees.
TOLERANCE = 1e-12
_USED = 1e-9  # an arc with a smaller value is not used
_LEAST = 1e-13  # relative to the largest score: smaller reduced costs count as 0


class Master:
    """The linear program with the triples and rows found so far, valid for all search nodes.

    The first ``static`` columns exist from the start, arcs first. ``added`` counts triples with
    columns, ``cuts`` rows against cycles and crossing arcs, ``rounds`` solves, and ``opened`` arcs
    with OneGP. ``seconds`` is the processor time of linear programs, and of pricing.
    """

    def __init__(self, problem: Problem, columns: Columns, delayed: bool = True) -> None:
        self.problem, self.columns = problem, columns
        self.program = p = TreeProgram(problem, complete=False)
        self.static = len(p.cost)
        self.added = self.cuts = self.rounds = self.opened = 0
        self.seconds = {"lp": 0.0, "pricing": 0.0}
        self._one_row: dict[tuple[int, int], int] = {}
        self._size = (problem.n_words + 1,) * 2
        self._seen_spans: set[tuple[int, int, int]] = set()
        self._head, self._mod = problem.arc_head, problem.arc_mod
        self._alone = np.array(p.cost[: p.count])  # arc scores without triples
        others = zip(p.cost[p.count :], p.upper[p.count :])
        self._others = math.fsum([p.constant, *(max(c, 0.0) * u for c, u in others)])
        self.bound = math.inf
        self._closed = columns.varies.copy()
        p.cost[: p.count] = self.relax().tolist()
        if not delayed:
            from_root = np.zeros(self._size)
            from_root[0] = 1.0
            head, mod = np.nonzero(columns.varies)
            self._open(head, mod, from_root)
            self._add(columns.rest())

    def relax(self) -> Float64s:
        """Return an upper bound on the score of each arc with its triples, float64[A]."""
        return self._alone + self.columns.bound[self._head, self._mod]

    def narrow(self, tree: WeightedTree, floor: float) -> bool:
        """Tighten the relaxation by its best tree; return True if arcs were opened.

        Arcs that no tree with a score above ``floor`` has are forbidden: large negative scores
        would hide small differences between the others. Closed arcs of the tree are opened.
        """
        p = self.program
        self.bound = tree.most + tree.noise + self._others
        slack = tree.noise + 1e-9 * (abs(self.bound) + np.abs(self._alone))
        dead = self.bound + tree.loss < floor - slack
        for a in np.flatnonzero(dead).tolist():
            p.upper[a] = 0.0
        x = np.zeros(self._size)
        x[self._head[tree.arcs], self._mod[tree.arcs]] = 1.0
        room = np.full(self._size, np.inf)
        np.minimum.at(room, (self._head, self._mod), -tree.loss)
        return self._open_used(x, room) > 0

    def begin(self) -> None:
        """Start the linear program."""
        self.linear = Linear(self.program)
        self.linear.measure(np.array(self.program.lower), np.array(self.program.upper))

    @property
    def tolerance(self) -> float:
        """Maximum error of bounds: smaller differences of bound and score do not matter."""
        sums = self.linear.largest * self.problem.n_words + abs(self.program.constant)
        return TOLERANCE * sums

    # ---- growing -------------------------------------------------------------------------------

    def _terms(self, pair: tuple[int, int], value: float) -> list[tuple[int, float]]:
        return [(a, value) for a in self.program.by_words.get(pair, [])]

    def _open(self, head: NDArray[np.intp], mod: NDArray[np.intp], x: Float64s) -> None:
        """Open arcs: score them without triples, and add their triples over the arcs of ``x``."""
        p = self.program
        for pair in zip(head.tolist(), mod.tolist()):
            for a in p.by_words[pair]:
                p.cost[a] = float(self._alone[a])
            self._one_row[pair] = p.equal(self._terms(pair, -1.0), 0.0)
        self._closed[head, mod] = False
        self.opened += len(head)
        self._add(self.columns.open(head, mod, x > _USED))

    def _add(self, triples: Triples) -> None:
        """Add columns for triples, with the rows that link them to their arcs."""
        p = self.program
        for g, h, m, score in zip(*(column.tolist() for column in triples[:4])):
            y = p.column(score, 1.0, rows=[self._one_row[h, m]])
            p.at_most([(y, 1.0), *self._terms((g, h), -1.0)], 0.0)
        self.added += len(triples.score)

    def forbid(self, arcs: Ints) -> None:
        """Exclude a tree by a row."""
        self.program.at_most([(int(a), 1.0) for a in arcs], self.problem.n_words - 1)

    # ---- one node ------------------------------------------------------------------------------

    def solve(
        self, lower: Float64s, upper: Float64s, floor: float, deadline: Deadline
    ) -> tuple[float, Float64s | None]:
        """Price and cut until no column or row is found, within column bounds float64[static].

        Returns an upper bound on the trees, and the last point float64[C]; None below ``floor``.
        """
        bound = math.inf
        while True:
            answer = self._run(lower, upper, deadline)
            if answer.status in ("infeasible", "failed"):
                missing = self.columns.rest()  # with these columns the rows may be feasible
                self._add(missing)
                if len(missing.score):
                    continue
            if answer.status == "infeasible":
                return -math.inf, None
            if not len(answer.x):
                return bound, None
            started = time.thread_time()
            x = self._table(answer.x[: self.program.count])
            duals = self._duals(answer, lower, upper)
            priced = self.columns.price(duals)
            bound = min(bound, answer.bound + priced.excess)
            self._add(priced)  # even if the node is closed: they are priced only once
            grew = 0
            if bound > floor:
                grew = self._open_used(x, duals.room) + len(priced.score) or self._cut(x)
            self.seconds["pricing"] += time.thread_time() - started
            if not grew:
                return bound, answer.x if bound > floor else None

    def _run(self, lower: Float64s, upper: Float64s, deadline: Deadline) -> LinearAnswer:
        started = time.thread_time()
        self.rounds += 1
        more = len(self.program.cost) - self.static
        lower, upper = np.append(lower, np.zeros(more)), np.append(upper, np.ones(more))
        answer = self.linear.solve(lower, upper, deadline.left())
        self.seconds["lp"] += time.thread_time() - started
        return answer

    def _table(self, values: Float64s) -> Float64s:
        """Tabulate the values of arcs by head and modifier, summed over labels."""
        out = np.zeros(self._size)
        np.add.at(out, (self._head, self._mod), np.maximum(values, 0.0))
        return out

    def _duals(self, answer: LinearAnswer, lower: Float64s, upper: Float64s) -> Duals:
        arcs = self.program.count
        room = np.full(self._size, np.inf)
        loss = np.where(upper[:arcs] > 0.0, np.maximum(-answer.reduced[:arcs], 0.0), np.inf)
        loss[lower[:arcs] > 0.0] = 0.0  # required arcs are used at any reduced cost
        np.minimum.at(room, (self._head, self._mod), loss)
        one = np.zeros(self._size)
        if self._one_row:
            one[tuple(np.array(list(self._one_row)).T)] = answer.dual[list(self._one_row.values())]
        return Duals(one, room, _LEAST * self.linear.largest)

    def _open_used(self, x: Float64s, room: Float64s) -> int:
        """Open the closed arcs of a point, and some that are nearly used; return their number."""
        used = self._closed & (x > _USED)
        if not used.any():
            return 0
        rest = np.where(self._closed & ~used, room, np.inf)
        near = np.argsort(rest, axis=None)[: self.problem.n_words]  # as many as a tree has
        used.flat[near[rest.flat[near] < np.inf]] = True
        head, mod = np.nonzero(used)
        self._open(head, mod, x)
        return len(head)

    def _cut(self, x: Float64s) -> int:
        """Add violated rows; return their number."""
        p, n_cuts = self.program, 0
        for inside in broken_sets(x):
            entering = np.flatnonzero(inside[self._mod] & ~inside[self._head])
            p.at_least([(a, 1.0) for a in entering.tolist()], 1.0)
            self.cuts += 1
            n_cuts += 1
        if not self.problem.projective:
            return n_cuts
        for left, right, word in broken_spans(x):
            if (left, right, word) in self._seen_spans:
                continue
            self._seen_spans.add((left, right, word))
            terms = self._terms((left, right), 1.0) + self._terms((right, left), 1.0)
            for head in range(left, right + 1):
                terms += self._terms((head, word), -1.0)
            p.at_most(terms, 0.0)
            self.cuts += 1
            n_cuts += 1
        return n_cuts
