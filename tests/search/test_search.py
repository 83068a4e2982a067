"""Branch and bound: what it does the same each time, and how it ends; answers: see tests/fuzz."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from bbparse.errors import ProblemError
from bbparse.problem import Problem
from bbparse.search.settings import DEFAULT
from bbparse.solving.solve import solve
from tests import strategies
from tests.search.helpers import SETTINGS, WEAK
from tests.solutions import all_but_time
from tests.strategies import shuffled_factors

random_problem = partial(strategies.random_problem, max_counts=4, max_words=6)
both = pytest.mark.parametrize("projective", [True, False])


@both
def test_two_runs_do_the_same_in_any_order_of_factors(projective: bool) -> None:
    """Down to the order of ties and every number that is counted."""
    rng = np.random.default_rng(53)
    for _ in range(60):
        scale = str(rng.choice(["ties", "halves", "zero", "normal"]))
        p = random_problem(rng, projective=projective, scale=scale, max_factors=20)
        for settings in (DEFAULT, SETTINGS["levels"]):
            for limit in (None, 3):
                one, two = (
                    solve(p, k_best=5, settings=settings, node_limit=limit) for _ in range(2)
                )
                assert all_but_time(one) == all_but_time(two)
        other = solve(shuffled_factors(rng, p), k_best=5)
        assert solve(p, k_best=5).arcs.tolist() == other.arcs.tolist()


@both
@pytest.mark.parametrize("order", ["best-first", "level"])
def test_more_nodes_never_loosen_the_bound_or_lose_the_best_tree(
    order: str, projective: bool
) -> None:
    rng = np.random.default_rng(55)
    shrunk = 0
    for _ in range(30):
        p = random_problem(rng, projective=projective, min_words=4, max_factors=40, scale="halves")
        bounds, scores = [], []
        for limit in range(1, 27, 4):
            s = solve(p, settings=WEAK.with_(order=order), node_limit=limit, explain=False)
            bounds.append(float(s.stats.get("upper_bound", -math.inf)))
            scores.append(float(s.scores[0]) if len(s) else -math.inf)
        assert all(b <= a + 1e-9 for a, b in pairwise(bounds))
        assert all(a <= b for a, b in pairwise(scores))
        shrunk += bounds[-1] < bounds[0]
    assert shrunk > 2


@both
@pytest.mark.parametrize("gap", [1e-3, 0.1, 0.5, 2.0])
def test_a_gap_ends_the_search_early(gap: float, projective: bool) -> None:
    rng = np.random.default_rng(56)
    early = 0
    for _ in range(100):
        p = random_problem(
            rng, projective=projective, scale="normal", min_words=4, max_factors=30
        )
        s = solve(p, gap=gap, k_best=2, settings=WEAK)
        if s.status == "gap":
            early += 1
            assert s.stats["nodes"] <= solve(p, k_best=2, settings=WEAK).stats["nodes"]
    assert early or gap < 0.01


@both
@pytest.mark.parametrize("factor", [[], [([(1, 2), (2, 3)], -math.inf)]])
def test_trees_that_all_score_zero_are_not_searched_one_by_one(
    factor: list[Any], projective: bool
) -> None:
    scores = np.zeros((13, 13) if projective else (21, 21))
    p = Problem.from_arc_scores(scores, projective=projective).with_factors(factor)
    s = solve(p, k_best=3, node_limit=1000)
    assert (s.status, s.scores.tolist()) == ("optimal", [0.0, 0.0, 0.0])


def test_crossing_arcs_are_found() -> None:
    scores = np.full((5, 5), -5.0)
    for head, mod in ((0, 2), (2, 4), (4, 1), (1, 3)):
        scores[head, mod] = 1.0
    p = Problem.from_arc_scores(scores, projective=False)
    for s in (solve(p), solve(p, backbone="grandsib")):
        assert s.heads.tolist() == [[-1, 4, 0, 1, 2]]


@both
def test_constraints_that_leave_no_tree(projective: bool) -> None:
    p = Problem.from_arc_scores(np.zeros((4, 4)), projective=projective)
    pairs = [((0, m), (m, x)) for m in (1, 2, 3) for x in (1, 2, 3) if m != x]
    for q in (
        p.with_heads({1: 2, 2: 1}),
        p.with_heads({1: 0, 2: 0}),
        p.without_arcs([(0, 1), (0, 2), (0, 3)]),
        p.with_heads({1: 0, 2: 1}).with_factors([([(0, 1), (1, 2)], -math.inf)]),
        p.with_factors([(arcs, -math.inf) for arcs in pairs]),
    ):
        s = solve(q, k_best=3)
        assert (s.status, len(s), s.heads.shape) == ("infeasible", 0, (0, 4))
        assert s.upper_bound == -math.inf


def test_what_is_counted() -> None:
    rng = np.random.default_rng(119)
    for _ in range(30):
        p = random_problem(rng, projective=True, max_factors=30, scale="halves", labelled=False)
        stats = solve(p, k_best=2, explain=False).stats
        if len(stats) < 3 or not stats["edges"]:  # some word has no arc; over a matrix
            continue
        assert stats["nodes"] >= 1
        assert (stats["nodes"] == 1) == bool(stats["closed_at_root"])
        # A pass over a chart that elimination made smaller is less work than a full one.
        assert 0 <= stats["dp_work"] <= 40 * max(1, stats["dp_calls"])


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
    ("options", "message"),
    [
        ({"k_best": 0}, "k_best is 0, expected at least 1"),
        ({"backbone": "third"}, "unknown backbone 'third'"),
        ({"backbone": "first"}, "the first backbone cannot score parts of kind sib"),
    ],
)
def test_impossible_requests(options: dict[str, Any], message: str) -> None:
    p = Problem(1, [0], [1], [0], sib_head=[0], sib_inner=[-1], sib_outer=[1], sib_score=[1.0])
    with pytest.raises(ProblemError, match=message):
        solve(p, **options)
