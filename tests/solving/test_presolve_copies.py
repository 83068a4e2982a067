"""Copies of an arc that another copy beats: checked against the enumeration of all trees."""

from __future__ import annotations

import dataclasses
import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from bbparse.problem import Problem
from bbparse.problem.order import in_order
from bbparse.solving.presolve.copies import without_beaten
from bbparse.solving.solve import solve
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import random_problem, random_scores


def with_more(rng: np.random.Generator, p: Problem) -> Problem:
    """The problem with factors that do not ask for labels, over all copies of their arcs."""
    pairs = list(zip(p.arc_head.tolist(), p.arc_mod.tolist()))
    factors: list[tuple[tuple[int, ...], float]] = []
    for _ in range(int(rng.integers(1, 8))):
        size = min(int(rng.integers(2, 5)), len(set(pairs)))
        if size < 2:
            break
        chosen = rng.permutation(sorted(set(pairs)))[:size].tolist()
        weight = float(rng.choice([-math.inf, *random_scores(rng, "ties", 5)]))
        copies = [[a for a, pair in enumerate(pairs) if pair == tuple(x)] for x in chosen]
        factors += [(own, weight) for own in product(*copies)]
    return dataclasses.replace(
        p,
        factor_ptr=np.concatenate(
            [p.factor_ptr, p.factor_ptr[-1] + np.cumsum([len(f) for f, _ in factors])]
        ).astype(np.int64),
        factor_arcs=[*p.factor_arcs.tolist(), *(a for f, _ in factors for a in f)],
        factor_score=[*p.factor_score.tolist(), *(w for _, w in factors)],
    )


def problem(seed: int) -> Problem:
    rng = np.random.default_rng([seed, 77])
    p = random_problem(rng, max_words=4, labelled=True, max_counts=2, max_factors=8)
    if rng.random() < 0.5:  # labels that matter more than what is said of them
        p = dataclasses.replace(p, arc_score=p.arc_score * 8.0)
    return with_more(rng, p) if rng.random() < 0.7 else p


@pytest.mark.parametrize("block", range(6))
def test_the_best_trees_stay(block: int) -> None:
    dropped = single = 0
    for seed in range(100 * block, 100 * block + 100):
        ordered, _ = in_order(problem(seed))
        small, kept = without_beaten(ordered)
        before, after = enumerate_trees(ordered), enumerate_trees(small)
        if kept is None:
            assert len(small.arc_head) == len(ordered.arc_head)
            kept = np.arange(len(small.arc_head))
        assert (small.arc_head == ordered.arc_head[kept]).all()
        assert (small.arc_mod == ordered.arc_mod[kept]).all()
        pairs = set(zip(small.arc_head.tolist(), small.arc_mod.tolist()))
        assert pairs == set(zip(ordered.arc_head.tolist(), ordered.arc_mod.tolist()))
        assert (small.arc_label is None) == (len(pairs) == len(small.arc_head))
        # what is left scores as before, and the best labels of every tree are left
        scores = {arcs: score for score, arcs in before}
        best: dict[tuple[int, ...], float] = {}
        for score, arcs in before:
            best.setdefault(tuple(ordered.arc_head[list(arcs)]), score)
        left: dict[tuple[int, ...], float] = {}
        for score, arcs in after:
            own = tuple(kept[list(arcs)].tolist())
            assert scores[own] == pytest.approx(score, rel=1e-12, abs=1e-12)
            left.setdefault(tuple(ordered.arc_head[list(own)]), score)
        assert left == pytest.approx(best, rel=1e-12, abs=1e-12)
        if ordered.quantum:
            first = {arcs for score, arcs in before if score == before[0][0]}
            assert first <= {tuple(kept[list(arcs)].tolist()) for _, arcs in after}
        dropped += len(ordered.arc_head) - len(small.arc_head)
        single += small.arc_label is None
    assert dropped > 20 and single > 5


@pytest.mark.parametrize("block", range(2))
def test_solutions_are_those_of_the_whole_problem(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        p = problem(seed)
        found = solve(p)
        trees = enumerate_trees(p)
        assert len(found) == min(1, len(trees))
        if trees:
            assert found.scores[0] == pytest.approx(trees[0][0], rel=1e-9, abs=1e-9)
            assert p.score(found.arcs[0]) == found.scores[0]
            assert p.is_feasible(found.arcs[0])
            assert found.labels is not None and p.arc_label is not None
            assert (found.labels == p.arc_label[found.arcs]).all()


def two_copies(factors: list[tuple[list[int], float]], **fields: Any) -> Problem:
    """Words 1 and 2; arcs 0→1 and, with labels 0 and 1, both 1→2 and 0→2."""
    values: dict[str, Any] = {
        "n_words": 2, "arc_head": [0, 0, 0, 1, 1], "arc_mod": [1, 2, 2, 2, 2],
        "arc_score": [0.0, 5.0, 3.0, 5.0, 3.0], "arc_label": [0, 0, 1, 0, 1], "quantum": 1.0,
        "factor_ptr": np.cumsum([0, *(len(f) for f, _ in factors)]),
        "factor_arcs": [a for f, _ in factors for a in f],
        "factor_score": [w for _, w in factors], "single_root": False,
    }  # fmt: skip
    return Problem(**{**values, **fields})


@pytest.mark.parametrize(
    ("factors", "left"),
    [
        ([], [0, 1, 3]),
        ([([0, 4], 1.0)], [0, 1, 3]),  # gains 1, but is 2 behind
        ([([0, 4], 2.0)], [0, 1, 3, 4]),  # a draw: both stay
        ([([0, 3], -3.0)], [0, 1, 3, 4]),
        ([([0, 3], -3.0), ([0, 4], -3.0)], [0, 1, 3]),  # does not ask for the label
        ([([0, 4], -math.inf), ([0, 3], -9.0)], [0, 1, 3]),
        ([([0, 3], -math.inf)], [0, 1, 3, 4]),
        ([([0, 3], -math.inf), ([0, 4], -math.inf)], [0, 1, 3]),
        ([([1, 3], -9.0)], [0, 1, 3]),  # two arcs into one word
    ],
)
def test_what_beats_what(factors: list[tuple[list[int], float]], left: list[int]) -> None:
    small, kept = without_beaten(two_copies(factors))
    assert (np.arange(5) if kept is None else kept).tolist() == left
    assert (small.arc_label is None) == (len(left) == 3)


def test_a_loss_counts_once_for_a_word() -> None:
    # Each head of word 1 takes 2 from the better copy of 3→2: together they never take 4.
    p = Problem(
        3, [0, 2, 3, 3, 3, 0], [1, 1, 1, 2, 2, 3], [0.0] * 3 + [3.0, 0.0, 0.0],
        [0, 0, 0, 0, 1, 0], projective=False, quantum=1.0,
        factor_ptr=[0, 2, 4], factor_arcs=[1, 3, 2, 3], factor_score=[-2.0, -2.0],
    )  # fmt: skip
    p = in_order(p)[0]
    assert without_beaten(p)[0].arc_label is None


def test_states_and_counts_are_heeded() -> None:
    for state, left in (([0, -1, 0, 0, 0], 4), ([0, 0, 1, 0, 0], 5), ([0, 0, 0, 1, 0], 5)):
        small, _ = without_beaten(two_copies([], arc_state=state))
        assert len(small.arc_head) == left
    p = two_copies([]).with_at_most([(0, 2, 0), (1, 2, 1)], 1)
    assert without_beaten(p)[1] is None
    p = two_copies([]).with_at_most([(0, 2, 0), (0, 2, 1)], 0)
    small, kept = without_beaten(p)
    assert kept is not None and kept.tolist() == [0, 1, 3]
    assert small.count_arcs.tolist() == [1] and small.count_score.tolist() == [0.0, -math.inf]


def test_plain_problems_are_left_alone() -> None:
    p = random_problem(np.random.default_rng(1), labelled=False)
    assert without_beaten(p) == (p, None)


def test_rounding_decides_nothing() -> None:
    scores = [0.0, 1.0, 0.0, 0.1 + 0.2, 0.0]
    p = two_copies([([0, 4], 0.3)], arc_score=scores, quantum=0.0)
    assert 0.1 + 0.2 > 0.3
    kept = without_beaten(p)[1]
    assert kept is not None and kept.tolist() == [0, 1, 3, 4]
