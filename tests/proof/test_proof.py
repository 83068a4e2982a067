"""The record of a proof: its checks, and files."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.errors import ProblemError
from bbparse.problem import Problem, Solution
from bbparse.problem.proof import Proof, digest, tolerances
from bbparse.proof.verify import verify
from bbparse.solving.solve import solve
from bbparse.storage.archive import write_archive
from tests.proof.helpers import proved, random_case


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
    for name, array in proof.as_arrays().items():
        again = back.proof.as_arrays()[name]
        assert again.dtype == array.dtype
        assert np.array_equal(again, array)
    verify(Problem.load(tmp_path / "p.npz"), back)
    dataclasses.replace(solution, proof=None).save(tmp_path / "s.npz")
    assert Solution.load(tmp_path / "s.npz").proof is None


def rewrite(path: Path, **changes: Any) -> None:
    """Write a solution's file again with some of its arrays replaced, or left out for None."""
    with np.load(path) as archive:
        arrays = dict(archive)
    del arrays["kind"], arrays["version"]
    arrays.update(changes)
    kept = {name: array for name, array in arrays.items() if array is not None}
    write_archive(path, "bbparse.Solution", 1, kept)


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
        ({"proof_problem": np.array(3)}, "proof_problem has dtype int64"),
        ({"proof_node_vector": proof.node_vector + np.int64(2**40)}, "too large for int32"),
    ):
        solution.save(path)
        rewrite(path, **changes)
        with pytest.raises(ProblemError) as error:
            Solution.load(path)
        assert text in str(error.value)
        assert str(path) in str(error.value)


def test_proofs_of_version_1(tmp_path: Path) -> None:
    """They are read where there are no multipliers of parts, and refused where there are."""
    p, solution, proof = case(projective=True)
    path = tmp_path / "s.npz"
    for width in (0, 3):
        solution.save(path)
        parts = np.zeros((len(proof.pair_multipliers), width))
        rewrite(path, proof_pair_multipliers=None, proof_part_multipliers=parts)
        if width:
            with pytest.raises(ProblemError, match="the proof is of version 1"):
                Solution.load(path)
        else:
            verify(p, Solution.load(path))


def test_arrays_are_read_only() -> None:
    _, _, proof = case()
    with pytest.raises(ValueError, match="read-only"):
        proof.node_kind[0] = 1
    assert repr(proof).startswith("Proof(k_best=4, ")


def test_digest_sees_every_field_and_no_copy() -> None:
    p, _, _ = case()
    same = dataclasses.replace(p)
    assert digest(p) == digest(same)
    assert digest(p) != digest(dataclasses.replace(p, single_root=not p.single_root))
    label = np.zeros(len(p.arc_head), np.int32)
    assert digest(dataclasses.replace(p, arc_label=label)) != digest(
        dataclasses.replace(p, arc_label=label + 1)
    )


def test_tolerances_follow_the_last_tree() -> None:
    scores = np.arange(16.0).reshape(4, 4)
    p = Problem.from_arc_scores(scores)
    assert tolerances(p, [3.0, -1.0]) == pytest.approx((4e-9, 4e-9))
    whole = dataclasses.replace(p, quantum=1.0)
    assert tolerances(whole, [3.0, -1.0]) == pytest.approx((4e-9, 0.5))
    assert tolerances(p, [0.0]) == pytest.approx((1e-13 * (13 + 14 + 11),) * 2)
    assert tolerances(p, None) == pytest.approx((1e-9 * (13 + 14 + 11),) * 2)
    zero = Problem.from_arc_scores(0.0 * scores)
    assert tolerances(zero, None) == (1e-9, 1e-9)


@pytest.mark.parametrize("k", [1, 3])
def test_solve_attaches_proofs(k: int) -> None:
    p, _, _ = case()
    s = solve(p, k_best=k, proof=True)
    verify(p, s)
    assert s.proof is not None
    assert s.stats["proof_leaves"] == s.proof.n_leaves
    assert s.stats["proof_seconds"] > 0
    assert solve(p, k_best=k).proof is None


def test_solve_without_a_proof() -> None:
    p, _, _ = case()
    stopped = solve(p, k_best=3, time_limit=0.0, proof=True)
    assert stopped.proof is None
    assert "proof_leaves" not in stopped.stats


def test_infeasible_solutions_are_proved() -> None:
    p = Problem(2, [1, 2], [2, 1], [1.0, 1.0])
    s = solve(p, proof=True)
    assert s.status == "infeasible"
    verify(p, s)
    scores = np.arange(16.0).reshape(4, 4)
    p = Problem.from_arc_scores(scores)
    p = p.with_factors([([(0, m), (h, 4 - m)], -np.inf) for m in (1, 3) for h in (0, 1, 2, 3)
                        if h != 4 - m])  # fmt: skip
    p = p.without_arcs([(0, 2)])
    s = solve(p, k_best=2, proof=True)
    assert s.status == "infeasible"
    verify(p, s)
