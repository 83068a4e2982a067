"""The oracles agree with each other and with counts that are known."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest

from bbparse.core import Problem
from tests.oracles.enumerate import enumerate_trees, is_projective, is_tree, trees
from tests.oracles.forest import MOST, TooMany, forest, forest_of
from tests.strategies import random_problem, random_tree


@pytest.mark.parametrize("n", range(1, 6))
def test_the_number_of_trees(n: int) -> None:
    """Cayley's formula; and non-crossing trees, of which projective ones are those with the root
    at the left end (OEIS A001764)."""

    def count(projective: bool, single_root: bool) -> int:
        scores = np.zeros((n + 1, n + 1))
        p = Problem.from_arc_scores(scores, projective=projective, single_root=single_root)
        return len(list(trees(p)))

    assert count(projective=False, single_root=False) == (n + 1) ** (n - 1)
    assert count(projective=False, single_root=True) == n ** (n - 1)
    assert count(projective=True, single_root=False) == comb(3 * n, n) // (2 * n + 1)


@pytest.mark.parametrize("n", range(1, 6))
def test_enumeration_is_every_choice_of_heads_that_is_a_tree(n: int) -> None:
    p = Problem.from_arc_scores(np.zeros((n + 1, n + 1)), single_root=False)
    found = {tuple(int(p.arc_head[a]) for a in tree) for tree in trees(p)}
    assert found == {
        heads
        for heads in product(range(n + 1), repeat=n)
        if is_tree([-1, *heads]) and is_projective([-1, *heads])
    }


def test_random_trees_are_trees() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        n = int(rng.integers(1, 12))
        heads = random_tree(rng, n)
        assert is_tree(heads)
        assert is_projective(heads)
        assert heads.count(0) == 1
        assert is_tree(random_tree(rng, n, projective=False))


def test_arrays_of_trees_are_the_enumeration() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        p = random_problem(rng, max_words=6, max_counts=int(rng.choice([0, 4])))
        trees = forest(p)
        found = dict(zip(map(tuple, trees.arcs.tolist()), trees.high.tolist()))
        assert found == {arcs: score for score, arcs in enumerate_trees(p)}
        some = trees.arcs[: int(rng.integers(4))]
        assert {tuple(row) for row in forest_of(p, some).arcs.tolist()} == set(map(tuple, some))


def test_arrays_of_trees_of_more_words() -> None:
    """Seven words go another way than six."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        p = random_problem(
            rng,
            min_words=7,
            max_words=7,
            projective=bool(rng.integers(2)),
            parts={"arc": (0.1, 0.2), "gsib": (0.2,)},
        )
        trees = forest(p)
        found = dict(zip(map(tuple, trees.arcs.tolist()), trees.high.tolist()))
        assert found == {arcs: score for score, arcs in enumerate_trees(p)}
    with pytest.raises(TooMany):
        forest(Problem.from_arc_scores(np.zeros((12, 12))))
    assert len(forest(Problem.from_arc_scores(np.zeros((7, 7)))).arcs) < MOST


def test_sums_of_trees_keep_every_digit() -> None:
    p = Problem(2, [0, 1, 0], [1, 2, 2], [1e100, -1e100, 1e-30], single_root=False)
    trees = forest(p)
    assert sorted(trees.high.tolist()) == [0.0, 1e100]
    small = Problem(
        2,
        [0, 1],
        [1, 2],
        [3e38, 1.0],
        sib_head=[0],
        sib_inner=[-1],
        sib_outer=[1],
        sib_score=[-3e38],
    )
    assert forest(small).high.tolist() == [1.0]
    assert forest(small).size.tolist() == [6e38]
