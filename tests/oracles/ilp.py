"""The best trees of a problem of any length, by the integer program.

`bbparse.ilp` shares nothing with the branch and bound. Here its trees are checked and scored once
more by the enumeration's functions, so that neither a tolerance of the integer program nor a fault
of the package's own scoring reaches the answer.
"""

from __future__ import annotations

from typing import Any

from bbparse.ilp import solve_ilp
from tests.oracles.enumerate import Scored, TreeScorer, is_projective, is_tree


class Undecided(RuntimeError):
    """HiGHS stopped before it had an answer."""


def best_trees(problem: Any, k: int = 1, time_limit: float = 60.0) -> list[Scored]:
    """The k best feasible trees as (score, arc index of word 1, of word 2, …), best first.

    Fewer where fewer exist.

    Raises
    ------
    Undecided
        If it takes longer than the time limit, in seconds.
    """
    solution = solve_ilp(problem, k, time_limit)
    if solution.status not in ("optimal", "infeasible"):
        raise Undecided(f"HiGHS stopped: {solution.status}")
    score = TreeScorer(problem)
    found: list[Scored] = []
    for arcs in solution.arcs.tolist():
        heads = [-1] + [int(problem.arc_head[a]) for a in arcs]
        if not is_tree(heads) or (problem.projective and not is_projective(heads)):
            raise RuntimeError(f"the integer program gave {heads}, which is no tree")
        found.append((score(tuple(arcs)), tuple(arcs)))
    return sorted(found, key=lambda scored: -scored[0])
