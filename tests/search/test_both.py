"""What holds of projective and of non-projective search alike, against the oracles."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from bbparse.problem import Problem
from bbparse.search.settings import DEFAULT
from bbparse.solving.solve import solve
from tests import strategies
from tests.oracles.enumerate import enumerate_trees
from tests.solutions import check_optimal, check_trees, spread
from tests.strategies import shuffled_factors

random_problem = partial(strategies.random_problem, max_counts=4, max_words=6)
WEAK = DEFAULT.with_(root_calls=1, node_calls=1, eliminate_every=0, close_k=1)


@pytest.mark.parametrize("projective", [True, False])
def test_the_answer_does_not_depend_on_the_order_of_factors(projective: bool) -> None:
    rng = np.random.default_rng(53)
    for scale in ["ties", "halves", "zero", "normal"]:
        for _ in range(40):
            p = random_problem(rng, projective=projective, scale=scale, max_factors=20)
            s = solve(p, k_best=5)
            other = solve(shuffled_factors(rng, p), k_best=5)
            again = solve(p, k_best=5)
            assert s.arcs.tolist() == again.arcs.tolist() == other.arcs.tolist()
            assert s.scores.tolist() == again.scores.tolist()


@pytest.mark.parametrize("limit", [{"node_limit": 1}, {"node_limit": 4}, {"time_limit": 0.0}])
@pytest.mark.parametrize("projective", [True, False])
def test_bounds_hold_at_a_limit(limit: dict[str, Any], projective: bool) -> None:
    rng = np.random.default_rng(54)
    stopped = 0
    for _ in range(100):
        p = random_problem(rng, projective=projective, min_words=4, max_factors=40)
        k = int(rng.choice([1, 3, 8]))
        expected = enumerate_trees(p)
        s = solve(p, k_best=k, settings=WEAK, **limit)
        if s.status in ("optimal", "infeasible"):
            check_optimal(p, s, expected, k)
            continue
        stopped += 1
        assert s.status == next(iter(limit))
        check_trees(p, s)
        assert len(s) <= min(k, len(expected))
        rounding = 1e-12 * spread(p)
        for i, bound in enumerate(s.upper_bounds):
            assert bound >= expected[i][0] - rounding
            assert s.scores[i] <= expected[i][0] + rounding
            if s.proved[i]:
                assert s.scores[i] == pytest.approx(expected[i][0], rel=1e-9, abs=rounding)
    assert stopped > 3


@pytest.mark.parametrize("projective", [True, False])
def test_more_nodes_never_loosen_the_bound(projective: bool) -> None:
    rng = np.random.default_rng(55)
    for _ in range(30):
        p = random_problem(rng, projective=projective, min_words=5, max_factors=40)
        gaps = []
        for limit in range(1, 30, 4):
            s = solve(p, settings=WEAK, node_limit=limit)
            if len(s):
                gaps.append(s.upper_bounds[0] - s.scores[0])
        assert (np.diff(gaps) <= 1e-12 * spread(p)).all()


@pytest.mark.parametrize("scale", [1e-13, 1e-9, 1.0, 1e12])
@pytest.mark.parametrize("projective", [True, False])
def test_the_scale_of_scores_does_not_matter(scale: float, projective: bool) -> None:
    rng = np.random.default_rng(57)
    for _ in range(40):
        p = Problem.from_arc_scores(rng.normal(size=(6, 6)) * scale, projective=projective)
        p = p.with_factors(
            [
                ([(2, 3), (2, 4)], -math.inf),
                ([(3, 2), (3, 5)], float(rng.normal() * scale)),
                ([(0, 2), (4, 5)], float(rng.normal() * scale)),
            ]
        )
        check_optimal(p, solve(p, k_best=5), enumerate_trees(p), 5)


@pytest.mark.parametrize("projective", [True, False])
def test_constraints_that_leave_no_tree(projective: bool) -> None:
    p = Problem.from_arc_scores(np.zeros((4, 4)), projective=projective)
    both = [((0, m), (m, x)) for m in (1, 2, 3) for x in (1, 2, 3) if m != x]
    for q in (
        p.with_heads({1: 2, 2: 1}),
        p.with_heads({1: 0, 2: 0}),
        p.without_arcs([(0, 1), (0, 2), (0, 3)]),
        p.with_heads({1: 0, 2: 1}).with_factors([([(0, 1), (1, 2)], -math.inf)]),
        p.with_factors([(arcs, -math.inf) for arcs in both]),
    ):
        s = solve(q, k_best=3)
        assert (s.status, len(s), s.heads.shape) == ("infeasible", 0, (0, 4))
