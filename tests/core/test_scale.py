"""Problems at the scale of a tree: no tree scores more there, and good trees score the same."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from bbparse.core import Problem
from bbparse.core.scale import scaled
from bbparse.core.tree import tree_terms
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


def test_penalties_and_rewards_become_constants() -> None:
    p = Problem(
        2, [0, 0, 1, 2], [1, 2, 2, 1], [3.0, -1e38, 1.0, 2.0], factor_ptr=[0, 2],
        factor_arcs=[0, 2], factor_score=[1e12],
    )  # fmt: skip
    scale = scaled(p, tree_terms(p, np.array([3, 1], np.int32)))
    assert scale.loss > 1e37  # the only known tree pays the penalty
    scale = scaled(p, tree_terms(p, np.array([0, 2], np.int32)))
    assert scale.loss == 0.0 and sum(scale.constants) == 1e12 + 4.0
    assert scale.poor.tolist() == [False, True, False, True]
