"""Eisner's algorithm over a matrix, against enumeration and against the chart."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.inference.oracles.projective.dense import eisner
from bbparse.inference.solve import solve
from tests.inference.oracles.projective.helpers import Charted
from tests.oracles.enumerate import enumerate_trees, is_projective, is_tree
from tests.strategies import SCALES, random_scores


def random_matrix(rng: np.random.Generator, n: int, scale: str, density: float) -> np.ndarray:
    """Scores of a random share of all arcs; column 0 and the diagonal hold rubbish."""
    scores = random_scores(rng, scale, (n + 1) * (n + 1)).reshape(n + 1, n + 1)
    scores[rng.random((n + 1, n + 1)) >= density] = -math.inf
    np.fill_diagonal(scores, -math.inf)
    scores[:, 0] = rng.normal(size=n + 1) * 1e6
    return scores


def check_tree(scores: np.ndarray, heads: np.ndarray, score: float, single_root: bool) -> None:
    """The heads are a tree, and its score is the one claimed."""
    n = len(scores) - 1
    assert heads.dtype == np.int32
    assert heads[0] == -1
    assert is_tree(heads.tolist())
    assert is_projective(heads.tolist())
    roots = int((heads[1:] == 0).sum())
    assert roots == 1 if single_root else roots >= 1
    terms = [float(scores[heads[m], m]) for m in range(1, n + 1)]
    assert math.fsum(terms) == pytest.approx(score, rel=0, abs=1e-14 * sum(map(abs, terms)))


@pytest.mark.parametrize("single_root", [True, False])
def test_agrees_with_enumeration(single_root: bool) -> None:
    rng = np.random.default_rng(41)
    without_trees = 0
    for i in range(400):
        n = int(rng.integers(1, 6))
        density = float(rng.choice([0.3, 0.6, 1.0]))
        scores = random_matrix(rng, n, SCALES[i % len(SCALES)], density)
        heads, score = eisner(scores, single_root)
        if not (scores[:, 1:] > -math.inf).any():
            continue
        p = Problem.from_arc_scores(scores.T, single_root=single_root)
        expected = enumerate_trees(p)
        if not expected:
            without_trees += 1
            assert score == -math.inf
            assert (heads == -1).all()
            continue
        spread = float(np.abs(p.arc_score).sum())
        assert score == pytest.approx(expected[0][0], rel=0, abs=1e-14 * spread)
        check_tree(scores, heads, score, single_root)
    assert without_trees > 20


@pytest.mark.parametrize("single_root", [True, False])
def test_agrees_with_the_chart_on_longer_sentences(single_root: bool) -> None:
    rng = np.random.default_rng(42)
    for _ in range(30):
        n = int(rng.integers(6, 26))
        scores = random_matrix(rng, n, str(rng.choice(SCALES)), float(rng.choice([0.4, 1.0])))
        heads, score = eisner(scores, single_root)
        p = Problem.from_arc_scores(scores.T, single_root=single_root)
        best, _ = Charted(p, "first").viterbi()
        spread = float(np.abs(p.arc_score).sum())
        if best == -math.inf:
            assert score == best
        else:
            assert score == pytest.approx(best, rel=0, abs=1e-14 * spread)
            check_tree(scores, heads, score, single_root)


def test_no_word_one_word_and_no_arc() -> None:
    heads, score = eisner(np.zeros((1, 1)), True)
    assert (heads.tolist(), score) == ([-1], 0.0)
    for single_root in (True, False):
        heads, score = eisner(np.array([[0.0, 2.5], [0.0, 0.0]]), single_root)
        assert (heads.tolist(), score) == ([-1, 0], 2.5)
        heads, score = eisner(np.full((4, 4), -math.inf), single_root)
        assert (heads.tolist(), score) == ([-1, -1, -1, -1], -math.inf)


@pytest.mark.parametrize("single_root", [True, False])
def test_a_problem_of_arcs_alone_is_solved_as_enumeration_says(single_root: bool) -> None:
    rng = np.random.default_rng(43)
    outcomes = {"optimal": 0, "infeasible": 0}
    for i in range(400):
        n = int(rng.integers(1, 6))
        scores = random_matrix(rng, n, SCALES[i % len(SCALES)], float(rng.choice([0.6, 1.0])))
        if not (scores[:, 1:] > -math.inf).any():
            continue
        p = Problem.from_arc_scores(scores.T, single_root=single_root)
        state = rng.choice([-1, 0, 0, 0, 0, 0, 0, 1], size=len(p.arc_head)).astype(np.int8)
        for m in range(1, n + 1):  # two required heads of a word are refused
            required = np.flatnonzero((p.arc_mod == m) & (state > 0))
            state[required[1:]] = 0
        p = dataclasses.replace(p, arc_state=state)
        found = solve(p)
        outcomes[found.status] += 1
        expected = enumerate_trees(p)
        if not expected:
            assert found.status == "infeasible"
            continue
        spread = float(np.abs(p.arc_score).sum())
        assert found.scores[0] == pytest.approx(expected[0][0], rel=0, abs=1e-14 * spread)
        assert found.proved.all() and found.upper_bounds[0] == found.scores[0]
        assert (p.arc_head[found.arcs[0]] == found.heads[0, 1:]).all()
        assert (p.arc_mod[found.arcs[0]] == np.arange(1, n + 1)).all()
        assert (state[found.arcs[0]] >= 0).all()
        assert set(np.flatnonzero(state > 0)) <= set(found.arcs[0].tolist())
    assert min(outcomes.values()) > 20
