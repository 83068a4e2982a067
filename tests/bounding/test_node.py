"""Bounding a node: nothing that would change the k best is ever lost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from bbparse.bounding.node import floor_to_beat
from bbparse.oracle.projective.chart import Chart, build, parts_of
from bbparse.oracle.projective.recurrences import cheapest
from bbparse.problem import Problem
from bbparse.search.settings import AS_PUBLISHED, DEFAULT, SearchSettings
from bbparse.search.tree import Search
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import random_problem

SETTINGS = {
    "default": DEFAULT,
    "published": AS_PUBLISHED,
    "one pass": DEFAULT.with_(root_calls=1, eliminate_every=0, close_k=1),
    "elimination always": DEFAULT.with_(root_calls=4, eliminate_every=1, close_k=1),
    "paper with elimination": DEFAULT.with_(method="paper", root_calls=10, close_k=4),
}


@dataclass
class Bounded:
    """A search before its first node is bounded, and all its trees (chart arcs) with scores."""

    run: Search
    truth: dict[tuple[int, ...], float]
    slack: float


def random_counts(
    rng: np.random.Generator, n_arcs: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A few count factors with small whole scores and -inf."""
    sets = [
        rng.permutation(n_arcs)[: int(rng.integers(1, 6))].astype(np.int32)
        for _ in range(int(rng.integers(0, 4)))
    ]
    score = rng.integers(-4, 5, sum(len(s) + 1 for s in sets)).astype(np.float64)
    score[rng.random(len(score)) < 0.15] = -math.inf
    return (
        np.cumsum([0] + [len(s) for s in sets]).astype(np.int64),
        np.concatenate([np.zeros(0, np.int32), *sets]),
        np.cumsum([0] + [len(s) + 1 for s in sets]).astype(np.int64),
        score,
    )


def cases(
    seed: int, settings: SearchSettings, counted: bool, count: int
) -> Iterator[tuple[Problem, Chart, Bounded]]:
    rng = np.random.default_rng(seed)
    while count:
        p = random_problem(
            rng, min_words=2, max_words=5, projective=True, max_factors=25, labelled=False,
            scale=str(rng.choice(["halves", "ties", "normal"])),
        )  # fmt: skip
        chart = build(p, cheapest(parts_of(p)))
        if chart.n_items == 1:
            continue
        count -= 1
        place = np.empty(len(chart.order), np.int32)
        place[chart.order] = np.arange(len(chart.order), dtype=np.int32)
        counts = random_counts(rng, len(place)) if counted else None
        truth: dict[tuple[int, ...], float] = {}
        for score, arcs in enumerate_trees(p):
            tree = tuple(place[list(arcs)].tolist())
            if counts is not None:
                ptr, members, score_ptr, table = counts
                for c in range(len(ptr) - 1):
                    on = len(set(members[ptr[c] : ptr[c + 1]].tolist()) & set(tree))
                    score += float(table[score_ptr[c] + on])
            if score > -math.inf:
                truth[tree] = score
        factors = (p.factor_ptr.copy(), place[p.factor_arcs], p.factor_score.copy())
        k = int(rng.choice([1, 1, 2, 5]))
        run = Search(chart, factors, k, settings, counts=counts)
        yield p, chart, Bounded(run, truth, 4 * run.slack)


@pytest.mark.parametrize("counted", [False, True], ids=["factors", "count factors"])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_every_tree_is_listed_or_bounded_or_too_poor(
    settings: SearchSettings, counted: bool
) -> None:
    stayed_open = 0
    for _, _, case in cases(103, settings, counted, 80):
        run, truth = case.run, case.truth
        stays = run._bound(run.root)
        stayed_open += stays
        found = int(run.count[0])
        listed = [tuple(row) for row in run.trees[:found].tolist()]
        assert len(set(listed)) == found
        for tree, score in zip(listed, run.scores.tolist()):
            assert truth[tree] == pytest.approx(score, rel=0, abs=case.slack)
        assert (np.diff(run.scores[:found]) <= 0).all()
        for tree, score in truth.items():
            # Trees equal to the k-th best up to rounding may be kept or not.
            if tree in listed or score < run.floor + case.slack:
                continue
            assert stays, "a node with a better tree was closed"
            assert score <= run.root.bound + case.slack
            assert (run.root.base[list(tree)] > -math.inf).all()
        if stays:
            arc = run.root.arc
            rivals = np.flatnonzero((run.arc_mod == run.arc_mod[arc]) & (run.root.base > -math.inf))
            assert arc in rivals
            assert len(rivals) > 1, "the branching arc must be free"
    if settings is SETTINGS["one pass"]:
        assert stayed_open > 10


@pytest.mark.parametrize("counted", [False, True], ids=["factors", "count factors"])
def test_children_divide_the_trees_of_their_parent(counted: bool) -> None:
    weak = SETTINGS["one pass"]
    divided = 0
    for _, _, case in cases(102, weak, counted, 80):
        run = case.run
        if not run._bound(run.root):
            continue
        parent_alive = run.root.base > -math.inf
        bound, arc = run.root.bound, run.root.arc
        with_arc, without_arc = run._children(run.root, arc)
        divided += 1
        assert with_arc.depth == without_arc.depth == 1
        for tree in case.truth:
            if parent_alive[list(tree)].all():
                in_first = bool((with_arc.base[list(tree)] > -math.inf).all())
                in_second = bool((without_arc.base[list(tree)] > -math.inf).all())
                assert (in_first, in_second) == (arc in tree, arc not in tree)
        before = without_arc.base.copy()
        run._bound(with_arc)
        assert with_arc.bound <= bound + case.slack, "a child's bound is at most its parent's"
        assert without_arc.base.tolist() == before.tolist(), "children share no arrays"
    assert divided > 10


def test_the_floor_is_the_next_better_score() -> None:
    scores, full = np.array([5.0, 3.0]), np.array([2])
    assert floor_to_beat(scores, np.array([1]), 1.0, 1e-9) == -math.inf
    assert floor_to_beat(scores, full, 0.0, 1e-9) == 3.0 + 1e-9
    assert floor_to_beat(scores, full, 1.0, 1e-9) == 4.0 - 1e-9
    # A quantum below the rounding error says nothing.
    assert floor_to_beat(scores, full, 1e-10, 1e-9) == 3.0 + 1e-9
