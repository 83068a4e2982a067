"""What a search reports to an observer, against the list of all trees."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bbparse.inference.search.observer import BranchEvent, Finished, NodeEvent, Observer
from bbparse.inference.solve import solve
from tests import strategies
from tests.inference.search.helpers import SETTINGS
from tests.oracles.enumerate import enumerate_trees
from tests.solutions import spread


class Bounds(Observer):
    """The bounds of the whole search after each call: upper, and lower."""

    wants_calls = True

    def __init__(self) -> None:
        self.bounds: list[tuple[float, float]] = []
        self.end: Finished | None = None
        self._open: dict[int, float] = {}

    def bounded(self, event: NodeEvent) -> None:
        self._open.pop(event.node, None)
        others = max(self._open.values(), default=-math.inf)
        for state in (*event.calls, event.state):
            bound = min(state.bound, event.inherited)
            self.bounds.append((max(bound, others, state.lower), state.lower))
        if not event.closed:
            self._open[event.node] = event.state.bound

    def branched(self, event: BranchEvent) -> None:
        bound = self._open.pop(event.node)
        self._open.update(dict.fromkeys(event.children, bound))

    def finished(self, event: Finished) -> None:
        self.end = event


@pytest.mark.parametrize("name", ["elimination always", "branching only", "few subgradients"])
def test_every_bound_that_is_reported_holds(name: str) -> None:
    rng = np.random.default_rng(12)
    for _ in range(60):
        p = strategies.random_problem(rng, projective=True, labelled=False, max_counts=2)
        seen, trees = Bounds(), enumerate_trees(p)
        found = solve(p, settings=SETTINGS[name], explain=False, observer=seen)
        assert seen.end is not None and seen.end.status == found.status
        if not trees:
            assert found.status == "infeasible" and seen.end.lower == -math.inf
            continue
        best, rounding = trees[0][0], 1e-11 * (1.0 + spread(p))
        for upper, lower in [*seen.bounds, (seen.end.upper, seen.end.lower)]:
            assert lower <= best + rounding and upper >= best - rounding
