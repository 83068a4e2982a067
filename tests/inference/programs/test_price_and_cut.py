"""Price and cut: against the integer program, at limits, out of proportion; its cuts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.inference.programs.ilp import solve_ilp
from bbparse.inference.programs.price_and_cut import price_and_cut
from bbparse.inference.search.search import SearchLimits
from bbparse.inference.solve import solve
from bbparse.runtime.deadline import Deadline
from tests.fuzz.checks import fault
from tests.fuzz.draw import Case
from tests.oracles.enumerate import enumerate_trees
from tests.oracles.forest import forest
from tests.solutions import check_trees
from tests.strategies import all_parts


def with_triples(rng: np.random.Generator, n: int, **options: Any) -> Problem:
    """A dense problem with all its grandchildren, as the paper's."""
    scores = 2.0 * rng.normal(size=(n + 1, n + 1))
    triples = np.array(all_parts("gc", n)).reshape(-1, 3)
    arcs = Problem.from_arc_scores(scores.T, projective=False)
    return Problem(
        n,
        arcs.arc_head,
        arcs.arc_mod,
        arcs.arc_score,
        gc_grand=triples[:, 0],
        gc_head=triples[:, 1],
        gc_mod=triples[:, 2],
        gc_score=rng.normal(size=len(triples)),
        **{"projective": False, **options},
    )


@pytest.mark.parametrize("seed", [1233, 1298, 1592, 1743, 1760])
def test_triples_priced_in_a_closed_node_are_there_in_the_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, single_root = int(rng.integers(4, 6)), bool(rng.integers(2))
    p = with_triples(rng, n, single_root=single_root, projective=bool(rng.random() < 0.2))
    assert not fault(p, price_and_cut(p, 10), forest(p), Case("search", (seed, 0), p, 10))


def test_larger_problems_agree_with_the_integer_program() -> None:
    rng = np.random.default_rng(172)
    for n in (8, 9, 10, 11):
        p = with_triples(rng, n, single_root=bool(rng.integers(2)))
        expected = solve_ilp(p)
        s = solve(p, method="price-and-cut")
        check_trees(p, s)
        assert (s.status, expected.status) == ("optimal", "optimal")
        assert s.scores == pytest.approx(expected.scores, abs=1e-7)
        assert s.stats["root_bound"] >= expected.scores[0] - 1e-7


def test_delayed_columns_change_nothing_but_the_work() -> None:
    rng = np.random.default_rng(173)
    for _ in range(3):
        p = with_triples(rng, 12)
        brute, s = price_and_cut(p, delayed=False), price_and_cut(p)
        assert s.heads.tolist() == brute.heads.tolist()
        assert s.stats["root_bound"] == pytest.approx(brute.stats["root_bound"], abs=1e-6)
        assert s.stats["share_added"] < 0.3
        assert brute.stats["added"] == brute.stats["triples"] == s.stats["triples"]


@pytest.mark.parametrize("method", ["price-and-cut", "ilp"])
def test_differences_far_below_the_largest_score(method: str) -> None:
    rng = np.random.default_rng(183)
    for _ in range(8):
        scores = np.rint(rng.normal(size=(6, 6)) * 4.0) + 1e-10 * rng.normal(size=(6, 6))
        p = Problem.from_arc_scores(scores, projective=False)
        p = p.with_factors([([(1, 2), (2, 3)], 2.0 + 1e-10), ([(0, 1), (1, 4)], -2.0)])
        expected = [score for score, _ in enumerate_trees(p)[:3]]
        s = solve(p, k_best=3, method=method)
        assert s.status == "optimal"
        assert s.scores == pytest.approx(expected, rel=0.0, abs=1e-11)
        assert s.stats["tolerance"] < 1e-9


def test_at_limits() -> None:
    p = with_triples(np.random.default_rng(177), 25)
    best = solve(p, method="price-and-cut")
    assert best.status == "optimal"
    for limits in (
        SearchLimits(Deadline.after(0.0)),
        SearchLimits(Deadline.after(0.05)),
        SearchLimits(nodes=1),
        SearchLimits(gap=0.9),
    ):
        s = price_and_cut(p, 1, limits)
        check_trees(p, s)
        assert len(s) == 1
        assert s.scores[0] <= best.scores[0] + 1e-6 <= s.upper_bound + 2e-6 < np.inf
    s = price_and_cut(p, 1, SearchLimits(Deadline.after(0.0)))
    assert (s.status, s.proved.tolist(), s.stats["nodes"]) == ("time_limit", [False], 0)


METHODS = ("price-and-cut", "ilp")


@pytest.mark.parametrize("method", METHODS)
def test_a_penalty_that_no_tree_pays(method: str) -> None:
    options = {"projective": False, "single_root": False}
    both_heads = Problem(
        3,
        [0, 0, 1, 2],
        [1, 2, 3, 1],
        [0.0, 0.0, 0.0, 1.0],
        factor_ptr=[0, 2],
        factor_arcs=[0, 3],
        factor_score=[-1e20],
        **options,
    )
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
