"""The branch and bound itself, by default and with the choices of Qian & Liu 2013."""

from __future__ import annotations

import time
from statistics import median

from bbparse.problem import Problem
from bbparse.search.settings import AS_PUBLISHED, DEFAULT, SearchSettings
from bbparse.solving.solve import solve as branch_and_bound
from rivals.common import Answer

REPEAT = 5


def solve(problem: Problem, time_limit: float) -> Answer:
    """With the default settings."""
    return _solve(problem, time_limit, DEFAULT)


def solve_as_published(problem: Problem, time_limit: float) -> Answer:
    """With the paper's subgradient, branching and lower bound, and without elimination."""
    return _solve(problem, time_limit, AS_PUBLISHED)


def _solve(problem: Problem, time_limit: float, settings: SearchSettings) -> Answer:
    seconds = []
    for _ in range(REPEAT):
        started = time.perf_counter()
        found = branch_and_bound(
            problem, time_limit=time_limit, settings=settings, backbone="grandsib"
        )
        seconds.append(time.perf_counter() - started)
        if sum(seconds) > 1.0:
            break
    arcs = found.arcs[0] if len(found) else None
    return Answer(arcs, found.status == "optimal", median(seconds), 0.0)
