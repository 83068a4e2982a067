"""Planted faults: none may pass the checker."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem, Solution
from bbparse.core.proof import BOUND, EMPTY, SPLIT, TREE, Proof, digest, tolerances
from bbparse.inference.proof.crossing import pairs_of
from bbparse.inference.proof.spans import Trees
from bbparse.inference.proof.verify import verify
from bbparse.runtime.errors import VerificationError
from tests.inference.proof.helpers import (
    MILD,
    changed,
    checked_bound,
    proved,
    random_case,
    refused,
    solution_of,
    with_element,
    without_node,
)
from tests.oracles.enumerate import Scored

Case = tuple[Problem, list[Scored], Solution, Proof]


def cases(seed: int, count: int, least_trees: int = 1, **options: Any) -> list[Case]:
    """Random problems with scores of ordinary size, solved and proved."""
    rng = np.random.default_rng(seed)
    found: list[Case] = []
    while len(found) < count:
        p, trees = random_case(rng, scale=str(rng.choice(MILD)), **options)
        if len(trees) >= least_trees:
            solution = proved(p, trees, int(rng.integers(1, 6)))
            assert solution.proof is not None
            verify(p, solution)
            found.append((p, trees, solution, solution.proof))
    return found


def test_lowered_bound() -> None:
    leaves = 0
    for p, _, solution, proof in cases(91, 25):
        for node in np.flatnonzero(np.isin(proof.node_kind, (BOUND, TREE))):
            bound = checked_bound(p, solution, node)
            assert bound <= proof.node_bound[node] + 1e-6
            low = with_element(proof.node_bound, node, bound - 1e-3)
            refused(p, changed(solution, node_bound=low), f"leaf {node}")
            leaves += 1
    assert leaves > 50


def test_bound_above_the_last_tree() -> None:
    for p, _, solution, proof in cases(92, 30, least_trees=6):
        for node in np.flatnonzero(proof.node_kind == BOUND):
            high = float(solution.scores[-1]) + tolerances(p, [])[1] + 1e-3
            bounds = with_element(proof.node_bound, node, high)
            refused(p, changed(solution, node_bound=bounds), "is above the last tree's score")


def test_removed_leaf_or_split() -> None:
    for p, _, solution, proof in cases(94, 25):
        for node in range(len(proof.node_kind)):
            refused(p, without_node(solution, node))


def test_removed_clause_arc_and_flipped_kind() -> None:
    for p, _, solution, proof in cases(95, 25):
        for node in np.flatnonzero(proof.node_kind == EMPTY):
            kinds = with_element(proof.node_kind, node, TREE)
            refused(p, changed(solution, node_kind=kinds), "leaf")
        for node in np.flatnonzero(proof.node_kind == TREE):
            kinds = with_element(proof.node_kind, node, EMPTY)
            bounds = with_element(proof.node_bound, node, -np.inf)
            for row in range(-1, len(proof.factor_multipliers)):
                rows = with_element(proof.node_vector, node, row)
                lie = changed(solution, node_kind=kinds, node_bound=bounds, node_vector=rows)
                refused(p, lie, "there is no row -1", "do not show")


def test_all_trees_said_to_be_none() -> None:
    """An empty leaf for the whole space, with every row of multipliers and with large ones."""
    rng = np.random.default_rng(106)
    for p, _, solution, proof in cases(106, 80):
        rows = 8
        hard = np.isneginf(p.factor_score)
        large = rng.choice([0.0, 1.0, 100.0], (rows, len(p.factor_score))) * hard
        factors = np.zeros((rows, len(p.factor_arcs)))
        factors[:, p.factor_ptr[:-1]] = large
        counts = rng.normal(size=(rows, len(p.count_arcs)))
        counts *= rng.choice([0.0, 1.0, 100.0], (rows, 1))
        for row in range(-1, rows):
            made_up = changed(
                solution,
                k_best=len(solution) + 1,
                node_kind=[EMPTY],
                node_ptr=[0, 0],
                node_arcs=np.zeros(0, np.int32),
                node_bound=[-np.inf],
                node_vector=[row],
                factor_multipliers=factors,
                count_multipliers=counts,
                pair_multipliers=np.zeros((rows, proof.pair_multipliers.shape[1])),
            )
            refused(p, made_up, "there is no row -1", "do not show")


def test_trees_that_are_none() -> None:
    """Forbidden arcs, cycles, crossing arcs, two roots and hard constraints, scored right."""
    rng = np.random.default_rng(107)
    faults: set[str] = set()
    for p, trees, _, proof in cases(107, 70):
        feasible = {arcs for _, arcs in trees}
        into = [np.flatnonzero(p.arc_mod == m) for m in range(1, p.n_words + 1)]
        for _ in range(12):
            arcs = tuple(int(rng.choice(a)) for a in into)
            score = Trees(p).phi(arcs)
            if arcs not in feasible and score > -np.inf:
                lie = solution_of(p, [(score, arcs)], proof=dataclasses.replace(proof, k_best=1))
                with pytest.raises(VerificationError, match=r"^tree 0 ") as error:
                    verify(p, lie)
                kinds = ("forbidden", "required", "cycle", "root words", "crossing")
                faults.update(kind for kind in kinds if kind in str(error.value))
    assert faults == {"forbidden", "required", "cycle", "root words", "crossing"}


def test_trees_twice_out_of_order_or_not_matching() -> None:
    for p, trees, solution, proof in cases(97, 20, least_trees=7):
        first = trees[0]
        twice = solution_of(p, [first, first], proof=dataclasses.replace(proof, k_best=2))
        refused(p, twice, "tree 1 is tree 0 again")
        heads = np.array(solution.heads)
        heads[0, 1] = heads[0, 1] + 1 if heads[0, 1] < p.n_words else 0
        refused(p, dataclasses.replace(solution, heads=heads), "its heads are not those")
        arcs = np.array(solution.arcs)
        arcs[0, 0] = len(p.arc_head)
        refused(p, dataclasses.replace(solution, arcs=arcs), "is not an arc into word 1")
        refused(p, changed(solution, k_best=len(solution) - 1), "but the proof is for")
        refused(p, dataclasses.replace(solution, status="infeasible"), "status")
        refused(p, dataclasses.replace(solution, proof=None), "has no proof")
        rising = Solution(
            solution.heads[::-1],
            solution.arcs[::-1],
            solution.scores[::-1],
            solution.upper_bounds[::-1],
            solution.proved,
            "optimal",
            {},
            proof,
        )
        if rising.scores[0] < rising.scores[-1]:
            refused(p, rising, "scores more than the one before it")


def test_what_a_solution_says_of_its_trees() -> None:
    labelled = 0
    for p, _, solution, _ in cases(98, 40):
        if len(solution):
            last = len(solution) - 1
            size = 1.0 + float(np.abs(solution.scores).max())
            for off in (-size, -1e-12 * size, 1e-12 * size, size, np.inf, np.nan):
                bounds = with_element(solution.upper_bounds, last, solution.scores[last] + off)
                refused(p, dataclasses.replace(solution, upper_bounds=bounds), "its upper bound")
            proved = with_element(solution.proved, last, False)
            refused(p, dataclasses.replace(solution, proved=proved), "is not proved")
            refused(p, dataclasses.replace(solution, proved=solution.scores), "proved is not a 1-d")
            lie = dataclasses.replace(solution, conflict=("arcs must not cross",))
            refused(p, lie, "names a conflict")
        if p.arc_label is None:
            lie = dataclasses.replace(solution, labels=np.zeros_like(solution.arcs))
            refused(p, lie, "the problem has none")
            continue
        right = p.arc_label[solution.arcs]
        verify(p, dataclasses.replace(solution, labels=right))
        refused(p, dataclasses.replace(solution, labels=right[:, 1:]), "labels is no array of the")
        for t, m in np.ndindex(right.shape):
            wrong = with_element(right, (t, m), int(right[t, m]) + 1)
            refused(p, dataclasses.replace(solution, labels=wrong), f"tree {t}: word {m + 1} has")
            labelled += 1
    assert labelled > 5


def test_illegal_multipliers() -> None:
    spoiled = 0
    for p, _, solution, proof in cases(99, 12):
        used = proof.node_vector[proof.node_kind == BOUND]
        weights = p.factor_score
        for row in np.unique(used).tolist():
            for f, weight in enumerate(weights.tolist()):
                first = int(p.factor_ptr[f])
                lam = proof.factor_multipliers
                wrong = [-1e-3, np.nan, np.inf]
                if weight >= 0:
                    wrong += [lam[row, first] + 1e-3, lam[row, first] - 1e-3]
                elif weight > -np.inf:
                    wrong += [1e-3 - weight]
                    second = with_element(lam, (row, first + 1), 1e-3)
                    refused(p, changed(solution, factor_multipliers=second), "multipliers")
                for value in wrong:
                    bad = with_element(lam, (row, first), value)
                    refused(p, changed(solution, factor_multipliers=bad), f"factor {f} has")
                    spoiled += 1
            for i in range(len(p.count_arcs)):
                for value in (np.nan, np.inf, -np.inf):
                    bad = with_element(proof.count_multipliers, (row, i), value)
                    refused(p, changed(solution, count_multipliers=bad), "not finite")
    assert spoiled > 80


def test_proof_of_another_problem() -> None:
    several = cases(101, 12)
    for (p, *_), (_, _, other, _) in pairwise(several):
        refused(p, other, "the proof belongs to another problem")


def test_changed_factor_weight_even_under_the_right_name() -> None:
    met = 0
    for p, _, solution, proof in cases(103, 60):
        for f in np.flatnonzero(p.factor_score > 0):
            weights = with_element(p.factor_score, f, p.factor_score[f] + 1e-2)
            other = dataclasses.replace(p, factor_score=weights, quantum=0.0)
            if (proof.node_kind == BOUND).any():
                refused(other, changed(solution, problem=digest(other)))
                met += 1
    assert met > 30


def nodes(*kinds: int, arcs: Sequence[int] = (), **changes: Any) -> dict[str, Any]:
    """The fields of a proof of nodes, the first of which asks for some arcs."""
    few = {"node_bound": [0.0] * len(kinds), "node_vector": [-1] * len(kinds)}
    ptr = [0] + [len(arcs)] * len(kinds)
    return {"node_kind": kinds, "node_ptr": ptr, "node_arcs": np.array(arcs, int), **few, **changes}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (nodes(7), "unknown kind 7"),
        (nodes(SPLIT), "splits on no arc"),
        (nodes(SPLIT, arcs=[999]), "does not exist"),
        (nodes(SPLIT, arcs=[-1]), "does not exist"),
        (nodes(SPLIT, arcs=[0]), "do not cover all trees"),
        (nodes(EMPTY, arcs=[0]), "has arcs to split on"),
        (nodes(EMPTY), "its bound is not -inf"),
        (nodes(EMPTY, node_bound=[-np.inf]), "no row -1"),
        (nodes(BOUND, node_bound=[-99.0]), "no row -1"),
        (nodes(BOUND, node_bound=[-99.0], node_vector=[9]), "no row 9"),
        (nodes(BOUND, node_bound=[np.nan]), "is above"),
        (nodes(TREE), "are left, not one tree"),
        (
            nodes(SPLIT, SPLIT, EMPTY, EMPTY, EMPTY, arcs=[0, 1, 2], node_ptr=[0, 2, 3, 3, 3, 3]),
            "below a choice of several arcs",
        ),
        (nodes(EMPTY, EMPTY), "not -inf"),
        (nodes(EMPTY, factor_multipliers=np.zeros((0, 1))), "columns"),
    ],
)
def test_made_up_proofs(changes: dict[str, Any], text: str) -> None:
    p = Problem.from_arc_scores(np.arange(16.0).reshape(4, 4).T)
    trees = [(p.score([0, 3, 3, 0]), tuple(_arcs(p, [3, 3, 0])))]
    names = ("factor_multipliers", "count_multipliers", "pair_multipliers")
    values = {**dict.fromkeys(names, np.zeros((0, 0))), **changes}
    arrays = {name: np.array(value) for name, value in values.items()}
    proof = Proof(digest(p), 1, **arrays)
    refused(p, solution_of(p, trees, proof=proof), text)


def _arcs(p: Problem, heads: list[int]) -> list[int]:
    pairs = list(zip(p.arc_head.tolist(), p.arc_mod.tolist()))
    return [pairs.index((h, m)) for m, h in enumerate(heads, start=1)]


def test_projective_proofs_do_not_prove_non_projective_problems() -> None:
    met = 0
    for p, _, solution, _ in cases(104, 20, projective=True, parts=("sib",)):
        q = dataclasses.replace(p, projective=False)
        moved = changed(solution, problem=digest(q))
        if pairs_of(q):
            refused(q, moved, "pair_multipliers of the proof has 0 columns")
            met += 1
    assert met > 3


def test_wrong_types() -> None:
    p, _, solution, proof = cases(112, 1)[0]
    other: list[tuple[Any, Any, str]] = [
        ("p", solution, "problem is of type str, expected Problem"),
        (p, proof, "solution is of type Proof, expected Solution"),
        (p, None, "solution is of type NoneType, expected Solution"),
        (p, dataclasses.replace(solution, proof={}), "the proof is of type dict, expected Proof"),
    ]
    for problem, found, text in other:
        with pytest.raises(VerificationError, match=text):
            verify(problem, found)


@pytest.mark.parametrize("name", ["heads", "arcs", "scores", "upper_bounds"])
def test_malformed_arrays(name: str) -> None:
    p, _, solution, _ = cases(112, 1)[0]
    array = getattr(solution, name)
    for value in (array.tolist(), None, array.astype(str), array.astype(complex), array[0]):
        with pytest.raises(VerificationError, match=f"{name} is not a .-dimensional array"):
            verify(p, dataclasses.replace(solution, **{name: value}))
    if name != "scores":
        with pytest.raises(VerificationError, match=f"{name} has shape"):
            verify(p, dataclasses.replace(solution, **{name: array[:-1]}))


def test_the_checker_imports_no_solver() -> None:
    code = "import sys; import bbparse.inference.proof.verify; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "bbparse.inference.proof.bounds" in done.stdout
    for solver in ("numba", "highspy", "bbparse.inference.s", "bbparse.inference.o", ".certify"):
        assert solver not in done.stdout
