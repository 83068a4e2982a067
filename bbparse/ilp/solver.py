"""The best trees of any problem by an integer program on HiGHS.

A second solver, which shares nothing with the branch and bound; :mod:`bbparse.ilp.program` says
what the program is. Every solve starts cold, as HiGHS has been reported to give wrong
objectives after rows or columns were added; scores are recomputed from the tree itself.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import BBParseError
from bbparse.highs import solve_whole
from bbparse.ilp.program import TreeProgram
from bbparse.problem import Problem, Solution
from bbparse.problem.order import ranked, with_sorted_scores

#: What HiGHS decides by may be wrong by this share of the largest score for each word, and of what
#: all trees score.
TOLERANCE = 1e-12
_ABSOLUTE = 1e-9  # HiGHS's own, in its units


def solve_ilp(
    problem: Problem,
    k_best: int = 1,
    time_limit: float | None = None,
    gap: float = 0.0,
) -> Solution:
    """Find the k best trees of a problem by an integer program: see `bbparse.solve`.

    Each further tree is the best one that differs from all trees before it. Stats: ``tolerance``,
    which ``optimal`` and bounds hold to; ``nodes`` of HiGHS's own search, ``solves``, ``rows``,
    ``columns``, ``seconds``. A BBParseError where highspy is not installed, or HiGHS gives no
    usable answer.
    """
    started = time.perf_counter()
    deadline = math.inf if time_limit is None else started + time_limit
    program = TreeProgram(with_sorted_scores(problem))
    trees: list[NDArray[np.int32]] = []
    bound, status = math.inf, "optimal"
    nodes = solves = 0
    largest = 0.0
    while len(trees) < k_best:
        left = deadline - time.perf_counter()
        if left <= 0.0:
            status = "time_limit"
            break
        answer = _best_tree(program, left, gap)
        solves += 1
        nodes += answer.nodes
        largest = max(largest, answer.largest)
        bound = min(bound, answer.bound)
        if answer.arcs is not None:
            trees.append(answer.arcs)
            program.at_most([(int(a), 1.0) for a in answer.arcs], problem.n_words - 1)
        if not answer.done:
            status = "time_limit"
            break
        if answer.arcs is None:
            break
    stats: dict[str, float | int] = {
        "tolerance": TOLERANCE * (problem.n_words * largest + abs(program.constant)),
        "nodes": nodes,
        "solves": solves,
        "rows": len(program.low),
        "columns": len(program.cost),
        "seconds": time.perf_counter() - started,
    }
    return ranked(problem, trees, [problem.score(arcs) for arcs in trees], bound, status, stats)


@dataclass(slots=True)
class _Answer:
    """Of one solve: a tree or none, a bound on every tree, whether it ran to its end."""

    arcs: NDArray[np.int32] | None
    bound: float
    done: bool
    nodes: int
    largest: float = 0.0  # magnitude of the costs that it was decided by


def _best_tree(program: TreeProgram, time_limit: float, gap: float) -> _Answer:
    """The best tree that the rows allow."""
    if not program.count or program.impossible():
        return _Answer(None, -math.inf, True, 0)
    for presolve in ("choose", "off"):
        answer = _attempt(program, time_limit, gap, presolve)
        if answer is not None:
            return answer
    raise BBParseError("the integer program failed: HiGHS gives no usable answer")


def _attempt(
    program: TreeProgram, time_limit: float, gap: float, presolve: str
) -> _Answer | None:
    """One run of HiGHS; None if its answer does not hold."""
    scale = max(map(abs, program.cost)) or 1.0
    found = solve_whole(program, time_limit, gap, _ABSOLUTE, presolve)
    if found.status == "infeasible":
        return _Answer(None, -math.inf, True, found.nodes)
    if found.status == "failed":
        return None
    done = found.status == "optimal"
    arcs = None if found.values is None else _tree(program.problem, found.values)
    if arcs is None:
        wrong = done and found.values is not None
        return None if wrong else _Answer(None, found.bound, False, found.nodes)
    score = program.problem.score(arcs)
    slack = 1e-6 * scale * program.n + 1e-12 * abs(program.constant)
    # within a gap HiGHS may choose columns that the tree does not pay for: then it scores more
    more = score - found.value
    if done and (more < -slack or (more > slack and gap <= 0.0)):
        return None
    bound = max(found.bound, score)
    if done and (gap <= 0.0 or bound - score <= TOLERANCE * scale * program.n):
        bound = score
    return _Answer(arcs, bound, done, found.nodes, scale)


def _tree(p: Problem, values: NDArray[np.float64]) -> NDArray[np.int32] | None:
    """The arcs that the columns choose, if they are a tree of the problem."""
    chosen = np.flatnonzero(values[: len(p.arc_head)] > 0.5).astype(np.int32)
    mods = p.arc_mod[chosen]
    if not np.array_equal(np.sort(mods), np.arange(1, p.n_words + 1)):
        return None
    arcs = chosen[np.argsort(mods)]
    return arcs if p.is_feasible(arcs) else None

