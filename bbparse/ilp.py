"""The best trees of any problem by an integer program on HiGHS.

A second solver, which shares nothing with the branch and bound: z_a for each arc, a flow on each
arc that carries one unit from the root to each word, and one column for each part, factor and
count that several arcs make up. Every solve starts cold, as HiGHS has been reported to give wrong
objectives after rows or columns were added; scores are recomputed from the tree itself.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import BBParseError
from bbparse.problem import Problem, Solution
from bbparse.problem.tree import heads_of

Terms = list[tuple[int, float]]

#: HiGHS decides up to this share of the largest score.
TOLERANCE = 1e-9
# A penalty this much larger than all smaller scores together decides by itself.
_HEAVY = 1e4


def solve_ilp(
    problem: Problem,
    k_best: int = 1,
    time_limit: float | None = None,
    gap: float = 0.0,
) -> Solution:
    """Find the k best trees of a problem by an integer program.

    Each further tree is the best one that differs from all trees before it. Projective or not,
    with any parts, factors, counts, labels and constraints.

    Parameters
    ----------
    problem : Problem
    k_best : int
        How many trees; all there are where fewer exist.
    time_limit : float, optional
        Seconds for all trees together.
    gap : float
        Relative gap at which a tree is good enough.

    Returns
    -------
    Solution
        ``optimal`` or ``infeasible`` where that is proved, to HiGHS's tolerance (`TOLERANCE`
        times the largest score). ``time_limit``: the trees found, and bounds that hold to the
        same tolerance. ``node_limit``: the search was ended by ``gap`` (``stats["gap_limit"]`` is
        1). Stats: ``nodes`` of HiGHS's own search, ``solves``, ``rows``, ``columns``, ``seconds``.

    Raises
    ------
    BBParseError
        If highspy is not installed, or HiGHS gives no usable answer.
    """
    highspy = _highspy()
    started = time.perf_counter()
    deadline = math.inf if time_limit is None else started + time_limit
    program = _Program(problem)
    trees: list[NDArray[np.int32]] = []
    bound, status = math.inf, "optimal"
    nodes = solves = 0
    while len(trees) < k_best:
        left = deadline - time.perf_counter()
        if left <= 0.0:
            status = "time_limit"
            break
        answer = program.solve(highspy, left, gap)
        solves += 1
        nodes += answer.nodes
        bound = min(bound, answer.bound)
        if answer.arcs is not None:
            trees.append(answer.arcs)
            program.at_most([(int(a), 1.0) for a in answer.arcs], problem.n_words - 1)
        if not answer.done:
            status = "time_limit"
            break
        if answer.arcs is None:
            break
    scores = np.array([problem.score(arcs) for arcs in trees], dtype=np.float64)
    order = np.argsort(-scores, kind="stable")
    scores = scores[order]
    arcs = np.array(trees, dtype=np.int32).reshape(len(trees), problem.n_words)[order]
    heads = np.array([heads_of(problem, tree) for tree in arcs], dtype=np.int32)
    # Whatever was not found scores at most `bound`, and so does the k-th best where one of the k
    # best was not found.
    bounds = np.maximum(scores, bound)
    proved = scores >= bound
    if status == "optimal" and not len(trees):
        status = "infeasible"
    stats: dict[str, float | int] = {
        "nodes": nodes,
        "solves": solves,
        "rows": len(program.rows),
        "columns": len(program.cost),
    }
    if status == "optimal" and not proved.all():
        status = "node_limit"
        stats["gap_limit"] = 1
    stats["seconds"] = time.perf_counter() - started
    return Solution._trusted(
        heads.reshape(len(trees), problem.n_words + 1), arcs, scores, bounds, proved, status, stats
    )


def _highspy() -> Any:
    try:
        import highspy
    except ImportError as error:
        raise BBParseError(
            "the integer program needs HiGHS, which is not installed:"
            " pip install 'bbparse[ilp]' (or pip install highspy)"
        ) from error
    return highspy


@dataclass(slots=True)
class _Answer:
    """Of one solve: a tree or none, a bound on every tree, whether it ran to its end."""

    arcs: NDArray[np.int32] | None
    bound: float
    done: bool
    nodes: int


class _Program:
    """Rows and columns, collected in lists and passed to a fresh solver each time."""

    def __init__(self, problem: Problem) -> None:
        self.problem = p = problem
        self.n = p.n_words
        self.head, self.mod = p.arc_head.tolist(), p.arc_mod.tolist()
        self.count = len(self.head)
        state = p.arc_state.tolist()
        self.cost = [float(s) for s in p.arc_score]
        self.lower = [1.0 if s == 1 else 0.0 for s in state]
        self.upper = [0.0 if s == -1 else 1.0 for s in state]
        self.whole = [True] * self.count
        self.rows: list[tuple[Terms, float, float]] = []
        self.by_words: dict[tuple[int, int], list[int]] = {}
        for a in range(self.count):
            self.by_words.setdefault((self.head[a], self.mod[a]), []).append(a)
        self._trees()
        if p.projective:
            self._no_crossing()
        self._parts()
        self._factors()
        self._counts()

    # ---- building ------------------------------------------------------------------------------

    def at_most(self, terms: Terms, limit: float) -> None:
        """Σ terms <= limit."""
        self.rows.append((terms, -math.inf, float(limit)))

    def at_least(self, terms: Terms, limit: float) -> None:
        """Σ terms >= limit."""
        self.rows.append((terms, float(limit), math.inf))

    def equal(self, terms: Terms, value: float) -> None:
        """Σ terms = value."""
        self.rows.append((terms, float(value), float(value)))

    def column(self, cost: float, upper: float, whole: bool = False) -> int:
        """A column from 0 to `upper`; its index."""
        self.cost.append(cost)
        self.lower.append(0.0)
        self.upper.append(upper)
        self.whole.append(whole)
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
                over = self._between(i, j)
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

    def _between(self, i: int, j: int) -> list[int]:
        """Arcs that join words i and j, either way; a tree has one of them at most."""
        return self.by_words.get((i, j), []) + self.by_words.get((j, i), [])

    def _conjunction(self, present: list[list[int]], absent: list[list[int]], score: float) -> None:
        """Score the trees with an arc of each list in `present` and none of those in `absent`.

        The arcs of one list exclude each other.
        """
        if not all(present) or score == 0.0:
            return
        absent = [arcs for arcs in absent if arcs]
        if score == -math.inf:
            terms = [(a, 1.0) for arcs in present for a in arcs]
            terms += [(a, -1.0) for arcs in absent for a in arcs]
            self.at_most(terms, len(present) - 1)
            return
        y = self.column(score, 1.0)
        for arcs in present:
            self.at_most([(y, 1.0)] + [(a, -1.0) for a in arcs], 0)
        for arcs in absent:
            self.at_most([(y, 1.0)] + [(a, 1.0) for a in arcs], 1)
        terms = [(a, -1.0) for arcs in present for a in arcs]
        terms += [(a, 1.0) for arcs in absent for a in arcs]
        self.at_least([(y, 1.0), *terms], 1 - len(present))

    def _arcs(self, head: int, mod: int) -> list[int]:
        return self.by_words.get((int(head), int(mod)), [])

    def _parts(self) -> None:
        p, arcs = self.problem, self._arcs
        for h, i, m, s in zip(p.sib_head, p.sib_inner, p.sib_outer, p.sib_score):
            self._sibling([], int(h), int(i), int(m), float(s))
        for g, h, i, m, s in zip(
            p.gsib_grand, p.gsib_head, p.gsib_inner, p.gsib_outer, p.gsib_score
        ):
            upper = [] if g == -1 else [arcs(g, h)]
            self._sibling(upper, int(h), int(i), int(m), float(s))
        for g, h, m, s in zip(p.gc_grand, p.gc_head, p.gc_mod, p.gc_score):
            self._conjunction([arcs(g, h), arcs(h, m)], [], float(s))
        for g, h, m, s in zip(p.ogc_grand, p.ogc_head, p.ogc_mod, p.ogc_score):
            farther = range(int(m) + 1, self.n + 1) if m > h else range(1, int(m))
            absent = [arcs(h, x) for x in farther]
            self._conjunction([arcs(g, h), arcs(h, m)], absent, float(s))

    def _sibling(self, upper: list[list[int]], h: int, inner: int, m: int, score: float) -> None:
        near = h if inner == -1 else inner
        between = range(min(near, m) + 1, max(near, m))
        present = [*upper, self._arcs(h, m)]
        if inner != -1:
            present.append(self._arcs(h, inner))
        self._conjunction(present, [self._arcs(h, x) for x in between], score)

    def _factors(self) -> None:
        p = self.problem
        for f, weight in enumerate(p.factor_score.tolist()):
            arcs = p.factor_arcs[p.factor_ptr[f] : p.factor_ptr[f + 1]].tolist()
            self._conjunction([[a] for a in arcs], [], weight)

    def _counts(self) -> None:
        """One column for each number of arcs, of which exactly one is 1."""
        p = self.problem
        for c in range(len(p.count_ptr) - 1):
            arcs = p.count_arcs[p.count_ptr[c] : p.count_ptr[c + 1]].tolist()
            scores = p.count_score[p.count_score_ptr[c] : p.count_score_ptr[c + 1]].tolist()
            columns = {
                number: self.column(score, 1.0, whole=True)
                for number, score in enumerate(scores)
                if score > -math.inf
            }
            self.equal([(column, 1.0) for column in columns.values()], 1)
            terms = [(a, 1.0) for a in arcs]
            terms += [(column, -float(number)) for number, column in columns.items() if number]
            self.equal(terms, 0)

    # ---- solving -------------------------------------------------------------------------------

    def solve(self, highspy: Any, time_limit: float, gap: float) -> _Answer:
        """The best tree that the rows allow.

        Penalties that outweigh all other scores together are tried as prohibitions first, so that
        the others keep their digits; a tree without them beats every tree with one.
        """
        if not self.count or any(
            not terms and not low <= 0.0 <= high for terms, low, high in self.rows
        ):
            return _Answer(None, -math.inf, True, 0)
        started = time.perf_counter()
        heavy = _heavy_columns(np.array(self.cost))
        if not len(heavy):
            return self._solve(highspy, time_limit, gap, heavy)
        answer = self._solve(highspy, time_limit, gap, heavy)
        if answer.arcs is not None and answer.done:
            return answer
        left = time_limit - (time.perf_counter() - started)
        if not answer.done or left <= 0.0:
            return _Answer(answer.arcs, math.inf, False, answer.nodes)
        rest = self._solve(highspy, left, gap, heavy[:0])
        rest.nodes += answer.nodes
        return rest

    def _solve(
        self, highspy: Any, time_limit: float, gap: float, without: NDArray[np.int64]
    ) -> _Answer:
        for presolve in ("choose", "off"):
            answer = self._attempt(highspy, time_limit, gap, without, presolve)
            if answer is not None:
                return answer
        raise BBParseError("the integer program failed: HiGHS gives no usable answer")

    def _attempt(
        self, highspy: Any, time_limit: float, gap: float, without: NDArray[np.int64], presolve: str
    ) -> _Answer | None:
        """One run of a fresh solver; None if its answer does not hold."""
        cost, upper = np.array(self.cost), np.array(self.upper)
        cost[without], upper[without] = 0.0, 0.0
        # Scores of 1e9 and of 1e-6 alike must be far from the solver's tolerances.
        scale = float(np.abs(cost).max(initial=0.0)) or 1.0
        solver = highspy.Highs()
        for option, value in (
            ("output_flag", False), ("threads", 1), ("time_limit", time_limit),
            ("presolve", presolve), ("mip_rel_gap", gap), ("mip_abs_gap", TOLERANCE),
            ("mip_feasibility_tolerance", 1e-9), ("primal_feasibility_tolerance", 1e-9),
            ("dual_feasibility_tolerance", 1e-9),
        ):  # fmt: skip
            solver.setOptionValue(option, value)
        solver.passModel(self._model(highspy, cost / scale, upper))
        solver.run()
        status, info = solver.getModelStatus(), solver.getInfo()
        nodes = max(0, int(info.mip_node_count))
        if status == highspy.HighsModelStatus.kInfeasible:
            return _Answer(None, -math.inf, True, nodes)
        done = status == highspy.HighsModelStatus.kOptimal
        if not done and status != highspy.HighsModelStatus.kTimeLimit:
            return None
        arcs = None
        bound = float(info.mip_dual_bound) * scale
        if done or info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
            arcs = self._tree(np.array(solver.getSolution().col_value))
            if arcs is None:
                return None if done else _Answer(None, bound, False, nodes)
            score = self.problem.score(arcs)
            if done and abs(score - info.objective_function_value * scale) > 1e-6 * scale * self.n:
                return None
            bound = max(bound, score)
            if done and (gap <= 0.0 or bound - score <= TOLERANCE * scale):
                bound = score
        return _Answer(arcs, bound, done, nodes)

    def _tree(self, values: NDArray[np.float64]) -> NDArray[np.int32] | None:
        """The arcs that the columns choose, if they are a tree of the problem."""
        chosen = np.flatnonzero(values[: self.count] > 0.5).astype(np.int32)
        arcs = np.empty(self.n, dtype=np.int32)
        mods = self.problem.arc_mod[chosen]
        if len(chosen) != self.n or len(np.unique(mods)) != self.n:
            return None
        arcs[mods - 1] = chosen
        return arcs if self.problem.is_feasible(arcs) else None

    def _model(
        self, highspy: Any, cost: NDArray[np.float64], upper: NDArray[np.float64]
    ) -> Any:
        lp = highspy.HighsLp()
        lp.num_col_ = len(cost)
        lp.num_row_ = len(self.rows)
        lp.sense_ = highspy.ObjSense.kMaximize
        lp.col_cost_ = cost
        lp.col_lower_, lp.col_upper_ = np.array(self.lower), upper
        lp.row_lower_ = np.array([low for _, low, _ in self.rows])
        lp.row_upper_ = np.array([high for _, _, high in self.rows])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.cumsum([0] + [len(terms) for terms, _, _ in self.rows])
        lp.a_matrix_.index_ = np.array([c for terms, _, _ in self.rows for c, _ in terms])
        lp.a_matrix_.value_ = np.array([v for terms, _, _ in self.rows for _, v in terms])
        kinds = highspy.HighsVarType
        lp.integrality_ = [kinds.kInteger if w else kinds.kContinuous for w in self.whole]
        return lp


def _heavy_columns(cost: NDArray[np.float64]) -> NDArray[np.int64]:
    """Columns whose penalties each outweigh all lesser scores together; empty if there are none."""
    sizes = np.sort(np.abs(cost[cost != 0.0]))
    lesser = np.cumsum(sizes) - sizes
    steps = np.flatnonzero((sizes > _HEAVY * lesser) & (lesser > 0.0))
    if not len(steps) or cost.max() >= sizes[steps[0]]:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(cost <= -sizes[steps[0]])
