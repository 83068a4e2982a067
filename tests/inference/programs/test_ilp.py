"""The integer program: trees, limits, no HiGHS; answers: see tests/fuzz."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.inference import methods
from bbparse.inference.programs.ilp import solve_ilp
from bbparse.inference.solve import solve
from bbparse.runtime.errors import BBParseError, ProblemError
from tests.oracles.enumerate import enumerate_trees
from tests.solutions import check_trees


def test_a_penalty_that_cannot_be_avoided() -> None:
    scores = np.zeros((4, 4))
    scores[:, 0] = -1e9
    scores[1, 2] = 1.0
    p = Problem.from_arc_scores(scores)
    s = solve_ilp(p)
    assert (s.status, s.scores.tolist()) == ("optimal", [1.0 - 1e9])


def slow_problem() -> Problem:
    """A problem for which HiGHS needs seconds."""
    rng = np.random.default_rng(63)
    p = Problem.from_arc_scores(rng.normal(size=(16, 16)).T, projective=False)
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


@pytest.mark.parametrize(
    ("installed", "advice"),
    [
        (None, r"not installed: pip install '\.\[ilp\]' in the checkout"),
        (SimpleNamespace(Highs=object), "1.10 or later, and an older one is installed: pip"),
        (
            SimpleNamespace(Highs=SimpleNamespace(getDualRay=None), HIGHS_VERSION_MINOR=14),
            r"HiGHS 1.14 is installed, whose presolve loses optimal solutions, expected 1.10",
        ),
    ],
)
def test_without_highspy_or_with_an_unusable_one(
    monkeypatch: pytest.MonkeyPatch, installed: Any, advice: str
) -> None:
    monkeypatch.setitem(sys.modules, "highspy", installed)
    p = Problem.from_arc_scores(np.zeros((3, 3)))
    with pytest.raises(BBParseError, match=advice):
        solve(p, method="ilp")
    assert solve(p).status == "optimal"


def test_options_it_does_not_have() -> None:
    p = Problem.from_arc_scores(np.zeros((3, 3)))
    with pytest.raises(ProblemError, match="node_limit is 3: not an option of method 'ilp'"):
        solve(p, method="ilp", node_limit=3)
    with pytest.raises(ProblemError, match="backbone is 'first': not an option of method 'ilp'"):
        solve(p, method="ilp", backbone="first")


@pytest.mark.parametrize("method", ["ilp", "price-and-cut"])
def test_scores_of_many_magnitudes_take_one_program(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a tolerance could hide is not for HiGHS, which would list 33 trees."""
    asked: list[int] = []

    def noted(solver: Any) -> Any:
        def run(problem: Problem, k: int, *rest: Any) -> Any:
            asked.append(k)
            return solver(problem, k, *rest)

        return run

    for name in ("solve_ilp", "price_and_cut"):
        monkeypatch.setattr(methods, name, noted(getattr(methods, name)))
    doubts = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=(6, 6)) * 10.0 ** rng.uniform(-6, 6, size=(6, 6))
        p = Problem.from_arc_scores(scores).with_factors([([(0, 1), (1, 2)], 1e-4)])
        found = solve(p, method=method)
        best = max(enumerate_trees(p))[0]
        assert (found.status, found.scores[0]) == ("optimal", pytest.approx(best, rel=1e-12))
        doubts += found.stats.get("searches", 1) > 1
    assert asked == [1] * 8 and (doubts or method != "ilp")
