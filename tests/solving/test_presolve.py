from __future__ import annotations

import dataclasses
import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.errors import ProblemError
from bbparse.problem import FIELDS, Problem
from bbparse.solving.presolve import PART_KINDS, PresolveInfo, presolve
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import problems, random_problem, shuffled_factors

HOLDS = [
    frozenset(),
    frozenset({"gc"}),
    frozenset({"sib"}),
    frozenset({"sib", "ogc"}),
    frozenset({"gsib"}),
    PART_KINDS,
]


def dense(n: int, **fields: Any) -> Problem:
    """All arcs of n words with scores 1, 2, …, ordered by modifier, then head."""
    scores = np.zeros((n + 1, n + 1))
    scores.T[~np.eye(n + 1, dtype=bool).T] = np.arange(1, n * (n + 1) + 1)
    p = Problem.from_arc_scores(scores)
    return dataclasses.replace(p, **fields) if fields else p


def factors(p: Problem) -> dict[tuple[tuple[int, int], ...], float]:
    """Factors as {arcs as pairs of words: weight}."""
    pairs = list(zip(p.arc_head.tolist(), p.arc_mod.tolist()))
    return {
        tuple(pairs[a] for a in p.factor_arcs[p.factor_ptr[f] : p.factor_ptr[f + 1]]): float(w)
        for f, w in enumerate(p.factor_score)
    }


def arcs(p: Problem) -> list[tuple[int, int]]:
    return list(zip(p.arc_head.tolist(), p.arc_mod.tolist()))


def check(p: Problem, holds: frozenset[str]) -> tuple[Problem, PresolveInfo]:
    """Presolve, and compare trees and scores before and after with the enumeration."""
    small, info = presolve(p, holds)
    before = {tree: score for score, tree in enumerate_trees(p)}
    after = {
        tuple(info.original_arcs(np.array(tree, dtype=np.int32)).tolist()): score
        for score, tree in enumerate_trees(small)
    }
    assert before.keys() == after.keys()
    finite = [
        np.abs(values[np.isfinite(values)])
        for name in FIELDS
        if name.endswith("_score") and len(values := getattr(p, name))
    ]
    spread = sum(float(values.sum()) for values in finite)
    for tree, score in before.items():
        assert after[tree] == pytest.approx(score, rel=1e-12, abs=1e-13 * spread)
    dataclasses.replace(small)  # which checks everything
    assert not small.arc_state.any() or small is p
    assert small.arc_head.tolist() == p.arc_head[info.arcs].tolist()
    assert len(small.arc_head) == len(p.arc_head) - info.dropped_arcs
    assert not info.infeasible or not before
    counted = info.dropped_factors + info.merged_factors + info.moved_factors
    assert len(small.factor_score) == len(p.factor_score) - counted
    counted = info.dropped_counts + info.merged_counts
    assert len(small.count_ptr) == len(p.count_ptr) - counted
    return small, info


def same_fields(left: Problem, right: Problem) -> bool:
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in FIELDS)


def test_nothing_to_do_gives_the_same_object() -> None:
    p = dense(3).with_factors([([(0, 1), (1, 2)], 1.0), ([(1, 2), (1, 3)], -1.0)])
    small, info = presolve(p, frozenset())
    assert small is p
    assert info.arcs.tolist() == list(range(9))
    assert dataclasses.asdict(info) | {"arcs": None} == {
        "arcs": None, "dropped_arcs": 0, "dropped_factors": 0, "merged_factors": 0,
        "moved_factors": 0, "dropped_counts": 0, "merged_counts": 0, "infeasible": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ([(0, 1), (2, 1)], "two heads"),
        ([(1, 2), (2, 1)], "a cycle of two"),
        ([(1, 2), (2, 3), (3, 1)], "a cycle of three"),
        ([(1, 3), (2, 4)], "crossing"),
        ([(1, 3), (0, 2)], "crossing an arc from the root"),
        ([(0, 1), (0, 2)], "two root words"),
        ([(0, 1), (1, 3), (1, 4), (2, 1)], "two heads among more"),
    ],
)
def test_factors_that_cannot_fire_are_dropped(named: list[tuple[int, int]], why: str) -> None:
    p = dense(4)
    sets = [[arcs(p).index(arc) for arc in factor] for factor in (named, [(2, 1), (2, 3)])]
    p = dataclasses.replace(
        p,
        factor_ptr=[0, len(named), len(named) + 2],
        factor_arcs=sets[0] + sets[1],
        factor_score=[5.0, 1.0],
    )
    small, info = check(p, frozenset())
    assert factors(small) == {((2, 1), (2, 3)): 1.0}, why
    assert info.dropped_factors == 1


def test_what_flags_allow_is_kept() -> None:
    p = dense(4).with_factors([([(1, 3), (2, 4)], 5.0), ([(0, 1), (0, 2)], 5.0)])
    assert len(factors(check(dataclasses.replace(p, single_root=False), frozenset())[0])) == 1
    both = dataclasses.replace(p, single_root=False, projective=False)
    assert len(factors(check(both, frozenset())[0])) == 2


def test_zero_weights_and_forbidden_arcs_drop_factors() -> None:
    p = dense(3).with_factors([([(0, 1), (1, 2)], 0.0), ([(2, 1), (2, 3)], 1.0)])
    small, info = check(p.without_arcs([(2, 3)]), frozenset())
    assert factors(small) == {}
    assert (info.dropped_arcs, info.dropped_factors) == (1, 2)
    assert (2, 3) not in arcs(small)


def test_duplicates_are_merged() -> None:
    p = dense(3).with_factors(
        [
            ([(0, 1), (1, 2)], 0.5),
            ([(1, 2), (0, 1)], 2.0),
            ([(2, 1), (2, 3)], 1.0),
            ([(2, 1), (2, 3)], -1.0),
            ([(3, 1), (3, 2)], 4.0),
            ([(3, 1), (3, 2)], -math.inf),
        ]
    )
    small, info = check(p, frozenset())
    assert factors(small) == {((0, 1), (1, 2)): 2.5, ((3, 1), (3, 2)): -math.inf}
    assert info.merged_factors == 3


def test_required_arcs_drop_their_rivals_and_leave_factors() -> None:
    p = dense(3).with_factors(
        [
            ([(0, 2), (2, 1), (2, 3)], 10.0),
            ([(0, 2), (2, 1)], 100.0),
            ([(0, 2), (1, 3)], 1000.0),
            ([(2, 1), (2, 3)], 0.25),
        ]
    )
    p = dataclasses.replace(p, arc_state=[1 if pair == (0, 2) else 0 for pair in arcs(p)])
    small, info = check(p, frozenset())
    # A second root word is out of the question, and 1 -> 3 and 3 -> 1 would cross 0 -> 2.
    assert arcs(small) == [(2, 1), (0, 2), (2, 3)]
    assert factors(small) == {}
    assert info.dropped_factors + info.merged_factors == 4
    assert small.score([-1, 2, 0, 2]) == p.score([-1, 2, 0, 2])


def test_a_single_candidate_shrinks_factors_down_to_arc_scores() -> None:
    none = -math.inf
    scores = [[0, 1, 2, none], [0, 0, 3, none], [0, 5, 0, 4], [0, none, none, 0]]
    p = Problem.from_arc_scores(scores).with_factors(
        [([(2, 3), (0, 1)], 10.0), ([(2, 3), (0, 2), (2, 1)], 20.0), ([(2, 1), (0, 2)], 0.5)]
    )
    small, info = check(p, frozenset())
    assert arcs(small) == [(0, 1), (2, 1), (0, 2), (1, 2), (2, 3)]
    assert small.arc_score.tolist() == [11.0, 5.0, 2.0, 3.0, 4.0]
    assert factors(small) == {((2, 1), (0, 2)): 20.5}
    assert (info.dropped_factors, info.merged_factors) == (1, 1)


def test_a_hard_factor_left_with_one_arc_drops_the_arc() -> None:
    p = dense(3).with_factors([([(0, 2), (2, 1)], -math.inf)])
    p = p.with_heads({2: 0})
    small, info = check(p, frozenset())
    assert info.infeasible
    assert len(small.arc_head) == 0
    again, more = presolve(small, frozenset())
    assert again is small
    assert more.infeasible


def test_the_only_root_word_takes_the_root() -> None:
    p = dense(4).without_arcs([(0, 1), (0, 2), (0, 4)])
    small, _ = check(p, frozenset())
    assert [pair for pair in arcs(small) if pair[1] == 3] == [(0, 3)]
    assert (2, 4) not in arcs(small)


def test_hard_contradictions_are_found() -> None:
    p = dense(2).with_heads({1: 0, 2: 1}).with_factors([([(0, 1), (1, 2)], -math.inf)])
    assert check(p, frozenset())[1].infeasible
    assert check(dense(2).with_heads({1: 2, 2: 1}), frozenset())[1].infeasible
    assert check(dense(2).with_heads({1: 0, 2: 0}), frozenset())[1].infeasible
    assert check(dense(4).with_heads({3: 1, 4: 2}), frozenset())[1].infeasible
    no_arcs = Problem(3, [], [], [])
    assert presolve(no_arcs, frozenset())[1].infeasible


def test_grandchildren_move_to_the_backbone() -> None:
    p = dense(3, gc_grand=[0], gc_head=[2], gc_mod=[1], gc_score=[7.0]).with_factors(
        [([(0, 2), (2, 1)], 1.0), ([(3, 2), (2, 1)], 2.0), ([(0, 2), (2, 3)], -math.inf)]
    )
    small, info = check(p, frozenset({"gc"}))
    assert factors(small) == {((0, 2), (2, 3)): -math.inf}
    assert small.gc_grand.tolist() == [0, 3]
    assert small.gc_head.tolist() == [2, 2]
    assert small.gc_mod.tolist() == [1, 1]
    assert small.gc_score.tolist() == [8.0, 2.0]
    assert info.moved_factors == 2
    assert check(p, frozenset({"sib", "gsib"}))[0] is p


def test_siblings_move_where_nothing_can_lie_between() -> None:
    p = dense(4).with_factors([([(1, 2), (1, 3)], 1.0), ([(1, 2), (1, 4)], 2.0)])
    small, _ = check(p, frozenset({"sib"}))
    assert factors(small) == {((1, 2), (1, 4)): 2.0}
    assert small.sib_head.tolist() == [1]
    assert small.sib_inner.tolist() == [2]
    assert small.sib_outer.tolist() == [3]
    small, _ = check(p.without_arcs([(1, 3)]), frozenset({"sib"}))
    assert factors(small) == {}
    assert (small.sib_inner.tolist(), small.sib_outer.tolist()) == ([2], [4])
    left = dense(4).with_factors([([(4, 2), (4, 3)], 1.0), ([(3, 2), (3, 4)], 1.0)])
    small, _ = check(left, frozenset({"sib"}))
    assert (small.sib_head.tolist(), small.sib_inner.tolist()) == ([4], [3])
    assert small.sib_outer.tolist() == [2]
    assert factors(small) == {((3, 2), (3, 4)): 1.0}


def test_outermost_grandchildren_and_grand_siblings_move() -> None:
    p = dense(4).with_factors(
        [
            ([(0, 2), (2, 4)], 1.0),
            ([(0, 2), (2, 3)], 2.0),
            ([(0, 2), (2, 3), (2, 4)], 3.0),
            ([(4, 2), (2, 1)], 4.0),
        ]
    )
    small, _ = check(p, frozenset({"ogc"}))
    assert small.ogc_score.tolist() == [4.0, 1.0]
    assert (small.ogc_grand.tolist(), small.ogc_mod.tolist()) == ([4, 0], [1, 4])
    small, _ = check(p, PART_KINDS)
    assert factors(small) == {}
    assert small.ogc_score.tolist() == []
    assert sorted(small.gc_score.tolist()) == [1.0, 2.0, 4.0]
    assert (small.gsib_inner.tolist(), small.gsib_outer.tolist()) == ([3], [4])


def test_labelled_factors_stay() -> None:
    p = Problem(
        2, [0, 1, 1, 2, 0], [1, 2, 2, 1, 2], [0] * 5, arc_label=[0, 0, 1, 0, 0],
        factor_ptr=[0, 2], factor_arcs=[0, 2], factor_score=[1.0],
    )  # fmt: skip
    assert check(p, PART_KINDS)[0] is p


def test_unknown_kind_of_part() -> None:
    with pytest.raises(ProblemError, match="backbone_holds names 'trisib', expected some of gc,"):
        presolve(dense(2), {"gc", "trisib"})


@given(problems(counts=True), st.sampled_from(HOLDS))
def test_trees_and_scores_stay(p: Problem, holds: frozenset[str]) -> None:
    check(p, holds)


def test_trees_and_scores_of_random_problems_stay() -> None:
    rng = np.random.default_rng(11)
    for i in range(1000):
        holds = HOLDS[int(rng.integers(len(HOLDS)))]
        p = random_problem(rng, max_words=5, max_counts=i % 2 * 5)
        small, info = check(p, holds)
        again, _ = presolve(small, holds)
        assert again is small
        shuffled = shuffled_factors(rng, p)
        other, other_info = presolve(shuffled, holds)
        assert same_fields(small, other)
        assert info.arcs.tolist() == other_info.arcs.tolist()


def test_many_factors_in_any_order() -> None:
    rng = np.random.default_rng(5)
    p = Problem.from_arc_scores(rng.normal(size=(21, 21)))
    sets = [sorted({int(a) for a in rng.integers(400, size=4)}) for _ in range(5000)]
    sets = [s for s in sets if len(s) > 1] * 2
    p = dataclasses.replace(
        p,
        factor_ptr=np.cumsum([0] + [len(s) for s in sets]),
        factor_arcs=[a for s in sets for a in s],
        factor_score=rng.normal(size=len(sets)),
    )
    small, info = presolve(p, PART_KINDS)
    assert info.merged_factors > 50
    assert same_fields(small, presolve(shuffled_factors(rng, p), PART_KINDS)[0])


@pytest.mark.fuzz
def test_long_run(fuzz_seconds: float, fuzz_seed: int) -> None:
    rng = np.random.default_rng(fuzz_seed)
    end = time.monotonic() + fuzz_seconds
    while time.monotonic() < end:
        holds = HOLDS[int(rng.integers(len(HOLDS)))]
        p = random_problem(rng, max_counts=int(rng.choice([0, 5, 20])))
        small, _ = check(p, holds)
        assert same_fields(small, presolve(shuffled_factors(rng, p), holds)[0])
