"""A linear program kept in HiGHS between solves, and bounds that do not rest on what HiGHS says.

**Bounds.** For any row duals y, Σ y⁺U + Σ y⁻L + Σ_j max over [l_j, u_j] of (c_j − yA_j) x_j is at
least c·x of every feasible x (weak duality). It is recomputed from the matrix after each solve, so
that a wrong answer of the solver can make a bound loose, never invalid.

**Warm starts.** HiGHS keeps its basis as rows, columns and bounds change. It has been reported to
give wrong objectives, or none, after that; so where its point breaks a row, its value and the bound
differ, or it finds nothing feasible, the program is solved again from scratch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbparse.highs.program import Program, compressed, load_highspy, new_solver, status_of

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
