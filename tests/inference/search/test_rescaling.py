"""Scores out of proportion, against enumeration in exact arithmetic."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from bbparse.core import Problem, Solution
from bbparse.inference.matrix import best_tree
from bbparse.inference.solve import solve, solve_batch
from tests.oracles.enumerate import TreeScorer, trees


def check(p: Problem, s: Solution, k: int) -> None:
    """The k best trees are right to a billionth of what each is made of."""
    score = TreeScorer(p)
    all_terms = {tree: score.terms(tree) for tree in trees(p)}
    exact = {
        tree: sum(map(Fraction, terms))
        for tree, terms in all_terms.items()
        if -math.inf not in terms
    }
    truth = sorted(exact.values(), reverse=True)[:k]
    assert s.status == ("optimal" if truth else "infeasible")
    found = [tuple(tree) for tree in s.arcs.tolist()]
    assert len(found) == len(set(found)) == len(truth)
    for tree, given, best in zip(found, s.scores.tolist(), truth):
        size = Fraction(math.fsum(map(abs, all_terms[tree])))
        assert abs(exact[tree] - best) <= size / 10**9
        assert abs(exact[tree] - Fraction(given)) <= size / 10**15


def test_penalties_in_a_count_factor() -> None:
    p = Problem(
        3, [2, 3, 0, 1, 3, 0, 1], [1, 1, 2, 2, 2, 3, 3], [0.0] * 7, single_root=False,
        count_ptr=[0, 6], count_arcs=[0, 5, 6, 3, 2, 1],
        count_score=[0, 0, -1e-4, 0, 0, 0, -1e9],
    )  # fmt: skip
    assert solve(p).scores.tolist() == [0.0]


def test_a_penalty_that_all_trees_pay_is_no_prohibition() -> None:
    """It lacks more than trees may, until all its arcs are seen to be in all that matter."""
    p = Problem(
        4, [0, 0, 0, 2, 3, 3, 4, 4], [2, 3, 4, 1, 2, 2, 1, 3],
        [0.2, 0.7, 0.4, 0.0, 0.6, 0.3, 0.1, 0.3], [0, 0, 0, 2, 0, 2, 1, 0],
        ogc_grand=[0], ogc_head=[4], ogc_mod=[3], ogc_score=[-1e11],
        factor_ptr=[0, 3, 5, 8, 10], factor_arcs=[6, 7, 2, 6, 7, 2, 7, 6, 4, 7],
        factor_score=[12.5, 0.1, -1.36, -1.32],
    )  # fmt: skip
    for k in (1, 2, 3):
        check(p, solve(p, k_best=k), k)


@pytest.mark.parametrize("large", [1e16, -1e16, 1e38, -1e38])
@pytest.mark.parametrize("projective", [True, False])
def test_arcs_alone_choose_beside_a_large_one(large: float, projective: bool) -> None:
    """A reward forces an arc, or all heads of a word are masked: the others are chosen as well."""
    rng = np.random.default_rng(5)
    for m in range(1, 6):
        scores = rng.normal(size=(6, 6))
        scores[m] += np.where(np.arange(6) == (m + 2) % 6, max(large, 0.0), min(large, 0.0))
        p = Problem.from_arc_scores(scores, projective=projective)
        part = {"sib_head": [1], "sib_inner": [-1], "sib_outer": [2], "sib_score": [0.1]}
        score, exact = TreeScorer(p), {}
        for tree in trees(p):
            exact[tree] = sum(map(Fraction, score.terms(tree)))
        best = max(exact.values())
        assert exact[(*solve(p).arcs[0].tolist(),)] == best
        assert exact[(*solve_batch([p, p])[1].arcs[0].tolist(),)] == best
        heads = best_tree(scores, projective=projective)
        assert heads.tolist() == solve(p).heads[0].tolist()
        q = dataclasses.replace(p, **part)
        check(q, solve(q), 1)


def test_a_tree_of_size_one_behind_large_ones() -> None:
    """And large penalties behind it."""
    scores = np.array([[0, 1e12, 1e12, 0.25], [0, 0, 0.5, 1], [0, 1, 0, 1], [0, -1e12, -1e12, 0]])
    p = Problem.from_arc_scores(scores.T, single_root=True)
    for k in range(1, 8):
        check(p, solve(p, k_best=k), k)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("reward", [1e46, 1e99])
def test_a_reward_does_not_overflow_where_all_else_is_minute(reward: float) -> None:
    part = {"gc_grand": [1, 2], "gc_head": [3, 1], "gc_mod": [2, 3], "gc_score": [reward, 2e-282]}
    p = Problem(3, [0, 2, 3, 1], [1, 1, 2, 3], [2e-282, 7e-283, 9e-283, -6e-283], **part)
    for k in (1, 3):
        check(p, solve(p, k_best=k), k)
    sibling = {"sib_head": [2], "sib_inner": [3], "sib_outer": [4], "sib_score": [reward]}
    scores = [-3e-302, -2e-302, 2e-301, 1e-301, 6e-302]
    q = Problem(4, [4, 0, 1, 4, 2], [1, 2, 2, 3, 4], scores, **sibling, projective=False)
    check(q, solve(q), 1)


def test_a_gap_of_a_few_grains_is_no_rounding_error() -> None:
    """All scores are multiples of 8; the first search may stop at a tree of 40, with its bound."""
    scores = [[0] * 5, [-16, 0, -24, -16, 0], [-24, 8, 0, -8, 16], [24, 24, -8, 0, -8],
              [-24, 16, -8, 0, 0]]  # fmt: skip
    p = Problem.from_arc_scores(scores, projective=False)
    p = p.with_factors([([(0, 1), (3, 4)], 24.0), ([(2, 4), (3, 1)], -(2.0**41))])
    check(p, solve(p), 1)
    assert solve(p, gap=0.5).upper_bounds[0] >= 48.0


def test_bounds_of_trees_that_are_proved_are_their_scores_at_a_limit() -> None:
    p = Problem(
        3, [0, 1, 2, 2, 3], [2, 2, 1, 3, 1], [0.0] * 5, count_ptr=[0, 2], count_arcs=[0, 4],
        count_score=[0.0, 0.0, 1e-4], projective=False, single_root=False,
    )  # fmt: skip
    found = solve(p, k_best=2, work_limit=10.0)
    assert found.proved[0] and found.upper_bounds[0] == found.scores[0]
    assert (found.upper_bounds >= found.scores).all()
