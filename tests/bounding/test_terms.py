"""Bounds of terms and valencies: never below the score of a tree, whatever the multipliers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bbparse.bounding.nonprojective import score_tree
from bbparse.bounding.terms import (
    apply_terms,
    mark_literals,
    score_terms,
    simplify_terms,
    start_terms,
    step_terms,
    term_gaps,
    term_norm,
)
from bbparse.bounding.valency import apply_valencies, score_valencies, step_valencies, valency_gaps
from bbparse.problem import Problem
from bbparse.search.nonprojective import NonprojectiveSearch
from bbparse.search.settings import DEFAULT
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import random_problem

BIG = 1e6


def case(rng: np.random.Generator) -> tuple[Problem, NonprojectiveSearch, list[Any]]:
    """A random problem, its search, and its trees as rows of arcs in the order of the search."""
    p = random_problem(
        rng, projective=False, max_words=4, max_counts=3, states=False, scale="normal"
    )
    search = NonprojectiveSearch(p, 1, DEFAULT)
    place = np.argsort(search.order)
    trees = [(score, place[list(arcs)].astype(np.int32)) for score, arcs in enumerate_trees(p)]
    return p, search, trees


def alive_of(search: NonprojectiveSearch, base: Any) -> Any:
    n = search.mod_ptr.shape[0] - 2
    counts = np.bincount(search.arc_mod[base > -np.inf], minlength=n + 1)
    return counts.astype(np.int64)


def marks(search: NonprojectiveSearch, tree: Any) -> tuple[Any, Any]:
    chosen = np.zeros(len(search.arc_mod), np.int8)
    chosen[tree] = 1
    on = np.zeros(len(search.terms.lit_mod), np.int8)
    mark_literals(search.terms.lit_ptr, search.terms.lit_arcs, chosen, on)
    return chosen, on


def bound_of(search: NonprojectiveSearch, lam: Any, c_lam: Any) -> tuple[Any, float, Any]:
    """Arc scores under the multipliers, the constant, and the copy of the count factors."""
    t = search.terms
    arc_score, arc_abs, info = search.base.copy(), np.abs(search.base), np.zeros(1)
    copy = np.zeros(len(search.c_arcs), np.int8)
    constant = apply_terms(
        len(t.weight), t.ptr, t.lit, t.neg, t.weight, lam, t.lit_ptr, t.lit_arcs, arc_score,
        arc_abs, info,
    )  # fmt: skip
    constant += apply_valencies(
        search.c_ptr, search.c_arcs, search.c_score_ptr, search.c_score, search.arc_mod,
        search.base, alive_of(search, search.base), c_lam, copy, arc_score, arc_abs, info,
    )  # fmt: skip
    assert (arc_abs >= np.abs(arc_score) - 1e-9).all()
    return arc_score, constant, copy


def test_scores_are_those_of_the_problem() -> None:
    rng = np.random.default_rng(41)
    for _ in range(80):
        _, s, trees = case(rng)
        t = s.terms
        for score, tree in trees[:40]:
            chosen, on = marks(s, tree)
            found = score_tree(
                tree, s.base, t.ptr, t.lit, t.neg, t.weight, t.lit_ptr, t.lit_arcs,
                s.c_ptr, s.c_arcs, s.c_score_ptr, s.c_score, chosen, on,
            )  # fmt: skip
            assert found == pytest.approx(score)


def test_the_bound_holds_for_all_multipliers() -> None:
    """…and its slack at a tree is the sum of the gaps, as long as nothing hard is broken."""
    rng = np.random.default_rng(42)
    for _ in range(80):
        _, s, trees = case(rng)
        t = s.terms
        lam = np.empty(len(t.lit))
        start_terms(len(t.weight), t.ptr, t.weight, lam)
        c_lam = np.zeros(len(s.c_arcs))
        scratch = np.empty(20)
        for _ in range(6):
            arc_score, constant, copy = bound_of(s, lam, c_lam)
            if constant == -np.inf:
                assert not trees
                break
            for score, tree in trees[:40]:
                bound = arc_score[tree].sum() + constant
                assert bound >= score - 1e-9
                chosen, on = marks(s, tree)
                gap = np.zeros(len(s.arc_mod))
                total = term_gaps(
                    len(t.weight), t.ptr, t.lit, t.neg, t.weight, lam, on, t.lit_ptr, t.lit_arcs,
                    gap,
                )  # fmt: skip
                total += valency_gaps(
                    s.c_ptr, s.c_arcs, s.c_score_ptr, s.c_score, s.arc_mod, s.base,
                    alive_of(s, s.base), c_lam, chosen, BIG, gap,
                )  # fmt: skip
                assert total == pytest.approx(bound - score, abs=1e-8)
            # Any tree-like choice gives a step; the limits of lam must hold after it.
            choice = np.array([
                rng.integers(s.mod_ptr[m], s.mod_ptr[m + 1])
                for m in range(1, len(s.mod_ptr) - 1) if s.mod_ptr[m] < s.mod_ptr[m + 1]
            ], dtype=np.int32)  # fmt: skip
            chosen, on = marks(s, choice)
            alpha = float(rng.choice([0.1, 1.0, 5.0]))
            norm = term_norm(len(t.weight), t.ptr, t.lit, t.neg, t.weight, lam, on)
            before = lam.copy()
            step_terms(len(t.weight), t.ptr, t.lit, t.neg, t.weight, lam, on, alpha, scratch)
            if norm == 0.0:
                used = [i for f in range(len(t.weight)) for i in range(t.ptr[f], t.ptr[f + 1])
                        if t.weight[f] >= 0 or i == t.ptr[f]]  # fmt: skip
                assert lam[used] == pytest.approx(before[used])
            step_valencies(s.c_arcs, c_lam, copy, chosen, alpha)
            for f, weight in enumerate(t.weight):
                own = lam[t.ptr[f] : t.ptr[f + 1]]
                if weight >= 0:
                    assert (own >= 0).all()
                    assert own.sum() == pytest.approx(weight)
                else:
                    assert 0 <= own[0] <= -weight


def test_simplified_terms_score_the_same() -> None:
    rng = np.random.default_rng(43)
    for _ in range(150):
        _, s, trees = case(rng)
        t = s.terms
        base = s.base.copy()
        base[rng.random(len(base)) < 0.4] = -np.inf
        alive = alive_of(s, base)
        if (alive[1:] == 0).any():
            continue
        ptr, lit, neg, weight = t.ptr.copy(), t.lit.copy(), t.neg.copy(), t.weight.copy()
        lam = np.empty(len(lit))
        start_terms(len(weight), ptr, weight, lam)
        constant = np.zeros(1)
        inside = [(score, tree) for score, tree in trees if (base[tree] > -np.inf).all()]
        count, died, infeasible = simplify_terms(
            len(weight), ptr, lit, neg, weight, lam, t.lit_ptr, t.lit_arcs, t.lit_mod,
            base, alive, s.mod_ptr, constant,
        )  # fmt: skip
        if infeasible:
            assert not inside
            continue
        for score, tree in inside:
            chosen, on = marks(s, tree)
            value = constant[0] + base[tree].sum()
            value += score_terms(count, ptr, lit, neg, weight, on)
            value += score_valencies(s.c_ptr, s.c_arcs, s.c_score_ptr, s.c_score, chosen)
            assert value == pytest.approx(score)
        for f in range(count):
            assert ptr[f + 1] - ptr[f] >= 2
            if weight[f] >= 0:
                assert lam[ptr[f] : ptr[f + 1]].sum() == pytest.approx(weight[f])
        assert died or (alive == alive_of(s, base)).all()


def test_a_count_bound_lets_a_word_pay_once() -> None:
    """Two arcs into one word: never both, so the table's entry for 2 does not loosen the bound."""
    p = Problem(
        2, [0, 2, 0, 1], [1, 1, 2, 2], [0.0] * 4, projective=False,
        count_ptr=[0, 2], count_arcs=[0, 1], count_score_ptr=[0, 3], count_score=[5.0, 1.0, 9.0],
    )  # fmt: skip
    s = NonprojectiveSearch(p, 1, DEFAULT)
    _, constant, copy = bound_of(s, np.zeros(0), np.zeros(2))
    assert constant == 1.0  # word 1 takes one of the two, whatever the tree
    assert copy.sum() == 1
