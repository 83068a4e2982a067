"""Batches of problems, and deadlines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bbparse
from bbparse.core import Problem
from bbparse.inference.solve import solve, solve_batch
from bbparse.inference.trees import METHODS
from bbparse.runtime.clock import is_over, now
from bbparse.runtime.deadline import NO_DEADLINE, Deadline, clock
from bbparse.runtime.errors import BBParseError, ProblemError
from bbparse.runtime.jit import kernel
from tests.inference.search.helpers import SETTINGS, WEAK
from tests.permuted import permuted
from tests.solutions import all_but_time
from tests.strategies import random_problem


def some_problems(count: int, **options: Any) -> list[Problem]:
    rng = np.random.default_rng(71)
    return [random_problem(rng, max_words=6, max_counts=2, **options) for _ in range(count)]


def test_batches_do_not_depend_on_threads() -> None:
    problems = some_problems(60)
    alone = [all_but_time(solve(p, k_best=3)) for p in problems]
    for threads in (1, 2, 7):
        assert [all_but_time(s) for s in solve_batch(problems, threads=threads, k_best=3)] == alone
    assert [all_but_time(s) for s in bbparse.solve_batch(iter(problems), k_best=3)] == alone
    assert solve_batch([], threads=2) == []


def problems_of_many_kinds() -> list[Problem]:
    """Sorted and not, with labels and without, out of proportion, over matrices, with no tree."""
    rng = np.random.default_rng(72)
    problems = []
    for i in range(40):
        p = random_problem(rng, max_words=6, max_factors=40, max_counts=2 * (i % 2))
        problems += [p, permuted(rng, p)[0]]
    for i in range(24):
        scores = rng.normal(size=2 * [int(rng.integers(2, 14))])
        scores[rng.random(scores.shape) < 0.2 * (i % 3)] = -np.inf
        if i % 4 == 0:
            scores[1:, -1] += np.array([-1e14, 1e12, 0.0])[rng.integers(3, size=len(scores) - 1)]
        p = Problem.from_arc_scores(scores.T, projective=i % 5 > 1, single_root=i % 2 > 0)
        a = int(rng.integers(len(p.arc_head)))
        fixed = {int(p.arc_mod[a]): int(p.arc_head[a])}
        problems += [p, p.with_heads(fixed), p.without_arcs([(h, m) for m, h in fixed.items()])]
    return problems


@pytest.mark.parametrize(
    "options",
    [
        {}, {"k_best": 3}, {"settings": WEAK}, {"settings": SETTINGS["lower start"], "k_best": 2},
        {"work_limit": 200.0, "settings": WEAK}, {"backbone": "grandsib"}, {"gap": 0.1},
        {"node_limit": 2, "settings": WEAK}, {"time_limit": 1e9},
    ],
)  # fmt: skip
def test_together_as_alone(options: dict[str, Any]) -> None:
    problems = problems_of_many_kinds()
    alone = [solve(p, explain=False, **options) for p in problems]
    together = solve_batch(problems, explain=False, **options)
    assert [all_but_time(s) for s in together] == [all_but_time(s) for s in alone]
    for one, other in zip(together, alone):
        assert (one.labels is None) == (other.labels is None)
        assert one.labels is None or (one.labels == other.labels).all()
        assert 0.0 <= one.stats["seconds"] < 1e6
    if options.get("settings"):
        assert sum(s.stats.get("closed_at_root", 1) == 0 for s in alone) > 5


def test_a_time_limit_is_each_problems_own() -> None:
    rng = np.random.default_rng(73)
    problems = [Problem.from_arc_scores(rng.normal(size=(9, 9)), projective=False)] * 50
    assert {s.status for s in solve_batch(problems, k_best=3, time_limit=5.0)} == {"optimal"}
    cut = solve_batch(problems, k_best=500, time_limit=0.0)
    assert {s.status for s in cut} == {"time_limit"} and all(len(s) for s in cut)


def test_reasons_are_found_in_a_problems_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(75)
    long = Problem.from_arc_scores(rng.normal(size=(40, 40)), projective=False)
    none = Problem(2, [0, 0], [1, 2], [0.0, 0.0])
    left = []
    monkeypatch.setattr(
        "bbparse.inference.solve.explain_infeasible",
        lambda problem, time_limit: left.append(time_limit) or ["none"],
    )
    *others, last = solve_batch([*[long] * 30, none], k_best=30, time_limit=1e4)
    spent = sum(s.stats["seconds"] for s in others)
    assert last.conflict == ("none",) and 1e4 - spent / 2 < left[0] <= 1e4


def test_an_infeasible_problem_has_labels_too() -> None:
    p = Problem(2, [0, 0], [1, 2], [0.0, 0.0], arc_label=[3, 4])
    for s in (solve(p), solve(p, explain=False), *solve_batch([p, p])):
        assert s.status == "infeasible" and s.labels is not None and s.labels.shape == (0, 2)


def test_the_integer_program_in_threads() -> None:
    problems = some_problems(12)
    alone = [all_but_time(solve(p, method="ilp")) for p in problems]
    assert [all_but_time(s) for s in solve_batch(problems, threads=2, method="ilp")] == alone


@pytest.mark.parametrize("threads", [1, 2])
def test_a_bad_problem_in_a_batch_is_named(threads: int) -> None:
    problems: list[Any] = [*some_problems(3), "text", *some_problems(3), None]
    with pytest.raises(ProblemError, match=r"problems\[3\]: problem is of type str, expected a"):
        solve_batch(problems, threads=threads)


def test_methods_agree() -> None:
    for p in some_problems(25, scale="halves"):
        by_method = {m: solve(p, k_best=2, method=m) for m in METHODS}
        assert all_but_time(by_method["auto"]) == all_but_time(by_method["bb"])
        assert by_method["ilp"].status == by_method["bb"].status
        assert by_method["ilp"].scores.tolist() == by_method["bb"].scores.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k_best": 0}, "k_best is 0, expected at least 1"),
        ({"k_best": 1.0}, "k_best is 1.0, expected a whole number"),
        ({"k_best": True}, "k_best is True, expected a whole number"),
        ({"time_limit": -1}, "time_limit is -1, expected at least 0"),
        ({"time_limit": float("nan")}, "time_limit is nan, expected at least 0"),
        ({"time_limit": "1"}, "time_limit is '1', expected a number"),
        ({"work_limit": 10**400}, "work_limit is 10+, expected at most 1.79769e[+]308, or inf$"),
        ({"node_limit": 0}, "node_limit is 0, expected at least 1"),
        ({"gap": -0.1}, "gap is -0.1, expected at least 0"),
        ({"gap": None}, "gap is None, expected a number"),
        ({"method": "best"}, "unknown method 'best': one of auto, bb, ilp"),
        ({"method": None}, "unknown method None"),
        ({"settings": {}}, "settings is of type dict, expected SearchSettings"),
        ({"threads": 0}, "threads is 0, expected at least 1"),
        ({"threads": None}, "threads is None, expected a whole number"),
    ],
)
def test_impossible_arguments(options: dict[str, Any], message: str) -> None:
    p = Problem(1, [0], [1], [0.5])
    with pytest.raises(ProblemError, match=message):
        solve_batch([p], **options)


def test_arguments_that_are_numbers_of_numpy() -> None:
    p = Problem(1, [0], [1], [0.5])
    s = solve(p, k_best=np.int64(2), time_limit=np.float32(5), gap=np.float64(0))
    assert (s.status, len(s)) == ("optimal", 1)
    assert issubclass(ProblemError, BBParseError)


@kernel
def turns_until(until: float) -> int:
    """Turns of a loop that ends at a moment."""
    count = 0
    while not is_over(until):
        count += 1
    return count


def test_kernels_read_the_clock_of_deadlines() -> None:
    turns_until(0.0)
    before = clock()
    inside = now()
    assert before <= inside <= clock()
    end = clock() + 0.05
    assert turns_until(end) > 0 and end <= clock() < end + 20.0
    assert not is_over(math.inf) and is_over(-math.inf)


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
