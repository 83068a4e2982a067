"""What presolve does to count factors, rule by rule; see test_presolve for random problems."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from bbparse.problem import Problem
from bbparse.solving.presolve import PART_KINDS, presolve
from tests.solving.test_presolve import arcs, check, dense
from tests.strategies import random_tree

NONE = -math.inf


def counts(p: Problem) -> dict[tuple[tuple[int, int], ...], list[float]]:
    """Count factors as {arcs as pairs of words: scores}."""
    pairs = arcs(p)
    tables = np.split(p.count_score, p.count_score_ptr[1:-1])
    return {
        tuple(pairs[a] for a in p.count_arcs[p.count_ptr[c] : p.count_ptr[c + 1]]): table.tolist()
        for c, table in enumerate(tables)
        if len(table)
    }


def reduced(p: Problem) -> Problem:
    return check(p, frozenset())[0]


def test_nothing_to_do_gives_the_same_object() -> None:
    p = dense(3).with_at_most([(2, 1), (1, 2), (2, 3)]).with_or([(0, 1), (2, 1), (1, 3)], 2.0)
    # Sets in canonical order, and -inf where two arcs of one word had to be counted.
    p = reduced(p)
    assert counts(p) == {
        ((0, 1), (2, 1), (1, 3)): [0.0, 2.0, 2.0, NONE],
        ((2, 1), (1, 2), (2, 3)): [0.0, 0.0, NONE, NONE],
    }
    assert reduced(p) is p


def test_sets_lose_arcs_that_are_gone_and_arcs_that_are_certain() -> None:
    p = dense(4).with_count_scores([(0, 2), (2, 1), (2, 3), (3, 4)], [1, 2, 3, 9, 16])
    small = reduced(p.without_arcs([(2, 3)]))
    assert counts(small) == {((2, 1), (0, 2), (3, 4)): [1.0, 2.0, 3.0, 9.0]}
    # With 0 -> 2 nothing but 2 can reach over to word 1.
    assert counts(reduced(p.with_heads({2: 0}))) == {((2, 3), (3, 4)): [3.0, 9.0, 16.0]}


def test_straight_tables_become_arc_scores() -> None:
    p = dense(3).with_count_scores([(0, 1), (1, 2), (2, 3)], [5, 3, 1, -1])
    small = reduced(p)
    assert counts(small) == {}
    gain = dict(zip(arcs(p), small.arc_score - p.arc_score))
    assert gain == {
        (0, 1): 3.0, (2, 1): 5.0, (3, 1): 5.0, (0, 2): 0.0, (1, 2): -2.0, (3, 2): 0.0,
        (0, 3): 0.0, (1, 3): 0.0, (2, 3): -2.0,
    }  # fmt: skip


def test_arcs_of_one_word_count_once() -> None:
    same_word = [(1, 3), (2, 3)]
    small = reduced(dense(3).with_at_most(same_word))
    assert counts(small) == {}
    assert small.arc_score.tolist() == dense(3).arc_score.tolist()
    small = reduced(dense(3).with_or(same_word, 10.0))
    assert counts(small) == {}
    assert (small.arc_score - dense(3).arc_score).tolist() == [0.0] * 7 + [10.0] * 2
    two = dense(3).with_at_most([*same_word, (1, 2)], 2)
    assert counts(reduced(two)) == {}


def test_a_word_that_hangs_from_the_set_for_certain() -> None:
    every = [(h, 3) for h in (0, 1, 2)]
    p = dense(3).with_count_scores([*every, (1, 2), (2, 1), (0, 1)], [9, 7, 4, 9, 9, 9, 9])
    # One of the first three is in every tree: 7 if it is alone, 4 with one more, 9 with both.
    assert counts(reduced(p)) == {((0, 1), (2, 1), (1, 2)): [7.0, 4.0, 9.0, NONE]}


def test_one_arc_from_the_root() -> None:
    from_root = [(0, m) for m in (1, 2, 3)]
    assert counts(reduced(dense(3).with_at_most(from_root))) == {}
    assert counts(reduced(dense(3).with_at_most(from_root[:2]))) == {}
    assert check(dense(3).with_at_least(from_root, 2), frozenset())[1].infeasible
    many = dataclasses.replace(dense(3), single_root=False)
    assert counts(reduced(many.with_at_most(from_root))) == {
        tuple(from_root): [0.0, 0.0, NONE, NONE]
    }
    p = dense(3).with_count_scores([*from_root, (1, 2), (1, 3)], [0, 1, 5, 7, 0, 0])
    assert counts(reduced(p)) == {((1, 2), (1, 3)): [1.0, 5.0, 7.0]}


def test_some_word_hangs_from_the_root() -> None:
    below = [(h, m) for h, m in arcs(dense(3)) if h != 0]
    assert check(dense(3).with_at_least(below, 3), frozenset())[1].infeasible
    many = dataclasses.replace(dense(3), single_root=False)
    assert counts(reduced(many.with_at_most(below, 2))) == {}


def test_none_of_them_and_all_of_them() -> None:
    p = dense(3).with_at_most([(0, 1), (0, 2)], 0)
    small = reduced(p)
    assert arcs(small) == [(2, 1), (3, 1), (1, 2), (3, 2), (0, 3)]
    small = reduced(dense(3).with_at_least([(0, 2), (2, 3)], 2))
    assert arcs(small) == [(2, 1), (0, 2), (2, 3)]
    assert counts(small) == {}
    # Either arc into word 3 will do, so its two others go.
    small = reduced(dense(4).with_at_least([(2, 1), (2, 3), (4, 3)], 2))
    assert {arc for arc in arcs(small) if arc[1] in (1, 3)} == {(2, 1), (2, 3), (4, 3)}


def test_sets_over_the_same_arcs_are_added_up() -> None:
    valency = [(2, 1), (2, 3), (2, 4)]
    p = dense(4).with_count_scores(valency, [0, 1, 2, 3]).with_or(valency[::-1], 4.0)
    small, info = check(p.with_at_most(valency, 2), frozenset())
    assert counts(small) == {tuple(valency): [0.0, 5.0, 6.0, NONE]}
    assert (info.merged_counts, info.dropped_counts) == (2, 0)
    exactly_two = dense(4).with_at_most(valency, 2).with_at_least(valency, 2)
    assert counts(reduced(exactly_two)) == {tuple(valency): [NONE, NONE, 0.0, NONE]}
    assert check(exactly_two.with_at_most(valency, 1), frozenset())[1].infeasible


def test_the_sum_decides_what_single_sets_leave_open() -> None:
    pair = [(2, 1), (2, 3)]
    p = dense(3).with_count_scores(pair, [0, NONE, 0]).with_count_scores(pair, [NONE, 0, 0])
    assert arcs(reduced(p)) == [(2, 1), (0, 2), (2, 3)]


def test_arcs_that_go_are_news_for_factors_and_other_sets() -> None:
    p = dense(3).with_factors([([(1, 2), (1, 3)], 5.0)]).with_at_most([(0, 1), (2, 1)], 0)
    p = p.with_or([(3, 1), (1, 2)], 7.0)
    # Word 1 hangs from word 3, and so 0 -> 2 and 1 -> 3 are out of the question.
    small, info = check(p, frozenset())
    assert counts(small) == {}
    assert len(small.factor_score) == 0
    assert (info.dropped_counts, info.dropped_factors) == (2, 1)
    assert (0, 2) not in arcs(small)


def test_no_number_is_allowed() -> None:
    p = dense(2).with_count_scores([(0, 1), (1, 2)], [NONE, NONE, NONE])
    small, info = check(p, PART_KINDS)
    assert info.infeasible
    assert (len(small.arc_head), len(small.count_ptr), info.dropped_counts) == (0, 1, 1)
    # Words 1 and 2 cannot both hang from the set, as there would be no root.
    assert check(dense(2).with_at_least([(2, 1), (1, 2)], 2), frozenset())[1].infeasible


def test_labels_exclude_each_other() -> None:
    p = Problem(
        2, [0, 0, 1, 1, 1], [1, 2, 2, 2, 2], np.zeros(5), arc_label=[0, 0, 0, 1, 2],
        single_root=False,
    )  # fmt: skip
    assert counts(reduced(p.with_at_most([(1, 2, 0), (1, 2, 1)]))) == {}
    small = reduced(p.with_or([(1, 2, 0), (1, 2, 1)], 3.0))
    assert small.arc_score.tolist() == [0.0, 0.0, 3.0, 3.0, 0.0]


def test_count_factors_of_a_long_sentence() -> None:
    rng = np.random.default_rng(8)
    n = 40
    p = Problem.from_arc_scores(rng.normal(size=(n + 1, n + 1)))
    for head in range(1, n + 1):
        p = p.with_valency(head, high=3)
    heads = random_tree(rng, n)
    small, info = presolve(p.with_heads({m: heads[m] for m in range(1, 21)}), PART_KINDS)
    assert 0 < len(small.count_ptr) - 1 == n - info.dropped_counts or info.infeasible
