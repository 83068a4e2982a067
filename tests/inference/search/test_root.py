"""Roots: with and without an observer, limits below them, and problems that need no search."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.inference.search.observer import Finished, NodeEvent, Observer, Started
from bbparse.inference.search.settings import DEFAULT
from bbparse.inference.solve import solve
from tests.strategies import random_problem


def test_listing_counts_as_work() -> None:
    p = Problem.from_arc_scores(np.random.default_rng(8).normal(size=(13, 13)))
    s = solve(p, k_best=5000)
    assert s.status == "optimal" and s.stats["dp_work"] * s.stats["edges"] > 5000 * p.n_words


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
