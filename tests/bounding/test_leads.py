"""Max-marginal differences, and the step that moves multipliers by them."""

from __future__ import annotations

import numpy as np
import pytest

from bbparse.bounding.multipliers import arc_leads, step_leads
from bbparse.bounding.state import NodeFactors
from bbparse.solving.solve import solve
from tests.bounding.helpers import random_case
from tests.bounding.test_multipliers import check_feasible
from tests.oracle.projective.helpers import Charted
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import random_problem


def test_leads_agree_with_enumeration() -> None:
    rng = np.random.default_rng(81)
    compared = 0
    for _ in range(150):
        p = random_problem(rng, max_words=5, projective=True, max_factors=0, scale="normal")
        chart = Charted(p)
        each, lead = chart.max_marginals(), np.empty(len(p.arc_head))
        arc_leads(p.n_words, p.arc_mod, each, lead)
        trees = list(enumerate_trees(p))
        for arc in range(len(lead)):
            with_arc = [score for score, tree in trees if arc in tree]
            without = [score for score, tree in trees if arc not in tree]
            expected = max(with_arc) - max(without) if with_arc and without else 0.0
            assert lead[arc] == pytest.approx(expected, abs=1e-9)
            compared += bool(with_arc and without)
    assert compared > 300


def test_steps_keep_multipliers_feasible() -> None:
    rng = np.random.default_rng(82)
    for _ in range(200):
        case = random_case(rng, hard=bool(rng.random() < 0.2))
        case.draw_multipliers(rng)
        times = np.empty(len(case.base))
        for _ in range(5):
            lead = rng.normal(size=len(case.base)) * float(rng.choice([0.0, 1.0, 1e3]))
            step_leads(case.factors, lead, times, np.empty(16))
            check_feasible(case)


@pytest.mark.parametrize("weight", [2.0, -2.0])
def test_one_factor_over_independent_arcs_is_minimised(weight: float) -> None:
    """No multipliers give a lower bound Σ_e max(0, γ_e ± lam_e) than the step does."""
    rng = np.random.default_rng(83)
    for _ in range(200):
        r = int(rng.integers(2, 5))
        gamma = 1.5 * rng.normal(size=r)

        def bound(lam: np.ndarray, r: int = r, gamma: np.ndarray = gamma) -> float:
            if weight > 0:
                return float(np.maximum(0.0, gamma + lam).sum())
            return float(np.maximum(0.0, gamma - lam[0]).sum() + lam[0] * (r - 1))

        lam = np.zeros(r)
        if weight > 0:
            lam[:] = weight * rng.dirichlet(np.ones(r))
            lead = gamma + lam
        else:
            lam[0] = -weight * rng.random()
            lead = gamma - lam[0]
        factors = NodeFactors(
            np.array([0, r]), np.arange(r, dtype=np.int32), np.array([weight]), lam, np.array([1])
        )
        step_leads(factors, lead, np.empty(r), np.empty(r))
        for _ in range(200):
            other = np.zeros(r)
            if weight > 0:
                other[:] = weight * rng.dirichlet(np.full(r, 0.5))
            else:
                other[0] = -weight * rng.random()
            assert bound(lam) <= bound(other) + 1e-12


@pytest.mark.parametrize("labelled", [False, True])
def test_crossing_trees_with_many_factors_against_enumeration(labelled: bool) -> None:
    rng = np.random.default_rng(3 + labelled)
    late = 0
    for _ in range(25):
        problem = random_problem(
            rng, min_words=4, max_words=5, projective=False, labelled=labelled, max_factors=60,
            max_counts=2, states=False,
        )  # fmt: skip
        k = int(rng.choice([1, 1, 3]))
        expected = [score for score, _ in enumerate_trees(problem)][:k]
        found = solve(problem, k_best=k, explain=False)
        late += found.stats.get("dp_calls", 0) > 12
        assert np.allclose(found.scores, expected, rtol=1e-9, atol=1e-9)
    assert late > 3
