"""The k best trees of any problem by an integer program, solved by HiGHS.

This second solver shares nothing with branch and bound; `integer_program` describes the program.
Statuses and bounds are those of HiGHS; scores are recomputed from the tree. `find_trees` asks
branch and bound about trees whose scores differ by less than the tolerance could hide.
"""

from __future__ import annotations

import math
import time

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.core.order import ranked, with_sorted_scores
from bbparse.inference.programs.highs import solve_integer
from bbparse.inference.programs.integer_program import TreeProgram
from bbparse.runtime.arrays import Float64s, Ints
from bbparse.runtime.deadline import Deadline
from bbparse.runtime.errors import BBParseError

#: Relative error that the numbers of HiGHS may have: of the largest score for each word, and of the
#: score that all trees share.
TOLERANCE = 1e-12
_ABSOLUTE = 1e-9  # tolerance of HiGHS, in its units


def solve_ilp(
    problem: Problem, k_best: int = 1, time_limit: float | None = None, gap: float = 0.0
) -> Solution:
    """Find the k best trees of a problem by an integer program.

    Each further tree is the best one that differs from all trees before it.
    """
    started = time.perf_counter()
    deadline = Deadline.after(time_limit)
    program = TreeProgram(with_sorted_scores(problem))
    trees: list[Ints] = []
    bound = math.inf
    nodes = solves = 0
    completed = True
    while completed and len(trees) < k_best:
        if deadline.is_over():
            completed = False
            break
        arcs, top, completed, n_nodes = _best_tree(program, deadline.left(), gap)
        solves += 1
        nodes += n_nodes
        bound = min(bound, top)
        if arcs is None:
            break
        trees.append(arcs)
        program.at_most([(int(a), 1.0) for a in arcs], problem.n_words - 1)
    status = "optimal" if completed else "time_limit"
    largest = _largest(program) if trees else 0.0
    stats: dict[str, float | int] = {
        "tolerance": TOLERANCE * (problem.n_words * largest + abs(program.constant)),
        "nodes": nodes,
        "solves": solves,
        "rows": len(program.low),
        "columns": len(program.cost),
        "seconds": time.perf_counter() - started,
    }
    return ranked(problem, trees, [problem.score(arcs) for arcs in trees], bound, status, stats)


#: The tree or None, an upper bound on every tree, True if the solver ran to its end, and its nodes.
_Answer = tuple[Ints | None, float, bool, int]


def _largest(program: TreeProgram) -> float:
    """Return the largest magnitude of the costs; 1 if all are 0."""
    return max(map(abs, program.cost)) or 1.0


def _best_tree(program: TreeProgram, time_limit: float, gap: float) -> _Answer:
    """Return the best tree that the rows allow."""
    if not program.count or program.impossible():
        return None, -math.inf, True, 0
    result = solve_integer(program, time_limit, gap, _ABSOLUTE)
    if result.status == "infeasible":
        return None, -math.inf, True, result.nodes
    completed = result.status == "optimal"
    arcs = None if result.values is None else _tree(program.problem, result.values)
    if result.status == "failed" or (completed and arcs is None):
        raise BBParseError("the integer program failed: HiGHS returned no usable answer")
    if arcs is None:
        return None, result.bound, False, result.nodes
    score = program.problem.score(arcs)
    bound = max(result.bound, score)
    if completed and (gap <= 0.0 or bound - score <= TOLERANCE * _largest(program) * program.n):
        bound = score
    return arcs, bound, completed, result.nodes


def _tree(p: Problem, values: Float64s) -> Ints | None:
    """Return the arcs that the columns choose, or None if they are no tree of the problem."""
    chosen = np.flatnonzero(values[: len(p.arc_head)] > 0.5).astype(np.int32)
    mods = p.arc_mod[chosen]
    if not np.array_equal(np.sort(mods), np.arange(1, p.n_words + 1)):
        return None
    arcs = chosen[np.argsort(mods)]
    return arcs if p.is_feasible(arcs) else None
