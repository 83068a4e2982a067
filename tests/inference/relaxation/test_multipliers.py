"""Simplex projection, the bounds of QL13 §3.2, their steps, and the simplification of factors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.inference.relaxation.multipliers import (
    apply_multipliers,
    factor_gaps,
    project_simplex,
    simplify_factors,
    start_multipliers,
    step_subgradient,
    subgradient_norm,
)
from tests.inference.relaxation.helpers import HARD, Case, random_case

NUMBERS = st.one_of(st.integers(-6, 6).map(float), st.floats(-1e6, 1e6, allow_nan=False, width=32))


def projected(values: list[float], total: float) -> np.ndarray:
    """`project_simplex` on values between others, which must stay."""
    whole = np.array([7.0, *values, -7.0])
    project_simplex(whole, 1, len(values) + 1, total, np.empty(len(values)))
    assert whole[0] == 7.0
    assert whole[-1] == -7.0
    return whole[1:-1]


def slow_projection(values: list[float], total: float) -> np.ndarray:
    """max(v - θ, 0) with the θ for which it sums to the total, by halving an interval."""
    v = np.array(values)
    low, high = v.min() - total - 1.0, v.max()
    for _ in range(200):
        middle = (low + high) / 2
        if np.maximum(v - middle, 0.0).sum() > total:
            low = middle
        else:
            high = middle
    return np.maximum(v - high, 0.0)


@given(
    st.lists(NUMBERS, min_size=2, max_size=7),
    st.one_of(st.just(1.0), st.floats(0.0, 1e4, allow_nan=False, width=32)),
)
def test_projection_agrees_with_a_slow_one(values: list[float], total: float) -> None:
    x = projected(values, total)
    tolerance = 1e-12 * (total + max(map(abs, values)) + 1.0)
    assert (x >= 0.0).all()
    assert x.sum() == pytest.approx(total, rel=1e-12, abs=tolerance)
    assert x == pytest.approx(slow_projection(values, total), rel=0, abs=10 * tolerance)


def psi(case: Case, chosen: np.ndarray) -> float:
    """ψ(p, z): the score of a choice of arcs under the present multipliers."""
    scores = np.empty(len(case.base))
    constant = apply_multipliers(case.base, case.factors, scores)
    return constant + float(scores[chosen == 1].sum())


def phi(case: Case, chosen: np.ndarray) -> float:
    """φ(z), without count factors."""
    return case.arc_total(chosen) + case.factor_score(chosen)


def magnitude(case: Case) -> float:
    finite = case.base[case.base > -math.inf]
    return float(np.abs(finite).sum() + 5 * np.abs(case.fac_weight).sum()) + 1e-300


def check_feasible(case: Case) -> None:
    """Multipliers of a factor φ ≥ 0 are ≥ 0 and sum to φ; that of φ < 0 is in 0..|φ|."""
    for c in range(int(case.sizes[1])):
        lo, hi = int(case.fac_ptr[c]), int(case.fac_ptr[c + 1])
        weight = float(case.fac_weight[c])
        if weight >= 0.0:
            assert (case.lam[lo:hi] >= 0.0).all()
            assert case.lam[lo:hi].sum() == pytest.approx(weight, rel=1e-12, abs=1e-300)
        else:
            assert 0.0 <= case.lam[lo] <= -weight


def test_start_multipliers_are_the_papers() -> None:
    rng = np.random.default_rng(61)
    for _ in range(50):
        case = random_case(rng)
        case.lam[:] = np.nan
        start_multipliers(case.fac_ptr, case.fac_weight, case.lam)
        check_feasible(case)
        for c in range(int(case.sizes[1])):
            lam = case.lam[case.fac_ptr[c] : case.fac_ptr[c + 1]]
            assert (lam == max(case.fac_weight[c], 0.0) / len(lam)).all()


def test_the_bound_is_never_below_the_score() -> None:
    rng = np.random.default_rng(62)
    compared = 0
    for _ in range(300):
        case = random_case(rng, hard=bool(rng.random() < 0.3))
        for _ in range(4):
            case.draw_multipliers(rng)
            for chosen in case.assignments():
                assert psi(case, chosen) >= phi(case, chosen) - 1e-14 * magnitude(case)
                compared += 1
    assert compared > 5_000


def test_the_best_multipliers_for_a_tree_make_the_bound_its_score() -> None:
    """φ z_c = min_p ψ_c (QL13 eq. 5 and 8): the minimum is at a corner."""
    rng = np.random.default_rng(63)
    for _ in range(200):
        case = random_case(rng)
        for chosen in case.assignments():
            for c in range(int(case.sizes[1])):
                lo, hi = int(case.fac_ptr[c]), int(case.fac_ptr[c + 1])
                off = [i for i in range(lo, hi) if not chosen[case.fac_arcs[i]]]
                weight = case.fac_weight[c]
                case.lam[lo:hi] = 0.0
                if weight >= 0:
                    case.lam[off[0] if off else lo] = weight
                else:
                    case.lam[lo] = 0.0 if off else -weight
            gap = psi(case, chosen) - phi(case, chosen)
            assert gap == pytest.approx(0.0, abs=1e-14 * magnitude(case))


@pytest.mark.parametrize("method", ["paper", "polyak"])
def test_steps_keep_multipliers_feasible(method: str) -> None:
    rng = np.random.default_rng(64)
    scratch = np.empty(16)
    for _ in range(150):
        case = random_case(rng, hard=bool(rng.random() < 0.2))
        case.draw_multipliers(rng)
        choices = list(case.assignments())
        for _ in range(20):
            chosen = choices[int(rng.integers(len(choices)))]
            length = float(rng.choice([1e-6, 0.1, 1.0, 1e3])) * rng.random()
            if method == "paper":
                step_subgradient(case.factors, chosen, length, True, scratch)
            else:
                step_subgradient(case.factors, chosen, length, False, scratch)
            check_feasible(case)


def step(case: Case, chosen: np.ndarray, share: float) -> float:
    """The length of a step of Polyak's for a gap that is a share of the scores."""
    norm = float(subgradient_norm(case.factors, chosen))
    return share * magnitude(case) / norm if norm else 0.0


@pytest.mark.parametrize("method", ["paper", "polyak"])
def test_a_short_step_lowers_the_bound_at_its_tree(method: str) -> None:
    """The step goes against the subgradient, so ψ(p, z) falls for the z that gave it."""
    rng = np.random.default_rng(65)
    scratch = np.empty(16)
    fell = 0
    for _ in range(200):
        case = random_case(rng)
        case.draw_multipliers(rng)
        choices = list(case.assignments())
        chosen = choices[int(rng.integers(len(choices)))]
        before = psi(case, chosen)
        if method == "paper":
            step_subgradient(case.factors, chosen, 1e-4 / magnitude(case), True, scratch)
        else:
            step_subgradient(case.factors, chosen, step(case, chosen, 1e-3), False, scratch)
        after = psi(case, chosen)
        assert after <= before + 1e-13 * magnitude(case)
        fell += after < before - 1e-12 * magnitude(case)
    assert fell > 50


def test_a_zero_direction_means_that_every_bound_is_exact() -> None:
    rng = np.random.default_rng(66)
    scratch = np.empty(16)
    still = 0
    for _ in range(300):
        case = random_case(rng, factors=3, whole=True)
        case.draw_multipliers(rng)
        gaps = np.empty(len(case.base))
        for chosen in case.assignments():
            before = case.lam.copy()
            total = factor_gaps(case.factors, chosen, gaps)
            norm = subgradient_norm(case.factors, chosen)
            step_subgradient(case.factors, chosen, 0.25 / norm if norm else 0.25, False, scratch)
            if norm == 0.0:
                still += 1
                assert (case.lam == before).all()
                assert total <= 1e-12 * magnitude(case)
            case.lam[:] = before
    assert still > 100


def test_factor_gaps_sum_to_the_difference_of_bound_and_score() -> None:
    rng = np.random.default_rng(67)
    for _ in range(200):
        case = random_case(rng)
        case.draw_multipliers(rng)
        gaps = np.full(len(case.base), np.nan)
        for chosen in case.assignments():
            total = factor_gaps(case.factors, chosen, gaps)
            difference = psi(case, chosen) - phi(case, chosen)
            assert total == pytest.approx(difference, rel=0, abs=1e-13 * magnitude(case))
            assert (gaps >= 0.0).all()
            in_no_factor = np.ones(len(gaps), bool)
            in_no_factor[case.fac_arcs] = False
            assert (gaps[in_no_factor] == 0.0).all()
            if total > 1e-12 * magnitude(case):
                assert gaps.max() > 0.0


def simplified(case: Case) -> tuple[bool, float]:
    """Run `simplify_factors`; whether the node lives, and the constant."""
    constant = np.zeros(1)
    alive = simplify_factors(case.n_words, case.arc_mod, case.base, case.factors, constant, HARD)
    return bool(alive), float(constant[0])


@pytest.mark.parametrize("hard", [False, True])
def test_simplifying_changes_no_score(hard: bool) -> None:
    rng = np.random.default_rng(68)
    shortened = killed = closed = 0
    for _ in range(600):
        case = random_case(rng, hard=hard, dead=float(rng.choice([0.0, 0.3, 0.5])), whole=True)
        case.draw_multipliers(rng)
        before = [(chosen, phi(case, chosen)) for chosen in case.assignments()]
        feasible = {chosen.tobytes(): s for chosen, s in before if s > -math.inf}
        factors, n_alive = int(case.sizes[1]), int((case.base > -math.inf).sum())
        lives, constant = simplified(case)
        if not lives:
            closed += 1
            assert not feasible
            continue
        check_feasible(case)
        shortened += int(case.sizes[1]) < factors
        killed += int((case.base > -math.inf).sum()) < n_alive
        after = {c.tobytes(): phi(case, c) + constant for c in case.assignments()}
        assert {key: score for key, score in after.items() if score > -math.inf} == feasible
        for c in range(int(case.sizes[1])):
            arcs = case.fac_arcs[case.fac_ptr[c] : case.fac_ptr[c + 1]]
            assert len(arcs) >= 2
            assert (case.base[arcs] > -math.inf).all()
    assert shortened > 50
    assert closed > 5
    assert killed > 5 or not hard


def test_simplifying_does_not_raise_the_bound() -> None:
    """Multipliers of lost arcs go to those that stay, so what was proved stays proved."""
    rng = np.random.default_rng(69)
    for _ in range(300):
        case = random_case(rng)
        case.draw_multipliers(rng)
        # Arcs die as they do in a child node: all rivals of one of them.
        word = int(rng.integers(1, case.n_words + 1))
        arcs = np.flatnonzero(case.arc_mod == word)
        case.base[arcs[arcs != rng.choice(arcs)]] = -math.inf
        before = max(psi(case, chosen) for chosen in case.assignments())
        lives, constant = simplified(case)
        assert lives
        after = max(psi(case, chosen) for chosen in case.assignments()) + constant
        assert after <= before + 1e-13 * magnitude(case)
