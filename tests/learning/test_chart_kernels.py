"""Sums over all trees of a sentence, and their gradients, by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.learning.chart_kernels import TreeChart, gold_parts, log_sum, tree_chart
from bbparse.oracle.projective.recurrences import FIRST, GRANDSIB, SIBLING, Recurrence
from bbparse.problem import Problem
from tests.oracles.enumerate import enumerate_trees


@given(
    st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([FIRST, SIBLING, GRANDSIB]),
    st.booleans(),
)  # fmt: skip
def test_sums_over_trees_are_those_of_enumeration(
    seed: int, n: int, recurrence: Recurrence, single_root: bool
) -> None:
    rng = np.random.default_rng(seed)
    arcs = [(h, m) for h in range(n + 1) for m in range(1, n + 1)
            if h != m and (h == m - 1 or rng.random() < 0.7)]  # fmt: skip
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
        n, head, mod, scores[0], **words, sib_score=scores[1], gc_score=scores[2],
        single_root=single_root,
    )  # fmt: skip
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
