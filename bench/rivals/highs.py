"""HiGHS on the integer program of `bbparse.ilp`: trees as derivations of Eisner's algorithm with
adjacent siblings, a column for each part and factor that fires, three kinds of rows for each."""

from __future__ import annotations

import time

from bbparse.ilp import solve_ilp
from bbparse.ilp.program import TreeProgram
from bbparse.problem import Problem
from rivals.common import Answer


def solve(problem: Problem, time_limit: float) -> Answer:
    """One tree."""
    started = time.perf_counter()
    TreeProgram(problem)
    building = time.perf_counter() - started
    found = solve_ilp(problem, 1, time_limit)
    arcs = found.arcs[0] if len(found) else None
    seconds = max(0.0, float(found.stats["seconds"]) - building)
    return Answer(arcs, found.status == "optimal", seconds, building)
