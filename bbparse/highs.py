"""Programs, maximise c·x with L <= Ax <= U and l <= x <= u, and HiGHS on them.

A linear program is kept in HiGHS between solves, and its bounds do not rest on what HiGHS says.

**Bounds.** For any row duals y, Σ y⁺U + Σ y⁻L + Σ_j max over [l_j, u_j] of (c_j − yA_j) x_j is at
least c·x of every feasible x (weak duality). It is recomputed from the matrix after each solve, so
that a wrong answer of the solver can make a bound loose, never invalid. That nothing is feasible is
believed where such a bound of the costs 0 is negative (Farkas).

**Units.** HiGHS's tolerances are absolute. Costs are told to it in a power of two by which the
largest has some thousand units, so that nothing is rounded and tolerances are 1e-12 of it.

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

    class SilentHighs(highspy.Highs):
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


def unit_of(largest: float) -> float:
    """Return the power of two of which a cost of this magnitude has between 512 and 1024."""
    return math.ldexp(1.0, max(math.frexp(largest)[1], -1010) - 10) if largest > 0.0 else 1.0


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
    program: Program, time_limit: float, gap: float, tolerance: float, presolve: str = "choose"
) -> WholeAnswer:
    """Solve a program from scratch.

    ``tolerance`` is in the units of :func:`unit_of`. Always cold: HiGHS has been reported to give
    wrong objectives after changes.
    """
    cost = np.array(program.cost)
    highspy = load_highspy()
    scale = unit_of(float(np.abs(cost).max(initial=0.0)))
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(cost), len(program.low)
    lp.sense_ = highspy.ObjSense.kMaximize
    # a share of the objective needs all of it; otherwise it would only hide small differences
    offset = program.constant if gap > 0.0 else 0.0
    lp.col_cost_, lp.offset_ = cost / scale, offset / scale
    lp.col_lower_, lp.col_upper_ = np.array(program.lower), np.array(program.upper)
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
    rest = program.constant - offset
    return WholeAnswer(
        status, values, float(info.objective_function_value) * scale + rest,
        float(info.mip_dual_bound) * scale + rest, max(0, int(info.mip_node_count)),
    )  # fmt: skip


Floats = NDArray[np.float64]
_SLACK = 1e-7  # of rows, and of the objective in sums of 1024 units
_HALF_ULP = 2.0**-53  # the relative rounding error of one addition or product


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

    Its rows and columns stay as they are once made. ``largest`` is the magnitude of the largest
    cost so far of a column that may be used; costs are told to HiGHS in units of it. ``pivots`` are
    simplex iterations of all solves, ``colds`` those started from scratch again.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.largest = 0.0
        self.pivots = self.colds = 0
        self._solver = new_solver(presolve="off", solver="simplex")
        self._solver.changeObjectiveSense(load_highspy().ObjSense.kMaximize)
        self._columns = self._rows = self._entries = 0
        self._cost = self._lower = self._upper = np.zeros(0)

    def measure(self, lower: Floats, upper: Floats) -> Floats:
        """Look for the largest cost, of columns within bounds float64[C]; all costs."""
        cost = np.array(self.program.cost)
        used = (lower < 0.0) | (upper > 0.0)
        self.largest = max(self.largest, float(np.abs(cost[used]).max(initial=0.0)))
        return cost

    def _send(self, lower: Floats, upper: Floats) -> None:
        """Tell HiGHS what is new: columns with their entries in old rows, rows, costs, bounds."""
        p, solver = self.program, self._solver
        row, column, value = p.entries(self._entries)
        self._entries += len(row)
        columns, rows = len(p.cost) - self._columns, len(p.low) - self._rows
        # only a column that is not used may cost more than the largest, and it may as well cost 0
        cost = self.measure(lower, upper) / unit_of(self.largest)
        cost[np.abs(cost) > 1024.0] = 0.0
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
        low, high = np.array(self.program.low), np.array(self.program.high)
        if status == "infeasible" and not self._is_infeasible(matrix, low, high, lower, upper):
            status = "failed"
        elif status == "optimal" and not (np.isfinite(x).all() and np.isfinite(dual).all()):
            status = "failed"
        elif status == "optimal":
            bound, dual, reduced = dual_bound(self._cost, matrix, low, high, lower, upper, dual)
            row, column, value = matrix
            sums = np.bincount(row, value * x[column], len(low))
            broken = max(
                np.max(low - sums, initial=0.0), np.max(sums - high, initial=0.0),
                np.max(lower - x, initial=0.0), np.max(x - upper, initial=0.0),
            )  # fmt: skip
            worth = float(self._cost @ x)
            if broken > _SLACK or abs(bound - worth) > _SLACK * max(1024.0, abs(worth)):
                status = "failed"
            unit, constant = unit_of(self.largest), self.program.constant
            bound = bound * unit + constant
            bound += 2.0 * _HALF_ULP * (abs(bound) + abs(constant))
            return LinearAnswer(status, x, dual * unit, reduced * unit, bound)
        return LinearAnswer(status, x[:0], dual[:0], x[:0], math.inf)

    def _is_infeasible(
        self, matrix: tuple[NDArray[np.int32], NDArray[np.int32], Floats],
        low: Floats, high: Floats, lower: Floats, upper: Floats,
    ) -> bool:  # fmt: skip
        """Whether a ray of the dual proves that no point keeps all rows and bounds."""
        _, known, ray = self._solver.getDualRay()
        if not known or len(ray) != len(low) or not np.isfinite(ray).all():
            return False
        nothing = np.zeros(len(lower))
        return any(
            dual_bound(nothing, matrix, low, high, lower, upper, sign * np.asarray(ray))[0] < 0.0
            for sign in (1.0, -1.0)
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
    products = value * dual[row]
    reduced = cost - np.bincount(column, products, len(cost))
    # of a sum of k terms the error is at most k times the magnitudes (Higham 2002, §4.2)
    sizes = np.abs(cost) + np.bincount(column, np.abs(products), len(cost))
    error = _HALF_ULP * (np.bincount(column, minlength=len(cost)) + 3.0) * sizes
    sides = np.where(dual > 0.0, high, np.where(dual < 0.0, low, 0.0))
    least, most = reduced - error, reduced + error
    corners = (least * lower, most * lower, least * upper, most * upper)
    terms = np.concatenate((dual * sides, np.max(corners, axis=0)))
    rounding = 4.0 * _HALF_ULP * float(np.abs(terms).sum())  # of these products
    return math.fsum(terms.tolist()) + rounding, dual, reduced
