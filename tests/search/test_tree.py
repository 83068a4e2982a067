"""The search tree: exact with every setting, repeatable, and honest where it is cut short."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from bbparse.problem import Problem, Solution
from bbparse.search.settings import AS_PUBLISHED, DEFAULT, SearchSettings
from bbparse.solving.solve import solve
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import random_problem

WEAK = DEFAULT.with_(root_calls=1, node_calls=1, eliminate_every=0, close_k=1)
SETTINGS = {
    "default": DEFAULT,
    "no elimination": DEFAULT.with_(eliminate_every=0),
    "elimination at every other pass": DEFAULT.with_(eliminate_every=2),
    "elimination, weak": WEAK.with_(eliminate_every=1, root_calls=3),
    "published": AS_PUBLISHED,
    "weak": WEAK,
    "weak, by levels": WEAK.with_(order="level"),
    "paper, best first": AS_PUBLISHED.with_(order="best-first", root_calls=3, node_calls=3),
}


@dataclass
class Case:
    """A problem with count factors, and all its trees with their scores."""

    problem: Problem
    truth: dict[tuple[int, ...], float]

    def search(self, k: int, settings: SearchSettings, **options: Any) -> Solution:
        """A solution of the branch and bound."""
        return solve(self.problem, k_best=k, settings=settings, explain=False, **options)

    def best(self, k: int) -> list[float]:
        """The k best scores."""
        return sorted(self.truth.values(), reverse=True)[:k]


def cases(seed: int, count: int, min_words: int = 2) -> Iterator[Case]:
    """Problems in halves, whose scores are exact; some have no count factors."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        p = random_problem(
            rng, min_words=min_words, max_words=5, projective=True, scale="halves",
            max_factors=30, max_counts=4, labelled=False,
        )  # fmt: skip
        yield Case(p, {arcs: score for score, arcs in enumerate_trees(p)})


def check_trees(case: Case, outcome: Solution, k: int) -> None:
    """What holds however the search ended: real trees, right scores, order, no repeats."""
    trees = [tuple(row) for row in outcome.arcs.tolist()]
    assert len(trees) == len(outcome.scores) <= k
    assert len(set(trees)) == len(trees)
    assert [case.truth[tree] for tree in trees] == outcome.scores.tolist()
    assert (np.diff(outcome.scores) <= 0).all()


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_count_factors_agree_with_enumeration(settings: SearchSettings) -> None:
    rng = np.random.default_rng(111)
    branched = 0
    for case in cases(112, 100):
        k = int(rng.choice([1, 1, 3, 10, 500]))
        outcome = case.search(k, settings)
        check_trees(case, outcome, k)
        assert outcome.scores.tolist() == case.best(k)
        assert outcome.status == ("optimal" if case.truth else "infeasible")
        branched += int(outcome.stats.get("nodes", 1)) > 1
    assert branched or settings in (DEFAULT, AS_PUBLISHED)  # which need to branch but rarely


def test_by_levels_and_best_first_give_the_same_scores() -> None:
    for case in cases(113, 60):
        for settings in (WEAK, AS_PUBLISHED, DEFAULT.with_(root_calls=2, node_calls=2)):
            first = case.search(4, settings.with_(order="best-first"))
            level = case.search(4, settings.with_(order="level"))
            assert first.status == level.status
            assert first.scores.tolist() == level.scores.tolist()


def test_two_runs_do_the_same() -> None:
    """Down to the order of ties and every number that is counted."""
    for case in cases(114, 40):
        for settings in SETTINGS.values():
            for limit in (None, 3):
                one, two = (case.search(3, settings, node_limit=limit) for _ in range(2))
                assert one.arcs.tolist() == two.arcs.tolist()
                assert one.scores.tolist() == two.scores.tolist()
                assert one.upper_bounds.tolist() == two.upper_bounds.tolist()
                assert one.status == two.status
                told, again = dict(one.stats), dict(two.stats)
                del told["seconds"], again["seconds"]
                assert told == again


@pytest.mark.parametrize("order", ["best-first", "level"])
@pytest.mark.parametrize("limit", [{"node_limit": 1}, {"node_limit": 3}, {"time_limit": 0.0}])
def test_the_bound_at_a_limit_covers_every_tree_not_found(
    order: str, limit: dict[str, Any]
) -> None:
    rng = np.random.default_rng(115)
    stopped = 0
    for case in cases(116, 120, min_words=4):
        k = int(rng.choice([1, 3]))
        outcome = case.search(k, WEAK.with_(order=order), **limit)
        check_trees(case, outcome, k)
        if outcome.status in ("optimal", "infeasible"):
            assert outcome.scores.tolist() == case.best(k)
            continue
        stopped += 1
        assert outcome.status == next(iter(limit))
        found = {tuple(row) for row in outcome.arcs.tolist()}
        worst = outcome.scores[-1] if len(found) == k else -math.inf
        for tree, score in case.truth.items():
            if tree not in found:
                assert len(found) < k or score <= max(outcome.upper_bounds[-1] + 1e-9, worst)
        best = max(case.truth.values(), default=-math.inf)
        assert outcome.upper_bound + 1e-9 >= best
    assert stopped > 5


def test_more_nodes_never_loosen_the_bound_or_lose_the_best_tree() -> None:
    shrunk = 0
    for case in cases(117, 60, min_words=4):
        for order in ("best-first", "level"):
            bounds, scores = [], []
            for limit in range(1, 24, 3):
                outcome = case.search(1, WEAK.with_(order=order), node_limit=limit)
                bounds.append(float(outcome.stats.get("upper_bound", -math.inf)))
                scores.append(outcome.scores[0] if len(outcome.scores) else -math.inf)
            assert all(b <= a + 1e-9 for a, b in pairwise(bounds))
            assert all(a <= b for a, b in pairwise(scores))
            shrunk += bounds[-1] < bounds[0]
    assert shrunk > 5


def test_a_gap_ends_the_search_early_and_is_kept() -> None:
    fewer = 0
    for case in cases(118, 80, min_words=4):
        if not case.truth:
            continue
        (best,) = case.best(1)
        full = case.search(1, WEAK)
        for gap in (0.05, 0.5, 2.0):
            outcome = case.search(1, WEAK, gap=gap)
            check_trees(case, outcome, 1)
            score = float(outcome.scores[0])
            bound = outcome.upper_bound
            assert outcome.status == ("optimal" if outcome.proved.all() else "gap")
            assert bound + 1e-9 >= best >= score
            assert bound - score <= gap * max(abs(score), abs(bound)) + 1e-9
            assert outcome.stats["nodes"] <= full.stats["nodes"]
            fewer += outcome.stats["nodes"] < full.stats["nodes"]
    assert fewer > 5


def test_what_is_counted() -> None:
    for case in cases(119, 30):
        stats = case.search(2, DEFAULT).stats
        if len(stats) < 3:  # some word has no arc
            continue
        assert stats["nodes"] >= 1
        assert (stats["nodes"] == 1) == bool(stats["closed_at_root"])
        # A pass over a chart that elimination made smaller is less work than a full one.
        assert 0 <= stats["dp_work"] <= 40 * max(1, stats["dp_calls"])
        assert stats["edges"] >= 0
