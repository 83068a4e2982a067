"""The search against the oracles: the same k best scores, and trees that are what they say."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.errors import ProblemError
from bbparse.problem import Problem
from bbparse.search.settings import AS_PUBLISHED, DEFAULT
from bbparse.solving.solve import solve
from tests import strategies
from tests.oracles.enumerate import enumerate_trees
from tests.oracles.ilp import Undecided, best_trees
from tests.solutions import check_optimal, check_trees
from tests.strategies import problems

random_problem = partial(strategies.random_problem, max_counts=4)

SETTINGS = {
    "default": DEFAULT,
    "published": AS_PUBLISHED,
    "no elimination": DEFAULT.with_(eliminate_every=0),
    "elimination always": DEFAULT.with_(eliminate_every=1),
    "branching only": DEFAULT.with_(root_calls=1, node_calls=1, eliminate_every=0, close_k=1),
    "levels": DEFAULT.with_(order="level", root_calls=2, node_calls=2),
    "lower start": DEFAULT.with_(method="paper", lower_start=5),
}


@given(problems(projective=True, counts=True), st.sampled_from([1, 2, 5, 1000]))
def test_agrees_with_enumeration(p: Problem, k: int) -> None:
    check_optimal(p, solve(p, k_best=k), enumerate_trees(p), k)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_random_problems_agree_with_enumeration(settings: Any) -> None:
    rng = np.random.default_rng(21)
    for _ in range(120):
        p = random_problem(rng, max_words=6, projective=True)
        k = int(rng.choice([1, 1, 2, 3, 10, 400]))
        check_optimal(p, solve(p, k_best=k, settings=settings), enumerate_trees(p), k)


@pytest.mark.parametrize("backbone", ["first", "sibling", "carreras", "grandsib"])
def test_every_backbone_gives_the_same_scores(backbone: str) -> None:
    kinds = {"first": (), "sibling": ("sib",), "carreras": ("sib", "ogc")}
    rng = np.random.default_rng(22)
    for _ in range(60):
        parts = kinds.get(backbone, ("sib", "gc", "ogc", "gsib"))
        p = random_problem(rng, max_words=5, projective=True, parts=parts, max_factors=25)
        check_optimal(p, solve(p, k_best=4, backbone=backbone), enumerate_trees(p), 4)


def test_all_trees_where_fewer_exist() -> None:
    p = Problem.from_arc_scores(np.zeros((5, 5))).with_factors([([(0, 1), (1, 2)], -math.inf)])
    expected = enumerate_trees(p)
    s = solve(p, k_best=10 * len(expected))
    check_optimal(p, s, expected, 10 * len(expected))
    assert {tuple(row) for row in s.arcs.tolist()} == {arcs for _, arcs in expected}


@pytest.mark.parametrize("gap", [1e-3, 0.1, 0.5])
def test_a_stated_gap_is_kept(gap: float) -> None:
    rng = np.random.default_rng(26)
    weak = DEFAULT.with_(root_calls=2, node_calls=2, eliminate_every=0, close_k=1)
    for _ in range(100):
        p = random_problem(rng, max_words=6, projective=True, scale="normal", max_factors=30)
        expected = enumerate_trees(p)
        s = solve(p, gap=gap, settings=weak)
        check_trees(p, s)
        if not expected:
            assert s.status == "infeasible"
        else:
            best, score, bound = expected[0][0], s.scores[0], s.upper_bounds[0]
            assert (s.status == "optimal") == bool(s.proved[0])
            if s.status != "optimal":
                assert s.status == "gap"
            assert score <= best + 1e-9 <= bound + 2e-9
            assert bound - score <= gap * max(abs(score), abs(bound)) + 1e-9


@pytest.mark.parametrize("factor", [[], [([(1, 2), (2, 3)], -math.inf)]])
def test_trees_that_all_score_zero_are_not_searched_one_by_one(factor: list[Any]) -> None:
    p = Problem.from_arc_scores(np.zeros((13, 13))).with_factors(factor)
    s = solve(p, k_best=3, node_limit=1000)
    assert (s.status, s.scores.tolist()) == ("optimal", [0.0, 0.0, 0.0])


@pytest.mark.parametrize("where", ["arc", "factor"])
def test_a_huge_penalty_does_not_blur_small_differences(where: str) -> None:
    """Many people write -1e9 for "never": the other scores must still count to the last digit."""
    rng = np.random.default_rng(28)
    for _ in range(60):
        scores = rng.normal(size=(6, 6)) * 1e-3
        factors = [
            ([(2, 3), (2, 4)], float(rng.normal() * 1e-3)),
            ([(3, 2), (3, 5)], float(rng.normal() * 1e-3)),
        ]
        if where == "arc":
            scores[0, 1] = -1e9
        else:
            factors.append(([(0, 1), (4, 5)], -1e9))
        p = Problem.from_arc_scores(scores).with_factors(factors)
        s, (best, _) = solve(p), enumerate_trees(p)[0]
        assert s.scores[0] == pytest.approx(best, rel=1e-9)


def test_one_word() -> None:
    s = solve(Problem(1, [0], [1], [-3.5]), k_best=2)
    assert (s.status, s.heads.tolist(), s.scores.tolist()) == ("optimal", [[-1, 0]], [-3.5])


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


def with_few_parts(rng: np.random.Generator, p: Problem) -> Problem:
    """A tenth of the siblings and grandchildren: programs of more take minutes."""
    changes = {}
    for kind, part in (("sib", p.parts.sib), ("gc", p.parts.gc)):
        kept = rng.random(len(part.score)) < 0.1
        changes.update({f"{kind}_{name}": x[kept] for name, x in zip(part._fields, part)})
    return p.changed(**changes)


def check_against_program(rng: np.random.Generator, min_words: int, max_words: int) -> bool:
    """Whether the integer program gave an answer, which solve then has to agree with."""
    p = random_problem(
        rng, min_words=min_words, max_words=max_words, projective=True, labelled=False,
        max_factors=60, parts=("sib", "gc") if rng.random() < 0.5 else (),
    )  # fmt: skip
    p = with_few_parts(rng, p)
    k = int(rng.integers(1, 4))
    try:
        expected = best_trees(p, k, time_limit=10.0)
    except Undecided:
        return False
    check_optimal(p, solve(p, k_best=k), expected, k)
    return True


def test_longer_sentences_agree_with_the_integer_program() -> None:
    rng = np.random.default_rng(29)
    assert sum(check_against_program(rng, 7, 10) for _ in range(12)) >= 10


@pytest.mark.fuzz
def test_long_run_against_the_integer_program(fuzz_seconds: float, fuzz_seed: int) -> None:
    rng = np.random.default_rng(fuzz_seed)
    end = time.monotonic() + fuzz_seconds
    decided = []
    while time.monotonic() < end:
        decided.append(check_against_program(rng, 8, 16))
    assert sum(decided) > 0.8 * len(decided)


def test_upper_bound_of_the_best_tree() -> None:
    p = Problem.from_arc_scores(np.arange(16.0).reshape(4, 4))
    s = solve(p, k_best=2)
    assert s.upper_bound == s.upper_bounds[0] == s.scores[0]
    assert solve(p.with_heads({1: 2, 2: 1}), explain=False).upper_bound == -np.inf


def test_more_trees_than_there_is_room_for() -> None:
    dense = Problem.from_arc_scores(np.zeros((31, 31)))
    with pytest.raises(ProblemError, match="expected at most 666666 for 30 words"):
        solve(dense, k_best=10**30)
    two = solve(Problem.from_arc_scores(np.zeros((3, 3))), k_best=10**30)
    assert len(two) == 2 and two.status == "optimal"
