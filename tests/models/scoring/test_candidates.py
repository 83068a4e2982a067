"""Candidate arcs: their lists, pruning, and those that belong to projective trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.core import Problem
from bbparse.models.scoring.candidates import prune_arcs
from bbparse.models.scoring.in_trees import in_projective_trees
from tests.oracles.enumerate import enumerate_trees
from tests.oracles.spans import arcs_in_projective_trees
from tests.strategies import random_tree


def random_scores(rng: np.random.Generator, n: int) -> np.ndarray:
    """Few distinct values, for ties, and some arcs that are not there."""
    scores = rng.integers(-4, 5, (n + 1, n + 1)).astype(np.float64)
    scores[rng.random((n + 1, n + 1)) < 0.15] = -np.inf
    np.fill_diagonal(scores, -np.inf)
    scores[:, 0] = -np.inf
    return scores


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(0, 11),
    st.sampled_from([0.0, 1.0, 3.5, np.inf]), st.booleans(),
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


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.booleans())
def test_arcs_that_no_tree_has_are_found(seed: int, n: int, single_root: bool) -> None:
    rng = np.random.default_rng(seed)
    arc_head, arc_mod = np.nonzero(rng.random((n + 1, n + 1)) < 0.5)
    chosen = (arc_mod > 0) & (arc_head != arc_mod)
    arc_head, arc_mod = arc_head[chosen].astype(np.int32), arc_mod[chosen].astype(np.int32)
    used: set[int] = set()
    if len(arc_head):
        problem = Problem(n, arc_head, arc_mod, np.zeros(len(arc_head)), single_root=single_root)
        used = {int(a) for _, arcs in enumerate_trees(problem) for a in arcs}
    expected = sorted(used)
    head, mod = in_projective_trees(n, arc_head, arc_mod, single_root)
    assert (head.tolist(), mod.tolist()) == (
        arc_head[expected].tolist(), arc_mod[expected].tolist()
    )


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n", [1, 2, 9, 30, 61, 62, 63, 80, 127, 128, 140])
def test_arcs_that_no_tree_has_in_sentences_of_all_lengths(n: int, single_root: bool) -> None:
    rng = np.random.default_rng(n)
    for share in (0.05, 0.15, 0.4):
        arcs = rng.random((n + 1, n + 1)) < share
        arcs[np.array(random_tree(rng, n))[1:], np.arange(1, n + 1)] = True
        arcs[:, 0] = False
        np.fill_diagonal(arcs, False)
        arc_head, arc_mod = (a.astype(np.int32) for a in np.nonzero(arcs))
        head, mod = in_projective_trees(n, arc_head, arc_mod, single_root)
        expected = np.nonzero(arcs_in_projective_trees(arcs, single_root))
        assert len(head) < len(arc_head) or n < 9 or share > 0.1
        assert head.tolist() == expected[0].tolist()
        assert mod.tolist() == expected[1].tolist()
