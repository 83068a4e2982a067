"""Rows and columns of a program, maximise c·x with L <= Ax <= U and l <= x <= u; HiGHS on it."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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


def new_solver(**options: Any) -> Any:
    """A solver on one thread that says nothing, with some options of HiGHS's."""
    solver = load_highspy().Highs()
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
