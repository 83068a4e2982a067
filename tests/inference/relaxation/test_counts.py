"""Count factors: the bound, its multipliers, and what fixed arcs make of the tables."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from bbparse.inference.relaxation.counts import (
    apply_counts,
    best_copy,
    count_gaps,
    count_score_of,
    disagreement,
    simplify_counts,
    step_counts,
)
from bbparse.inference.relaxation.state import NodeCounts
from tests.inference.relaxation.helpers import Case, random_case


def random_table(rng: np.random.Generator, size: int) -> np.ndarray:
    """Scores of 0..size arcs, -inf among them, but not everywhere."""
    score = rng.normal(size=size + 1)
    score[rng.random(size + 1) < 0.4] = -math.inf
    if (score == -math.inf).all():
        score[int(rng.integers(size + 1))] = float(rng.normal())
    return score


def test_the_best_copy_is_the_best_of_all_subsets() -> None:
    rng = np.random.default_rng(71)
    for _ in range(300):
        size = int(rng.integers(1, 7))
        before, after = int(rng.integers(3)), int(rng.integers(3))
        score = np.concatenate([rng.normal(size=before), random_table(rng, size), [100.0]])
        lam = np.concatenate([np.full(before, -50.0), rng.normal(size=size), np.full(after, -50.0)])
        if rng.random() < 0.3:
            lam = np.rint(lam)
        copy = np.full(len(lam), 9, np.int8)
        ptr = np.array([before, before + size])
        counts = NodeCounts(
            ptr, np.arange(len(lam), dtype=np.int32), np.array([before, 0]), score, lam, np.ones(1)
        )
        best = best_copy(counts, 0, copy)
        mine = lam[before : before + size]
        values = {
            subset: score[before + sum(subset)] - float(mine[np.array(subset) == 1].sum())
            for subset in product((0, 1), repeat=size)
        }
        assert best == pytest.approx(max(values.values()), rel=1e-12, abs=1e-12)
        chosen = tuple(copy[before : before + size].tolist())
        assert values[chosen] == pytest.approx(best, rel=1e-12, abs=1e-12)
        assert (copy[:before] == 9).all()
        assert (copy[before + size :] == 9).all()


def psi(case: Case, chosen: np.ndarray, copy: np.ndarray) -> float:
    """Arc scores and count factors of a choice of arcs under the present multipliers."""
    scores = case.base.copy()
    constant = apply_counts(case.counts, copy, scores)
    return float(constant) + float(scores[chosen == 1].sum())


def some_cases(seed: int, count: int, whole: bool = False) -> list[Case]:
    """Cases in which each table allows at least one number of arcs."""
    rng = np.random.default_rng(seed)
    found: list[Case] = []
    while len(found) < count:
        case = random_case(rng, factors=0, hard=bool(rng.random() < 0.5), whole=whole)
        tables = np.split(case.cnt_score, case.cnt_score_ptr[1:-1])
        if all((table > -math.inf).any() for table in tables if len(table)):
            case.draw_multipliers(rng)
            found.append(case)
    return found


def test_the_bound_is_never_below_the_score() -> None:
    compared = 0
    for case in some_cases(72, 300):
        copy = np.zeros(len(case.cnt_arcs), np.int8)
        for chosen in case.assignments():
            score = case.arc_total(chosen) + case.count_score(chosen)
            assert psi(case, chosen, copy) >= score - 1e-11
            compared += score > -math.inf
    assert compared > 1000


def test_scores_gaps_and_disagreement() -> None:
    hard = 1e6
    for case in some_cases(73, 200):
        copy = np.zeros(len(case.cnt_arcs), np.int8)
        for chosen in case.assignments():
            truth = case.count_score(chosen)
            assert count_score_of(case.counts, chosen) == pytest.approx(truth)
            gaps = np.zeros(len(case.base))
            total = count_gaps(case.counts, copy, chosen, hard, gaps)
            difference = psi(case, chosen, copy) - case.arc_total(chosen) - truth
            if truth > -math.inf:
                assert total == pytest.approx(difference, rel=1e-9, abs=1e-9)
            else:
                assert total >= hard
            assert (gaps >= 0.0).all()
            differ = int((chosen[case.cnt_arcs] != copy).sum())
            assert disagreement(case.counts, copy, chosen) == differ
            if differ == 0:
                assert total == pytest.approx(0.0, abs=1e-9)


def test_a_step_follows_the_subgradient() -> None:
    for case in some_cases(74, 100):
        copy = np.zeros(len(case.cnt_arcs), np.int8)
        for chosen in case.assignments():
            start = case.cnt_lam.copy()
            before = psi(case, chosen, copy)
            step = 1e-6
            step_counts(case.counts, copy, chosen, step)
            assert case.cnt_lam == pytest.approx(start - step * (chosen[case.cnt_arcs] - copy))
            norm = float((chosen[case.cnt_arcs] != copy).sum())
            after = psi(case, chosen, copy.copy())
            # Convex in the multipliers: it cannot fall by more than the linear part.
            assert after >= before - step * norm - 1e-9
            case.cnt_lam[:] = start


def simplified(case: Case) -> tuple[int, float]:
    constant = np.zeros(1)
    status = simplify_counts(case.n_words, case.arc_mod, case.base, case.counts, constant)
    return int(status), float(constant[0])


def test_simplifying_changes_no_score() -> None:
    rng = np.random.default_rng(75)
    seen = {0: 0, 1: 0, 2: 0}
    for _ in range(900):
        case = random_case(
            rng, factors=0, hard=bool(rng.random() < 0.7), whole=True,
            dead=float(rng.choice([0.0, 0.3, 0.5])),
        )  # fmt: skip
        scores = {c.tobytes(): case.arc_total(c) + case.count_score(c) for c in case.assignments()}
        feasible = {key: score for key, score in scores.items() if score > -math.inf}
        alive = case.base > -math.inf
        status, constant = simplified(case)
        seen[status] += 1
        if status == 0:
            assert not feasible
            continue
        now = case.base > -math.inf
        assert (now <= alive).all()
        assert (status == 2) == bool((now != alive).any())
        after = {
            c.tobytes(): constant + case.arc_total(c) + case.count_score(c)
            for c in case.assignments()
        }
        assert {key: score for key, score in after.items() if score > -math.inf} == feasible
        for c in range(int(case.sizes[2])):
            arcs = case.cnt_arcs[case.cnt_ptr[c] : case.cnt_ptr[c + 1]]
            assert len(arcs) >= 2
            table = case.cnt_score[case.cnt_score_ptr[c] : case.cnt_score_ptr[c + 1]]
            assert len(table) == len(arcs) + 1
            if status == 1:  # otherwise arcs died in a later set, and it is called again
                assert (case.base[arcs] > -math.inf).all()
                assert (table != table[0]).any()
    assert min(seen.values()) > 20


def test_a_table_that_leaves_no_choice_fixes_arcs() -> None:
    def case(score: list[float]) -> Case:
        """Three words with two arcs each, and a set of the first arc of each."""
        return Case(
            3, np.array([1, 1, 2, 2, 3, 3], np.int32), np.zeros(6),
            np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros(0),
            np.array([0, 3]), np.array([0, 2, 4], np.int32), np.array([0, 4]), np.array(score),
            np.zeros(3), np.array([0, 0, 1], np.int64),
        )  # fmt: skip

    none = -math.inf
    all_of_them = case([none, none, none, 2.5])
    assert simplified(all_of_them) == (2, 2.5)
    assert all_of_them.base.tolist() == [0, none, 0, none, 0, none]
    none_of_them = case([1.5, none, none, none])
    assert simplified(none_of_them) == (2, 1.5)
    assert none_of_them.base.tolist() == [none, 0, none, 0, none, 0]
    flat = case([1.0, 1.0, 1.0, 1.0])
    assert simplified(flat) == (1, 1.0)
    assert flat.sizes[2] == 0
    assert simplified(case([none] * 4))[0] == 0
