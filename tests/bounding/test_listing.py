"""Crossing trees where factors keep bounds apart: listed trees, tables of heads, better trees."""

from __future__ import annotations

import numpy as np
import pytest

from bbparse.solving.solve import solve
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import random_problem


@pytest.mark.parametrize("labelled", [False, True])
def test_crossing_trees_with_many_factors_against_enumeration(labelled: bool) -> None:
    rng = np.random.default_rng(3 + labelled)
    late = 0
    for _ in range(25):
        problem = random_problem(
            rng, min_words=4, max_words=5, projective=False, labelled=labelled, max_factors=60,
            max_counts=2, states=False,
        )  # fmt: skip
        k = int(rng.choice([1, 1, 3]))
        expected = [score for score, _ in enumerate_trees(problem)][:k]
        found = solve(problem, k_best=k, explain=False)
        late += found.stats.get("dp_calls", 0) > 12
        assert np.allclose(found.scores, expected, rtol=1e-9, atol=1e-9)
    assert late > 3
