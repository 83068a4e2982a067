"""Proofs where scores are out of proportion: a billionth of a tree's own scores decides."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from bbparse.problem import Problem
from bbparse.proof.certify import certify
from bbparse.proof.verify import verify
from bbparse.solving.solve import solve
from tests.oracles.enumerate import enumerate_trees
from tests.proof.helpers import proved, random_case, refused, solution_of

MASKS = (-1e9, -1e12, float(np.finfo(np.float32).min), -1e100)


def masked(rng: np.random.Generator, mask: float) -> Problem:
    """A problem in which some scores are masks, and some trees have none of these."""
    while True:
        p, _ = random_case(
            rng, max_words=5, scale="normal", parts=("sib", "gc") if rng.random() < 0.5 else ()
        )
        changes = {}
        for name in ("arc_score", "factor_score", "count_score", "sib_score", "gc_score"):
            scores = getattr(p, name)
            picked = np.isfinite(scores) & (rng.random(len(scores)) < 0.3)
            changes[name] = np.where(picked, mask, scores)
        p = dataclasses.replace(p, **changes, quantum=0.0)
        trees = enumerate_trees(p)
        if len(trees) > 3 and trees[1][0] > 1e-3 * mask:
            return p


@pytest.mark.parametrize("mask", MASKS)
def test_proofs_with_masks(mask: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        p = masked(rng, mask)
        for k in (1, 2):
            s = solve(p, k_best=k, proof=True, explain=False)
            assert s.proof is not None
            verify(p, s)


@pytest.mark.parametrize("mask", MASKS)
def test_the_second_best_tree_is_refused(mask: float) -> None:
    """However little it is worse in the eyes of the masks."""
    rng = np.random.default_rng(2)
    done = 0
    while done < 25:
        p = masked(rng, mask)
        trees = enumerate_trees(p)
        if trees[1][0] > trees[0][0] - 1e-6 * max(1.0, abs(trees[0][0])):
            continue
        done += 1
        right = proved(p, trees, 1)
        verify(p, right)
        wrong = solution_of(p, trees[1:2])
        refused(p, dataclasses.replace(wrong, proof=right.proof))
        proof, reason = certify(p, wrong, 1)
        assert proof is None and "is not in the solution" in reason


@pytest.mark.parametrize("scale", [1e-9, 1e-60, 1e60])
def test_proofs_at_every_scale(scale: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        p, _ = random_case(rng, max_words=5, scale="normal")
        fields = {f"{name}_score": scale * getattr(p, f"{name}_score") for name in
                  ("arc", "factor", "count", "sib", "gc", "ogc", "gsib")}  # fmt: skip
        p = dataclasses.replace(p, **fields)
        trees = enumerate_trees(p)
        if len(trees) < 2 or trees[1][0] > trees[0][0] - 1e-3 * scale:
            continue
        right = proved(p, trees, 1)
        verify(p, right)
        refused(p, dataclasses.replace(solution_of(p, trees[1:2]), proof=right.proof))


@pytest.mark.parametrize("status", ["optimal", "gap", "time_limit"])
def test_no_tree_is_infeasible_and_nothing_else(status: str) -> None:
    p = Problem(2, [1, 2], [2, 1], [1.0, 1.0])
    s = solve(p, proof=True)
    verify(p, s)
    refused(p, dataclasses.replace(s, status=status, conflict=()), f"the status is {status}")


def test_trees_of_a_search_that_was_stopped_are_not_the_best() -> None:
    p = Problem.from_arc_scores(np.arange(16.0).reshape(4, 4))
    s = solve(p, k_best=2, proof=True)
    verify(p, s)
    refused(p, dataclasses.replace(s, status="gap"), "the status is gap")


def test_sums_of_the_largest_scores() -> None:
    """They are larger than any score may be."""
    p = Problem.from_arc_scores(np.full((4, 4), -1e100))
    s = solve(p, proof=True)
    assert s.scores.tolist() == pytest.approx([-3e100])
    verify(p, s)
