"""Proofs: how they are made, kept and completed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem, Solution
from bbparse.core.proof import ARRAYS, BOUND, EMPTY, Proof, digest
from bbparse.inference.proof.certify import certify
from bbparse.inference.proof.verify import verify
from bbparse.inference.solve import solve
from bbparse.runtime.archive import write_archive
from bbparse.runtime.errors import ProblemError, VerificationError
from tests.archives import fields_of
from tests.inference.proof.helpers import (
    changed,
    checked_bound,
    proved,
    random_case,
    solution_of,
    with_element,
)


def case(seed: int = 111, least_trees: int = 8, **options: Any) -> tuple[Problem, Solution, Proof]:
    rng = np.random.default_rng(seed)
    while True:
        p, trees = random_case(rng, **options)
        if len(trees) >= least_trees and len(p.factor_score) and len(p.count_arcs):
            solution = proved(p, trees, 4)
            assert solution.proof is not None
            if len(solution.proof.factor_multipliers):
                return p, solution, solution.proof


def test_files_keep_everything(tmp_path: Path) -> None:
    p, solution, proof = case()
    p.save(tmp_path / "p.npz")
    solution.save(tmp_path / "s.npz")
    back = Solution.load(tmp_path / "s.npz")
    assert back.proof is not None
    assert (back.proof.problem, back.proof.k_best) == (proof.problem, proof.k_best)
    for name in ARRAYS:
        array, again = getattr(proof, name), getattr(back.proof, name)
        assert again.dtype == array.dtype
        assert np.array_equal(again, array)
    verify(Problem.load(tmp_path / "p.npz"), back)
    dataclasses.replace(solution, proof=None).save(tmp_path / "s.npz")
    assert Solution.load(tmp_path / "s.npz").proof is None


def rewrite(path: Path, **changes: Any) -> None:
    """Write a solution's file again with some of its arrays replaced, or left out for None."""
    fields = {**fields_of(path), **changes}
    kept = {name: value for name, value in fields.items() if value is not None}
    write_archive(path, "bbparse.Solution", kept)


def test_damaged_files(tmp_path: Path) -> None:
    _, solution, proof = case()
    path = tmp_path / "s.npz"
    for changes, text in (
        ({"proof_node_kind": None}, "field proof_node_kind is missing"),
        ({"proof_node_kind": proof.node_kind[1:]}, "node_bound has"),
        ({"proof_node_kind": proof.node_kind + 0.5}, "proof_node_kind has dtype float64"),
        ({"proof_node_arcs": proof.node_arcs[1:]}, "node_ptr does not rise from 0 to"),
        ({"proof_node_ptr": proof.node_ptr[::-1]}, "node_ptr does not rise"),
        ({"proof_node_bound": proof.node_bound[:, None]}, "expected 1 dimensions"),
        ({"proof_count_multipliers": proof.count_multipliers[1:]}, "count_multipliers has"),
        ({"proof_problem": 3}, "proof_problem is no str of the card"),
        ({"proof_node_vector": proof.node_vector + np.int64(2**40)}, "proof: node_vector[0] is"),
    ):
        solution.save(path)
        rewrite(path, **changes)
        with pytest.raises(ProblemError) as error:
            Solution.load(path)
        assert text in str(error.value)
        assert str(path) in str(error.value)


def test_digest_sees_every_field_and_no_copy() -> None:
    p, _, _ = case()
    same = dataclasses.replace(p)
    assert digest(p) == digest(same)
    assert digest(p) != digest(dataclasses.replace(p, single_root=not p.single_root))
    label = np.zeros(len(p.arc_head), np.int32)
    assert digest(dataclasses.replace(p, arc_label=label)) != digest(
        dataclasses.replace(p, arc_label=label + 1)
    )


@pytest.mark.parametrize("k", [1, 3])
def test_solve_attaches_proofs(k: int) -> None:
    p, _, _ = case()
    s = solve(p, k_best=k, proof=True)
    verify(p, s)
    assert s.proof is not None
    assert s.stats["proof_leaves"] == s.proof.n_leaves
    assert s.stats["proof_seconds"] > 0
    assert solve(p, k_best=k).proof is None


def test_infeasible_solutions_are_proved() -> None:
    p = Problem(2, [1, 2], [2, 1], [1.0, 1.0])
    s = solve(p, proof=True)
    assert s.status == "infeasible"
    verify(p, s)
    scores = np.arange(16.0).reshape(4, 4).T
    p = Problem.from_arc_scores(scores)
    p = p.with_factors(
        [([(0, m), (h, 4 - m)], -np.inf) for m in (1, 3) for h in (0, 1, 2, 3) if h != 4 - m]
    )
    p = p.without_arcs([(0, 2)])
    s = solve(p, k_best=2, proof=True)
    assert s.status == "infeasible"
    verify(p, s)


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
        p,
        count_ptr=[0, len(forward), len(forward) + len(backward)],
        count_arcs=forward + backward,
        count_score_ptr=None,
        count_score=at_most(len(forward), 4) + at_most(len(backward), 4),
    )
    solution = proved(p, [], 1)
    verify(p, solution)
    assert solution.proof is not None
    proof = solution.proof
    assert proof.n_leaves <= 3
    assert (proof.node_vector[proof.node_kind == EMPTY] >= 0).any()


def test_factors_that_are_nothing_beside_a_reward() -> None:
    """Their weights are below the least number at the scale of the reward."""
    p = Problem(
        4, [2, 3, 4, 1, 4, 0, 1, 0, 1, 2], [1, 1, 1, 2, 2, 3, 3, 4, 4, 4],
        [5e-301, -1e4, -2e-300, 1.5e-300, 2e-300, 0, 7.5e-301, 2.5e-301, 1.5e-300, 1.5e-300],
        single_root=False, sib_head=[2, 0], sib_inner=[-1, -1], sib_outer=[4, 4],
        sib_score=[1.5e-300, 1e38], gc_grand=[3, 3, 4, 3, 0], gc_head=[2, 1, 2, 4, 1],
        gc_mod=[1, 2, 1, 1, 3], gc_score=[-1.75e-300, -1e-300, 1e-300, -1.75e-300, 2.5e-301],
        ogc_grand=[3, 3], ogc_head=[4, 2], ogc_mod=[2, 1], ogc_score=[-5e-301, 2.5e-301],
        factor_ptr=[0, 2, 4, 7, 10, 13, 15, 17, 20],
        factor_arcs=[2, 5, 1, 2, 6, 0, 3, 3, 9, 5, 5, 8, 2, 9, 0, 5, 6, 5, 7, 6],
        factor_score=[
            1e-300, 5e-301, -1.5e-300, 1.75e-300, 1.5e-300, -2e-300, -1.5e-300, -1.75e-300
        ],
    )  # fmt: skip
    for k in (1, 2, 3):
        s = solve(p, k_best=k, proof=True)
        assert (s.status, s.scores.tolist()) == ("optimal", [1e38, -1e4][:k])
        if k == 2:  # of two trees, so that the last one says how exact a proof has to be
            assert s.proof is None and "too far apart" in certify(p, s, k)[1]
        else:
            verify(p, s)


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
            p,
            sib_head=head,
            sib_inner=inner,
            sib_outer=outer,
            sib_score=0.3 * rng.normal(size=len(siblings)),
        )
        s = solve(p, k_best=3, proof=True)
        assert s.proof is not None
        verify(p, s)
        bounds = np.flatnonzero(s.proof.node_kind == BOUND)
        bound = checked_bound(p, s, bounds[0])
        lower = with_element(s.proof.node_bound, bounds[0], bound - 1e-3)
        with pytest.raises(VerificationError, match="its bound is "):
            verify(p, changed(s, node_bound=lower))
