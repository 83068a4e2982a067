"""CP-SAT (OR-tools) in two ways, on one worker.

``solve``: a Boolean for each arc; exactly one head a word and one root; a whole number for the
depth of each word, larger than its head's (so that there is no cycle); at most one of two arcs that
cross; on each side of each head a path of Booleans through its modifiers, for adjacent siblings;
a Boolean for each grand-sibling and factor, tied to those it is the product of.

``solve_derivations``: the rows and columns of `programs.integer_program`, all columns Boolean.

Scores are whole numbers: multiples of the problem's quantum, or of a millionth of the largest.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from rivals.common import Answer, Unsupported, crossing

from bbparse.core import Problem
from bbparse.inference.programs.integer_program import TreeProgram


def solve(problem: Problem, time_limit: float) -> Answer:
    """With depths and crossing arcs."""
    if problem.arc_label is not None or not problem.projective:
        raise Unsupported("labels and non-projective trees are not encoded")
    started = time.perf_counter()
    program = TreeProgram(problem.changed(projective=False), connected=False)
    model, columns = _model(problem, program)
    depth = [model.new_int_var(0, problem.n_words, f"d{m}") for m in range(problem.n_words + 1)]
    for a in range(program.count):
        h, m = program.head[a], program.mod[a]
        model.add(depth[m] > depth[h]).only_enforce_if(columns[a])
    for a, b in crossing(problem):
        model.add_bool_or([columns[a].negated(), columns[b].negated()])
    return _run(problem, model, columns, time_limit, started)


def solve_derivations(problem: Problem, time_limit: float) -> Answer:
    """With derivations."""
    started = time.perf_counter()
    program = TreeProgram(problem)
    model, columns = _model(problem, program)
    return _run(problem, model, columns, time_limit, started)


def _model(problem: Problem, program: TreeProgram) -> tuple[Any, list[Any]]:
    """The program with Boolean columns."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    columns = []
    for j, (low, high) in enumerate(zip(program.lower, program.upper)):
        columns.append(model.new_bool_var(f"z{j}"))
        if low == 1.0:
            model.add(columns[j] == 1)
        elif high == 0.0:
            model.add(columns[j] == 0)
    rows: list[tuple[list[Any], list[int]]] = [([], []) for _ in program.low]
    for row, j, weight in zip(*program.entries()):
        rows[row][0].append(columns[j])
        rows[row][1].append(round(weight))
    for (names, weights), low, high in zip(rows, program.low, program.high):
        if low == high == 1.0 and set(weights) == {1}:
            model.add_exactly_one(names)
        elif low == -math.inf and high == 1.0 and set(weights) == {1}:
            model.add_at_most_one(names)
        else:
            total = cp_model.LinearExpr.weighted_sum(names, weights)
            if low == high:
                model.add(total == round(low))
            elif low > -math.inf:
                model.add(total >= round(low))
            else:
                model.add(total <= round(high))
    cost = np.array(program.cost)
    unit = problem.quantum or float(np.abs(cost).max(initial=0.0)) * 1e-6 or 1.0
    scores = np.rint(cost / unit).astype(int).tolist()
    used = [j for j, s in enumerate(scores) if s]
    model.maximize(
        cp_model.LinearExpr.weighted_sum([columns[j] for j in used], [scores[j] for j in used])
    )
    return model, columns


def _run(
    problem: Problem, model: Any, columns: list[Any], time_limit: float, started: float
) -> Answer:
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = time_limit
    building = time.perf_counter() - started
    started = time.perf_counter()
    status = solver.solve(model)
    seconds = time.perf_counter() - started
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Answer(None, status == cp_model.INFEASIBLE, seconds, building)
    arcs = np.empty(problem.n_words, np.int32)
    for a in range(len(problem.arc_mod)):
        if solver.boolean_value(columns[a]):
            arcs[problem.arc_mod[a] - 1] = a
    return Answer(arcs, status == cp_model.OPTIMAL, seconds, building)
