"""Linear and integer programs, solved by HiGHS: maximise c·x with L <= Ax <= U and l <= x <= u.

A linear program is kept in HiGHS between solves. Its statuses are believed, its bounds recomputed.

**Bounds.** For any row duals y, Σ y⁺U + Σ y⁻L + Σ_j max over [l_j, u_j] of (c_j − yA_j) x_j is at
least c·x of every feasible x (weak duality). This is computed from the matrix after each solve, so
that inexact duals make a bound loose, but never invalid.

**Units.** The tolerances of HiGHS are absolute. Costs are passed to it in a power of two of which
the largest cost has between 512 and 1024, so that nothing is rounded and tolerances are 1e-12 of
the largest cost.
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

from bbparse.runtime.arrays import Float64s, Ints
from bbparse.runtime.errors import BBParseError

Terms = Sequence[tuple[int, float]]


def load_highspy() -> Any:
    """Import highspy; if it is missing or unusable, a BBParseError says what to install."""
    try:
        import highspy
    except ImportError as error:
        raise BBParseError(
            "linear and integer programs need HiGHS, which is not installed:"
            " pip install '.[ilp]' in the checkout (or pip install highspy)"
        ) from error
    if not hasattr(highspy.Highs, "getDualRay"):  # HiGHS 1.10 has it first
        raise BBParseError(
            "linear and integer programs need highspy 1.10 or later, and an older one is installed:"
            " pip install -U highspy"
        )
    if getattr(highspy, "HIGHS_VERSION_MINOR", 0) == 14:
        raise BBParseError(
            "HiGHS 1.14 is installed, whose presolve loses optimal solutions, expected 1.10 to 1.13"
            " or 1.15 and later: pip install -U highspy"
        )
    return highspy


@cache
def _silent_solver(highspy: Any) -> Any:
    """Return the class of HiGHS, silenced before anything else is called on an instance."""

    class SilentHighs(highspy.Highs):
        # called on creation; HiGHS 1.16 prints its name and version there unless output is off
        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    return SilentHighs


def new_solver(**options: Any) -> Any:
    """Return a solver on one thread that prints nothing, with the given options of HiGHS."""
    solver = _silent_solver(load_highspy())()
    for option, value in {
        "output_flag": False,
        "threads": 1,
        "primal_feasibility_tolerance": 1e-9,
        "dual_feasibility_tolerance": 1e-9,
        **options,
    }.items():
        solver.setOptionValue(option, value)
    return solver


def status_of(solver: Any) -> str:
    """Return how the last run ended: optimal, infeasible, time_limit, or failed for the rest."""
    return {"kOptimal": "optimal", "kInfeasible": "infeasible", "kTimeLimit": "time_limit"}.get(
        solver.getModelStatus().name, "failed"
    )


def unit_of(largest: float) -> float:
    """Return the power of two of which a cost of this magnitude has between 512 and 1024."""
    return math.ldexp(1.0, max(math.frexp(largest)[1], -1010) - 10) if largest > 0.0 else 1.0


class Program:
    """A program that grows. Lower bounds of columns are 0; no entry of the matrix occurs twice."""

    def __init__(self) -> None:
        self.cost: list[float] = []  # cost, bounds and integrality of each column
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.integral: list[bool] = []
        self.low: list[float] = []  # bounds of each row, infinite where there are none
        self.high: list[float] = []
        self.constant = 0.0  # added to the objective
        self._row, self._column, self._value = array("i"), array("i"), array("d")

    def column(
        self, cost: float, upper: float, integral: bool = False, rows: Iterable[int] = ()
    ) -> int:
        """Add a column from 0 to `upper`, with an entry of 1 in some rows; return its index."""
        index = len(self.cost)
        self.cost.append(cost)
        self.lower.append(0.0)
        self.upper.append(upper)
        self.integral.append(integral)
        for row in rows:
            self._row.append(row)
            self._column.append(index)
            self._value.append(1.0)
        return index

    def row(self, terms: Terms, low: float, high: float) -> int:
        """Add the row low <= Σ terms <= high; return its index."""
        index = len(self.low)
        self.low.append(float(low))
        self.high.append(float(high))
        self._row.extend(repeat(index, len(terms)))
        self._column.extend([column for column, _ in terms])
        self._value.extend([value for _, value in terms])
        return index

    def at_most(self, terms: Terms, limit: float) -> int:
        """Add the row Σ terms <= limit; return its index."""
        return self.row(terms, -math.inf, limit)

    def at_least(self, terms: Terms, limit: float) -> int:
        """Add the row Σ terms >= limit; return its index."""
        return self.row(terms, limit, math.inf)

    def equal(self, terms: Terms, value: float) -> int:
        """Add the row Σ terms = value; return its index."""
        return self.row(terms, value, value)

    def impossible(self) -> bool:
        """Return True if a row without entries is out of its bounds."""
        empty = set(range(len(self.low))).difference(self._row)
        return any(self.low[row] > 0.0 or self.high[row] < 0.0 for row in empty)

    def entries(self, start: int = 0) -> tuple[Ints, Ints, Float64s]:
        """Return row, column and value of the entries from the `start`-th on."""
        return (
            np.array(self._row[start:], np.int32),
            np.array(self._column[start:], np.int32),
            np.array(self._value[start:], np.float64),
        )


def compressed(major: Ints, minor: Ints, value: Float64s, size: int) -> tuple[Ints, Ints, Float64s]:
    """Sort entries by `major` in 0..size-1; return starts int32[size + 1], minors and values."""
    order = np.argsort(major, kind="stable")
    starts = np.zeros(size + 1, np.int32)
    np.cumsum(np.bincount(major, minlength=size), out=starts[1:])
    return starts, minor[order], value[order]


@dataclass(slots=True)
class IntegerAnswer:
    """Result of one run on an integer program, in the units of the program."""

    status: str  #: optimal, time_limit or infeasible; failed: anything else.
    values: Float64s | None  #: [C], columns of the best point that was found.
    bound: float  #: Upper bound on the objective, as reported by HiGHS.
    nodes: int  #: Nodes of its search.


def solve_integer(
    program: Program, time_limit: float, gap: float, tolerance: float
) -> IntegerAnswer:
    """Solve an integer program from scratch; ``tolerance`` is in the units of :func:`unit_of`."""
    cost = np.array(program.cost)
    highspy = load_highspy()
    scale = unit_of(float(np.abs(cost).max(initial=0.0)))
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(cost), len(program.low)
    lp.sense_ = highspy.ObjSense.kMaximize
    # a relative gap needs the whole objective; otherwise the offset only hides small differences
    offset = program.constant if gap > 0.0 else 0.0
    lp.col_cost_, lp.offset_ = cost / scale, offset / scale
    lp.col_lower_, lp.col_upper_ = np.array(program.lower), np.array(program.upper)
    lp.row_lower_, lp.row_upper_ = np.array(program.low), np.array(program.high)
    matrix = lp.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.start_, matrix.index_, matrix.value_ = compressed(*program.entries(), len(program.low))
    kinds = highspy.HighsVarType
    lp.integrality_ = [kinds.kInteger if w else kinds.kContinuous for w in program.integral]
    solver = new_solver(
        time_limit=time_limit,
        mip_rel_gap=gap,
        mip_abs_gap=tolerance,
        mip_feasibility_tolerance=1e-9,
    )
    solver.passModel(lp)
    solver.run()
    info, status, values = solver.getInfo(), status_of(solver), None
    if status == "optimal" or (
        status == "time_limit"
        and info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    ):
        values = np.array(solver.getSolution().col_value)
    constant = program.constant - offset
    return IntegerAnswer(
        status,
        values,
        float(info.mip_dual_bound) * scale + constant,
        max(0, int(info.mip_node_count)),
    )


_HALF_ULP = 2.0**-53  # the relative rounding error of one addition or product


@dataclass(slots=True)
class LinearAnswer:
    """Result of one solve of a linear program; only an optimal answer has columns."""

    status: str
    x: Float64s  #: [C], columns of the point.
    dual: Float64s  #: [R], duals of the rows; >= 0 where only the upper bound binds.
    reduced: Float64s  #: [C], reduced costs c − yA.
    bound: float  #: Upper bound on the objective, recomputed from the duals.


class Linear:
    """A program in HiGHS. It may grow, and its costs and bounds may change, between solves.

    Its rows and columns are never removed. ``largest`` is the largest magnitude so far of the cost
    of a usable column, and costs are passed to HiGHS in units of it. ``pivots`` counts the simplex
    iterations of all solves.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.largest = 0.0
        self.pivots = 0
        self._solver = new_solver(presolve="off", solver="simplex")
        self._solver.changeObjectiveSense(load_highspy().ObjSense.kMaximize)
        self._columns = self._rows = self._entries = 0

    def measure(self, lower: Float64s, upper: Float64s) -> Float64s:
        """Update the largest cost of columns with bounds float64[C]; return all costs."""
        cost = np.array(self.program.cost)
        used = (lower < 0.0) | (upper > 0.0)
        self.largest = max(self.largest, float(np.abs(cost[used]).max(initial=0.0)))
        return cost

    def _send(self, lower: Float64s, upper: Float64s) -> Float64s:
        """Pass costs, bounds and new columns and rows to HiGHS; return the costs in units."""
        p, solver = self.program, self._solver
        row, column, value = p.entries(self._entries)
        self._entries += len(row)
        columns, rows = len(p.cost) - self._columns, len(p.low) - self._rows
        # only an unusable column may cost more than the largest, and its cost does not matter
        with np.errstate(over="ignore"):
            cost = self.measure(lower, upper) / unit_of(self.largest)
        cost[np.abs(cost) > 1024.0] = 0.0
        if self._columns:
            known = np.arange(self._columns, dtype=np.int32)
            solver.changeColsCost(len(known), known, cost[known])
            solver.changeColsBounds(len(known), known, lower[known], upper[known])
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
        self._columns, self._rows = len(p.cost), len(p.low)
        return cost

    def solve(self, lower: Float64s, upper: Float64s, time_limit: float = math.inf) -> LinearAnswer:
        """Return the best point within bounds float64[C] of the columns."""
        cost, solver = self._send(lower, upper), self._solver
        # HiGHS adds up the time of all runs
        solver.setOptionValue("time_limit", solver.getRunTime() + time_limit)
        solver.run()
        self.pivots += max(0, int(solver.getInfo().simplex_iteration_count))
        status, none = status_of(solver), np.zeros(0)
        if status != "optimal":
            return LinearAnswer(status, none, none, none, math.inf)
        solution = solver.getSolution()
        x, duals = np.array(solution.col_value), np.array(solution.row_dual)
        bound, dual, reduced = dual_bound(self.program, cost, lower, upper, duals)
        unit, constant = unit_of(self.largest), self.program.constant
        bound = bound * unit + constant
        bound += 2.0 * _HALF_ULP * (abs(bound) + abs(constant))
        return LinearAnswer(status, x, dual * unit, reduced * unit, bound)


def dual_bound(
    program: Program, cost: Float64s, lower: Float64s, upper: Float64s, dual: Float64s
) -> tuple[float, Float64s, Float64s]:
    """Bound c·x of all points within the rows and column bounds, by any duals float64[R].

    Returns also the duals that were used, 0 where the sign is that of a bound that a row does not
    have, and the reduced costs c − yA, float64[C].
    """
    row, column, value = program.entries()
    low, high = np.array(program.low), np.array(program.high)
    dual = np.where((dual > 0.0) & np.isinf(high), 0.0, dual)
    dual = np.where((dual < 0.0) & np.isinf(low), 0.0, dual)
    products = value * dual[row]
    reduced = cost - np.bincount(column, products, len(cost))
    # the error of a sum of k terms is at most k times their magnitudes (Higham 2002, §4.2)
    sizes = np.abs(cost) + np.bincount(column, np.abs(products), len(cost))
    error = _HALF_ULP * (np.bincount(column, minlength=len(cost)) + 3.0) * sizes
    sides = np.where(dual > 0.0, high, np.where(dual < 0.0, low, 0.0))
    smallest, largest = reduced - error, reduced + error
    corners = (smallest * lower, largest * lower, smallest * upper, largest * upper)
    terms = np.concatenate((dual * sides, np.max(corners, axis=0)))
    rounding = 4.0 * _HALF_ULP * float(np.abs(terms).sum())  # error of the products
    return math.fsum(terms.tolist()) + rounding, dual, reduced
