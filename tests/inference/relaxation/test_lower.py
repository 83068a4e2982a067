"""Trees that search begins with: lower bounds, leads and incumbents."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.core import Problem
from bbparse.inference.relaxation.incumbents import (
    floor_to_beat,
    insert_tree,
    insert_trees,
    tree_score,
    tree_scores,
)
from bbparse.inference.relaxation.multipliers import arc_leads, step_leads
from bbparse.inference.relaxation.state import Node, NodeFactors, no_trees
from bbparse.inference.search.settings import DEFAULT
from bbparse.inference.solve import solve
from tests.inference.oracles.projective.helpers import Charted
from tests.inference.relaxation.helpers import HARD, random_case
from tests.inference.relaxation.test_multipliers import check_feasible
from tests.inference.search.helpers import search_of
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import random_problem


def start(p: Problem, k: int, max_calls: int) -> tuple[list[tuple[int, ...]], list[float], int]:
    """Trees (original arcs), scores and number of passes of the start alone."""
    search = search_of(p, k, DEFAULT)
    search._first_trees(max_calls)
    found = int(search.best.found[0])
    trees = search.best.trees[search.best.place[:found]]
    rows = [tuple(row) for row in search.order[trees].tolist()]
    return rows, search.best.scores[:found].tolist(), int(search.counters[0])


def test_it_inserts_only_real_trees_with_their_scores() -> None:
    rng = np.random.default_rng(91)
    inserted = 0
    for _ in range(250):
        p = random_problem(rng, max_words=5, projective=True, scale="halves", max_factors=15)
        k = int(rng.integers(1, 4))
        calls = int(rng.integers(1, 12))
        trees, scores, passes = start(p, k, calls)
        truth = {arcs: score for score, arcs in enumerate_trees(p)}
        assert passes <= calls
        assert scores == sorted(scores, reverse=True)
        assert len(set(trees)) == len(trees) <= k
        for tree, score in zip(trees, scores):
            assert score == truth[tree]
        inserted += len(trees)
    assert inserted > 150


def test_more_calls_never_find_less() -> None:
    rng = np.random.default_rng(92)
    for _ in range(100):
        p = random_problem(
            rng, min_words=4, max_words=6, projective=True, scale="normal", max_factors=30,
            hard=False, labelled=False,
        )  # fmt: skip
        _, one, _ = start(p, 1, 1)
        _, ten, _ = start(p, 1, 10)
        assert ten >= one


def test_a_second_pass_avoids_a_factor_that_fired() -> None:
    """The first pass knows no factors; π then charges the penalty to the tree it found."""
    p = Problem(2, [0, 1, 0, 2], [1, 2, 2, 1], [1, 1, 0.5, 0.5])
    p = p.with_factors([([(0, 1), (1, 2)], -10.0)])
    trees, scores, _ = start(p, 2, 10)
    assert scores == [1.0, -8.0]
    assert trees == [(3, 2), (0, 1)]


def two_chains(weight: float) -> Problem:
    """0→1→2→3 scores 3 without the factor over all its arcs; 0→1→2, 1→3 scores 2.5."""
    p = Problem(3, [0, 1, 2, 1], [1, 2, 3, 3], [1, 1, 1, 0.5])
    return p.with_factors([([(0, 1), (1, 2), (2, 3)], weight)])


@pytest.mark.parametrize("weight", [-0.1, 0.1])
def test_it_stops_when_the_bound_no_longer_rises(weight: float) -> None:
    """The first pass ignores the factors, the second one gives π and the third one the same."""
    _, scores, passes = start(two_chains(weight), 1, 50)
    assert scores == [3.0 + weight]
    assert passes <= 3


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


#: An oracle that is not asked.
NOTHING = np.zeros(0)

TREES = st.lists(st.integers(0, 2), min_size=3, max_size=3).map(tuple)


def score_of(tree: tuple[int, ...]) -> float:
    """Many trees share a score."""
    return float(sum(tree) % 4)


@given(st.lists(TREES, max_size=40), st.integers(1, 6), st.booleans())
def test_it_keeps_the_best_once_each_in_order(
    inserted: list[tuple[int, ...]], k: int, noisy: bool
) -> None:
    slack = 1e-9
    best_ones = no_trees(k, 3)
    trees, scores, count, place = best_ones
    noise = np.random.default_rng(0)
    expected: list[tuple[int, ...]] = []
    for tree in inserted:
        # The same tree comes back with the score added up in another order.
        score = score_of(tree) + (float(noise.uniform(-0.4, 0.4)) * slack if noisy else 0.0)
        taken = insert_tree(best_ones, np.array(tree, np.int32), score, slack)
        n = int(count[0])
        assert n == min(k, n)
        assert (np.diff(scores[:n]) <= 0).all()
        rows = [tuple(row) for row in trees[place[:n]].tolist()]
        assert len(set(rows)) == n
        if taken:
            assert tree in rows
        for row, value in zip(rows, scores):
            assert abs(score_of(row) - value) <= slack
        if not noisy:
            if tree not in expected:
                expected.append(tree)
            # Stable: of equal scores the first to come stays first.
            expected = sorted(expected, key=score_of, reverse=True)[:k]
            assert rows == expected
    best = sorted((score_of(tree) for tree in set(inserted)), reverse=True)[:k]
    assert np.allclose(scores[: int(count[0])], best, rtol=0, atol=slack)


@given(st.lists(st.sets(TREES, max_size=12), max_size=4), st.integers(1, 9))
def test_trees_at_once_are_as_trees_one_by_one(batches: list[set[tuple[int, ...]]], k: int) -> None:
    singly, at_once = no_trees(k, 3), no_trees(k, 3)
    for batch in batches:
        trees = np.array(sorted(batch), np.int32).reshape(-1, 3)
        scores = np.array([score_of(tuple(tree)) for tree in trees.tolist()])
        scores[scores == 2.0] = -math.inf  # these are to be left out
        for tree, score in zip(trees, scores.tolist()):
            if score > -math.inf:
                insert_tree(singly, tree, score, 1e-9)
        insert_trees(at_once, trees, scores, 1e-9)
        found = int(singly.found[0])
        assert at_once.found[0] == found
        assert sorted(at_once.place) == list(range(k))
        for one in (singly, at_once):
            assert (one.scores[found:] == -math.inf).all()
        assert (singly.scores == at_once.scores).all()
        places = zip(singly.place[:found], at_once.place[:found])
        assert all((singly.trees[a] == at_once.trees[b]).all() for a, b in places)


def test_tree_score_is_the_definition() -> None:
    rng = np.random.default_rng(81)
    hard_fired = 0
    for _ in range(200):
        case = random_case(rng, counts=0, hard=bool(rng.random() < 0.5), whole=True)
        for marks in case.assignments():
            tree = np.empty(case.n_words, np.int32)
            for arc in np.flatnonzero(marks):
                tree[case.arc_mod[arc] - 1] = arc
            chosen = np.full(len(case.base), 5, np.int8)
            constant = np.array([0.5])
            node = Node(
                NOTHING, case.arc_mod, case.base, constant, case.factors, case.counts
            )
            score = tree_score(node, tree, 2.0, HARD, chosen)
            assert (chosen == marks).all()
            assert score == 2.5 + case.arc_total(marks) + case.factor_score(marks)
            twice, parts = np.array([tree, tree]), np.array([2.0, 3.0])
            assert tree_scores(node, twice, parts, HARD).tolist() == [score, score + 1.0]
            hard_fired += score == -math.inf
    assert hard_fired > 20


def test_the_floor_is_the_next_better_score() -> None:
    none = no_trees(2, 1)._replace(scores=np.array([5.0, 3.0]))
    one, full = (none._replace(found=np.array([found])) for found in (1, 2))
    assert floor_to_beat(one, 1.0, 1e-9) == -math.inf
    assert floor_to_beat(full, 0.0, 1e-9) == 3.0 + 1e-9
    assert floor_to_beat(full, 1.0, 1e-9) == 4.0 - 1e-9
    # A quantum below the rounding error says nothing.
    assert floor_to_beat(full, 1e-10, 1e-9) == 3.0 + 1e-9
