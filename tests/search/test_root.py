"""One call at the root gives what presolve, chart and search give one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bbparse import solvers
from bbparse.oracle.projective.recurrences import RECURRENCES
from bbparse.problem import Problem, Solution
from bbparse.search import root
from bbparse.search.settings import DEFAULT
from bbparse.solve import solve
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import random_problem


def rows(s: Solution, stats: bool) -> list[Any]:
    """All of a solution but the time, and what depends on the last bits of bounds if not asked."""
    left = {name: value for name, value in s.stats.items() if name != "seconds"}
    best = left.pop("upper_bound", None)
    arrays = [s.heads, s.arcs, s.scores, s.proved]
    return [
        *((a.dtype, a.shape, a.tobytes()) for a in arrays),
        s.status,
        *((left, best) if stats else ()),
    ]


def both_ways(monkeypatch: pytest.MonkeyPatch, p: Problem, **options: Any) -> list[Solution]:
    with monkeypatch.context() as patch:
        patch.setattr(solvers, "_solve_at_root", lambda *_: None)
        long_way = solve(p, **options)
    return [solve(p, **options), long_way]


@pytest.mark.parametrize("backbone", list(RECURRENCES))
def test_the_same_as_step_by_step(backbone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    holds = RECURRENCES[backbone].holds
    closed = opened = empty = 0
    for _ in range(120):
        p = random_problem(
            rng, max_words=6, projective=True, labelled=False, parts=tuple(sorted(holds)),
            max_factors=25, scale="halves",
        )  # fmt: skip
        weak = DEFAULT.with_(root_calls=1, eliminate_every=0, close_k=1)
        for settings in (DEFAULT, weak):
            for k in (1, 3):
                one, other = both_ways(
                    monkeypatch, p, k_best=k, backbone=backbone, settings=settings, explain=False
                )
                assert rows(one, True) == rows(other, True)
                closed += one.stats.get("closed_at_root", 0) == 1
                opened += one.stats.get("closed_at_root", 1) == 0
                empty += one.status == "infeasible"
    assert min(closed, opened, empty) > 5


def test_scores_of_any_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moved factors may be added in another order: bounds, not trees, differ in the last bits."""
    rng = np.random.default_rng(6)
    for _ in range(100):
        p = random_problem(rng, max_words=6, projective=True, labelled=False)
        one, other = both_ways(monkeypatch, p, k_best=4, explain=False)
        assert rows(one, False) == rows(other, False)
        truth = sorted((score for score, _ in enumerate_trees(p)), reverse=True)[:4]
        assert one.scores.tolist() == pytest.approx(truth, rel=1e-12, abs=1e-300)


def test_limits_below_an_open_root(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    weak = DEFAULT.with_(root_calls=1, node_calls=1, eliminate_every=0, close_k=1)
    cut = 0
    for _ in range(60):
        p = random_problem(
            rng, min_words=5, max_words=7, projective=True, labelled=False, max_factors=60
        )  # fmt: skip
        for limits in ({"node_limit": 1}, {"time_limit": 0.0}, {"gap": 0.05}):
            one, other = both_ways(monkeypatch, p, settings=weak, explain=False, **limits)
            assert rows(one, False) == rows(other, False)
            assert one.upper_bounds.tolist() == pytest.approx(other.upper_bounds.tolist())
            cut += one.status in ("node_limit", "time_limit")
    assert cut > 5


def test_what_takes_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Penalties out of proportion, counts, labels and a lower-bound start."""
    scores = np.full((4, 4), 1.0)
    plain = Problem.from_arc_scores(scores)
    taken: list[int] = []
    call = root.solve_root

    def spy(*args: Any) -> Any:
        found = call(*args)
        taken.append(found[0])
        return found

    monkeypatch.setattr(solvers, "solve_root", spy)
    solve(plain)  # arcs alone, over a matrix
    assert taken == []
    solve(plain, k_best=2)
    solve(plain.with_factors([([(0, 1), (1, 2)], -1e9)]))
    assert taken == [root.SOLVED, root.UNBALANCED]
    solve(plain.with_valency(1, high=1))
    solve(plain, k_best=2, settings=DEFAULT.with_(lower_start=2))
    assert len(taken) == 2
