"""The lower-bound start: only real trees, with the scores they have."""

from __future__ import annotations

import numpy as np
import pytest

from bbparse.problem import Problem
from bbparse.search.settings import DEFAULT
from tests.oracles.enumerate import enumerate_trees
from tests.search.helpers import search_of
from tests.strategies import random_problem


def start(p: Problem, k: int, max_calls: int) -> tuple[list[tuple[int, ...]], list[float], int]:
    """Trees (original arcs), scores and number of passes of the start alone."""
    search = search_of(p, k, DEFAULT)
    search._first_trees(max_calls)
    found = int(search.best.found[0])
    trees = search.best.trees[search.best.place[:found]]
    rows = [tuple(row) for row in search.order[trees].tolist()]
    return rows, search.best.scores[:found].tolist(), int(search.counters[0])


def test_it_inserts_only_real_trees_with_their_scores() -> None:
    rng = np.random.default_rng(91)
    inserted = 0
    for _ in range(250):
        p = random_problem(rng, max_words=5, projective=True, scale="halves", max_factors=15)
        k = int(rng.integers(1, 4))
        calls = int(rng.integers(1, 12))
        trees, scores, passes = start(p, k, calls)
        truth = {arcs: score for score, arcs in enumerate_trees(p)}
        assert passes <= calls
        assert scores == sorted(scores, reverse=True)
        assert len(set(trees)) == len(trees) <= k
        for tree, score in zip(trees, scores):
            assert score == truth[tree]
        inserted += len(trees)
    assert inserted > 150


def test_more_calls_never_find_less() -> None:
    rng = np.random.default_rng(92)
    for _ in range(100):
        p = random_problem(
            rng, min_words=4, max_words=6, projective=True, scale="normal", max_factors=30,
            hard=False, labelled=False,
        )  # fmt: skip
        _, one, _ = start(p, 1, 1)
        _, ten, _ = start(p, 1, 10)
        assert ten >= one


def test_a_second_pass_avoids_a_factor_that_fired() -> None:
    """The first pass knows no factors; π then charges the penalty to the tree it found."""
    p = Problem(2, [0, 1, 0, 2], [1, 2, 2, 1], [1, 1, 0.5, 0.5])
    p = p.with_factors([([(0, 1), (1, 2)], -10.0)])
    trees, scores, _ = start(p, 2, 10)
    assert scores == [1.0, -8.0]
    assert trees == [(3, 2), (0, 1)]


def two_chains(weight: float) -> Problem:
    """0→1→2→3 scores 3 without the factor over all its arcs; 0→1→2, 1→3 scores 2.5."""
    p = Problem(3, [0, 1, 2, 1], [1, 2, 3, 3], [1, 1, 1, 0.5])
    return p.with_factors([([(0, 1), (1, 2), (2, 3)], weight)])


@pytest.mark.parametrize("weight", [-0.1, 0.1])
def test_it_stops_when_the_bound_no_longer_rises(weight: float) -> None:
    """The first pass ignores the factors, the second one gives π and the third one the same."""
    _, scores, passes = start(two_chains(weight), 1, 50)
    assert scores == [3.0 + weight]
    assert passes <= 3
