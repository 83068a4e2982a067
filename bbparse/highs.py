"""Programs, maximise c·x with L <= Ax <= U and l <= x <= u, and HiGHS on them.

A linear program is kept in HiGHS between solves, and its bounds do not rest on what HiGHS says.

**Bounds.** For any row duals y, Σ y⁺U + Σ y⁻L + Σ_j max over [l_j, u_j] of (c_j − yA_j) x_j is at
least c·x of every feasible x (weak duality). It is recomputed from the matrix after each solve, so
that a wrong answer of the solver can make a bound loose, never invalid.

**Warm starts.** HiGHS keeps its basis as rows, columns and bounds change. It has been reported to
give wrong objectives, or none, after that; so where its point breaks a row, its value and the bound
differ, or it finds nothing feasible, the program is solved again from scratch.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import BBParseError

Terms = Sequence[tuple[int, float]]


def load_highspy() -> Any:
    """The module highspy; a BBParseError that names the extra where it is not installed."""
    try:
        import highspy
    except ImportError as error:
        raise BBParseError(
            "linear and integer programs need HiGHS, which is not installed:"
            " pip install 'bbparse[ilp]' (or pip install highspy)"
        ) from error
    return highspy


@cache
def _silent_solver(highspy: Any) -> Any:
    """HiGHS's class, silenced before anything else is called on an instance.

    `highspy.Highs` enables its callbacks when it is made, and from version 1.16 on HiGHS prints its
    name and version in that call unless its output is off.
    """

    class SilentHighs(highspy.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    return SilentHighs


def new_solver(**options: Any) -> Any:
    """Return a solver on one thread that prints nothing, with some options of HiGHS's."""
    solver = _silent_solver(load_highspy())()
    for option, value in {
        "output_flag": False, "threads": 1, "primal_feasibility_tolerance": 1e-9,
        "dual_feasibility_tolerance": 1e-9, **options,
    }.items():  # fmt: skip
        solver.setOptionValue(option, value)
    return solver


def status_of(solver: Any) -> str:
    """How the last run ended: optimal, infeasible, time_limit; failed: in any other way."""
    return {
        "kOptimal": "optimal", "kInfeasible": "infeasible", "kTimeLimit": "time_limit"
    }.get(solver.getModelStatus().name, "failed")  # fmt: skip


class Program:
    """A program that grows. Columns start at 0; every entry of the matrix is kept once."""

    def __init__(self) -> None:
        self.cost: list[float] = []  # of columns
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.whole: list[bool] = []  # whether they must be whole numbers
        self.low: list[float] = []  # of rows; infinite where there is no bound
        self.high: list[float] = []
        self.constant = 0.0  # added to the objective
        self._row, self._column, self._value = array("i"), array("i"), array("d")

    def column(
        self, cost: float, upper: float, whole: bool = False, rows: Iterable[int] = ()
    ) -> int:
        """A column from 0 to `upper`, with an entry of 1 in some rows; its index."""
        place = len(self.cost)
        self.cost.append(cost)
        self.lower.append(0.0)
        self.upper.append(upper)
        self.whole.append(whole)
        for row in rows:
            self._row.append(row)
            self._column.append(place)
            self._value.append(1.0)
        return place

    def row(self, terms: Terms, low: float, high: float) -> int:
        """low <= Σ terms <= high; its index."""
        place = len(self.low)
        self.low.append(float(low))
        self.high.append(float(high))
        self._row.extend(repeat(place, len(terms)))
        self._column.extend([column for column, _ in terms])
        self._value.extend([value for _, value in terms])
        return place

    def at_most(self, terms: Terms, limit: float) -> int:
        """Σ terms <= limit."""
        return self.row(terms, -math.inf, limit)

    def at_least(self, terms: Terms, limit: float) -> int:
        """Σ terms >= limit."""
        return self.row(terms, limit, math.inf)

    def equal(self, terms: Terms, value: float) -> int:
        """Σ terms = value."""
        return self.row(terms, value, value)

    def impossible(self) -> bool:
        """Whether a row without entries is out of its bounds."""
        empty = set(range(len(self.low))).difference(self._row)
        return any(self.low[row] > 0.0 or self.high[row] < 0.0 for row in empty)

    def entries(
        self, start: int = 0
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """Row, column and value of the entries made from the `start`-th on."""
        return (
            np.array(self._row[start:], np.int32), np.array(self._column[start:], np.int32),
            np.array(self._value[start:], np.float64),
        )  # fmt: skip


def compressed(
    major: NDArray[np.int32], minor: NDArray[np.int32], value: NDArray[np.float64], size: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Entries sorted by `major` in 0..size-1: where each begins (int32[size + 1]), and the rest."""
    order = np.argsort(major, kind="stable")
    starts = np.zeros(size + 1, np.int32)
    np.cumsum(np.bincount(major, minlength=size), out=starts[1:])
    return starts, minor[order], value[order]


@dataclass(slots=True)
class WholeAnswer:
    """Of one run, all in the units of the program."""

    status: str  # optimal, time_limit or infeasible; failed: anything else
    values: NDArray[np.float64] | None  # [C], columns of the best point found
    value: float  # its objective
    bound: float  # no point has more, as HiGHS says
    nodes: int


def solve_whole(
    program: Program,
    cost: NDArray[np.float64],
    upper: NDArray[np.float64],
    time_limit: float,
    gap: float,
    tolerance: float,
    presolve: str = "choose",
) -> WholeAnswer:
    """Solve a program from scratch, with other costs and upper bounds than its own.

    Costs are scaled to at most 1, so that scores of 1e9 and of 1e-6 alike are far from HiGHS's
    tolerances. Always cold: HiGHS has been reported to give wrong objectives after changes.
    """
    highspy = load_highspy()
    scale = float(np.abs(cost).max(initial=0.0)) or 1.0
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(cost), len(program.low)
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_, lp.offset_ = cost / scale, program.constant / scale
    lp.col_lower_, lp.col_upper_ = np.array(program.lower), upper
    lp.row_lower_, lp.row_upper_ = np.array(program.low), np.array(program.high)
    matrix = lp.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.start_, matrix.index_, matrix.value_ = compressed(
        *program.entries(), len(program.low)
    )
    kinds = highspy.HighsVarType
    lp.integrality_ = [kinds.kInteger if w else kinds.kContinuous for w in program.whole]
    solver = new_solver(
        time_limit=time_limit, presolve=presolve, mip_rel_gap=gap, mip_abs_gap=tolerance,
        mip_feasibility_tolerance=1e-9,
    )  # fmt: skip
    solver.passModel(lp)
    solver.run()
    info, status, values = solver.getInfo(), status_of(solver), None
    if status == "optimal" or (
        status == "time_limit"
        and info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    ):
        values = np.array(solver.getSolution().col_value)
    return WholeAnswer(
        status, values, float(info.objective_function_value) * scale,
        float(info.mip_dual_bound) * scale, max(0, int(info.mip_node_count)),
    )  # fmt: skip


Floats = NDArray[np.float64]
_SLACK = 1e-7  # of the scaled objective, and of rows


@dataclass(slots=True)
class LinearAnswer:
    """Of one solve, all in the units of the program.

    The status: optimal; infeasible; time_limit; failed: HiGHS gives no usable answer. Only the
    first has columns.
    """

    status: str
    x: Floats  # [C]
    dual: Floats  # [R], of the rows; >= 0 where only the upper bound binds
    reduced: Floats  # [C], c − yA: what a column would add by itself
    bound: float  # no point has more


class Linear:
    """A program in HiGHS. It may grow, and its costs and bounds may change, between solves.

    Its rows and columns stay as they are once made. Costs are divided by ``scale``, their size.
    ``pivots`` are simplex iterations of all solves, ``colds`` those started from scratch again.
    """

    def __init__(self, program: Program, scale: float) -> None:
        self.program = program
        self.scale = scale
        self.pivots = self.colds = 0
        self._solver = new_solver(presolve="off", solver="simplex")
        self._solver.changeObjectiveSense(load_highspy().ObjSense.kMaximize)
        self._columns = self._rows = self._entries = 0
        self._cost = self._lower = self._upper = np.zeros(0)

    def _send(self, lower: Floats, upper: Floats) -> None:
        """Tell HiGHS what is new: columns with their entries in old rows, rows, costs, bounds."""
        p, solver = self.program, self._solver
        row, column, value = p.entries(self._entries)
        self._entries += len(row)
        columns, rows = len(p.cost) - self._columns, len(p.low) - self._rows
        cost = np.array(p.cost) / self.scale
        old = row < self._rows
        if columns:
            new = slice(self._columns, None)
            starts, index, entry = compressed(
                column[old] - self._columns, row[old], value[old], columns
            )
            solver.addCols(
                columns, cost[new], lower[new], upper[new], len(index), starts[:-1], index, entry
            )
        if rows:
            starts, index, entry = compressed(
                row[~old] - self._rows, column[~old], value[~old], rows
            )
            low, high = np.array(p.low[self._rows :]), np.array(p.high[self._rows :])
            solver.addRows(rows, low, high, len(index), starts[:-1], index, entry)
        changed = np.flatnonzero(cost[: self._columns] != self._cost).astype(np.int32)
        if len(changed):
            solver.changeColsCost(len(changed), changed, cost[changed])
        self._columns, self._rows, self._cost = len(p.cost), len(p.low), cost
        sent = len(self._lower)
        moved = np.flatnonzero((lower[:sent] != self._lower) | (upper[:sent] != self._upper))
        if len(moved):
            moved = moved.astype(np.int32)
            solver.changeColsBounds(len(moved), moved, lower[moved], upper[moved])
        self._lower, self._upper = lower, upper

    def solve(self, lower: Floats, upper: Floats, time_limit: float = math.inf) -> LinearAnswer:
        """The best point within bounds float64[C] of the columns."""
        self._send(lower, upper)
        matrix = self.program.entries()
        for attempt in range(2):
            answer = self._run(matrix, lower, upper, time_limit)
            if answer.status in ("optimal", "time_limit"):
                break
            if not attempt:  # what a warm start says is not believed without a cold one
                self.colds += 1
                self._solver.clearSolver()
        return answer

    def _run(
        self, matrix: tuple[NDArray[np.int32], NDArray[np.int32], Floats],
        lower: Floats, upper: Floats, time_limit: float,
    ) -> LinearAnswer:  # fmt: skip
        solver = self._solver
        # HiGHS counts the time of all runs together
        solver.setOptionValue("time_limit", solver.getRunTime() + time_limit)
        solver.run()
        self.pivots += max(0, int(solver.getInfo().simplex_iteration_count))
        status = status_of(solver)
        found = solver.getSolution()
        x, dual = np.array(found.col_value), np.array(found.row_dual)
        if status != "optimal" or not (np.isfinite(x).all() and np.isfinite(dual).all()):
            status = "failed" if status == "optimal" else status
            return LinearAnswer(status, x[:0], dual[:0], x[:0], math.inf)
        row, column, value = matrix
        low, high = np.array(self.program.low), np.array(self.program.high)
        bound, dual, reduced = dual_bound(self._cost, matrix, low, high, lower, upper, dual)
        sums = np.bincount(row, value * x[column], len(low))
        broken = max(
            np.max(low - sums, initial=0.0), np.max(sums - high, initial=0.0),
            np.max(lower - x, initial=0.0), np.max(x - upper, initial=0.0),
        )  # fmt: skip
        worth = float(self._cost @ x)
        if broken > _SLACK or abs(bound - worth) > _SLACK * max(1.0, abs(worth)):
            status = "failed"
        scale = self.scale
        return LinearAnswer(
            status, x, dual * scale, reduced * scale, bound * scale + self.program.constant
        )


def dual_bound(
    cost: Floats,
    matrix: tuple[NDArray[np.int32], NDArray[np.int32], Floats],
    low: Floats,
    high: Floats,
    lower: Floats,
    upper: Floats,
    dual: Floats,
) -> tuple[float, Floats, Floats]:
    """What no feasible point exceeds, whatever the duals float64[R] are; bounds of columns finite.

    Also the duals used, 0 where they had the sign of a bound that a row does not have, and c − yA
    float64[C]. The matrix is rows, columns and values of its entries.
    """
    row, column, value = matrix
    dual = np.where((dual > 0.0) & np.isinf(high), 0.0, dual)
    dual = np.where((dual < 0.0) & np.isinf(low), 0.0, dual)
    reduced = cost - np.bincount(column, value * dual[row], len(cost))
    sides = np.where(dual > 0.0, high, np.where(dual < 0.0, low, 0.0))
    terms = np.concatenate((dual * sides, np.maximum(reduced * lower, reduced * upper)))
    # more than all rounding in the sums above
    rounding = 1e-15 * (np.abs(terms).sum() + np.abs(value * dual[row]).sum())
    return math.fsum(terms.tolist()) + rounding, dual, reduced
