"""Elimination: what is deleted is in no tree that scores at least the floor."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from bbparse.oracle.projective.chart import Chart, build
from bbparse.oracle.projective.passes import (
    eliminate,
    group_marginals,
    group_scores,
    inside_pass,
    outside_pass,
)
from bbparse.problem import Problem
from tests.strategies import random_problem

EVERYTHING = 10_000

Trees = dict[tuple[int, ...], float]


@dataclass
class Passes:
    """A chart's inside and outside scores."""

    group_score: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    goal: float


def run(chart: Chart) -> Passes:
    """Both sweeps over a chart."""
    scores = np.empty(len(chart.group_mod))
    group_scores(chart.group_ptr, chart.arc_score, scores)
    inside, outside = np.empty(chart.n_items), np.empty(chart.n_items)
    edges = (
        chart.n_items, chart.item_ptr, chart.item_group, chart.left, chart.right, chart.weight,
        scores, inside,
    )  # fmt: skip
    goal = inside_pass(*edges)
    outside_pass(*edges, outside)
    return Passes(scores, inside, outside, float(goal))


def eliminated(chart: Chart, floor: float) -> Chart:
    """The chart that elimination leaves; the given one stays as it is."""
    passes = run(chart)
    item_ptr, item_group = chart.item_ptr.copy(), chart.item_group.copy()
    left, right, weight = chart.left.copy(), chart.right.copy(), chart.weight.copy()
    items = eliminate(
        chart.n_items, item_ptr, item_group, left, right, weight, passes.group_score,
        passes.inside, passes.outside, floor, np.empty(chart.n_items, np.int32),
    )  # fmt: skip
    edges = int(item_ptr[items])
    return replace(
        chart, item_ptr=item_ptr[: items + 1], item_group=item_group[:items], left=left[:edges],
        right=right[:edges], weight=weight[:edges],
    )  # fmt: skip


def all_trees(chart: Chart) -> Trees:
    """Every tree of a chart and its score."""
    scores, arcs = chart.k_best(EVERYTHING)
    return dict(zip(map(tuple, arcs.tolist()), scores.tolist()))


def check_layout(chart: Chart) -> None:
    """Smaller items come first, and every one but the empty item has a hyperedge."""
    assert chart.item_ptr[0] == chart.item_ptr[1] == 0
    assert (np.diff(chart.item_ptr[1:]) > 0).all()
    item_of = np.repeat(np.arange(chart.n_items), np.diff(chart.item_ptr))
    assert (chart.left < item_of).all()
    assert (chart.right < item_of).all()


def cases(seed: int, scale: str, count: int) -> list[tuple[Problem, Chart]]:
    rng = np.random.default_rng(seed)
    found: list[tuple[Problem, Chart]] = []
    while len(found) < count:
        p = random_problem(rng, max_words=6, projective=True, max_factors=0, scale=scale)
        chart = build(p, "grandsib" if rng.random() < 0.7 else None)
        if chart.viterbi()[0] > -math.inf:
            found.append((p, chart))
    return found


@pytest.mark.parametrize("scale", ["ties", "halves"])
def test_exactly_the_trees_below_the_floor_may_go(scale: str) -> None:
    """With whole scores to the last tie: a tree that scores just the floor stays."""
    rng = np.random.default_rng(51)
    gone = 0
    for _, chart in cases(52, scale, 60):
        before = all_trees(chart)
        levels = sorted(set(before.values()))
        for floor in {levels[0], levels[-1], levels[len(levels) // 2], float(rng.choice(levels))}:
            left = eliminated(chart, floor)
            check_layout(left)
            after = all_trees(left)
            assert after.items() <= before.items()
            for tree, score in before.items():
                if score >= floor:
                    assert after[tree] == score
            gone += len(before) - len(after)
    assert gone > 1000


def test_every_hyperedge_that_stays_is_in_a_good_tree() -> None:
    for _, chart in cases(53, "halves", 60):
        scores = sorted(all_trees(chart).values())
        floor = scores[len(scores) * 3 // 4]
        left = eliminated(chart, floor)
        passes = run(left)
        best = passes.goal
        assert best == scores[-1]
        for item in range(1, left.n_items):
            around = passes.outside[item]
            if left.item_group[item] >= 0:
                around += passes.group_score[left.item_group[item]]
            for e in range(left.item_ptr[item], left.item_ptr[item + 1]):
                below = passes.inside[left.left[e]] + passes.inside[left.right[e]]
                assert floor <= around + left.weight[e] + below <= best


@pytest.mark.parametrize("scale", ["normal", "huge", "tiny", "mixed"])
def test_no_good_tree_is_lost_to_rounding_beyond_the_last_digits(scale: str) -> None:
    rng = np.random.default_rng(54)
    for p, chart in cases(55, scale, 40):
        before = all_trees(chart)
        floor = float(rng.choice(sorted(before.values())))
        names = ("arc_score", "sib_score", "gc_score", "ogc_score", "gsib_score")
        slack = 1e-14 * float(sum(np.abs(getattr(p, name)).sum() for name in names))
        after = all_trees(eliminated(chart, floor - slack))
        assert after.keys() <= before.keys()
        assert {tree for tree, score in before.items() if score >= floor} <= after.keys()


def test_floors_that_keep_all_or_nothing() -> None:
    for _, chart in cases(56, "halves", 30):
        trees = all_trees(chart)
        best = max(trees.values())
        assert all_trees(eliminated(chart, -math.inf)) == trees
        empty = eliminated(chart, best + 0.5)
        assert empty.n_items == 1
        assert all_trees(empty) == {}
        again = eliminated(eliminated(chart, best), best)
        assert again.n_edges == eliminated(chart, best).n_edges


def test_max_marginals_of_what_is_left_are_those_of_before() -> None:
    for _, chart in cases(57, "halves", 40):
        scores = sorted(all_trees(chart).values())
        floor = scores[len(scores) // 2]
        before, after = np.empty(len(chart.group_mod)), np.empty(len(chart.group_mod))
        for c, out in ((chart, before), (eliminated(chart, floor), after)):
            passes = run(c)
            group_marginals(c.n_items, c.item_group, passes.inside, passes.outside, out)
        assert (after[before >= floor] == before[before >= floor]).all()
        assert (after[before < floor] == -math.inf).all()
