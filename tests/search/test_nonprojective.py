"""Non-projective branch and bound against the oracles."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.problem import Problem
from bbparse.search.settings import AS_PUBLISHED, DEFAULT
from bbparse.solving.solve import solve
from tests import strategies
from tests.oracles.enumerate import enumerate_trees
from tests.oracles.ilp import Undecided, best_trees
from tests.solutions import check_optimal, check_trees
from tests.strategies import problems

random_problem = partial(strategies.random_problem, projective=False, max_counts=3)

SETTINGS = {
    "default": DEFAULT,
    "no elimination": DEFAULT.with_(eliminate_every=0),
    "elimination always": DEFAULT.with_(eliminate_every=1),
    "branching only": DEFAULT.with_(root_calls=1, node_calls=1, eliminate_every=0),
    "many calls": DEFAULT.with_(root_calls=100, node_calls=30),
    "published": AS_PUBLISHED.with_(root_calls=10, node_calls=10),
    "published, best first": AS_PUBLISHED.with_(order="best-first", root_calls=3, node_calls=3),
    "branching by levels": DEFAULT.with_(root_calls=1, node_calls=1, order="level"),
    "elimination at every pass": DEFAULT.with_(eliminate_every=1),
    "no elimination, lower start": DEFAULT.with_(eliminate_every=0, lower_start=3),
}
WEAK = SETTINGS["branching only"]


@given(problems(projective=False, counts=True), st.sampled_from([1, 2, 5, 1000]))
def test_agrees_with_enumeration(p: Problem, k: int) -> None:
    check_optimal(p, solve(p, k_best=k), enumerate_trees(p), k)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_random_problems_agree_with_enumeration(settings: Any) -> None:
    rng = np.random.default_rng(51)
    for _ in range(150):
        p = random_problem(rng, max_factors=int(rng.choice([0, 5, 12, 40])))
        k = int(rng.choice([1, 1, 2, 3, 10, 400]))
        check_optimal(p, solve(p, k_best=k, settings=settings), enumerate_trees(p), k)


def test_all_trees_in_order() -> None:
    rng = np.random.default_rng(52)
    p = Problem.from_arc_scores(rng.normal(size=(6, 6)), projective=False)
    p = p.with_factors([([(2, 3), (2, 4)], 1.5), ([(1, 2), (5, 3)], -math.inf)])
    expected = enumerate_trees(p)
    s = solve(p, k_best=10_000)
    check_optimal(p, s, expected, 10_000)
    assert {tuple(row) for row in s.arcs.tolist()} == {arcs for _, arcs in expected}


def test_equal_scores_and_k_best_end_soon() -> None:
    """With every score 0, three trees are three trees: ties need not be searched."""
    p = Problem.from_arc_scores(np.zeros((21, 21)), projective=False)
    s = solve(p, k_best=3, node_limit=100)
    assert (s.status, s.scores.tolist()) == ("optimal", [0.0, 0.0, 0.0])


@pytest.mark.parametrize("gap", [1e-3, 0.1, 0.5])
@pytest.mark.parametrize("k", [1, 3])
def test_a_stated_gap_is_kept(gap: float, k: int) -> None:
    rng = np.random.default_rng(56)
    early = 0
    for _ in range(100):
        p = random_problem(rng, scale="normal", min_words=4, max_factors=30)
        expected = enumerate_trees(p)
        s = solve(p, gap=gap, k_best=k, settings=WEAK)
        check_trees(p, s)
        if s.status in ("optimal", "infeasible"):
            check_optimal(p, s, expected, k)
            continue
        early += 1
        assert (s.status, len(s)) == ("gap", k)
        assert not s.proved.all()
        worst, bound = s.scores[-1], s.upper_bounds[-1]
        assert worst <= expected[k - 1][0] + 1e-9 <= bound + 2e-9
        assert bound - worst <= gap * max(abs(worst), abs(bound)) + 1e-9
    assert early or gap < 0.01


@pytest.mark.parametrize("where", ["arc", "factor", "both"])
@pytest.mark.parametrize("k", [1, 4, 200])
def test_a_huge_penalty_does_not_blur_small_differences(where: str, k: int) -> None:
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
        p = Problem.from_arc_scores(scores, projective=False).with_factors(factors)
        expected = [score for score, _ in enumerate_trees(p)[:k]]
        light = [score for score in expected if score > -1e8]
        found = solve(p, k_best=k).scores
        assert len(found) == len(expected)
        assert found[: len(light)] == pytest.approx(light, rel=1e-9)


def test_crossing_arcs_are_found() -> None:
    scores = np.full((5, 5), -5.0)
    for head, mod in ((0, 2), (2, 4), (4, 1), (1, 3)):
        scores[head, mod] = 1.0
    p = Problem.from_arc_scores(scores, projective=False)
    s = solve(p)
    assert s.heads.tolist() == [[-1, 4, 0, 1, 2]]
    assert solve(p, backbone="grandsib").heads.tolist() == s.heads.tolist()


def check_against_program(rng: np.random.Generator, words: int) -> bool:
    """Whether the integer program gave an answer, which solve then has to agree with."""
    p = random_problem(
        rng, min_words=words, max_words=words, labelled=bool(rng.random() < 0.2), max_factors=60,
        parts=dict.fromkeys(("sib", "gc", "ogc", "gsib") if rng.random() < 0.5 else (), (0.03,)),
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
    # HiGHS decides to within 1e-9 of the largest score.
    assert s.scores == pytest.approx([score for score, _ in expected], abs=1e-7)
    return True


def test_longer_sentences_agree_with_the_integer_program() -> None:
    rng = np.random.default_rng(59)
    assert sum(check_against_program(rng, int(rng.integers(7, 13))) for _ in range(15)) >= 12


@pytest.mark.fuzz
def test_long_run_against_the_integer_program(fuzz_seconds: float, fuzz_seed: int) -> None:
    rng = np.random.default_rng(fuzz_seed)
    end = time.monotonic() + fuzz_seconds
    decided = []
    while time.monotonic() < end:
        decided.append(check_against_program(rng, int(rng.integers(8, 30))))
    assert sum(decided) > 0.5 * len(decided)
