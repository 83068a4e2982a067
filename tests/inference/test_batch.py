"""Batches of problems, and deadlines."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.inference.solve import solve, solve_batch
from bbparse.runtime.deadline import NO_DEADLINE, Deadline
from bbparse.runtime.errors import ProblemError


def test_an_infeasible_problem_has_labels_too() -> None:
    p = Problem(2, [0, 0], [1, 2], [0.0, 0.0], arc_label=[3, 4])
    for s in (solve(p), solve(p, explain=False), *solve_batch([p, p])):
        assert s.status == "infeasible" and s.labels is not None and s.labels.shape == (0, 2)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_bad_problem_in_a_batch_is_named(threads: int) -> None:
    good = Problem(1, [0], [1], [0.5])
    problems: list[Any] = [good, good, good, "text", good, None]
    with pytest.raises(ProblemError, match=r"problems\[3\]: problem is of type str, expected a"):
        solve_batch(problems, threads=threads)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k_best": 0}, "k_best is 0, expected at least 1"),
        ({"k_best": True}, "k_best is True, expected an integer"),
        ({"time_limit": -1}, "time_limit is -1, expected at least 0"),
        ({"time_limit": 10**400}, "time_limit is 10000000000000000000…, expected at most 1e"),
        ({"node_limit": 10**400}, "node_limit is 10000000000000000000…, expected at most 1e"),
        ({"node_limit": 0}, "node_limit is 0, expected at least 1"),
        ({"gap": -0.1}, "gap is -0.1, expected at least 0"),
        ({"method": "best"}, "unknown method 'best': one of auto, bb, ilp"),
        ({"settings": {}}, "settings is of type dict, expected SearchSettings"),
        ({"threads": 0}, "threads is 0, expected at least 1"),
    ],
)
def test_impossible_arguments(options: dict[str, Any], message: str) -> None:
    p = Problem(1, [0], [1], [0.5])
    with pytest.raises(ProblemError, match=message):
        solve_batch([p], **options)


def test_deadlines() -> None:
    assert Deadline.after(None) is NO_DEADLINE and not NO_DEADLINE.is_over()
    assert NO_DEADLINE.left() == math.inf and NO_DEADLINE.limit() is None
    over = Deadline.after(0.0)
    assert over.is_over() and over.left() == over.limit() == 0.0
    later = Deadline.after(600.0)
    assert not later.is_over() and 500.0 < later.left() <= 600.0
    assert later.within(None) is later and later.within(0.0).is_over()
    assert over.within(600.0).at == over.at
    assert list(over.through("abc")) == ["a"] and list(later.through("abc")) == ["a", "b", "c"]
    assert not list(over.through(""))


def test_a_dense_matrix_keeps_its_deadline() -> None:
    """One run of the dynamic program over a large matrix takes long, and ends at the limit."""
    problems = [
        Problem.from_arc_scores(np.random.default_rng(i).normal(size=(400, 400))) for i in (0, 1)
    ]
    for found in (solve(problems[0], time_limit=0.0), *solve_batch(problems, time_limit=0.0)):
        assert (found.status, len(found)) == ("time_limit", 0)
    assert solve(problems[0]).status == "optimal"


def test_a_large_arborescence_keeps_its_deadline() -> None:
    """Alone, and as the oracle of a search; of few arcs there is a tree at any time."""
    scores = np.random.default_rng(4).normal(size=(521, 521))
    for size in (521, 31):
        p = Problem.from_arc_scores(scores[:size, :size], projective=False)
        searched = dataclasses.replace(
            p, factor_ptr=[0, 2], factor_arcs=[0, size], factor_score=[1.0]
        )
        for found in (solve(p, time_limit=0.0), solve(searched, time_limit=0.0)):
            if size > 31:
                assert (found.status, len(found)) == ("time_limit", 0)
                assert found.upper_bound == math.inf
            else:
                assert len(found) == 1


def test_a_large_chart_keeps_its_deadline_and_the_memory() -> None:
    """Of a small one there is a tree at any time."""
    scores = np.random.default_rng(3).normal(size=(701, 701))
    late = solve(Problem.from_arc_scores(scores[:251, :251]), k_best=2, time_limit=0.0)
    assert (late.status, len(late)) == ("time_limit", 0)
    assert len(solve(Problem.from_arc_scores(scores[:31, :31]), k_best=2, time_limit=0.0))
    for p in (
        Problem.from_arc_scores(scores),
        dataclasses.replace(
            Problem.from_arc_scores(scores[:201, :201], projective=False),
            gsib_grand=[0],
            gsib_head=[1],
            gsib_inner=[2],
            gsib_outer=[3],
            gsib_score=[1.0],
        ),
    ):
        with pytest.raises(ProblemError, match=f"{p.n_words} words with .* prune arcs"):
            solve(p, k_best=2)
