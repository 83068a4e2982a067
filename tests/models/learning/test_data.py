"""What learning is given: the closest projective trees, and candidates that hold the gold trees."""

from __future__ import annotations

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.models.configuration import ModelConfig
from bbparse.models.learning.data import closest_projective, folds_of, prepare
from bbparse.treebank import Sentence
from tests.oracles.enumerate import is_projective, trees
from tests.strategies import random_tree


def projective_trees(n: int, single_root: bool) -> list[list[int]]:
    """All projective trees over n words, as heads with a -1 in front."""
    p = Problem.from_arc_scores(np.zeros((n + 1, n + 1)), single_root=single_root)
    return [[-1, *p.arc_head[list(arcs)].tolist()] for arcs in trees(p)]


def closeness(tree: list[int], heads: list[int]) -> tuple[int, float]:
    """Arcs of the tree that stay, and how near words hang to an ancestor where they do not."""
    same, near = 0, 0.0
    for m in range(1, len(heads)):
        if tree[m] == heads[m]:
            same += 1
            continue
        ancestor, steps = heads[m], 0
        while ancestor > 0:
            ancestor, steps = heads[ancestor], steps + 1
            if tree[m] == ancestor:
                near += 1.0 / (1 + steps)
    return same, near


@pytest.mark.parametrize("single_root", [True, False])
def test_the_closest_projective_tree_is_the_closest_of_all(single_root: bool) -> None:
    rng = np.random.default_rng(131)
    every = {n: projective_trees(n, single_root) for n in range(1, 6)}
    changed = 0
    for _ in range(150):
        n = int(rng.integers(1, 6))
        heads = random_tree(rng, n, projective=False)
        given = np.array(heads, np.int32)
        found = closest_projective(given, single_root).tolist()
        assert found in every[n]
        best = max(closeness(tree, heads) for tree in every[n])
        assert closeness(found, heads) == pytest.approx(best)
        assert given.tolist() == heads
        if is_projective(heads):
            assert found == heads
        else:
            changed += 1
    assert changed > 10


def test_prepare_counts_the_trees_it_changes() -> None:
    crossing = Sentence.from_words(list("abcd"), heads=[3, 4, 0, 3])
    plain = Sentence.from_words(list("ab"), heads=[0, 1])
    data = prepare([plain, crossing, plain], ModelConfig())
    assert data.projectivised == 1
    assert [heads.tolist() for heads in data.heads] == [[-1, 0, 1], [-1, 3, 3, 0, 3], [-1, 0, 1]]
    assert crossing.heads == [3, 4, 0, 3]
    data = prepare([plain, crossing], ModelConfig(projective=False))
    assert data.projectivised == 0 and data.heads[1].tolist() == [-1, 3, 4, 0, 3]


@pytest.mark.parametrize(("count", "folds"), [(10, 3), (2, 5), (1, 4)])
def test_a_fold_trains_on_the_others_unless_it_is_alone(count: int, folds: int) -> None:
    found = folds_of(count, folds, seed=1)
    assert sorted(i for _, held_out in found for i in held_out) == list(range(count))
    for others, held_out in found:
        assert set(others) == set(range(count)) - (set(held_out) if len(found) > 1 else set())
