"""Each constraint, and each score of numbers of arcs, against its meaning in words."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.inference.solve import solve
from bbparse.runtime.errors import ProblemError
from tests.oracles.enumerate import enumerate_trees

NONE = -math.inf
Meaning = Callable[[list[int]], float]


def blank(n: int, **flags: bool) -> Problem:
    """All arcs of n words, all scores 0."""
    return Problem.from_arc_scores(np.zeros((n + 1, n + 1)), **flags)


def check(p: Problem, meaning: Meaning, n: int = 4, **flags: bool) -> None:
    """The trees of p are those of n words that the meaning, of heads, gives a finite score."""
    found = {tuple(p.arc_head[list(arcs)].tolist()): score for score, arcs in enumerate_trees(p)}
    q = blank(n, **flags)
    expected = {}
    for _, arcs in enumerate_trees(q):
        heads = [-1, *q.arc_head[list(arcs)].tolist()]
        if meaning(heads) > NONE:
            expected[tuple(heads[1:])] = meaning(heads)
    assert found == expected
    assert expected


def modifiers(heads: list[int], head: int) -> list[int]:
    return [m for m in range(1, len(heads)) if heads[m] == head]


def allowed(condition: bool) -> float:
    return 0.0 if condition else NONE


def test_scores_of_numbers() -> None:
    named = [(0, 2), (2, 1), (2, 3), (3, 4), (1, 3)]
    scores = [1.0, -2.0, NONE, 5.0, 0.5, 7.0]
    p = blank(4).with_count_scores(named, scores)
    check(p, lambda heads: scores[sum(heads[m] == h for h, m in named)])


@pytest.mark.parametrize("k", [0, 1, 2, 3, 9])
def test_at_most_and_at_least(k: int) -> None:
    named = [(2, 1), (2, 3), (3, 4)]
    check(
        blank(4).with_at_most(named, k),
        lambda heads: allowed(sum(heads[m] == h for h, m in named) <= k),
    )
    p = blank(4).with_at_least(named, k)
    if k == 9:
        assert enumerate_trees(p) == []
        return
    check(p, lambda heads: allowed(sum(heads[m] == h for h, m in named) >= k))


@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 1), (1, None), (2, 3), (0, 99)])
@pytest.mark.parametrize("side", [None, "left", "right"])
def test_valency(low: int, high: int | None, side: Any) -> None:
    def meaning(heads: list[int]) -> float:
        on_side = [
            m
            for m in modifiers(heads, 3)
            if side is None or (m < 3 and side == "left") or (m > 3 and side == "right")
        ]
        return allowed(low <= len(on_side) <= (high if high is not None else 9))

    p = blank(5).with_valency(3, low, high, side=side)
    check(p, meaning, 5)
    if (low, high) == (0, 99):
        assert len(p.count_arcs) == 0


@pytest.mark.parametrize("words", [[2, 3], [1], [2, 4], [1, 2, 3, 4], (2, 3, 3)])
@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("flags", [{}, {"projective": False, "single_root": False}])
def test_subtree(words: list[int], complete: bool, flags: dict[str, bool]) -> None:
    inside = set(words)

    def meaning(heads: list[int]) -> float:
        # Walk along arcs within the set from one of its words: all are reached.
        reached, todo = set(), [min(inside)]
        while todo:
            word = todo.pop()
            reached.add(word)
            near = {heads[word], *modifiers(heads, word)} & inside
            todo.extend(near - reached)
        closed = all(heads[m] not in inside for m in range(1, 5) if m not in inside)
        return allowed(reached == inside and (closed or not complete))

    p = blank(4, **flags).with_subtree(words, complete=complete)
    if words == [2, 4] and complete and p.projective:
        # Word 3 lies under the arc between them, and hangs from neither.
        assert enumerate_trees(p) == []
    else:
        check(p, meaning, **flags)


@pytest.mark.parametrize("complete", [True, False])
def test_a_soft_subtree(complete: bool) -> None:
    words = [2, 3]
    p = blank(4, projective=False).with_subtree(words, complete=complete, weight=1.5)

    def meaning(heads: list[int]) -> float:
        entering = sum(heads[m] not in words for m in words)
        leaving = sum(heads[m] in words for m in (1, 4))
        return -1.5 * (entering - 1 + leaving * complete)

    check(p, meaning, projective=False)


@pytest.mark.parametrize("weight", [1.0, 1e6, 1e12, 1e17, 1e90])
@pytest.mark.parametrize("projective", [True, False])
def test_a_large_soft_weight_keeps_the_digits_of_scores(weight: float, projective: bool) -> None:
    rng = np.random.default_rng(3)
    for trial in range(10):
        p = Problem.from_arc_scores(rng.normal(size=(5, 5)), projective=projective)
        words, pair = ([1, 2], [2, 3, 4])[trial % 2], [(1, 2), (0, 3)]
        complete = trial < 5
        q = p.with_subtree(words, complete=complete, weight=weight).with_factors(
            [(pair[:1], -weight / 3), (pair, weight)]
        )

        def true_score(arcs: tuple[int, ...], p: Problem = p) -> Fraction:
            heads = [-1, *p.arc_head[list(arcs)].tolist()]
            outside = sum(heads[m] not in words for m in words) - 1  # noqa: B023
            if complete:  # noqa: B023
                outside += sum(heads[m] in words for m in range(1, 5) if m not in words)  # noqa: B023
            known = sum(map(Fraction, p.arc_score[list(arcs)].tolist()))
            known -= (heads[2] == 1) * Fraction(weight / 3)
            return known + ((heads[2] == 1 and heads[3] == 0) - outside) * Fraction(weight)

        expected = sorted((true_score(arcs) for _, arcs in enumerate_trees(p)), reverse=True)
        found = solve(q, k_best=3)
        assert found.status == "optimal"
        assert found.scores.tolist() == pytest.approx([float(x) for x in expected[:3]], rel=1e-14)
        assert q.score(found.arcs[0]) == found.scores[0]


def labelled() -> Problem:
    """Three words; all arcs under labels 0 and 1."""
    pairs = [(h, m, x) for m in (1, 2, 3) for h in range(4) if h != m for x in (0, 1)]
    return Problem(
        3,
        [h for h, _, _ in pairs],
        [m for _, m, _ in pairs],
        np.zeros(len(pairs)),
        [x for _, _, x in pairs],
    )


def test_labelled_arcs() -> None:
    p = labelled()
    free = {arcs for _, arcs in enumerate_trees(p)}

    def number(arcs: tuple[int, ...], named: list[tuple[int, ...]]) -> int:
        triples = {(int(p.arc_head[a]), int(p.arc_mod[a]), int(p.arc_label[a])) for a in arcs}  # type: ignore[index]
        return sum(any(triple[: len(name)] == name for name in named) for triple in triples)

    subject = p.with_valency(2, high=1, label=1)
    every: list[tuple[int, ...]] = [(2, 1, 1), (2, 3, 1)]
    kept = {arcs for _, arcs in enumerate_trees(subject)}
    assert kept == {arcs for arcs in free if number(arcs, every) <= 1}
    named: list[tuple[int, ...]] = [(2, 1), (2, 3, 0), (0, 2, 1)]
    scored = p.with_count_scores(named, [0, 1, 4, 9])
    assert {arcs: s for s, arcs in enumerate_trees(scored)} == {
        arcs: float(number(arcs, named) ** 2) for arcs in free
    }
    # An arc and the same arc under one of its labels is one arc.
    both: list[tuple[int, ...]] = [(2, 1), (2, 1, 0)]
    scored = p.with_count_scores(both, [0, 1, NONE])
    assert len(enumerate_trees(scored)) == len(free)


def test_arcs_that_are_no_candidates_are_not_counted() -> None:
    scores = np.zeros((4, 4))
    scores[3, 1] = scores[1, 3] = -math.inf
    p = Problem.from_arc_scores(scores)
    assert p.with_at_most([(3, 1), (2, 1)]) is p
    assert len(enumerate_trees(p.with_at_least([(3, 1), (2, 1)]))) == sum(
        p.arc_head[arcs[0]] == 2 for _, arcs in enumerate_trees(p)
    )
    assert p.with_count_scores([(3, 1), (1, 3)], [0.0, 5.0, 5.0]) is p
    shifted = p.with_count_scores([(3, 1), (1, 3)], [2.5, NONE, NONE])
    assert {s for s, _ in enumerate_trees(shifted)} == {2.5}
    assert len(enumerate_trees(shifted)) == len(enumerate_trees(p))
    for impossible in (
        p.with_at_least([(3, 1), (1, 3)]),
        p.with_count_scores([(3, 1)], [NONE, 0]),
        p.with_at_least([(2, 1)], 2),
        p.without_arcs([(1, 2)]).with_valency(1, 2),
    ):
        assert enumerate_trees(impossible) == []
    nothing = Problem(2, [], [], [])
    assert nothing.with_valency(1, 1) is nothing


def test_the_quantum_is_kept_where_it_holds() -> None:
    p = Problem(2, [0, 0, 1, 2], [1, 2, 2, 1], [0.5, 1, 1, 0], quantum=0.5)
    assert p.with_at_most([(0, 1), (1, 2)]).quantum == 0.5
    assert p.with_count_scores([(0, 1), (1, 2)], [0.0, 1.5, 1.5]).quantum == 0.5
    assert p.with_subtree([1, 2], weight=1.5).quantum == 0.5
    for off in (0.3, 5e-4, 1e-9, 0.5 + 1e-6):
        table = [0.0, -off, -off]
        for other in (
            p.with_count_scores([(0, 1), (1, 2)], table),
            p.with_factors([([(0, 1), (1, 2)], -off)]),
            p.with_factors([([(0, 1)], off)]),
            p.with_subtree([1, 2], weight=off),
        ):
            assert other.quantum == 0.0
            assert solve(other).scores[0] == max(score for score, _ in enumerate_trees(other))
        with pytest.raises(ProblemError, match=r"count_score\[1\] is -.*, expected a multiple"):
            dataclasses.replace(
                p, count_ptr=[0, 2], count_arcs=[0, 2], count_score_ptr=[0, 3], count_score=table
            )


def test_multiples_may_be_rounded_and_sums_of_them_not() -> None:
    for steps in (10, 7, 398320):
        scores = np.array([1, -3, 123457, -99999])
        for values in (scores / steps, scores * (1.0 / steps)):
            p = Problem(2, [0, 0, 1, 2], [1, 2, 2, 1], values, quantum=1.0 / steps)
            assert p.with_factors([([(0, 1), (1, 2)], 3 / steps)]).quantum == p.quantum
    with pytest.raises(ProblemError, match="expected a multiple of quantum"):
        Problem(2, [0, 0, 1, 2], [1, 2, 2, 1], [0.1 + 0.2 - 0.3, 0.1, 0.2, 0.3], quantum=0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.with_at_most([]), "arcs names no arc"),
        (
            lambda p: p.with_subtree([1, 2], weight=1e100),
            "weight is 1e+100, expected at most 2.5e+99 for 4 arcs",
        ),
        (lambda p: p.with_at_most(3), "arcs is of type int, expected arcs"),
        (lambda p: p.with_at_most([(0, 1), (2, 2)]), "arcs[1] is (2, 2): word 2 cannot be its own"),
        (lambda p: p.with_at_most([(0, 4)]), "mod of arcs[0] is 4, expected 1..3"),
        (lambda p: p.with_at_most([(0, 1), (0, 1)]), "arcs names an arc twice"),
        (lambda p: p.with_at_least([(0, 1)], 1.0), "k is 1.0, expected an integer"),
        (
            lambda p: p.with_count_scores([(0, 1)], [0.0]),
            "scores has 1 elements, expected 2: one for each number of the 1 arcs, from 0",
        ),
        (lambda p: p.with_count_scores([(0, 1)], [0, math.nan]), "scores[1] is nan"),
        (lambda p: p.with_count_scores([(0, 1)], [0, math.inf]), "scores[1] is inf"),
        (lambda p: p.with_valency(4), "head is 4, expected 0..3"),
        (lambda p: p.with_valency(1, 3, 2), "low is 3, expected at most high = 2"),
        (lambda p: p.with_valency(1, side="up"), "side is 'up', expected 'left' or 'right'"),
        (lambda p: p.with_valency(1, label=0), "label is 0, but the arcs have no labels"),
        (lambda p: p.with_subtree([]), "words is empty, expected at least one word"),
        (lambda p: p.with_subtree([1, 2], weight=-1.0), "weight is -1.0, expected at least 0"),
        (lambda p: p.with_subtree([1, 0]), "words[1] is 0, expected 1..3"),
        (lambda p: p.with_subtree([1, 2]), "words forbids the arc 2 -> 3, which is required"),
    ],
)
def test_what_makes_no_sense_is_refused(change: Any, message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        change(blank(3).with_heads({3: 2}))
    assert message in str(caught.value)


def test_the_same_valency_for_several_words() -> None:
    rng = np.random.default_rng(52)
    arcs = [(h, m, label) for h in range(5) for m in range(1, 5) for label in (0, 1) if h != m]
    head, mod, label = (np.array(column) for column in zip(*arcs))
    p = Problem(4, head, mod, rng.normal(size=len(arcs)) + 2.0 * (label == 0), label)
    one_by_one = p
    for h in (1, 3, 4):
        one_by_one = one_by_one.with_valency(h, high=1, label=0)
    at_once = p.with_valency([1, 3, 4], high=1, label=0)
    assert at_once.count_arcs.tolist() == one_by_one.count_arcs.tolist()
    assert at_once.count_ptr.tolist() == one_by_one.count_ptr.tolist()
    tree = solve(p.with_valency(np.arange(1, 5), high=1, label=0)).arcs[0]
    subjects = [int(head[a]) for a in tree if label[a] == 0]
    assert len(set(subjects) - {0}) == len([h for h in subjects if h])
    with pytest.raises(ProblemError, match=r"head\[1\] is 9, expected 0..4"):
        p.with_valency([1, 9], high=1)
    for bad in ("12", 1.5, np.array(1.5), None):
        with pytest.raises(ProblemError, match="head"):
            p.with_valency(bad, high=1)


@pytest.mark.parametrize("labels", [1, 2])
def test_one_of_several_sets_of_arcs(labels: int) -> None:
    """Sets of up to three arcs, some of them impossible: what is left is what has one of them."""
    rng = np.random.default_rng(labels)
    for _ in range(150):
        n = int(rng.integers(1, 5 if labels == 1 else 4))
        pairs = [(h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m]
        arcs = [(h, m, k) for h, m in pairs for k in range(labels) if rng.random() < 0.8]
        heads, mods, names = (np.array([arc[i] for arc in arcs], np.int32) for i in range(3))
        state = rng.choice([0, 0, 0, 0, -1], len(arcs)).astype(np.int8)
        flags = {"projective": bool(rng.integers(2)), "single_root": bool(rng.integers(2))}
        label = names if labels > 1 else None
        p = Problem(n, heads, mods, rng.normal(size=len(arcs)), label, state, **flags)
        sets = []
        for _ in range(int(rng.integers(0, 5))):
            size = min(len(pairs), int(rng.integers(1, 4)))
            chosen = [pairs[i] for i in rng.choice(len(pairs), size, replace=False)]
            with_label = labels > 1 and rng.random() < 0.5
            sets.append([(*arc, int(rng.integers(2))) if with_label else arc for arc in chosen])
        q = p.with_any(sets)

        def has_one(tree: tuple[int, ...], sets: Any = sets, arcs: Any = arcs) -> bool:
            own = {arcs[a] for a in tree} | {arcs[a][:2] for a in tree}
            return any(own.issuperset(some) for some in sets)

        expected = {tree: score for score, tree in enumerate_trees(p) if has_one(tree)}
        assert {tree: score for score, tree in enumerate_trees(q)} == expected
        solution = solve(q)
        assert solution.status == ("optimal" if expected else "infeasible")
        if expected:
            assert solution.scores[0] == pytest.approx(max(expected.values()))


def test_sets_of_arcs_that_say_nothing() -> None:
    """An empty set is in every tree; a required arc that leaves no set, in none."""
    p = blank(3)
    assert p.with_any([[], [(1, 2)]]).arc_state.tolist() == p.arc_state.tolist()
    assert solve(p.with_any([])).status == "infeasible"
    assert solve(p.with_heads({2: 3}).with_any([[(1, 2)]])).status == "infeasible"
    for sets, message in ((3, "sets is"), ([3], r"sets\[0\] is"), ([[(1, 1)]], r"sets\[0\]\[0\]")):
        with pytest.raises(ProblemError, match=message):
            p.with_any(sets)
