"""Roots: with and without an observer, limits below them, and problems that need no search."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem, Solution
from bbparse.inference import trees
from bbparse.inference.oracles.projective.recurrences import RECURRENCES
from bbparse.inference.search.linear import is_linear
from bbparse.inference.search.observer import Finished, NodeEvent, Observer, Started
from bbparse.inference.search.settings import DEFAULT
from bbparse.inference.solve import solve
from tests.solutions import all_but_time
from tests.strategies import random_problem


def both_ways(p: Problem, **options: Any) -> list[Solution]:
    """Without an observer, and with one, which linear problems are searched for."""
    return [
        solve(p, explain=False, **options), solve(p, explain=False, observer=Observer(), **options)
    ]  # fmt: skip


@pytest.mark.parametrize("backbone", list(RECURRENCES))
def test_the_same_as_step_by_step(backbone: str) -> None:
    rng = np.random.default_rng(5)
    holds = RECURRENCES[backbone].holds
    closed = opened = empty = 0
    for _ in range(120):
        p = random_problem(
            rng, max_words=6, projective=True, parts=tuple(sorted(holds)), max_factors=25,
            scale="halves", max_counts=int(rng.choice([0, 2])),
        )  # fmt: skip
        weak = DEFAULT.with_(root_calls=1, eliminate_every=0, close_k=1)
        for settings in (DEFAULT, weak):
            for k in (2, 3):
                one, other = both_ways(p, k_best=k, backbone=backbone, settings=settings)
                linear = is_linear(p, k)  # these count other things
                end = -1 if linear else None
                assert all_but_time(one)[:end] == all_but_time(other)[:end]
                closed += one.stats.get("closed_at_root", 0) == 1
                opened += one.stats.get("closed_at_root", 1) == 0
                empty += one.status == "infeasible"
    assert min(closed, opened, empty) > 5


def test_limits_below_an_open_root() -> None:
    rng = np.random.default_rng(7)
    weak = DEFAULT.with_(root_calls=1, node_calls=1, eliminate_every=0, close_k=1)
    cut = 0
    for _ in range(60):
        p = random_problem(
            rng, min_words=5, max_words=7, projective=True, labelled=False, max_factors=60
        )  # fmt: skip
        for limits in (
            {"node_limit": 1}, {"time_limit": 0.0}, {"work_limit": 1.0}, {"gap": 0.05},
        ):  # fmt: skip
            one, other = both_ways(p, settings=weak, **limits)
            assert all_but_time(one) == all_but_time(other)
            cut += one.status in ("node_limit", "time_limit", "work_limit")
    assert cut > 5


def test_listing_counts_as_work() -> None:
    p = Problem.from_arc_scores(np.random.default_rng(8).normal(size=(13, 13)))
    s = solve(p, k_best=5000)
    assert s.status == "optimal" and s.stats["dp_work"] * s.stats["edges"] > 5000 * p.n_words


def test_linear_problems_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Problem.from_arc_scores(np.full((4, 4), 1.0))
    searched: list[Problem] = []
    make_root = trees.make_root

    def spy(problem: Problem, mode: int) -> Any:
        searched.append(problem)
        return make_root(problem, mode)

    monkeypatch.setattr(trees, "make_root", spy)
    crossing = dataclasses.replace(plain, projective=False)
    for problem, k in ((plain, 1), (plain, 2), (crossing, 1)):
        solve(problem, k_best=k)
    assert not searched
    with_factors = plain.with_factors([([(0, 1), (1, 2)], -1e9)])
    with_counts = plain.with_valency(1, high=1)
    for problem, k in ((with_factors, 1), (with_counts, 1), (crossing, 2)):
        solve(problem, k_best=k)
        assert len(searched) == 1 and not searched.clear()


ORDINARY = """
import bbparse
from bbparse.inference.relaxation.incumbents import lower_bound_start
from bbparse.inference.relaxation.node import bound_node

nlp = bbparse.load()
texts = ["The quick brown fox jumps over the lazy dog.", "She gave him the book that I read.",
         "Where do you want to go today?", "I saw the man with the telescope, didn't you?"]
for text in texts:
    assert len(nlp(text, k_best=2, valid="none")) == len(nlp(text)) == 1
for text in texts[:3]:  # the second tree of the last breaks a rule: "did" is AUX and has dependents
    assert len(nlp(text, k_best=2)) == 1
print(len(bound_node.signatures) + len(lower_bound_start.signatures))
"""


def test_ordinary_sentences_compile_no_kernel_of_the_search() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", ORDINARY], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "0\n"


class Watch(Observer):
    """Writes all down."""

    wants_calls = True

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def started(self, event: Any) -> None:
        self.events.append(("started", event))

    def called(self, event: Any) -> None:
        self.events.append(("called", event))

    def bounded(self, event: Any) -> None:
        self.events.append(("bounded", event))

    def branched(self, event: Any) -> None:
        self.events.append(("branched", event))

    def finished(self, event: Any) -> None:
        self.events.append(("finished", event))


def test_what_an_observer_is_told() -> None:
    rng = np.random.default_rng(8)
    weak = DEFAULT.with_(root_calls=2, node_calls=2, eliminate_every=0, close_k=1)
    branched = calls = 0
    for _ in range(120):
        p = random_problem(rng, min_words=4, max_words=6, projective=True, max_factors=60)
        watch = Watch()
        s = solve(p, settings=weak, observer=watch, explain=False)
        names = [name for name, _ in watch.events]
        assert names[-1] == "finished"
        end: Finished = watch.events[-1][1]
        assert end.status == s.status
        if len(s):
            assert end.lower == pytest.approx(s.scores[0])
            assert end.upper >= end.lower
        if names[0] != "started":
            assert s.status == "infeasible"
            continue
        first: Started = watch.events[0][1]
        nodes: list[NodeEvent] = [e for name, e in watch.events if name == "bounded"]
        assert len(nodes) == s.stats["nodes"]
        assert len({e.node for e in nodes}) == len(nodes)
        assert (nodes[0].node, nodes[0].parent, nodes[0].arc) == (1, 0, -1)
        for event in nodes:
            assert set(event.state.arcs.tolist()) <= set(first.arcs.tolist())
            assert event.closed or event.state.bound <= event.inherited
        promised = [c for name, e in watch.events if name == "branched" for c in e.children]
        assert {e.node for e in nodes} <= {1, *promised}
        branched += len(promised)
        calls += names.count("called")
    assert branched > 20
    assert calls > 60
