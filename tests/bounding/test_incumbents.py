"""The list of the k best trees found so far."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bbparse.bounding.incumbents import (
    floor_to_beat,
    insert_tree,
    insert_trees,
    tree_score,
    tree_scores,
)
from bbparse.bounding.state import Node, no_trees
from tests.bounding.helpers import HARD, random_case

#: An oracle that is not asked.
NOTHING = np.zeros(0)

TREES = st.lists(st.integers(0, 2), min_size=3, max_size=3).map(tuple)


def score_of(tree: tuple[int, ...]) -> float:
    """Many trees share a score."""
    return float(sum(tree) % 4)


@given(st.lists(TREES, max_size=40), st.integers(1, 6), st.booleans())
def test_it_keeps_the_best_once_each_in_order(
    inserted: list[tuple[int, ...]], k: int, noisy: bool
) -> None:
    slack = 1e-9
    best_ones = no_trees(k, 3)
    trees, scores, count, place = best_ones
    noise = np.random.default_rng(0)
    expected: list[tuple[int, ...]] = []
    for tree in inserted:
        # The same tree comes back with the score added up in another order.
        score = score_of(tree) + (float(noise.uniform(-0.4, 0.4)) * slack if noisy else 0.0)
        taken = insert_tree(best_ones, np.array(tree, np.int32), score, slack)
        n = int(count[0])
        assert n == min(k, n)
        assert (np.diff(scores[:n]) <= 0).all()
        rows = [tuple(row) for row in trees[place[:n]].tolist()]
        assert len(set(rows)) == n
        if taken:
            assert tree in rows
        for row, value in zip(rows, scores):
            assert abs(score_of(row) - value) <= slack
        if not noisy:
            if tree not in expected:
                expected.append(tree)
            # Stable: of equal scores the first to come stays first.
            expected = sorted(expected, key=score_of, reverse=True)[:k]
            assert rows == expected
    best = sorted((score_of(tree) for tree in set(inserted)), reverse=True)[:k]
    assert np.allclose(scores[: int(count[0])], best, rtol=0, atol=slack)


@given(st.lists(st.sets(TREES, max_size=12), max_size=4), st.integers(1, 9))
def test_trees_at_once_are_as_trees_one_by_one(batches: list[set[tuple[int, ...]]], k: int) -> None:
    singly, at_once = no_trees(k, 3), no_trees(k, 3)
    for batch in batches:
        trees = np.array(sorted(batch), np.int32).reshape(-1, 3)
        scores = np.array([score_of(tuple(tree)) for tree in trees.tolist()])
        scores[scores == 2.0] = -math.inf  # these are to be left out
        for tree, score in zip(trees, scores.tolist()):
            if score > -math.inf:
                insert_tree(singly, tree, score, 1e-9)
        insert_trees(at_once, trees, scores, 1e-9)
        found = int(singly.found[0])
        assert at_once.found[0] == found
        assert sorted(at_once.place) == list(range(k))
        for one in (singly, at_once):
            assert (one.scores[found:] == -math.inf).all()
        assert (singly.scores == at_once.scores).all()
        places = zip(singly.place[:found], at_once.place[:found])
        assert all((singly.trees[a] == at_once.trees[b]).all() for a, b in places)


def test_tree_score_is_the_definition() -> None:
    rng = np.random.default_rng(81)
    hard_fired = 0
    for _ in range(200):
        case = random_case(rng, counts=0, hard=bool(rng.random() < 0.5), whole=True)
        for marks in case.assignments():
            tree = np.empty(case.n_words, np.int32)
            for arc in np.flatnonzero(marks):
                tree[case.arc_mod[arc] - 1] = arc
            chosen = np.full(len(case.base), 5, np.int8)
            constant = np.array([0.5])
            node = Node(
                NOTHING, case.arc_mod, case.base, constant, case.factors, case.counts
            )
            score = tree_score(node, tree, 2.0, HARD, chosen)
            assert (chosen == marks).all()
            assert score == 2.5 + case.arc_total(marks) + case.factor_score(marks)
            twice, parts = np.array([tree, tree]), np.array([2.0, 3.0])
            assert tree_scores(node, twice, parts, HARD).tolist() == [score, score + 1.0]
            hard_fired += score == -math.inf
    assert hard_fired > 20


def test_the_floor_is_the_next_better_score() -> None:
    none = no_trees(2, 1)._replace(scores=np.array([5.0, 3.0]))
    one, full = (none._replace(found=np.array([found])) for found in (1, 2))
    assert floor_to_beat(one, 1.0, 1e-9) == -math.inf
    assert floor_to_beat(full, 0.0, 1e-9) == 3.0 + 1e-9
    assert floor_to_beat(full, 1.0, 1e-9) == 4.0 - 1e-9
    # A quantum below the rounding error says nothing.
    assert floor_to_beat(full, 1e-10, 1e-9) == 3.0 + 1e-9
