"""The branch and bound itself, and HiGHS on the integer program of `inference.programs`: trees as
flows and rows against crossing arcs, adjacent siblings as paths, a column for each part and factor
that fires, three kinds of rows for each."""

from __future__ import annotations

import time
from statistics import median

from rivals.common import Answer

from bbparse.core import Problem, Solution
from bbparse.inference.programs.ilp import solve_ilp
from bbparse.inference.programs.integer_program import TreeProgram
from bbparse.inference.solve import solve as branch_and_bound

REPEAT = 5


def solve(problem: Problem, time_limit: float) -> Answer:
    """By branch and bound; the median of some runs."""
    seconds = []
    for _ in range(REPEAT):
        started = time.perf_counter()
        found = branch_and_bound(problem, time_limit=time_limit, backbone="grandsib")
        seconds.append(time.perf_counter() - started)
        if sum(seconds) > 1.0:
            break
    return _answer(found, median(seconds), 0.0)


def solve_ilp_by_highs(problem: Problem, time_limit: float) -> Answer:
    """By the integer program."""
    started = time.perf_counter()
    TreeProgram(problem)
    building = time.perf_counter() - started
    found = solve_ilp(problem, 1, time_limit)
    return _answer(found, max(0.0, float(found.stats["seconds"]) - building), building)


def _answer(found: Solution, seconds: float, building: float) -> Answer:
    arcs = found.arcs[0] if len(found) else None
    return Answer(arcs, found.status == "optimal", seconds, building)
