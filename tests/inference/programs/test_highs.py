"""Linear programs that grow, and bounds from any duals."""

from __future__ import annotations

import numpy as np
import pytest

from bbparse.inference.programs.highs import Linear, Program, dual_bound


def random_program(rng: np.random.Generator, columns: int, rows: int) -> Program:
    """Rows that 0 keeps."""
    program = Program()
    for _ in range(columns):
        program.column(float(rng.normal()), 1.0)
    for _ in range(rows):
        add_row(rng, program)
    return program


def add_row(rng: np.random.Generator, program: Program) -> None:
    chosen = np.flatnonzero(rng.random(len(program.cost)) < 0.5)
    terms = [(int(c), float(rng.integers(-2, 3))) for c in chosen]
    kind, limit = rng.integers(3), float(rng.integers(3))
    if kind == 0:
        program.at_most(terms, limit)
    elif kind == 1:
        program.at_least(terms, -limit)
    else:
        program.equal(terms, 0.0)


def bounds(program: Program) -> tuple[np.ndarray, np.ndarray]:
    return np.array(program.lower), np.array(program.upper)


def test_growing_gives_what_a_fresh_start_gives() -> None:
    rng = np.random.default_rng(191)
    for _ in range(20):
        program = random_program(rng, 6, 4)
        linear = Linear(program)
        for _ in range(4):
            answer = linear.solve(*bounds(program))
            fresh = Linear(program).solve(*bounds(program))
            assert answer.status == fresh.status == "optimal"
            assert answer.bound == pytest.approx(fresh.bound, abs=1e-7)
            assert answer.bound == pytest.approx(np.array(program.cost) @ answer.x, abs=1e-7)
            rows = rng.choice(len(program.low), 2, replace=False).tolist()
            program.column(float(rng.normal()), 1.0, rows=rows)
            program.cost[0] += 0.5
            add_row(rng, program)


def test_no_point_exceeds_the_bound_of_any_duals() -> None:
    rng = np.random.default_rng(192)
    for _ in range(50):
        program = random_program(rng, 5, 4)
        lower, upper = bounds(program)
        best = Linear(program).solve(lower, upper).bound
        bound, dual, reduced = dual_bound(
            program, np.array(program.cost), lower, upper, rng.normal(size=4)
        )
        assert bound >= best - 1e-9
        assert (dual[np.isinf(program.high)] <= 0.0).all()
        assert (dual[np.isinf(program.low)] >= 0.0).all()
        assert len(reduced) == 5
