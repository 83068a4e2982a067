"""Pruning of candidate arcs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bbparse.models.scoring.candidates import prune_arcs
from bbparse.models.scoring.problem_maker import with_arcs_of
from tests.strategies import random_tree


def random_scores(rng: np.random.Generator, n: int) -> np.ndarray:
    """Few distinct values, for ties, and some arcs that are not there."""
    scores = rng.integers(-4, 5, (n + 1, n + 1)).astype(np.float64)
    scores[rng.random((n + 1, n + 1)) < 0.15] = -np.inf
    np.fill_diagonal(scores, -np.inf)
    scores[:, 0] = -np.inf
    return scores


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 9),
    st.integers(0, 11),
    st.sampled_from([0.0, 1.0, 3.5, np.inf]),
    st.booleans(),
)
def test_pruning(seed: int, n: int, k: int, margin: float, with_tree: bool) -> None:
    rng = np.random.default_rng(seed)
    scores = random_scores(rng, n)
    best = np.array(random_tree(rng, n) if with_tree else [-1] * (n + 1), np.int32)
    head, mod = prune_arcs(scores, k, margin, best)
    expected = set()
    for m in range(1, n + 1):
        ranked = sorted(
            (h for h in range(n + 1) if scores[h, m] > -np.inf), key=lambda h: (-scores[h, m], h)
        )
        kept = ranked[: k or None]
        expected |= {(h, m) for h in kept if scores[h, m] >= scores[ranked[0], m] - margin}
        if with_tree:
            expected.add((int(best[m]), m))
    assert list(zip(head.tolist(), mod.tolist())) == sorted(expected)
    assert head.dtype == mod.dtype == np.int32


def test_given_heads_are_candidates_and_so_is_the_root() -> None:
    arcs = np.array([2], np.int32), np.array([1], np.int32)
    head, mod = with_arcs_of(*arcs, np.array([-1, 0, 1, -1], np.int32))
    assert [*zip(head.tolist(), mod.tolist())] == [(0, 1), (1, 2), (2, 1)]
