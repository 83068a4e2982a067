"""Elimination: what is deleted is in no tree that scores at least the floor."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.inference.oracles.projective.build import Chart
from bbparse.inference.oracles.projective.calls import chart_k_best, chart_scratch
from bbparse.inference.oracles.projective.passes import (
    eliminate,
    group_marginals,
    group_scores,
    inside_pass,
    outside_pass,
)
from tests.inference.oracles.projective.helpers import Charted
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


def run(charted: Charted, chart: Chart) -> Passes:
    """Both sweeps over a chart."""
    scores = np.empty(len(chart.group_mod))
    group_scores(chart.group_ptr, charted.arc_score, scores)
    inside, outside = np.empty(chart.size[0]), np.empty(chart.size[0])
    goal = inside_pass(chart, scores, inside)
    outside_pass(chart, scores, inside, outside)
    return Passes(scores, inside, outside, float(goal))


def eliminated(charted: Charted, floor: float, chart: Chart | None = None) -> Chart:
    """The chart that elimination leaves; the given one stays as it is."""
    chart = (charted.chart if chart is None else chart).trimmed()
    passes = run(charted, chart)
    scratch = np.empty(chart.size[0], np.int32)
    eliminate(chart, passes.group_score, passes.inside, passes.outside, floor, scratch)
    return chart.trimmed()


def all_trees(charted: Charted, chart: Chart | None = None) -> Trees:
    """Every tree of a chart and its score."""
    scores, arcs = charted.k_best(EVERYTHING, chart)
    return dict(zip(map(tuple, arcs.tolist()), scores.tolist()))


def check_layout(chart: Chart) -> None:
    """Smaller items come first, and every one but the empty item has a hyperedge."""
    assert chart.item_ptr[0] == chart.item_ptr[1] == 0
    assert (np.diff(chart.item_ptr[1:]) > 0).all()
    item_of = np.repeat(np.arange(chart.size[0]), np.diff(chart.item_ptr))
    assert (chart.left < item_of).all()
    assert (chart.right < item_of).all()


def cases(seed: int, scale: str, count: int) -> list[tuple[Problem, Charted]]:
    rng = np.random.default_rng(seed)
    found: list[tuple[Problem, Charted]] = []
    while len(found) < count:
        p = random_problem(rng, max_words=6, projective=True, max_factors=0, scale=scale)
        chart = Charted(p, "grandsib" if rng.random() < 0.7 else None)
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
            after = all_trees(chart, left)
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
        passes = run(chart, left)
        best = passes.goal
        assert best == scores[-1]
        for item in range(1, int(left.size[0])):
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
        after = all_trees(chart, eliminated(chart, floor - slack))
        assert after.keys() <= before.keys()
        assert {tree for tree, score in before.items() if score >= floor} <= after.keys()


def test_floors_that_keep_all_or_nothing() -> None:
    for _, chart in cases(56, "halves", 30):
        trees = all_trees(chart)
        best = max(trees.values())
        assert all_trees(chart, eliminated(chart, -math.inf)) == trees
        empty = eliminated(chart, best + 0.5)
        assert empty.size[0] == 1
        assert all_trees(chart, empty) == {}
        once = eliminated(chart, best)
        assert len(eliminated(chart, best, once).left) == len(once.left)


def test_max_marginals_of_what_is_left_are_those_of_before() -> None:
    for _, chart in cases(57, "halves", 40):
        scores = sorted(all_trees(chart).values())
        floor = scores[len(scores) // 2]
        before, after = np.empty((2, len(chart.chart.group_mod)))
        for c, out in ((chart.chart, before), (eliminated(chart, floor), after)):
            passes = run(chart, c)
            group_marginals(c, passes.inside, passes.outside, out)
        assert (after[before >= floor] == before[before >= floor]).all()
        assert (after[before < floor] == -math.inf).all()


def test_listing_ends_when_its_time_is_over() -> None:
    p = Problem.from_arc_scores(np.random.default_rng(3).normal(size=(13, 13)))
    charted = Charted(p)
    scores, arcs = charted.k_best(20_000)
    trees, values, _, rest = chart_k_best(
        charted.chart, chart_scratch(charted.chart), charted.arc_score, p.n_words, 20_000,
        -math.inf, 0.0,
    )  # fmt: skip
    assert 1 <= len(values) < len(scores) and rest == values[-1]
    assert (charted.order[trees] == arcs[: len(trees)]).all()


def test_listing_ends_with_the_first_tree_that_is_too_poor() -> None:
    for p, charted in cases(87, "normal", 40):
        scores, arcs = charted.k_best(EVERYTHING)
        for least in (scores[0] + 1.0, float(scores[len(scores) // 2]), scores[-1] - 1.0):
            scratch = chart_scratch(charted.chart)
            trees, values, _, rest = chart_k_best(
                charted.chart, scratch, charted.arc_score, p.n_words, EVERYTHING, least, math.inf
            )
            wanted = min(int((scores >= least).sum()) + 1, len(scores))
            assert (charted.order[trees] == arcs[:wanted]).all() and len(values) == wanted
            assert rest == (values[-1] if values[-1] < least else -math.inf)
