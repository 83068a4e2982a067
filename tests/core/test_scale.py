"""Problems at the scale of a tree: no tree scores more there, and good trees score the same."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from bbparse.core import Problem
from bbparse.core.scale import grain_of, scaled
from bbparse.core.score import tree_terms
from tests.fuzz.draw import draw_problem
from tests.oracles.forest import TooMany, forest


def exact(problem: Problem, arcs: np.ndarray) -> Fraction:
    """The score of a tree, without rounding."""
    return sum(map(Fraction, tree_terms(problem, arcs)), Fraction(0))


def test_scores_of_all_trees() -> None:
    rng = np.random.default_rng(31)
    cut = 0
    for _ in range(150):
        p = draw_problem(rng, small=True)
        try:
            trees = forest(p).arcs.astype(np.int32)
        except TooMany:
            continue
        if not len(trees):
            continue
        scores = [exact(p, arcs) for arcs in trees[:300]]
        known = int(rng.integers(len(scores)))
        scale = scaled(p, tree_terms(p, trees[known]))
        constant, unit = sum(map(Fraction, scale.constants), Fraction(0)), Fraction(scale.unit)
        for name in ("arc", "sib", "gc", "ogc", "gsib", "factor", "count"):
            values = getattr(scale.problem, f"{name}_score")
            assert (np.abs(values[np.isfinite(values)]) <= 4.0).all()
        rounding = Fraction(scale.unit) * 8 * p.n_words / 2**50
        for arcs, score in zip(trees, scores):
            there = unit * exact(scale.problem, arcs) + constant
            assert score <= there + rounding
            if score >= scores[known]:
                assert abs(score - there) <= rounding
                assert not scale.poor[arcs].any()
            cut += score < there - rounding
    assert cut > 50


def test_the_grain_divides_all_scores() -> None:
    for scores, grain in (([0.5, 0.75], 0.25), ([3.0, 0.0], 1.0), ([-6.0, 4.0], 2.0)):
        assert grain_of(Problem(2, [0, 1], [1, 2], scores)) == grain
    assert grain_of(Problem(2, [0, 1], [1, 2], [0.0, 0.0])) == np.inf
