"""Bounds of the checker, and proofs at extreme proportions."""

from __future__ import annotations

import dataclasses
import math
from itertools import chain, combinations, product
from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.core.parts import rows_of
from bbparse.inference.proof.certify import certify
from bbparse.inference.proof.crossing import Arborescences, Automata, Crossing, pairs_of
from bbparse.inference.proof.exact import exists, rounded, whole
from bbparse.inference.proof.spans import Spans, Trees
from bbparse.inference.proof.verify import verify
from bbparse.inference.solve import solve
from tests.inference.proof.helpers import proved, refused, solution_of, units
from tests.oracles.enumerate import TreeScorer, enumerate_trees, trees
from tests.oracles.forest import forest
from tests.strategies import random_problem


def test_best_trees_with_an_arc() -> None:
    rng = np.random.default_rng(121)
    for _ in range(300):
        p = random_problem(
            rng, max_words=5, projective=False, parts=(), max_factors=0, states=False
        )
        trees = [set(arcs) for _, arcs in enumerate_trees(p)]
        score = rng.integers(-3, 4, len(p.arc_head)).astype(float).tolist()
        alive = (rng.random(len(score)) < 0.8).tolist()
        for needed in (-1, *np.flatnonzero(alive)[:3].tolist()):
            scores = [
                sum(score[a] for a in arcs)
                for arcs in trees
                if all(alive[a] for a in arcs) and (needed < 0 or needed in arcs)
            ]
            best = Arborescences(p).best(alive, units(score), needed)
            assert rounded(best) == max(scores, default=-math.inf)


def test_the_root_has_one_modifier_even_at_a_price() -> None:
    scores = np.full((4, 4), -1e6)
    scores[:, 0] = 1e9
    many = Problem.from_arc_scores(scores, projective=False, single_root=False)
    one = Problem.from_arc_scores(scores, projective=False)
    for p, best in ((many, 3e9), (one, 1e9 - 2e6)):
        a = len(p.arc_head)
        assert rounded(Arborescences(p).best([True] * a, units(p.arc_score))) == best


def test_nested_cycles() -> None:
    """Words 1 and 2 prefer each other, and so do that pair and word 3, and those and word 4."""
    scores = np.full((5, 5), -np.inf)
    scores[1, 2] = scores[2, 1] = 100.0
    scores[1, 3], scores[3, 2] = 50.0, 60.0
    scores[3, 4], scores[4, 1] = 20.0, 30.0
    scores[4, 0], scores[1, 0] = 1.0, 2.0
    p = Problem.from_arc_scores(scores, projective=False)
    best = enumerate_trees(p)[0][0]
    found = Arborescences(p).best([True] * len(p.arc_head), units(p.arc_score))
    assert rounded(found) == best


def check_best(rng: np.random.Generator, p: Problem, max_marked: int = 4) -> None:
    """Best trees with and without marked arcs, under random arc scores and dead arcs."""
    n_arcs = len(p.arc_head)
    alive = rng.random(n_arcs) < rng.choice([0.6, 0.9, 1.0])
    score = rng.normal(size=n_arcs)
    marked = frozenset(rng.choice(n_arcs, int(rng.integers(max_marked + 1))).tolist())
    phi = TreeScorer(p)
    expected = [-math.inf, -math.inf]
    for arcs in trees(p):
        if alive[list(arcs)].all():
            value = phi(arcs) + float((score - p.arc_score)[list(arcs)].sum())
            some = int(not marked.isdisjoint(arcs))
            expected[some] = max(expected[some], value)
    found = Spans(p).best(alive.tolist(), units(score), marked)
    assert tuple(map(rounded, found)) == pytest.approx(tuple(expected), rel=1e-12, abs=1e-9)
    bare = Spans(p, scored=False).best(alive.tolist(), units(score))
    assert (not exists(max(bare))) == (max(expected) == -math.inf)


def linear(rng: np.random.Generator, max_words: int) -> Problem:
    while True:
        p = random_problem(
            rng, max_words=max_words, projective=True, max_factors=0, states=False, scale="normal"
        )
        if len(p.arc_head):
            return p


def test_best_tree_is_that_of_enumeration() -> None:
    rng = np.random.default_rng(71)
    for _ in range(400):
        check_best(rng, linear(rng, 5))
    for _ in range(10):
        check_best(rng, linear(rng, 7))


@pytest.mark.parametrize("parts", [(), ("sib",), ("gc",), ("ogc",), ("gsib",)])
def test_best_tree_with_one_kind_of_part(parts: tuple[str, ...]) -> None:
    rng = np.random.default_rng(72)
    for single_root in (True, False):
        for _ in range(30):
            p = random_problem(
                rng, max_words=5, projective=True, max_factors=0, states=False,
                parts=dict.fromkeys(parts, (1.0,)), scale="normal", single_root=single_root,
            )  # fmt: skip
            if len(p.arc_head):
                check_best(rng, p)


def test_feasible_trees_and_their_scores() -> None:
    rng = np.random.default_rng(73)
    for _ in range(150):
        p = random_problem(rng, max_words=4, max_counts=4, scale="halves")
        expected = {arcs: score for score, arcs in enumerate_trees(p)}
        checked = Trees(p)
        into = [np.flatnonzero(p.arc_mod == m).tolist() for m in range(1, p.n_words + 1)]
        for arcs in product(*into):
            assert (checked.fault(arcs) == "") == (arcs in expected)
            if arcs in expected:
                assert checked.phi(arcs) == pytest.approx(expected[arcs], abs=1e-9)


def value(p: Problem, g: int, h: int, mods: set[int]) -> float:
    """What the parts of one head score, from the definition."""
    total = 0.0
    for side in (sorted(m for m in mods if m > h), sorted(m for m in mods if m < h)[::-1]):
        links = list(zip([-1, *side], side))
        last = side[-1:]
        total += sum(s for _, a, i, m, s in rows_of(p.parts.sib) if a == h and (i, m) in links)
        total += sum(
            s for a, b, i, m, s in rows_of(p.parts.gsib) if (a, b) == (g, h) and (i, m) in links
        )
        total += sum(s for a, b, _, m, s in rows_of(p.parts.gc) if (a, b) == (g, h) and m in side)
        total += sum(s for a, b, _, m, s in rows_of(p.parts.ogc) if (a, b) == (g, h) and m in last)
    return total


@pytest.mark.parametrize("single_root", [True, False])
def test_automata_against_all_choices(single_root: bool) -> None:
    rng = np.random.default_rng(124)
    seen = 0
    for _ in range(60):
        p = random_problem(rng, max_words=5, projective=False, max_factors=0, states=False)
        p = p.changed(single_root=single_root)
        pairs = pairs_of(p)
        u, v = ({pair: float(rng.normal()) for pair in pairs} for _ in range(2))
        for h in range(p.n_words + 1) if pairs else ():
            mods = [m for a, m in pairs if a == h]
            grands = [g for g, m in pairs if m == h] if h else [-1]
            must = frozenset(m for m in mods if rng.random() < 0.2)
            found = [-math.inf]
            for g in grands:
                for own in chain(*(combinations(mods, r) for r in range(len(mods) + 1))):
                    if must <= set(own) and (h or len(own) == 1 or (own and not single_root)):
                        paid = sum(u[h, m] for m in own) + (v[g, h] if h else 0.0)
                        found.append(value(p, g, h, set(own)) - paid)
            paid_u, paid_v = ({pair: whole(x) for pair, x in lam.items()} for lam in (u, v))
            best = Automata(p).best(h, grands, mods, must, paid_u, paid_v)
            unit = abs(p.quantum or 1.0)
            assert rounded(best) == pytest.approx(max(found), rel=1e-12, abs=1e-9 * unit)
            seen += 1
    assert seen > 100


def test_bounds_are_above_all_trees() -> None:
    """Also of trees with one of some arcs, for any multipliers."""
    rng = np.random.default_rng(125)
    for _ in range(150):
        p = random_problem(
            rng, max_words=5, projective=False, max_factors=0, states=False, scale="normal"
        )
        trees = enumerate_trees(p)
        paid = units(rng.normal(size=2 * len(pairs_of(p))))
        alive = [True] * len(p.arc_head)
        chosen = np.flatnonzero(rng.random(len(alive)) < 0.3).tolist()
        for some in (frozenset[int](), frozenset(chosen)):
            bound = rounded(Crossing(p).best(alive, units(p.arc_score), some, paid))
            scores = [s for s, arcs in trees if not some or some & set(arcs)]
            assert bound >= max(scores, default=-math.inf) - 1e-9


def test_which_problems_have_multipliers_of_pairs() -> None:
    rng = np.random.default_rng(123)
    assert not any(pairs_of(random_problem(rng, projective=True)) for _ in range(20))
    bare = random_problem(rng, projective=False, parts=())
    assert pairs_of(bare) == []
    with_parts = [random_problem(rng, projective=False, parts=("sib",)) for _ in range(20)]
    for p in with_parts:
        pairs = sorted(set(zip(p.arc_head.tolist(), p.arc_mod.tolist())))
        assert pairs_of(p) == (pairs if len(p.sib_score) else [])


#: Made small by `bench/exactness.py`, from problems whose proofs were refused.
REFUSED: dict[str, tuple[int, dict[str, Any]]] = {
    "an outermost grandchild": (1, {
        "n_words": 5, "arc_head": [5, 5, 4, 0, 5], "arc_mod": [4, 3, 2, 5, 1],
        "arc_score": [0.0, 0.0, 0.0, 114748701842.44957, 0.0], "single_root": False,
        "ogc_grand": [2], "ogc_head": [3], "ogc_mod": [4], "ogc_score": [1e20],
    }),
    "a sibling beside counts": (1, {
        "n_words": 4, "arc_head": [0, 0, 1, 2, 3], "arc_mod": [3, 4, 2, 3, 1],
        "arc_score": [0.0, 0.0, 0.0, 0.0, 1.0], "single_root": False,
        "sib_head": [1], "sib_inner": [3], "sib_outer": [4], "sib_score": [1e11],
        "count_ptr": [0, 2, 3], "count_arcs": [1, 0, 3],
        "count_score": [-np.inf, 0.0, 0.0, 0.0, 2.0],
    }),
    "a factor with a cycle": (1, {
        "n_words": 4, "arc_head": [0, 2, 2, 3, 4], "arc_mod": [3, 3, 4, 2, 1],
        "arc_score": [0.0, 0.0, 0.0, 0.0, -0.03],
        "factor_ptr": [0, 2], "factor_arcs": [3, 1], "factor_score": [1e11],
    }),
    "a grand-sibling": (1, {
        "n_words": 8, "arc_head": [0, 2, 8, 6, 2, 7, 3, 0], "arc_mod": [2, 6, 3, 7, 4, 5, 1, 8],
        "arc_score": [0.0, 2.0, 0.0, 0.0, 0.0, 2.0, 2.0, -2.0], "single_root": False,
        "gsib_grand": [0], "gsib_head": [2], "gsib_inner": [3], "gsib_outer": [6],
        "gsib_score": [1e16],
    }),
    "a reduction without a tree": (2, {
        "n_words": 5, "arc_head": [0, 2, 2, 2, 3, 3, 4, 4], "arc_mod": [2, 1, 3, 4, 4, 5, 3, 5],
        "arc_score": [0.0, 0.0, 0.0, 30.0, 0.0, 0.0, -29.727340047769072, -10.0],
        "single_root": False, "projective": True,
        "ogc_grand": [3], "ogc_head": [4], "ogc_mod": [1], "ogc_score": [2e9],
        "count_ptr": [0, 1], "count_arcs": [3], "count_score": [0.0, -np.inf],
    }),
    "the last of seven trees": (7, {
        "n_words": 4, "arc_head": [0, 0, 2, 2, 2, 3, 4, 4, 4, 4],
        "arc_mod": [2, 4, 3, 3, 4, 4, 1, 2, 3, 3],
        "arc_score": [0.0, 1e8, 0.0, 0.0, 4e-05, 1e8, 0.000115, 0.0001, -0.0003, -1e8],
        "arc_label": [2, 0, 0, 2, 2, 2, 2, 1, 1, 2],
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSED))
def test_large_scores_give_a_proof_or_no_claim(name: str) -> None:
    k, fields = REFUSED[name]
    p = Problem(**{"projective": False, **fields})
    s = solve(p, k_best=k, proof=True, explain=False)
    assert s.status == "optimal"
    assert s.scores.tolist() == np.sort(forest(p).high)[::-1][:k].tolist()
    if s.proof is not None:
        verify(p, s)
    else:
        assert name in ("a factor with a cycle", "the last of seven trees")
        assert "too far apart" in certify(p, s, k)[1]


def test_a_tree_whose_scores_are_all_zero() -> None:
    """Another may be better by a share of the least score."""
    p = Problem(
        3, [0, 0, 1, 2, 3], [1, 2, 2, 3, 2], [0.0, 0.0, 1e-4, 0.0, 0.0], single_root=False,
        projective=False, factor_ptr=[0, 2], factor_arcs=[3, 4], factor_score=[1.0],
    )  # fmt: skip
    trees = enumerate_trees(p)
    assert [score for score, _ in trees[:2]] == [1e-4, 0.0]
    proof, reason = certify(p, solution_of(p, trees[1:2]), 1)
    assert proof is None and "is not in the solution" in reason
    verify(p, proved(p, trees, 2))
    large = p.changed(factor_score=np.array([1e16]))  # a reward that no tree can have
    assert "too far apart" in certify(large, solution_of(large, trees[1:2]), 1)[1]


@pytest.mark.parametrize("status", ["optimal", "gap", "time_limit"])
def test_no_tree_is_infeasible_and_nothing_else(status: str) -> None:
    p = Problem(2, [1, 2], [2, 1], [1.0, 1.0])
    s = solve(p, proof=True)
    verify(p, s)
    refused(p, dataclasses.replace(s, status=status, conflict=()), f"the status is {status}")


def test_trees_of_a_search_that_was_stopped_are_not_the_best() -> None:
    p = Problem.from_arc_scores(np.arange(16.0).reshape(4, 4).T)
    s = solve(p, k_best=2, proof=True)
    verify(p, s)
    refused(p, dataclasses.replace(s, status="gap"), "the status is gap")


def test_sums_of_the_largest_scores() -> None:
    """They are larger than any score may be."""
    p = Problem.from_arc_scores(np.full((4, 4), -1e100))
    s = solve(p, proof=True)
    assert s.scores.tolist() == pytest.approx([-3e100])
    verify(p, s)
