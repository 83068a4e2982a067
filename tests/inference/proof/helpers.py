"""Solutions with proofs, and ways to spoil them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem, Solution
from bbparse.core.proof import TREE, Proof
from bbparse.inference.proof.certify import certify
from bbparse.inference.proof.exact import to_units
from bbparse.inference.proof.verify import verify
from bbparse.runtime.errors import VerificationError
from tests.oracles.enumerate import Scored, enumerate_trees
from tests.strategies import random_problem

#: Scales at which 1e-3 is far above rounding.
MILD = ("ties", "halves", "normal")


def solution_of(problem: Problem, trees: list[Scored], **changes: Any) -> Solution:
    """A solution with the given trees."""
    arcs = np.array([t for _, t in trees], np.int32).reshape(len(trees), problem.n_words)
    heads = np.full((len(trees), problem.n_words + 1), -1, np.int32)
    heads[:, 1:] = problem.arc_head[arcs] if len(trees) else 0
    scores = np.array([score for score, _ in trees], np.float64)
    values: dict[str, Any] = {
        "heads": heads,
        "arcs": arcs,
        "scores": scores,
        "upper_bounds": scores,
        "proved": np.ones(len(trees), bool),
        "status": "optimal" if trees else "infeasible",
    }
    return Solution(**{**values, **changes})


def proved(problem: Problem, trees: list[Scored], k: int) -> Solution:
    """The solution of the k best of all the trees, with its proof."""
    solution = solution_of(problem, trees[:k])
    proof, reason = certify(problem, solution, k)
    assert proof is not None, reason
    return dataclasses.replace(solution, proof=proof)


def random_case(
    rng: np.random.Generator,
    max_words: int = 6,
    projective: bool | None = None,
    max_counts: int | None = None,
    **options: Any,
) -> tuple[Problem, list[Scored]]:
    """A problem, with count factors in half the cases, projective in most, and all its trees."""
    counts = int(rng.choice([0, 3])) if max_counts is None else max_counts
    if projective is None:
        projective = bool(rng.random() < 0.6)
    problem = random_problem(
        rng, max_words=max_words, projective=projective, max_counts=counts, **options
    )
    return problem, enumerate_trees(problem)


def changed(solution: Solution, **changes: Any) -> Solution:
    """The solution with some fields of its proof replaced."""
    proof = solution.proof
    assert isinstance(proof, Proof)
    return dataclasses.replace(solution, proof=dataclasses.replace(proof, **changes))


def units(scores: Any) -> list[int]:
    """Scores as the checker adds them up."""
    return [to_units(float(x)) for x in scores]


def with_element(array: Any, index: Any, value: float) -> Any:
    """A copy of an array with one element replaced."""
    copy = np.array(array)
    copy[index] = value
    return copy


def without_node(solution: Solution, node: int) -> Solution:
    """The solution with one node of its proof taken out."""
    proof = solution.proof
    assert proof is not None
    sizes = np.diff(proof.node_ptr)
    kept = np.ones(len(sizes), bool)
    kept[node] = False
    names = ("node_kind", "node_bound", "node_vector")
    fields = {name: getattr(proof, name)[kept] for name in names}
    fields["node_ptr"] = np.concatenate([[0], np.cumsum(sizes[kept])])
    return changed(solution, node_arcs=proof.node_arcs[np.repeat(kept, sizes)], **fields)


def refused(p: Problem, solution: Solution, *words: str) -> None:
    """See that the checker refuses a solution, with one of some words in what it says."""
    with pytest.raises(VerificationError) as error:
        verify(p, solution)
    text = str(error.value)
    assert "\n" not in text
    assert not words or any(word in text for word in words), text


def checked_bound(p: Problem, solution: Solution, node: int) -> float:
    """The bound of a leaf as the checker computes it: what it says of one that is far too low."""
    assert solution.proof is not None
    if solution.proof.node_kind[node] == TREE:
        return float(solution.proof.node_bound[node])
    low = with_element(solution.proof.node_bound, node, -1e9)
    with pytest.raises(VerificationError, match=rf"^leaf {node}: its bound is .*, not ") as error:
        verify(p, changed(solution, node_bound=low))
    return float(str(error.value).rpartition(", not ")[0].rpartition(" ")[2])
