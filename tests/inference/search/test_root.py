"""One call at the root gives what making the root and bounding it by itself give."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

from bbparse.core import Problem, Solution
from bbparse.inference import trees
from bbparse.inference.oracles.projective.recurrences import RECURRENCES
from bbparse.inference.search.observer import Finished, NodeEvent, Observer, Started
from bbparse.inference.search.root import NO_NODE
from bbparse.inference.search.settings import DEFAULT
from bbparse.inference.solve import solve
from bbparse.inference.trees import Options
from tests.solutions import all_but_time
from tests.strategies import random_problem


def _told(s: Solution, dense: bool) -> list[Any]:
    """What both ways tell alike: over a matrix nothing is counted."""
    return all_but_time(s)[: -1 if dense else None]


def both_ways(p: Problem, **options: Any) -> list[Solution]:
    """In one call; and watched, in two."""
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
                dense = one.stats.get("edges") == 0  # one tree at most, and no chart is made
                assert _told(one, dense) == _told(other, dense)
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


def test_what_is_made_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is a lower-bound start."""
    plain = Problem.from_arc_scores(np.full((4, 4), 1.0))
    taken: list[bool] = []
    call = trees.make_root

    def spy(*args: Any, **options: Any) -> Any:
        found = call(*args, **options)
        taken.append(found.left is None)
        return found

    monkeypatch.setattr(trees, "make_root", spy)
    solve(plain)  # arcs alone, over a matrix
    assert taken == []
    solve(plain, k_best=2)
    solve(plain.with_factors([([(0, 1), (1, 2)], -1e9)]))
    solve(plain.with_valency(1, high=1))
    solve(plain, k_best=2, settings=DEFAULT.with_(lower_start=2))
    assert taken == [True, True, True, False]


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


@pytest.mark.parametrize("projective", [True, False])
def test_what_stands_for_no_node_is_of_a_nodes_type(projective: bool) -> None:
    """Or else the kernel is compiled twice."""
    p = Problem.from_arc_scores(np.full((4, 4), 1.0), projective=projective)
    found = trees.make_root(p, Options(1), waits=True)
    assert found.left is not None
    assert numba.typeof(found.left.node[0]) == numba.typeof(NO_NODE[projective])
