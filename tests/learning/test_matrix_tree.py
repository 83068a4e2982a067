"""Sums over trees that may cross, and their marginals, by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.learning.matrix_tree import matrix_tree
from bbparse.problem import Problem
from tests.oracles.enumerate import enumerate_trees


@given(
    st.integers(0, 10**6), st.integers(1, 5), st.booleans(),
    st.sampled_from([1.0, 30.0, 1000.0]), st.sampled_from([0.3, 0.7, 1.0]),
)  # fmt: skip
def test_sums_over_trees_are_those_of_enumeration(
    seed: int, n: int, single_root: bool, scale: float, share: float
) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n + 1, n + 1)) * scale
    scores[rng.random((n + 1, n + 1)) > share] = -np.inf
    problem = Problem.from_arc_scores(scores, projective=False, single_root=single_root)
    trees = enumerate_trees(problem)
    marginal = np.zeros((n + 1, n + 1))
    found = matrix_tree(scores, single_root, marginal)
    if not trees:
        assert found == -np.inf
        return
    total = np.logaddexp.reduce([score for score, _ in trees])
    assert found == pytest.approx(total, rel=1e-12, abs=1e-12)
    expected = np.zeros((n + 1, n + 1))
    for score, arcs in trees:
        chosen = list(arcs)
        expected[problem.arc_head[chosen], problem.arc_mod[chosen]] += np.exp(score - total)
    # probabilities come from differences of scores, which have errors where scores are large
    assert marginal == pytest.approx(expected, abs=1e-12 * scale + 1e-12)


def test_arcs_that_can_hardly_be_in_a_tree_cost_no_digits() -> None:
    # a determinant of the plain Laplacian would lose everything: 1 + 1e-40 - 1
    scores = np.array([[0.0, -92.0, -93.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    marginal = np.zeros((3, 3))
    assert matrix_tree(scores, True, marginal) == pytest.approx(np.logaddexp(-92.0, -93.0))
    assert marginal[0, 1] == pytest.approx(1.0 / (1.0 + np.exp(-1.0)))
