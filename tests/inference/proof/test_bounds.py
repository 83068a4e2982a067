"""Bounds of the checker, and proofs at extreme proportions."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.inference.proof.bounds import Bounds, Subspace
from bbparse.inference.proof.certify import certify
from bbparse.inference.proof.exact import exists, to_float
from bbparse.inference.proof.spans import Projective, Trees
from bbparse.inference.proof.verify import verify
from bbparse.inference.solve import solve
from bbparse.runtime.errors import VerificationError
from tests.inference.proof.helpers import proved, refused, solution_of, units
from tests.oracles.enumerate import TreeScorer, enumerate_trees, trees
from tests.oracles.forest import forest
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
    found = Projective(p).both(alive.tolist(), units(score), marked)
    assert tuple(map(to_float, found)) == pytest.approx(tuple(expected), rel=1e-12, abs=1e-9)
    bare = Projective(p, scored=False).both(alive.tolist(), units(score))
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


def test_multipliers_of_an_arc_of_every_tree_cancel_out() -> None:
    p = Problem(
        2, [0, 1], [1, 2], [0.0, 0.0], count_ptr=[0, 1], count_arcs=[0], count_score=[0.0, 5.0]
    )  # fmt: skip
    bounds = Bounds(p, Trees(p), scored=True)
    for lam in (-3.0, 0.0, 3.0):
        assert to_float(bounds.bound(Subspace([True] * 2), bounds.row([], [lam], [], "row"))) == 5.0


def test_multipliers_of_a_negative_factor_do_not_exceed_its_weight() -> None:
    p = Problem(
        2, [0, 1], [1, 2], [0.0, 0.0], factor_ptr=[0, 2], factor_arcs=[0, 1], factor_score=[-1.0]
    )  # fmt: skip
    bounds = Bounds(p, Trees(p), scored=True)
    row = bounds.row([1.0, 0.0], [], [], "row")
    assert to_float(bounds.bound(Subspace([True] * 2), row)) == -1.0
    for wrong in ([1.5, 0.0], [0.5, 0.5], [-0.5, 0.0]):
        with pytest.raises(VerificationError, match="row: factor 0 has"):
            bounds.row(wrong, [], [], "row")
