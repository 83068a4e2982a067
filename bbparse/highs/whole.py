"""A fresh run of HiGHS on an integer program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbparse.highs.program import Program, load_highspy


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
    matrix.start_, matrix.index_, matrix.value_ = program.by_rows()
    kinds = highspy.HighsVarType
    lp.integrality_ = [kinds.kInteger if w else kinds.kContinuous for w in program.whole]
    solver = highspy.Highs()
    for option, value in (
        ("output_flag", False), ("threads", 1), ("time_limit", time_limit),
        ("presolve", presolve), ("mip_rel_gap", gap), ("mip_abs_gap", tolerance),
        ("mip_feasibility_tolerance", 1e-9), ("primal_feasibility_tolerance", 1e-9),
        ("dual_feasibility_tolerance", 1e-9),
    ):  # fmt: skip
        solver.setOptionValue(option, value)
    solver.passModel(lp)
    solver.run()
    info, statuses = solver.getInfo(), highspy.HighsModelStatus
    status = {
        statuses.kOptimal: "optimal",
        statuses.kTimeLimit: "time_limit",
        statuses.kInfeasible: "infeasible",
    }.get(solver.getModelStatus(), "failed")
    values = None
    if status == "optimal" or (
        status == "time_limit"
        and info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    ):
        values = np.array(solver.getSolution().col_value)
    return WholeAnswer(
        status, values, float(info.objective_function_value) * scale,
        float(info.mip_dual_bound) * scale, max(0, int(info.mip_node_count)),
    )  # fmt: skip
