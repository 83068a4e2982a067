"""Sums over all trees of a sentence, projective or not, and their gradients, by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbparse.core import Problem
from bbparse.inference.oracles.nonprojective.matrix_tree import matrix_tree
from bbparse.inference.oracles.projective.recurrences import RECURRENCES, Recurrence
from bbparse.inference.oracles.projective.sums import TreeChart, gold_parts, log_sum, tree_chart
from tests.oracles.enumerate import enumerate_trees


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.sampled_from([RECURRENCES[name] for name in ("first", "sibling", "grandsib")]),
    st.booleans(),
)
def test_sums_over_trees_are_those_of_enumeration(
    seed: int, n: int, recurrence: Recurrence, single_root: bool
) -> None:
    rng = np.random.default_rng(seed)
    arcs = [
        (h, m)
        for h in range(n + 1)
        for m in range(1, n + 1)
        if h != m and (h == m - 1 or rng.random() < 0.7)
    ]
    head, mod = np.array(arcs, np.int32).T.copy()
    chart = TreeChart(*tree_chart(n, head, mod, recurrence.mode, single_root))
    scores = [rng.normal(size=k) for k in (len(head), chart.sib.shape[1], chart.gc.shape[1])]
    slopes = [np.zeros_like(some) for some in scores]
    kinds = [kind for kind, words in (("sib", chart.sib), ("gc", chart.gc)) if words.size]
    assert recurrence.holds >= set(kinds)
    found = log_sum(tuple(chart), *scores, *slopes)
    names = ("sib_head", "sib_inner", "sib_outer", "gc_grand", "gc_head", "gc_mod")
    words = dict(zip(names, (*chart.sib, *chart.gc)))
    problem = Problem(
        n,
        head,
        mod,
        scores[0],
        **words,
        sib_score=scores[1],
        gc_score=scores[2],
        single_root=single_root,
    )
    trees = enumerate_trees(problem)
    total = np.logaddexp.reduce([score for score, _ in trees])
    assert found == pytest.approx(total)
    expected = [np.zeros_like(some) for some in scores]
    for score, arcs_of in trees:
        heads = np.zeros(n + 1, np.int32)
        heads[mod[list(arcs_of)]] = head[list(arcs_of)]
        parts = gold_parts(heads, head, mod, chart.sib, chart.gc)
        for own, fires in zip(expected, parts):
            own[fires] += np.exp(score - total)
            assert fires.sum() <= n
        assert sum(v[f].sum() for v, f in zip(scores, parts)) == pytest.approx(score)
    for slope, own in zip(slopes, expected):
        assert slope == pytest.approx(own, abs=1e-6)


@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.booleans(),
    st.sampled_from([1.0, 30.0, 1000.0]),
    st.sampled_from([0.3, 0.7, 1.0]),
)
def test_sums_over_crossing_trees(
    seed: int, n: int, single_root: bool, scale: float, share: float
) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n + 1, n + 1)) * scale
    scores[rng.random((n + 1, n + 1)) > share] = -np.inf
    scores[:, 0] = -np.inf
    problem = Problem.from_arc_scores(scores.T, projective=False, single_root=single_root)
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


@pytest.mark.parametrize("mask", [-1e12, -1e38])
def test_masks_leave_the_sum_of_the_other_trees(mask: float) -> None:
    scores = np.zeros((5, 5))
    for m, heads in ((1, [2, 3]), (2, [1, 4]), (3, [1, 4]), (4, [0, 3])):  # only 4 heads 1
        scores[heads, m] = mask
    marginal, expected = np.zeros((5, 5)), np.zeros((5, 5))
    found = matrix_tree(scores, True, marginal)
    trees = np.where(scores == mask, -np.inf, scores)
    assert found == pytest.approx(matrix_tree(trees, True, expected)) == np.log(2)
    np.testing.assert_allclose(marginal, expected, atol=1e-9)
