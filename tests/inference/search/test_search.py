"""The search: settings, limits, and how it scales."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.inference.search.search import SearchLimits
from bbparse.inference.search.settings import DEFAULT, SearchSettings
from bbparse.inference.solve import solve
from bbparse.runtime.errors import ConfigError, ProblemError
from tests import strategies
from tests.inference.search.helpers import SETTINGS, WEAK
from tests.solutions import all_but_time
from tests.strategies import random_problem, shuffled_factors

drawn_problem = partial(strategies.random_problem, max_counts=4, max_words=6)
both = pytest.mark.parametrize("projective", [True, False])


@both
def test_two_runs_do_the_same_in_any_order_of_factors(projective: bool) -> None:
    """Down to the order of ties and every number that is counted."""
    rng = np.random.default_rng(53)
    for _ in range(60):
        scale = str(rng.choice(["ties", "halves", "zero", "normal"]))
        p = drawn_problem(rng, projective=projective, scale=scale, max_factors=20)
        for settings in (DEFAULT, SETTINGS["few subgradients"]):
            for limit in (None, 3):
                one, two = (
                    solve(p, k_best=5, settings=settings, node_limit=limit) for _ in range(2)
                )
                assert all_but_time(one) == all_but_time(two)
        other = solve(shuffled_factors(rng, p), k_best=5)
        assert solve(p, k_best=5).arcs.tolist() == other.arcs.tolist()


@both
def test_more_nodes_never_loosen_the_bound_or_lose_the_best_tree(projective: bool) -> None:
    rng = np.random.default_rng(55)
    shrunk = 0
    for _ in range(30):
        p = drawn_problem(rng, projective=projective, min_words=4, max_factors=40, scale="halves")
        bounds, scores = [], []
        for limit in range(1, 27, 4):
            s = solve(p, settings=WEAK, node_limit=limit, explain=False)
            bounds.append(float(s.stats.get("upper_bound", -math.inf)))
            scores.append(float(s.scores[0]) if len(s) else -math.inf)
        assert all(b <= a + 1e-9 for a, b in pairwise(bounds))
        assert all(b >= max(scores) - 1e-9 for b in bounds)
        assert all(a <= b for a, b in pairwise(scores))
        shrunk += bounds[-1] < bounds[0]
    assert shrunk > 2


def test_a_gap_is_relative_to_the_larger_of_bound_and_score() -> None:
    limits = SearchLimits(gap=0.5)
    for bound, score, is_tight in (
        (2.0, 1.0, True),
        (2.1, 1.0, False),
        (-1.0, -2.0, True),
        (-1.0, -2.1, False),
        (1.0, -math.inf, False),
    ):
        assert limits.is_tight(bound, score) is is_tight


@both
@pytest.mark.parametrize("factor", [[], [([(1, 2), (2, 3)], -math.inf)]])
def test_trees_that_all_score_zero_are_not_searched_one_by_one(
    factor: list[Any], projective: bool
) -> None:
    scores = np.zeros((13, 13) if projective else (21, 21))
    p = Problem.from_arc_scores(scores, projective=projective).with_factors(factor)
    s = solve(p, k_best=3, node_limit=1000)
    assert (s.status, s.scores.tolist()) == ("optimal", [0.0, 0.0, 0.0])


def test_the_smallest_and_the_largest_requests() -> None:
    s = solve(Problem(1, [0], [1], [-3.5]), k_best=2)
    assert (s.status, s.heads.tolist(), s.scores.tolist()) == ("optimal", [[-1, 0]], [-3.5])
    assert s.upper_bound == s.upper_bounds[0] == s.scores[0]
    two = solve(Problem.from_arc_scores(np.zeros((3, 3))), k_best=10**30)
    assert len(two) == 2 and two.status == "optimal"
    for n, most in ((30, 666666), (100, 200000)):
        with pytest.raises(ProblemError, match=f"expected at most {most} for {n} words"):
            solve(Problem.from_arc_scores(np.zeros((n + 1, n + 1))), k_best=1_000_000)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("third", "unknown backbone 'third'"),
        ("first", "the first backbone cannot score parts of kind sib"),
    ],
)
def test_impossible_backbones(name: str, message: str) -> None:
    p = Problem(1, [0], [1], [0], sib_head=[0], sib_inner=[-1], sib_outer=[1], sib_score=[1.0])
    with pytest.raises(ProblemError, match=message):
        solve(p, backbone=name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"root_calls": 0}, r"search\.root_calls is 0, expected at least 1"),
        ({"eliminate_every": True}, r"search\.eliminate_every is True, expected an integer"),
    ],
)
def test_impossible_values_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SearchSettings(**change)
    with pytest.raises(ConfigError, match=message):
        replace(DEFAULT, **change)


@pytest.mark.parametrize(
    ("name", "projective", "most"),
    [
        ("default", True, 913),
        ("default", False, 12918),
        ("subgradient only", True, 18145),
        ("branching only", True, 1417),
    ],
)
def test_searches_stay_short(name: str, projective: bool, most: int) -> None:
    """Steps, bounds or eliminations that are worse make searches longer, and no answer wrong."""
    rng, calls = np.random.default_rng(12), 0.0
    for _ in range(80):
        p = random_problem(
            rng,
            min_words=5,
            max_words=7,
            projective=projective,
            labelled=False,
            scale="normal",
            max_factors=40,
            max_counts=2,
            states=False,
        )
        s = solve(p, k_best=2, settings=SETTINGS[name], explain=False)
        calls += s.stats.get("dp_calls", 0) + s.stats.get("nodes", 0)
    assert calls <= 1.1 * most


def test_listing_counts_as_work() -> None:
    p = Problem.from_arc_scores(np.random.default_rng(8).normal(size=(13, 13)))
    s = solve(p, k_best=5000)
    assert s.status == "optimal" and s.stats["dp_work"] * s.stats["edges"] > 5000 * p.n_words


def test_limits_are_kept_in_their_units_and_leave_a_bound() -> None:
    rng = np.random.default_rng(5)
    p = drawn_problem(rng, projective=True, min_words=6, max_factors=60, scale="normal")
    whole = solve(p, k_best=50, settings=WEAK)
    calls = whole.stats["dp_work"]
    assert whole.status == "optimal" and calls > 20
    # in positions of the oracle
    found = solve(p, k_best=50, settings=WEAK, work_limit=0.5 * calls * whole.stats["edges"])
    assert found.status == "work_limit" and found.stats["dp_work"] < calls
    for limit in range(1, int(whole.stats["nodes"])):
        found = solve(p, k_best=50, settings=WEAK, node_limit=limit)
        assert (found.status, found.stats["nodes"]) == ("node_limit", limit)
        assert (found.upper_bounds >= whole.scores[: len(found)] - 1e-9).all()


def test_a_list_that_time_cuts_off_is_not_complete() -> None:
    scores = np.random.default_rng(5).normal(size=(15, 15))
    found = solve(Problem.from_arc_scores(scores), k_best=5000, time_limit=1e-9)
    assert found.status == "time_limit" and 0 < len(found) < 5000
    assert not found.proved[-1] or found.upper_bounds[-1] == found.scores[-1]
