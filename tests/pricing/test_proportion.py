"""Scores out of proportion, for the methods that rest on HiGHS."""

from __future__ import annotations

import numpy as np
import pytest

from bbparse.pricing import PricingSettings, price_and_cut
from bbparse.problem import Problem
from bbparse.solving.solve import solve
from tests.solving.test_proportion import check

METHODS = ("price-and-cut", "ilp")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("mask", [-1e3, -1e6, -1e9, -1e14, float(np.finfo(np.float32).min)])
def test_masks_hide_nothing(mask: float, scale: float, method: str) -> None:
    rng = np.random.default_rng(184)
    scores = rng.normal(size=(6, 6)) * 1e-3 * scale
    scores[rng.random(scores.shape) < 0.2] = mask
    p = Problem.from_arc_scores(scores, projective=False)
    p = p.with_factors([([(0, 2), (4, 5)], mask), ([(2, 3), (2, 4)], 1e-3 * scale)])
    for k in (1, 4):
        check(p, solve(p, k_best=k, method=method), k)


@pytest.mark.parametrize("method", METHODS)
def test_a_penalty_that_no_tree_pays(method: str) -> None:
    options = {"projective": False, "single_root": False}
    both_heads = Problem(
        3, [0, 0, 1, 2], [1, 2, 3, 1], [0.0, 0.0, 0.0, 1.0],
        factor_ptr=[0, 2], factor_arcs=[0, 3], factor_score=[-1e20], **options,
    )  # fmt: skip
    outermost = Problem(
        4, [1, 0, 2, 0, 2, 4], [2, 2, 3, 4, 4, 1], [0.0, 0.0, 0.0, 0.0, 7e-7, 0.0],
        ogc_grand=[1, 0], ogc_head=[2, 4], ogc_mod=[4, 1], ogc_score=[-1e4, 2e-6], **options,
    )  # fmt: skip
    labels = Problem(
        4, [1, 0, 0, 1, 4, 4, 1], [2, 1, 1, 3, 3, 1, 4], [0.0, 0.0, 0.03, 0.0, 0.02, -1e14, 0.0],
        arc_label=[2, 0, 2, 2, 1, 0, 2], **options,
    )  # fmt: skip
    for p, best in ((both_heads, 1.0), (outermost, 2e-6), (labels, 0.05)):
        s = solve(p, method=method)
        assert s.status == "optimal"
        assert s.scores.tolist() == pytest.approx([best])


def test_price_and_cut_by_itself_claims_no_more_than_its_tolerance() -> None:
    p = Problem(
        4, [1, 0, 0, 1, 4, 4, 1], [2, 1, 1, 3, 3, 1, 4], [0.0, 0.0, 0.03, 0.0, 0.02, -1e14, 0.0],
        arc_label=[2, 0, 2, 2, 1, 0, 2], arc_state=[0, 0, 0, 1, 0, 0, 0],
        projective=False, single_root=False,
    )  # fmt: skip
    settings = PricingSettings(("OneGP", "GPArc"), connectivity="flow", raised=False)
    s = price_and_cut(p, settings=settings)
    assert s.status == "gap" and not s.proved[0] and s.upper_bounds[0] >= 0.03
    assert solve(p, method="price-and-cut").scores.tolist() == pytest.approx([0.03])
