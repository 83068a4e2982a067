"""Answers depend on what a problem says, not on the order in which it says it."""

from __future__ import annotations

import numpy as np
import pytest

from bbparse.problem import Problem
from bbparse.problem.order import in_order
from bbparse.solving.solve import solve, solve_batch
from tests.oracles.enumerate import enumerate_trees
from tests.permuted import permuted
from tests.strategies import random_problem


@pytest.mark.parametrize(("method", "count"), [("bb", 400), ("ilp", 40)])
def test_permuted_problems_have_the_same_trees(method: str, count: int) -> None:
    rng = np.random.default_rng(131)
    ties = 0
    for _ in range(count):
        p = random_problem(
            rng, max_words=6 if method == "bb" else 4, max_counts=int(rng.choice([0, 3])),
            scale=str(rng.choice(["ties", "zero", "halves", "normal"])),
        )  # fmt: skip
        k = int(rng.integers(1, 12 if method == "bb" else 4))
        q, order = permuted(rng, p)
        first, second = (solve(x, k_best=k, method=method, explain=False) for x in (p, q))
        assert first.scores.tolist() == second.scores.tolist()
        assert first.heads.tolist() == second.heads.tolist()
        assert first.arcs.tolist() == order[second.arcs].tolist()
        ties += int((np.diff(first.scores) == 0.0).sum())
    assert ties > count // 10


def test_trees_of_equal_score_come_in_the_order_of_heads_then_of_labels() -> None:
    rng = np.random.default_rng(132)
    ties = 0
    for _ in range(200):
        p = random_problem(rng, max_words=5, scale=str(rng.choice(["ties", "zero"])))
        s = solve(p, k_best=30, explain=False)
        label = p.arc_label if p.arc_label is not None else np.zeros(len(p.arc_head), np.int32)
        ranks = [
            (-score, heads, label[arcs].tolist())
            for score, heads, arcs in zip(s.scores.tolist(), s.heads.tolist(), s.arcs)
        ]
        assert ranks == sorted(ranks)
        ties += int((np.diff(s.scores) == 0.0).sum())
        if len(s) < 30:  # all trees: nothing is left open
            assert len(s) == len(enumerate_trees(p))
    assert ties > 500


def test_threads_do_not_matter() -> None:
    rng = np.random.default_rng(133)
    problems = [random_problem(rng, max_words=6, scale="ties") for _ in range(60)]
    alone = solve_batch(problems, k_best=5, explain=False)
    for threads in (2, 4):
        for one, other in zip(alone, solve_batch(problems, threads=threads, k_best=5)):
            assert one.arcs.tolist() == other.arcs.tolist()
            assert one.scores.tolist() == other.scores.tolist()


def test_sorted_problems_stay_as_they_are() -> None:
    p = Problem(3, [0, 0, 1, 1], [1, 2, 2, 3], [1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1])
    assert in_order(p) == (p, None)
    two = Problem(2, [0, 0, 1], [1, 1, 2], [1.0, 2.0, 3.0], [2, 1, 0])
    ordered, order = in_order(two)
    assert order is not None
    assert order.tolist() == [1, 0, 2]
    assert ordered.arc_label is not None
    assert ordered.arc_label.tolist() == [1, 2, 0]
    assert ordered.arc_score.tolist() == [2.0, 1.0, 3.0]
