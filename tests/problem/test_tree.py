"""The score of a tree, and whether it keeps the constraints, against enumeration."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from bbparse.errors import ProblemError
from bbparse.problem import Problem
from bbparse.problem.tree import arcs_of, broken_constraint
from tests.oracles.enumerate import enumerate_trees
from tests.problem.helpers import three_words, two_words
from tests.strategies import random_problem


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


def test_score_does_not_depend_on_the_order_of_factors() -> None:
    rng = np.random.default_rng(3)
    p = Problem.from_arc_scores(rng.normal(size=(5, 5)) * 1e9)
    tree = [(0, 1), (1, 2), (1, 3), (3, 4)]
    factors = [(tree[: 2 + i % 3], float(w)) for i, w in enumerate(rng.normal(size=40))]
    scores = {
        p.with_factors([factors[i] for i in rng.permutation(40)]).score([-1, 0, 1, 1, 3])
        for _ in range(20)
    }
    assert len(scores) == 1


def test_count_factors_score_numbers_of_arcs() -> None:
    scores = [1, 10, 100, -5, -math.inf]
    p = two_words(count_ptr=[0, 2, 3], count_arcs=[0, 2, 3], count_score=scores)
    assert p.count_score_ptr.tolist() == [0, 3, 5]
    assert p.score([-1, 0, 1]) == 1 + 3 + 100 - 5
    assert p.score([-1, 2, 0]) == -math.inf
    assert p.is_feasible([-1, 0, 1])
    assert not p.is_feasible([-1, 2, 0])
    assert broken_constraint(p, arcs_of(p, [-1, 2, 0])) == "count factor 1 scores -inf for 1 arcs"
