"""The best trees of a problem of any length, by an integer program on HiGHS.

Variables: z_a for each arc; a flow on each arc that carries one unit from the root to each word;
one for each part and factor that several arcs make up. No code is shared with the package; trees
are checked and scored by the enumeration's functions, so that no tolerance of the integer program
reaches the answer.
"""

from __future__ import annotations

import math
from typing import Any

import highspy
import numpy as np

from tests.oracles.enumerate import Scored, TreeScorer, is_projective, is_tree

Terms = list[tuple[int, float]]


class Undecided(RuntimeError):
    """HiGHS stopped before it had an answer."""


def best_trees(problem: Any, k: int = 1, time_limit: float = 60.0) -> list[Scored]:
    """The k best feasible trees as (score, arc index of word 1, of word 2, …), best first.

    Fewer where fewer exist. Each further tree is found with the trees before it cut off.

    Raises
    ------
    Undecided
        If HiGHS stops for another reason than optimality or infeasibility.
    """
    program = _Program(problem)
    score = TreeScorer(problem)
    found: list[Scored] = []
    for _ in range(k):
        arcs = program.solve(time_limit)
        if arcs is None:
            break
        heads = [-1] + [int(problem.arc_head[a]) for a in arcs]
        if not is_tree(heads) or (problem.projective and not is_projective(heads)):
            raise RuntimeError(f"the integer program gave {heads}, which is no tree")
        found.append((score(arcs), arcs))
        program.at_most([(a, 1.0) for a in arcs], problem.n_words - 1)
    return found


class _Program:
    """Rows and columns, collected in lists and passed to a fresh solver each time."""

    def __init__(self, problem: Any) -> None:
        self.problem = p = problem
        self.n = p.n_words
        self.head, self.mod = p.arc_head.tolist(), p.arc_mod.tolist()
        self.count = len(self.head)
        self.cost = [float(s) for s in p.arc_score]
        state = p.arc_state.tolist()
        self.lower = [1.0 if s == 1 else 0.0 for s in state]
        self.upper = [0.0 if s == -1 else 1.0 for s in state]
        self.rows: list[tuple[Terms, float, float]] = []
        self.by_words: dict[tuple[int, int], list[int]] = {}
        for a in range(self.count):
            self.by_words.setdefault((self.head[a], self.mod[a]), []).append(a)
        self._trees()
        if p.projective:
            self._no_crossing()
        self._parts()
        self._factors()

    def at_most(self, terms: Terms, limit: float) -> None:
        self.rows.append((terms, -math.inf, float(limit)))

    def at_least(self, terms: Terms, limit: float) -> None:
        self.rows.append((terms, float(limit), math.inf))

    def equal(self, terms: Terms, value: float) -> None:
        self.rows.append((terms, float(value), float(value)))

    def column(self, cost: float, upper: float) -> int:
        self.cost.append(cost)
        self.lower.append(0.0)
        self.upper.append(upper)
        return len(self.cost) - 1

    def _trees(self) -> None:
        arcs = range(self.count)
        flow = [self.column(0.0, float(self.n)) for _ in arcs]
        for m in range(1, self.n + 1):
            self.equal([(a, 1.0) for a in arcs if self.mod[a] == m], 1)
            balance = [(flow[a], 1.0) for a in arcs if self.mod[a] == m]
            balance += [(flow[a], -1.0) for a in arcs if self.head[a] == m]
            self.equal(balance, 1)
        for a in arcs:
            self.at_most([(flow[a], 1.0), (a, -float(self.n))], 0)
        if self.problem.single_root:
            self.equal([(a, 1.0) for a in arcs if self.head[a] == 0], 1)

    def _no_crossing(self) -> None:
        """Of the arcs over i and j and those from inside i..j to outside, one kind at most.

        A word inside takes one head, and a word outside takes one head, so sums may stand where
        single arcs would do.
        """
        for i in range(self.n + 1):
            for j in range(i + 2, self.n + 1):
                over = self.between(i, j)
                if not over:
                    continue
                inside = range(i + 1, j)
                outside = [x for x in range(self.n + 1) if x < i or x > j]
                for x in inside:
                    from_out = [a for h in outside for a in self.by_words.get((h, x), [])]
                    if from_out:
                        self.at_most([(a, 1.0) for a in over + from_out], 1)
                for x in outside:
                    from_in = [a for h in inside for a in self.by_words.get((h, x), [])]
                    if from_in:
                        self.at_most([(a, 1.0) for a in over + from_in], 1)

    def between(self, i: int, j: int) -> list[int]:
        """Arcs that join words i and j, either way; a tree has one of them at most."""
        return self.by_words.get((i, j), []) + self.by_words.get((j, i), [])

    def conjunction(self, present: list[list[int]], absent: list[list[int]], score: float) -> None:
        """Score the trees with an arc of each list in `present` and none of those in `absent`."""
        if not all(present) or score == 0.0:
            return
        absent = [arcs for arcs in absent if arcs]
        if score == -math.inf:
            self.at_most([(a, 1.0) for arcs in present for a in arcs], len(present) - 1)
            return
        y = self.column(score, 1.0)
        for arcs in present:
            self.at_most([(y, 1.0)] + [(a, -1.0) for a in arcs], 0)
        for arcs in absent:
            self.at_most([(y, 1.0)] + [(a, 1.0) for a in arcs], 1)
        terms = [(a, -1.0) for arcs in present for a in arcs]
        terms += [(a, 1.0) for arcs in absent for a in arcs]
        self.at_least([(y, 1.0), *terms], 1 - len(present))

    def _parts(self) -> None:
        p, arc = self.problem, lambda h, m: self.by_words.get((h, m), [])
        for h, i, m, s in zip(p.sib_head, p.sib_inner, p.sib_outer, p.sib_score):
            self._sibling([], int(h), int(i), int(m), float(s))
        for g, h, i, m, s in zip(
            p.gsib_grand, p.gsib_head, p.gsib_inner, p.gsib_outer, p.gsib_score
        ):
            upper = [] if g == -1 else [arc(int(g), int(h))]
            self._sibling(upper, int(h), int(i), int(m), float(s))
        for g, h, m, s in zip(p.gc_grand, p.gc_head, p.gc_mod, p.gc_score):
            self.conjunction([arc(int(g), int(h)), arc(int(h), int(m))], [], float(s))
        for g, h, m, s in zip(p.ogc_grand, p.ogc_head, p.ogc_mod, p.ogc_score):
            farther = range(int(m) + 1, self.n + 1) if m > h else range(1, int(m))
            absent = [arc(int(h), x) for x in farther]
            self.conjunction([arc(int(g), int(h)), arc(int(h), int(m))], absent, float(s))

    def _sibling(self, upper: list[list[int]], h: int, inner: int, m: int, score: float) -> None:
        near = h if inner == -1 else inner
        between = range(min(near, m) + 1, max(near, m))
        present = [*upper, self.by_words.get((h, m), [])]
        if inner != -1:
            present.append(self.by_words.get((h, inner), []))
        self.conjunction(present, [self.by_words.get((h, x), []) for x in between], score)

    def _factors(self) -> None:
        p = self.problem
        for f, weight in enumerate(p.factor_score.tolist()):
            arcs = p.factor_arcs[p.factor_ptr[f] : p.factor_ptr[f + 1]].tolist()
            self.conjunction([[a] for a in arcs], [], weight)

    def solve(self, time_limit: float) -> tuple[int, ...] | None:
        """Arc index of each word of the best tree; None if there is none."""
        if not self.count or any(not terms and low > 0 for terms, low, _ in self.rows):
            return None
        lp = highspy.HighsLp()
        lp.num_col_ = len(self.cost)
        lp.num_row_ = len(self.rows)
        lp.sense_ = highspy.ObjSense.kMaximize
        # Scores of 1e9 and of 1e-6 alike must be far from the solver's tolerances.
        scale = max(map(abs, self.cost)) or 1.0
        lp.col_cost_ = np.array(self.cost) / scale
        lp.col_lower_, lp.col_upper_ = np.array(self.lower), np.array(self.upper)
        lp.row_lower_ = np.array([low for _, low, _ in self.rows])
        lp.row_upper_ = np.array([high for _, _, high in self.rows])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.cumsum([0] + [len(terms) for terms, _, _ in self.rows])
        lp.a_matrix_.index_ = np.array([c for terms, _, _ in self.rows for c, _ in terms])
        lp.a_matrix_.value_ = np.array([v for terms, _, _ in self.rows for _, v in terms])
        whole, real = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
        lp.integrality_ = [whole if c < self.count else real for c in range(len(self.cost))]
        solver = highspy.Highs()
        for option, value in (
            ("output_flag", False), ("threads", 1), ("time_limit", time_limit),
            ("mip_rel_gap", 0.0), ("mip_abs_gap", 1e-9), ("mip_feasibility_tolerance", 1e-9),
            ("primal_feasibility_tolerance", 1e-9), ("dual_feasibility_tolerance", 1e-9),
        ):  # fmt: skip
            solver.setOptionValue(option, value)
        solver.passModel(lp)
        solver.run()
        status = solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return None
        if status != highspy.HighsModelStatus.kOptimal:
            raise Undecided(f"HiGHS stopped: {solver.modelStatusToString(status)}")
        values = solver.getSolution().col_value
        chosen = [a for a in range(self.count) if values[a] > 0.5]
        by_word = {self.mod[a]: a for a in chosen}
        return tuple(by_word[m] for m in range(1, self.n + 1))
