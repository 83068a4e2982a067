"""The integer program: against enumeration, at limits, and without HiGHS."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest

from bbparse.errors import BBParseError, ProblemError
from bbparse.ilp import TOLERANCE, solve_ilp
from bbparse.problem import Problem
from bbparse.solving.solve import solve
from tests.oracles.enumerate import Scored, enumerate_trees
from tests.solutions import check_trees, spread
from tests.strategies import random_problem


def check(p: Problem, s: Any, expected: list[Scored], k: int) -> None:
    """The k best scores, to HiGHS's tolerance."""
    check_trees(p, s)
    assert s.status == ("optimal" if expected else "infeasible")
    assert len(s) == min(k, len(expected))
    assert s.proved.all()
    found = [score for score, _ in expected[:k]]
    assert s.scores.tolist() == pytest.approx(found, rel=1e-9, abs=TOLERANCE * spread(p))


def random_case(rng: np.random.Generator) -> None:
    p = random_problem(rng, max_words=6, max_counts=3)
    k = int(rng.choice([1, 1, 2, 5]))
    check(p, solve_ilp(p, k), enumerate_trees(p), k)


def test_random_problems_agree_with_enumeration() -> None:
    rng = np.random.default_rng(61)
    for _ in range(100):
        random_case(rng)


def test_all_trees_where_fewer_exist() -> None:
    p = Problem.from_arc_scores(np.zeros((4, 4)), projective=False, single_root=False)
    expected = enumerate_trees(p)
    s = solve_ilp(p, 100)
    check(p, s, expected, 100)
    assert {tuple(row) for row in s.arcs.tolist()} == {arcs for _, arcs in expected}
    assert s.stats["solves"] == len(expected) + 1


@pytest.mark.parametrize("penalty", [-1e9, -1e3])
def test_a_huge_penalty_does_not_blur_small_differences(penalty: float) -> None:
    rng = np.random.default_rng(62)
    for _ in range(8):
        scores = rng.normal(size=(6, 6)) * 1e-4
        scores[0, 1] = penalty
        p = Problem.from_arc_scores(scores, projective=False)
        p = p.with_factors([([(0, 2), (4, 5)], penalty), ([(2, 3), (2, 4)], 1e-4)])
        expected = [score for score, _ in enumerate_trees(p)[:3]]
        assert solve(p, k_best=3, method="ilp").scores == pytest.approx(expected, rel=1e-6)


def test_a_penalty_that_cannot_be_avoided() -> None:
    scores = np.zeros((4, 4))
    scores[0] = -1e9
    scores[2, 1] = 1.0
    p = Problem.from_arc_scores(scores)
    s = solve_ilp(p)
    assert (s.status, s.scores.tolist()) == ("optimal", [1.0 - 1e9])


def slow_problem() -> Problem:
    """A problem for which HiGHS needs seconds."""
    rng = np.random.default_rng(63)
    p = Problem.from_arc_scores(rng.normal(size=(16, 16)), projective=False)
    arcs = list(zip(p.arc_head.tolist(), p.arc_mod.tolist()))
    pairs = [rng.choice(len(arcs), 2, replace=False) for _ in range(900)]
    return p.with_factors([([arcs[i] for i in pair], float(rng.normal())) for pair in pairs])


def test_at_a_time_limit() -> None:
    p = slow_problem()
    best = solve(p).scores[0]
    for limit in (0.0, 0.3):
        s = solve_ilp(p, 2, time_limit=limit)
        assert s.status == "time_limit"
        check_trees(p, s)
        assert not s.proved.all() or not len(s)
        if len(s):
            assert s.scores[0] <= best + 1e-9 <= s.upper_bounds[0] + 2e-9


def test_a_stated_gap_is_kept() -> None:
    rng = np.random.default_rng(64)
    early = 0
    for _ in range(15):
        p = random_problem(
            rng, min_words=5, max_words=6, max_factors=30, scale="normal", parts=(), labelled=False
        )
        expected = enumerate_trees(p)
        s = solve_ilp(p, 2, gap=0.5)
        check_trees(p, s)
        if s.status == "gap":
            early += 1
            worst, bound = s.scores[-1], s.upper_bounds[-1]
            assert bound >= expected[len(s) - 1][0] - 1e-6
            assert bound - worst <= 0.5 * max(abs(worst), abs(bound)) + 1e-6
        else:
            check(p, s, expected, 2)
    assert early


def test_nothing_to_choose_from() -> None:
    for p in (
        Problem(2, [], [], []),
        Problem(2, [0], [1], [1.0]),
        Problem.from_arc_scores(np.zeros((3, 3))).with_heads({1: 2, 2: 1}),
        Problem.from_arc_scores(np.zeros((3, 3))).with_at_least([(1, 2), (2, 1)], 2),
        Problem.from_arc_scores(np.zeros((3, 3))).with_factors(
            [([(0, 1), (1, 2)], -math.inf), ([(0, 2), (2, 1)], -math.inf)]
        ),
    ):
        s = solve_ilp(p, 2)
        assert (s.status, s.heads.shape, s.arcs.shape) == ("infeasible", (0, 3), (0, 2))


def test_a_gap_that_leaves_columns_which_no_tree_pays_for() -> None:
    """HiGHS may say that a factor of a negative score fires where it does not."""
    p = Problem(
        5, [0, 0, 0, 0, 0, 2, 2, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5],
        [1, 2, 3, 4, 5, 3, 5, 1, 2, 1, 2, 3, 5, 1, 2, 3, 4],
        [0.0] * 8 + [2.0] + [0.0] * 6 + [0.3, 0.0], projective=False, single_root=False,
        ogc_grand=[5, 3, 4], ogc_head=[1, 4, 5], ogc_mod=[4, 5, 2], ogc_score=[0.0, 0.0, -1.0],
        factor_ptr=[0, 3, 6, 10], factor_arcs=[11, 10, 9, 8, 6, 13, 0, 1, 2, 4],
        factor_score=[0.3, 0.2, -0.2], count_ptr=[0, 2], count_arcs=[6, 5],
        count_score=[-np.inf, -0.59, 0.0],
    )  # fmt: skip
    best = solve(p).scores[0]
    for gap in (0.0, 0.1, 1.0, 10.0):
        s = solve_ilp(p, gap=gap)
        assert s.upper_bounds[0] >= best - 1e-9 >= s.scores[0] - 1e-8
        assert s.scores[0] == p.score(s.arcs[0])


def test_without_highspy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    p = Problem.from_arc_scores(np.zeros((3, 3)))
    with pytest.raises(BBParseError, match=r"not installed: pip install 'bbparse\[ilp\]'"):
        solve(p, method="ilp")
    assert solve(p).status == "optimal"


def test_options_it_does_not_have() -> None:
    p = Problem.from_arc_scores(np.zeros((3, 3)))
    with pytest.raises(ProblemError, match="node_limit is 3: method 'ilp' takes none"):
        solve(p, method="ilp", node_limit=3)
    with pytest.raises(ProblemError, match="backbone is 'first': method 'ilp' takes none"):
        solve(p, method="ilp", backbone="first")
