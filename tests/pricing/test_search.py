"""Price and cut: against enumeration and the integer program, at limits, and without HiGHS."""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np
import pytest

from bbparse.errors import BBParseError, ProblemError
from bbparse.highs import Linear, LinearAnswer
from bbparse.ilp import solve_ilp
from bbparse.pricing import GivenColumns, PricingSettings, price_and_cut
from bbparse.problem import Problem
from bbparse.solving.solve import solve
from tests.oracles.enumerate import enumerate_trees
from tests.solutions import check_trees, spread
from tests.strategies import all_parts, random_problem

SETS = (
    ("ArcGP", "GPArc", "OneGP", "NoGP"), ("OneGP", "GPArc"), ("ArcGP", "GPArc"), ("OneGP", "NoGP"),
)  # fmt: skip
SETTINGS = [
    PricingSettings(*chosen)
    for chosen in product(SETS, ("cuts", "flow"), (True, False), (True, False))
]


def with_triples(rng: np.random.Generator, n: int, **options: Any) -> Problem:
    """A dense problem with all its grandchildren, as the paper's."""
    scores = 2.0 * rng.normal(size=(n + 1, n + 1))
    triples = np.array(all_parts("gc", n)).reshape(-1, 3)
    arcs = Problem.from_arc_scores(scores, projective=False)
    return Problem(
        n, arcs.arc_head, arcs.arc_mod, arcs.arc_score,
        gc_grand=triples[:, 0], gc_head=triples[:, 1], gc_mod=triples[:, 2],
        gc_score=rng.normal(size=len(triples)), **{"projective": False, **options},
    )  # fmt: skip


def check(p: Problem, k: int, settings: PricingSettings = SETTINGS[0]) -> None:
    """The k best scores, to the tolerance, and a bound that is none too low."""
    s, expected = price_and_cut(p, k, settings=settings), enumerate_trees(p)
    check_trees(p, s)
    assert s.status == ("optimal" if expected else "infeasible")
    assert len(s) == min(k, len(expected))
    assert s.proved.all()
    best = [score for score, _ in expected[:k]]
    assert s.scores.tolist() == pytest.approx(best, rel=1e-9, abs=1e-9 * spread(p))
    if best:
        assert s.stats["root_bound"] >= best[0] - 1e-12 * spread(p)


def random_case(rng: np.random.Generator) -> None:
    if rng.random() < 0.6:
        p = random_problem(
            rng, max_words=6, projective=False, parts=("gc",), max_factors=0, labelled=False
        )
    else:
        p = random_problem(rng, max_words=6, max_counts=3)
    settings = SETTINGS[int(rng.integers(len(SETTINGS)))]
    check(p, int(rng.choice([1, 1, 2, 5])), settings if rng.random() < 0.5 else PricingSettings())


def test_random_problems_agree_with_enumeration() -> None:
    rng = np.random.default_rng(171)
    for _ in range(200):
        random_case(rng)


@pytest.mark.parametrize("seed", [1233, 1298, 1592, 1743, 1760])
def test_triples_priced_in_a_closed_node_are_there_in_the_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, single_root = int(rng.integers(4, 6)), bool(rng.integers(2))
    p = with_triples(rng, n, single_root=single_root, projective=bool(rng.random() < 0.2))
    check(p, 10, PricingSettings())


@pytest.mark.parametrize("gap", [1e-9, 1e-2, 0.1])
def test_a_gap_ends_a_search_that_has_all_trees(gap: float) -> None:
    arcs = Problem.from_arc_scores(np.random.default_rng(1).normal(size=(9, 9)), projective=False)
    p = arcs.with_at_least([(1, 2), (3, 4), (5, 6)], 3).with_valency(2, high=1)
    for problem, k in ((arcs, 5), (p, 1), (p, 4)):
        best = solve(problem, k_best=k).scores
        s = price_and_cut(problem, k, gap=gap)
        check_trees(problem, s)
        assert s.status in ("optimal", "gap")
        assert len(s) == k
        worst, bound = s.scores[-1], s.upper_bounds[-1]
        assert best[-1] <= bound + 1e-9
        assert bound - worst <= gap * max(abs(worst), abs(bound))


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
        brute = price_and_cut(p, settings=PricingSettings(delayed=False))
        for raised in (True, False):
            s = price_and_cut(p, settings=PricingSettings(raised=raised))
            assert s.heads.tolist() == brute.heads.tolist()
            assert s.stats["root_bound"] == pytest.approx(brute.stats["root_bound"], abs=1e-6)
            assert s.stats["scored"] <= s.stats["triples"] == brute.stats["scored"]
        assert price_and_cut(p).stats["share_scored"] < 0.3


def test_bounds_of_the_constraint_sets_are_in_order() -> None:
    rng = np.random.default_rng(174)
    strict = 0
    for _ in range(6):
        p = with_triples(rng, 7)
        best = solve_ilp(p).scores[0]
        bound = {
            (name, delayed): price_and_cut(
                p, node_limit=1, settings=PricingSettings(name, delayed=delayed)
            ).stats["root_bound"]
            for name in SETS
            for delayed in (True, False)
        }
        everything, lean, arcs, one = (bound[name, False] for name in SETS)
        assert best - 1e-9 <= lean == pytest.approx(everything, abs=1e-6)
        assert lean <= min(arcs, one) + 1e-6
        strict += lean < min(arcs, one) - 1e-3
        for name in SETS:
            assert bound[name, True] == pytest.approx(bound[name, False], abs=1e-6)
        flow = price_and_cut(p, node_limit=1, settings=PricingSettings(connectivity="flow"))
        assert flow.stats["root_bound"] >= lean - 1e-6
    assert strict


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
def test_tiny_and_huge_scores(scale: float) -> None:
    p = with_triples(np.random.default_rng(175), 9)
    small = p.changed(arc_score=p.arc_score * scale, gc_score=p.gc_score * scale)
    s, expected = price_and_cut(small), price_and_cut(p)
    assert s.status == "optimal"
    assert s.heads.tolist() == expected.heads.tolist()


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


def test_a_bound_above_the_scores_is_enough() -> None:
    class Loose(GivenColumns):
        def __init__(self, problem: Problem) -> None:
            super().__init__(problem)
            self.bound = self.bound + np.where(self.varies, 1.5, 0.0)
            self.grand_bound = self.grand_bound + 1.0

    p = with_triples(np.random.default_rng(176), 10)
    without = p.changed(
        gc_grand=p.gc_grand[:0], gc_head=p.gc_head[:0], gc_mod=p.gc_mod[:0], gc_score=p.gc_score[:0]
    )
    s, expected = price_and_cut(without, columns=Loose(p)), price_and_cut(p)
    assert s.heads.tolist() == expected.heads.tolist()
    assert s.scores == pytest.approx(expected.scores)
    assert s.stats["scored"] > expected.stats["scored"]


def test_at_limits() -> None:
    p = with_triples(np.random.default_rng(177), 25)
    best = solve(p, method="price-and-cut")
    assert best.status == "optimal"
    for options in ({"time_limit": 0.0}, {"time_limit": 0.05}, {"node_limit": 1}, {"gap": 0.9}):
        s = price_and_cut(p, **options)
        check_trees(p, s)
        assert len(s) == 1
        assert s.scores[0] <= best.scores[0] + 1e-6 <= s.upper_bound + 2e-6 < np.inf
    s = price_and_cut(p, time_limit=0.0)
    assert (s.status, s.proved.tolist(), s.stats["nodes"]) == ("time_limit", [False], 0)


def test_projective_problems() -> None:
    p = with_triples(np.random.default_rng(178), 7, projective=True)
    expected = solve_ilp(p)
    for settings in (PricingSettings(), PricingSettings(connectivity="flow")):
        s = price_and_cut(p, 3, settings=settings)
        assert s.heads[0].tolist() == expected.heads[0].tolist()
        assert s.proved.all()


def test_nothing_to_choose_from() -> None:
    for p in (
        Problem(2, [], [], [], projective=False),
        Problem(2, [0], [1], [1.0]),
        Problem.from_arc_scores(np.zeros((3, 3)), projective=False).with_heads({1: 2, 2: 1}),
    ):
        s = price_and_cut(p, 2)
        assert (s.status, s.heads.shape) == ("infeasible", (0, 3))


def test_a_first_bound_may_be_enough() -> None:
    p = Problem.from_arc_scores(np.random.default_rng(182).normal(size=(5, 5)), projective=False)
    s = price_and_cut(p)
    assert (s.status, s.stats["nodes"], s.stats["integral_at_root"]) == ("optimal", 0, 1)
    assert s.scores[0] <= s.stats["root_bound"] <= s.scores[0] + 1e-9


def test_no_answer_of_highs(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = LinearAnswer("failed", np.zeros(0), np.zeros(0), np.zeros(0), np.inf)
    monkeypatch.setattr(Linear, "solve", lambda *_: nothing)
    p = with_triples(np.random.default_rng(181), 4)
    assert price_and_cut(p).scores.tolist() == pytest.approx([enumerate_trees(p)[0][0]])
    assert price_and_cut(p).status == "optimal"


def test_options() -> None:
    p = with_triples(np.random.default_rng(179), 4)
    with pytest.raises(ProblemError, match="backbone is 'first': method 'price-and-cut'"):
        solve(p, method="price-and-cut", backbone="first")
    with pytest.raises(ProblemError, match="unknown constraint 'TwoGP': some of ArcGP"):
        PricingSettings(("TwoGP",))
    with pytest.raises(ProblemError, match="constraints NoGP do not tie triples to arcs"):
        PricingSettings(("NoGP",))
    with pytest.raises(ProblemError, match="unknown connectivity 'rope': one of cuts, flow"):
        PricingSettings(connectivity="rope")


def test_without_highspy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    p = with_triples(np.random.default_rng(180), 4)
    with pytest.raises(BBParseError, match=r"not installed: pip install 'bbparse\[ilp\]'"):
        solve(p, method="price-and-cut")
