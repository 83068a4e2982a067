"""Proofs that are made, and when none is; those of random problems: see tests/fuzz."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from bbparse.errors import VerificationError
from bbparse.problem import Problem
from bbparse.problem.proof import BOUND, EMPTY
from bbparse.proof.certify import certify
from bbparse.proof.verify import verify
from bbparse.solving.solve import solve
from tests.oracles.enumerate import enumerate_trees
from tests.proof.helpers import changed, proved, random_case, solution_of, with_element
from tests.strategies import random_problem


def test_proofs_under_many_hard_factors() -> None:
    rng = np.random.default_rng(82)
    for _ in range(60):
        p = random_problem(
            rng, max_words=5, min_words=4, projective=True, max_factors=60, max_counts=8
        )
        verify(p, proved(p, enumerate_trees(p), int(rng.choice([1, 3, 400]))))


def test_infeasible_by_multipliers() -> None:
    """No single constraint is contradicted: what shows that there is no tree is their sum."""
    n = 9
    rng = np.random.default_rng(83)
    p = Problem.from_arc_scores(rng.normal(size=(n + 1, n + 1)))
    forward = np.flatnonzero(p.arc_head < p.arc_mod).tolist()
    backward = np.flatnonzero(p.arc_head > p.arc_mod).tolist()

    def at_most(size: int, most: int) -> list[float]:
        return [0.0 if k <= most else -np.inf for k in range(size + 1)]

    p = dataclasses.replace(
        p, count_ptr=[0, len(forward), len(forward) + len(backward)],
        count_arcs=forward + backward, count_score_ptr=None,
        count_score=at_most(len(forward), 4) + at_most(len(backward), 4),
    )  # fmt: skip
    solution = proved(p, [], 1)
    verify(p, solution)
    assert solution.proof is not None
    proof = solution.proof
    assert proof.n_leaves <= 3
    assert (proof.node_vector[proof.node_kind == EMPTY] >= 0).any()


def test_quantum_closes_leaves_below_the_next_score() -> None:
    rng = np.random.default_rng(84)
    sizes = {0.0: 0, 1.0: 0}
    for _ in range(40):
        p = random_problem(rng, max_words=6, min_words=5, projective=True, scale="ties")
        for quantum in sizes:
            q = dataclasses.replace(p, quantum=quantum)
            solution = proved(q, enumerate_trees(q), 2)
            verify(q, solution)
            assert solution.proof is not None
            sizes[quantum] += solution.proof.n_leaves
    assert sizes[1.0] < sizes[0.0]


def test_no_proof_of_what_is_not_the_best() -> None:
    rng = np.random.default_rng(85)
    tried = 0
    while tried < 60:
        p, trees = random_case(rng)
        k = int(rng.integers(1, 5))
        if len(trees) > k and trees[k - 1][0] > trees[k][0] + 1e-3 * abs(trees[0][0]):
            tried += 1
            worse = solution_of(p, [*trees[: k - 1], trees[k]])
            assert certify(p, worse, k)[0] is None
            fewer = solution_of(p, trees[:k])
            proof, reason = certify(p, fewer, k + 1)
            assert proof is None
            assert "is not in the solution" in reason


def test_reasons() -> None:
    rng = np.random.default_rng(86)
    while True:
        p, trees = random_case(rng)
        if len(trees) > 20:
            break
    solution = solution_of(p, trees[:10])
    assert certify(p, solution, 10)[0] is not None
    proof, reason = certify(p, solution, 10, time_limit=0.0)
    assert (proof, reason) == (None, "the time limit was reached")


@pytest.mark.parametrize("single_root", [True, False])
def test_non_projective_sentences(single_root: bool) -> None:
    rng = np.random.default_rng(78)
    for n in (9, 13, 17):
        p = Problem.from_arc_scores(
            rng.normal(size=(n + 1, n + 1)), projective=False, single_root=single_root
        )
        arcs = list(zip(p.arc_head.tolist(), p.arc_mod.tolist()))
        sets = [[arcs[i] for i in rng.choice(len(arcs), 3, replace=False)] for _ in range(4 * n)]
        p = p.with_factors([(own, float(rng.normal())) for own in sets])
        p = p.with_valency(range(1, n + 1), high=2)
        siblings = [(h, -1, m) for h, m in arcs if rng.random() < 0.3]
        head, inner, outer = (np.array(column) for column in zip(*siblings))
        p = dataclasses.replace(
            p, sib_head=head, sib_inner=inner, sib_outer=outer,
            sib_score=0.3 * rng.normal(size=len(siblings)),
        )  # fmt: skip
        s = solve(p, k_best=3, proof=True)
        assert s.proof is not None
        verify(p, s)
        bounds = np.flatnonzero(s.proof.node_kind == BOUND)
        lower = with_element(s.proof.node_bound, bounds[0], s.proof.node_bound[bounds[0]] - 1e-3)
        with pytest.raises(VerificationError, match="its bound is given"):
            verify(p, changed(s, node_bound=lower))
