"""Proofs spoiled at random, with trees that are not the best: none may pass the checker."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest

from bbparse.problem import Problem
from bbparse.problem.proof import Proof
from tests.oracles.enumerate import Scored
from tests.proof.helpers import MILD, proved, random_case, refused, solution_of


def spoil(rng: np.random.Generator, proof: Proof, n_arcs: int) -> Proof:
    """One random change to a proof."""
    arrays = {name: np.array(a) for name, a in proof.as_arrays().items()}
    name = str(rng.choice(["node_kind", "node_bound", "node_vector", "node_arcs", "swap",
                           "factor_multipliers", "count_multipliers", "pair_multipliers",
                           "k_best"]))  # fmt: skip
    array = arrays.get(name)
    if name == "k_best":
        arrays["k_best"] = arrays["k_best"] + int(rng.integers(-1, 3))
    elif name == "swap":
        i, j = rng.integers(len(proof.node_kind), size=2)
        for field in ("node_bound", "node_vector"):
            arrays[field][[i, j]] = arrays[field][[j, i]]
    elif array is not None and array.size:
        at = int(rng.integers(array.size))
        value = {
            "node_kind": int(rng.integers(4)),
            "node_vector": int(rng.integers(-1, len(proof.factor_multipliers) + 1)),
            "node_arcs": int(rng.integers(n_arcs)),
        }.get(name)
        if value is None:
            value = array.flat[at] + float(rng.choice([-1.0, 1.0])) * 10.0 ** rng.integers(-6, 6)
        array.flat[at] = value
    return Proof.from_arrays(arrays)


def attack(rng: np.random.Generator, p: Problem, trees: list[Scored], k: int) -> None:
    """No spoiled proof may pass with trees that are not the best."""
    solution = proved(p, trees, k)
    proof = solution.proof
    assert proof is not None
    worse = trees[k]
    place = int(rng.integers(k))
    lies = [solution_of(p, [*[t for i, t in enumerate(trees[:k]) if i != place], worse])]
    lies.append(solution_of(p, [*trees[: k - 1], worse]))
    lies.append(solution_of(p, trees[:k]))
    for lie in lies:
        for _ in range(6):
            broken = proof
            for _ in range(int(rng.integers(1, 4))):
                broken = spoil(rng, broken, len(p.arc_head))
            if lie is lies[-1]:  # the trees are right, and said to be all there are
                broken = dataclasses.replace(broken, k_best=k + 1)
            refused(p, dataclasses.replace(lie, proof=broken))


def attackable(trees: list[Scored], k: int) -> bool:
    return len(trees) > k and trees[k][0] < trees[k - 1][0] - 1e-3


def test_spoiled_proofs_of_wrong_trees() -> None:
    rng = np.random.default_rng(105)
    done = 0
    while done < 60:
        p, trees = random_case(rng, scale=str(rng.choice(MILD)))
        k = int(rng.integers(1, 6))
        if attackable(trees, k):
            attack(rng, p, trees, k)
            done += 1


@pytest.mark.fuzz
def test_long_attack(fuzz_seconds: float, fuzz_seed: int) -> None:
    rng = np.random.default_rng(fuzz_seed)
    end = time.monotonic() + fuzz_seconds
    while time.monotonic() < end:
        p, trees = random_case(rng, scale=str(rng.choice(MILD)))
        k = int(rng.integers(1, 8))
        if attackable(trees, k):
            attack(rng, p, trees, k)
