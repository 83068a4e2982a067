"""The checker's dynamic program and tree scores against enumeration."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from bbparse.problem import Problem
from bbparse.proof.exact import exists, rounded
from bbparse.proof.spans import Spans, Trees
from tests.oracles.enumerate import TreeScorer, enumerate_trees, trees
from tests.proof.helpers import units
from tests.strategies import random_problem


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
