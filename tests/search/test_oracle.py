"""Branch and bound against the oracles: every setting, limits, gaps and proportions of scores."""

from __future__ import annotations

import math
import time
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
from tests.oracles.enumerate import enumerate_trees
from tests.oracles.ilp import Undecided, best_trees
from tests.search.helpers import SETTINGS, WEAK
from tests.solutions import all_but_time, check_optimal, check_trees, spread
from tests.strategies import PARTS, shuffled_factors

random_problem = partial(strategies.random_problem, max_counts=4, max_words=6)
both = pytest.mark.parametrize("projective", [True, False])


@both
@pytest.mark.parametrize("name", SETTINGS)
def test_random_problems_agree_with_enumeration(name: str, projective: bool) -> None:
    rng = np.random.default_rng(21)
    branched = 0
    for _ in range(100):
        p = random_problem(
            rng, projective=projective, max_factors=int(rng.choice([0, 5, 12, 40]))
        )
        k, expected = int(rng.choice([1, 1, 2, 3, 10, 400])), enumerate_trees(p)
        s = solve(p, k_best=k, settings=SETTINGS[name])
        check_optimal(p, s, expected, k)
        if p.quantum:  # such sums have no rounding error
            assert s.scores.tolist() == [score for score, _ in expected[:k]]
        branched += s.stats.get("nodes", 1) > 1
    assert branched or name not in ("branching only", "levels")


@pytest.mark.parametrize("backbone", ["first", "sibling", "carreras", "grandsib"])
def test_every_backbone_gives_the_same_scores(backbone: str) -> None:
    kinds = {"first": (), "sibling": ("sib",), "carreras": ("sib", "ogc")}
    rng = np.random.default_rng(22)
    for _ in range(60):
        p = random_problem(
            rng, max_words=5, projective=True, parts=kinds.get(backbone, PARTS), max_factors=25
        )
        check_optimal(p, solve(p, k_best=4, backbone=backbone), enumerate_trees(p), 4)


@both
def test_all_trees_where_fewer_exist(projective: bool) -> None:
    for scores in (np.zeros((5, 5)), np.random.default_rng(52).normal(size=(5, 5))):
        p = Problem.from_arc_scores(scores, projective=projective)
        p = p.with_factors([([(0, 1), (1, 2)], -math.inf), ([(2, 3), (2, 4)], 1.5)])
        expected = enumerate_trees(p)
        s = solve(p, k_best=10_000)
        check_optimal(p, s, expected, 10_000)
        assert {tuple(row) for row in s.arcs.tolist()} == {arcs for _, arcs in expected}


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
@pytest.mark.parametrize("limit", [{"node_limit": 1}, {"node_limit": 4}, {"time_limit": 0.0}])
def test_bounds_hold_at_a_limit(limit: dict[str, Any], order: str, projective: bool) -> None:
    rng = np.random.default_rng(54)
    stopped = 0
    for _ in range(60):
        p = random_problem(rng, projective=projective, min_words=4, max_factors=40)
        k, expected = int(rng.choice([1, 3, 8])), enumerate_trees(p)
        s = solve(p, k_best=k, settings=WEAK.with_(order=order), **limit)
        if s.status in ("optimal", "infeasible"):
            check_optimal(p, s, expected, k)
            continue
        stopped += 1
        assert s.status == next(iter(limit)) and len(s) <= min(k, len(expected))
        check_trees(p, s)
        rounding = 1e-12 * spread(p)
        for (best, _), score, bound, proved in zip(
            expected, s.scores, s.upper_bounds, s.proved
        ):
            assert bound >= best - rounding and score <= best + rounding
            assert not proved or score == pytest.approx(best, rel=1e-9, abs=rounding)
        assert s.upper_bound >= max((score for score, _ in expected), default=-math.inf) - rounding
        found, bound = set(map(tuple, s.arcs.tolist())), s.upper_bounds[-1:].max(initial=-math.inf)
        missed = max((score for score, arcs in expected if arcs not in found), default=-math.inf)
        assert len(s) < k or missed <= max(bound, s.scores[-1]) + rounding
    assert stopped > 3


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
def test_a_gap_ends_the_search_early_and_is_kept(gap: float, projective: bool) -> None:
    rng = np.random.default_rng(56)
    early = 0
    for _ in range(100):
        p = random_problem(
            rng, projective=projective, scale="normal", min_words=4, max_factors=30
        )
        k, expected = int(rng.choice([1, 3])), enumerate_trees(p)
        s = solve(p, gap=gap, k_best=k, settings=WEAK)
        check_trees(p, s)
        if s.status in ("optimal", "infeasible"):
            check_optimal(p, s, expected, k)
            continue
        early += 1
        assert (s.status, len(s)) == ("gap", k) and not s.proved.all()
        worst, bound = s.scores[-1], s.upper_bounds[-1]
        assert worst <= expected[k - 1][0] + 1e-9 <= bound + 2e-9
        assert bound - worst <= gap * max(abs(worst), abs(bound)) + 1e-9
        assert s.stats["nodes"] <= solve(p, k_best=k, settings=WEAK).stats["nodes"]
    assert early or gap < 0.01


@both
@pytest.mark.parametrize("where", ["arc", "factor", "both"])
@pytest.mark.parametrize("k", [1, 4, 200])
def test_a_huge_penalty_does_not_blur_small_differences(
    where: str, k: int, projective: bool
) -> None:
    """Many people write -1e9 for "never": the other scores must still count to the last digit."""
    rng = np.random.default_rng(58)
    for _ in range(20):
        scores = rng.normal(size=(6, 6)) * 1e-3
        factors = [
            ([(2, 3), (2, 4)], float(rng.normal() * 1e-3)),
            ([(3, 2), (3, 5)], float(rng.normal() * 1e-3)),
        ]
        if where != "factor":
            scores[0, 1] = -1e9
        if where != "arc":
            factors.append(([(0, 2), (4, 5)], -1e9))
        p = Problem.from_arc_scores(scores, projective=projective).with_factors(factors)
        expected = [score for score, _ in enumerate_trees(p)[:k]]
        light = [score for score in expected if score > -1e8]
        found = solve(p, k_best=k).scores
        assert len(found) == len(expected)
        assert found[: len(light)] == pytest.approx(light, rel=1e-9)


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


def check_against_program(rng: np.random.Generator, projective: bool, *words: int) -> bool:
    """Whether the integer program gave an answer, which solve then has to agree with."""
    n = int(rng.integers(*words))
    p = random_problem(
        rng, min_words=n, max_words=n, projective=projective, max_factors=60,
        labelled=not projective and bool(rng.random() < 0.2),
        parts=dict.fromkeys(PARTS if rng.random() < 0.5 else (), (0.03,)),
        scale=str(rng.choice(["normal", "ties", "halves"])),
    )  # fmt: skip
    k = int(rng.integers(1, 4))
    try:
        expected = best_trees(p, k, time_limit=10.0)
    except Undecided:
        return False
    s = solve(p, k_best=k)
    check_trees(p, s)
    assert s.status == ("optimal" if expected else "infeasible")
    # HiGHS decides to within 1e-9 of the largest score
    assert s.scores == pytest.approx([score for score, _ in expected], abs=1e-7)
    return True


@both
def test_longer_sentences_agree_with_the_integer_program(projective: bool) -> None:
    rng = np.random.default_rng(59)
    assert sum(check_against_program(rng, projective, 7, 12) for _ in range(12)) >= 10


@pytest.mark.fuzz
@both
def test_long_run_against_the_integer_program(
    fuzz_seconds: float, fuzz_seed: int, projective: bool
) -> None:
    rng, end = np.random.default_rng(fuzz_seed), time.monotonic() + fuzz_seconds
    decided = []
    while time.monotonic() < end:
        decided.append(check_against_program(rng, projective, 8, 16 if projective else 30))
    assert sum(decided) > 0.5 * len(decided)


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
