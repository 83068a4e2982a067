"""Problems from score matrices, what they say of themselves, and the scores of their trees."""

from __future__ import annotations

import dataclasses
import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from bbparse.core import FIELDS, Problem
from bbparse.core.score import broken_constraint
from bbparse.core.tree import arcs_of
from bbparse.runtime.errors import ProblemError
from tests.core.helpers import SOLUTION, no_trees, three_words, two_words
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import random_problem


def test_from_arc_scores_orders_arcs_by_modifier_and_drops_minus_inf() -> None:
    scores = np.arange(9.0).reshape(3, 3).T
    scores[0] = math.nan
    scores[1, 1] = math.inf
    scores[1, 2] = -math.inf
    p = Problem.from_arc_scores(scores, projective=False, single_root=False)
    assert p.arc_head.tolist() == [0, 0, 1]
    assert p.arc_mod.tolist() == [1, 2, 2]
    assert p.arc_score.tolist() == [1.0, 2.0, 5.0]
    assert (p.projective, p.single_root) == (False, False)
    checked = dataclasses.replace(p)
    assert all(
        getattr(p, f).dtype == getattr(checked, f).dtype
        for f in FIELDS
        if "_" in f and isinstance(getattr(p, f), np.ndarray)
    )


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((3, 4)), r"scores has shape \(3, 4\), expected \(n \+ 1, n \+ 1\)"),
        (np.zeros((1, 1)), r"scores has shape \(1, 1\)"),
        (np.zeros(4), r"scores has shape \(4,\), expected 2 dimensions"),
        ([[0, math.nan], [1, math.nan]], None),
        ([[0, 0], [math.nan, 0]], r"scores\[1, 0\] is nan, expected a number of magnitude"),
        ([[0, 0], [math.inf, 0]], r"scores\[1, 0\] is inf, expected a number of magnitude"),
        ([["a", "b"], ["c", "d"]], "scores has dtype <U1, expected real numbers"),
    ],
)
def test_from_arc_scores_refuses(scores: Any, message: str | None) -> None:
    if message is None:
        assert len(Problem.from_arc_scores(scores).arc_head) == 1
    else:
        with pytest.raises(ProblemError, match=message):
            Problem.from_arc_scores(scores)


def test_repr() -> None:
    p = three_words().with_heads({3: 1}).with_factors([([(0, 1), (1, 3)], -math.inf)])
    assert repr(p) == (
        "Problem(n_words=3, arcs=9 (1 required, 2 forbidden), factors=1 (1 hard), projective,"
        " single-root)"
    )
    assert repr(SOLUTION) == "Solution(2 trees, 1 proved, best 4 <= 4, node_limit)"
    none = no_trees("infeasible")
    assert repr(none) == "Solution(no tree, infeasible)"
    assert len(none) == 0


def test_the_bound_on_all_trees() -> None:
    assert SOLUTION.upper_bound == 4.0
    for status, bound in (("infeasible", -math.inf), ("time_limit", math.inf)):
        assert no_trees(status).upper_bound == bound


def test_scores_and_constraints_agree_with_enumeration() -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        p = random_problem(rng, max_words=5, max_counts=5)
        expected = {arcs: score for score, arcs in enumerate_trees(p)}
        choices = [np.flatnonzero(p.arc_mod == m).tolist() for m in range(1, p.n_words + 1)]
        few = math.prod(map(len, choices)) <= 400
        for arcs in product(*choices) if few else expected:
            assert p.is_feasible(arcs) == (arcs in expected)
            if arcs in expected:
                assert p.score(arcs) == expected[arcs]
                if p.arc_label is None:
                    assert p.score([-1, *p.arc_head[list(arcs)]]) == expected[arcs]


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ([0, 0, 0, 0, 0], "tree has 5 elements, expected 4 heads"),
        ([0, 1, 1, 1], r"tree\[1\] is 1: no candidate arc 1 -> 1"),
        ([0, 9, 1, 1], r"tree\[1\] is 9: no candidate arc 9 -> 1"),
        ([0, 1, 99], r"tree\[2\] is 99, expected 0..8"),
        ([0, 1, 8], r"tree\[1\] is arc 1 into word 1, expected an arc into word 2"),
        ([0.0, 1.0, 1.0], "tree has dtype float64"),
    ],
)
def test_score_refuses_what_is_no_choice_of_arcs(tree: list[int], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        three_words().score(tree)


def test_score_needs_labels() -> None:
    p = Problem(1, [0, 0], [1, 1], [1, 2], arc_label=[0, 1])
    assert p.score([1]) == 2.0
    with pytest.raises(ProblemError, match="2 arcs 0 -> 1 differ in their labels"):
        p.score([0, 0])


def test_count_factors_score_numbers_of_arcs() -> None:
    scores = [1, 10, 100, -5, -math.inf]
    p = two_words(count_ptr=[0, 2, 3], count_arcs=[0, 2, 3], count_score=scores)
    assert p.count_score_ptr.tolist() == [0, 3, 5]
    assert p.score([-1, 0, 1]) == 1 + 3 + 100 - 5
    assert p.score([-1, 2, 0]) == -math.inf
    assert p.is_feasible([-1, 0, 1])
    assert not p.is_feasible([-1, 2, 0])
    assert broken_constraint(p, arcs_of(p, [-1, 2, 0])) == "count factor 1 scores -inf for 1 arcs"
