"""Conflicts: what they say, and that they are conflicts of which each part is needed."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem, Solution
from bbparse.inference.conflict import constraints_of, explain_infeasible, find_conflict, relaxed
from bbparse.inference.solve import solve
from bbparse.runtime.errors import ProblemError
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import random_problem

NEVER = -math.inf
ROOT = "there must be exactly one root (single_root)"
CROSSING = "arcs must not cross (projective)"


def blank(n: int = 8, **flags: bool) -> Problem:
    return Problem.from_arc_scores(np.zeros((n + 1, n + 1)), **flags)


@pytest.mark.parametrize(
    ("problem", "conflict"),
    [
        (
            blank().with_heads({1: 2, 2: 1, 5: 7}),
            ["word 1 must have the head 2", "word 2 must have the head 1"],
        ),
        (
            blank().with_heads({1: 0, 2: 0}).with_valency(3, high=1),
            ["word 1 must have the head root", "word 2 must have the head root", ROOT],
        ),
        (
            blank().with_heads({4: 2, 5: 4}).with_valency(2, high=0).with_valency(4, high=2),
            ["word 4 must have the head 2", "word 2 must have no modifiers"],
        ),
        (
            blank()
            .with_at_least([(2, 1), (2, 3), (2, 4)], 2)
            .with_valency(2, high=1, side="right")
            .without_arcs([(2, 1), (5, 1)]),
            [
                "word 1 must not have the head 2",
                "at least 2 of the arcs 2 -> 1, 2 -> 3 and 2 -> 4 must be in the tree",
                "word 2 must have at most 1 modifier to the right",
            ],
        ),
        (
            blank(2).without_arcs([(0, 1), (2, 1)]),
            ["word 1 must not have the head root", "word 1 must not have the head 2"],
        ),
        (
            dataclasses.replace(blank(2), arc_state=[-1, -1, 0, 0]),
            ["all candidate heads of word 1 are forbidden"],
        ),
        (
            blank().with_subtree([3, 4]).with_subtree([2, 3]).with_heads({8: 0, 3: 8}),
            [
                "the words 3 and 4 must form a complete subtree",
                "the words 2 and 3 must form a complete subtree",
            ],
        ),
        (
            blank(4).with_valency(2, 3).with_heads({3: 4}),
            ["word 3 must have the head 4", "word 2 must have at least 3 modifiers"],
        ),
        (
            blank(3).with_at_least([(2, 1), (2, 3)], 2).with_subtree([1, 3], complete=False),
            [
                "at least 2 of the arcs 2 -> 1 and 2 -> 3 must be in the tree",
                "the words 1 and 3 must form a subtree",
            ],
        ),
        (
            blank(2).with_heads({1: 0, 2: 1}).with_factors([([(0, 1), (1, 2)], NEVER)]),
            [
                "word 2 must have the head 1",
                "the arcs 0 -> 1 and 1 -> 2 must not be in the tree together",
            ],
        ),
        (
            blank(4, projective=False).without_arcs([(1, 2), (0, 2)]).without_arcs(
                [(3, 2)]).without_arcs([(4, 2)]),
            [f"word 2 must not have the head {head}" for head in ("root", 1, 3, 4)],
        ),
        (
            blank().with_heads({1: 2, 3: 4}).with_count_scores([(2, 1), (2, 3)], [0, NEVER, 0]),
            [
                "word 1 must have the head 2", "word 3 must have the head 4",
                "0 or 2 of the arcs 2 -> 1 and 2 -> 3 must be in the tree",
            ],
        ),
        (blank().with_valency(3, 9), ["word 3 must have at least 9 modifiers"]),
        (
            Problem.from_arc_scores([[0, 0, 0, 0], [0, 0, 0, 0], [NEVER, 0, 0, 0],
                                     [NEVER, NEVER, NEVER, 0]]),
            ["no candidate arcs lead from the root to word 3"],
        ),
    ],
)  # fmt: skip
def test_conflicts_in_words(problem: Problem, conflict: list[str]) -> None:
    assert explain_infeasible(problem) == conflict
    s = solve(problem)
    assert s.status == "infeasible"
    assert s.conflict == tuple(conflict)
    assert repr(s) == f"Solution(no tree, infeasible: {'; '.join(conflict)})"
    assert solve(problem, explain=False).conflict == ()


def test_labels_in_words() -> None:
    p = Problem(
        2, [0, 0, 1, 1, 1, 2], [1, 2, 2, 2, 2, 1], np.zeros(6), arc_label=[0, 0, 5, 6, 7, 0]
    ).with_heads({1: 0})
    q = p.without_arcs([(1, 2, 5)]).with_at_most([(1, 2, 6), (1, 2, 7)], 0)
    assert explain_infeasible(q)[1:] == [
        "word 2 must not have the head 1 with label 5",
        "the arcs 1 -> 2 (label 6) and 1 -> 2 (label 7) must not be in the tree",
        ROOT,
    ]
    required = Problem(
        2, [0, 1, 1], [1, 2, 2], np.zeros(3), arc_label=[0, 5, 6], arc_state=[0, 1, 0]
    )
    q = required.with_valency(1, 1, label=6)
    assert explain_infeasible(q) == [
        "word 2 must have the head 1 with label 5",
        "word 1 must have at least 1 modifier with label 6",
    ]


def test_a_problem_with_a_tree_has_no_conflict() -> None:
    assert explain_infeasible(blank().with_heads({1: 2}).with_valency(2, high=1)) == []
    assert solve(blank()).conflict == ()


def test_limits() -> None:
    p = blank().with_heads({1: 2, 2: 1})
    assert explain_infeasible(p, time_limit=0.0) == []
    assert explain_infeasible(p, node_limit=0) == []
    # One search says that there is a conflict; there is none left to make it smaller.
    everything = explain_infeasible(p, node_limit=1)
    assert len(everything) == 4
    assert solve(p, time_limit=0.0).status == "infeasible"


def check_irreducible(p: Problem) -> int:
    """Check a conflict of p, if it has no tree, against the enumeration; its size."""
    if explain_infeasible(p)[:1] == [] or "no candidate arcs" in explain_infeasible(p)[0]:
        return 0
    conflict = find_conflict(p)
    assert enumerate_trees(p) == []
    assert enumerate_trees(relaxed(p, conflict)) == []
    assert set(conflict) <= set(constraints_of(p))
    for constraint in conflict:
        rest = [other for other in conflict if other is not constraint]
        assert enumerate_trees(relaxed(p, rest))
    return len(conflict)


def random_constraints(rng: np.random.Generator) -> Problem:
    """A problem whose constraints often conflict."""
    p = random_problem(rng, min_words=3, max_words=4, max_factors=20, max_counts=4)
    for m in rng.permutation(p.n_words)[: int(rng.integers(3))] + 1:
        heads = p.arc_head[(p.arc_mod == m) & (p.arc_state != -1)]
        if len(heads) and not (p.arc_state[p.arc_mod == m] == 1).any():
            p = p.with_heads({int(m): int(rng.choice(heads))})
    if rng.random() < 0.5:
        p = p.with_valency(int(rng.integers(p.n_words + 1)), high=int(rng.integers(2)))
    return p


def test_every_part_of_a_conflict_is_needed() -> None:
    rng = np.random.default_rng(6)
    sizes = [check_irreducible(random_constraints(rng)) for _ in range(200)]
    assert sum(size > 0 for size in sizes) > 50
    assert max(sizes) > 3


def call_of(rng: np.random.Generator, n: int) -> Callable[[Problem], Problem]:
    """A call of a method that makes one constraint."""
    pairs = [(h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m]
    head, mod = pairs[int(rng.integers(len(pairs)))]
    some = [pairs[i] for i in rng.choice(len(pairs), int(rng.integers(2, 5)), replace=False)]
    words = sorted({head, mod} - {0})
    k = int(rng.integers(3))
    return [
        lambda p: p.with_heads({mod: head}),
        lambda p: p.without_arcs([(head, mod)]),
        lambda p: p.with_subtree(words, complete=k > 0),
        lambda p: p.with_at_most(some, k),
        lambda p: p.with_at_least(some, k + 1),
        lambda p: p.with_valency(head, k, k + 1),
        lambda p: p.with_factors([(some, NEVER)]),
        lambda p: p.with_factors([(some[:1], NEVER)]),
    ][int(rng.integers(8))]


def test_each_constraint_keeps_the_name_of_its_call() -> None:
    """Without any of the calls that a conflict names, the others of them leave a tree."""
    rng = np.random.default_rng(11)
    found = 0
    for trial in range(300):
        n, projective = int(rng.integers(3, 5)), bool(rng.integers(2))
        start = p = blank(n, projective=projective, single_root=False)
        if trial % 3 == 0:  # states that no method has set
            p = start = dataclasses.replace(
                start, arc_state=-(np.arange(len(p.arc_head)) % 9 == 4).astype(np.int8)
            )
        calls: dict[str, Callable[[Problem], Problem]] = {}
        for _ in range(int(rng.integers(2, 9))):
            call = call_of(rng, n)
            try:
                text = call(start).named[-1].text
                p = call(p)
            except (ProblemError, IndexError):  # forbids what is required, or allows everything
                continue
            calls[text] = call
        conflict = [text for text in explain_infeasible(p) if text != CROSSING]
        if not conflict or (trial % 3 == 0 and not set(conflict) <= calls.keys()):
            assert conflict or len(enumerate_trees(p))
            continue
        found += 1
        assert set(conflict) <= calls.keys()
        for left_out in ("", *conflict):
            q = start if trial % 3 else blank(n, projective=projective, single_root=False)
            for text in conflict:
                q = calls[text](q) if text != left_out else q
            q = q if CROSSING in explain_infeasible(p) else dataclasses.replace(q, projective=False)
            assert bool(enumerate_trees(q)) == bool(left_out)
    assert found > 60


def test_conflicts_are_saved_with_a_solution(tmp_path: Any) -> None:
    s = solve(blank().with_heads({1: 2, 2: 1}))
    s.save(tmp_path / "s.npz")
    assert Solution.load(tmp_path / "s.npz").conflict == s.conflict
