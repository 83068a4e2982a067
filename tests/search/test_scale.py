"""The unit that scores are in does not change how a search goes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from bbparse.problem import FIELDS, Problem, Solution
from bbparse.search.settings import DEFAULT, METHODS
from bbparse.solving.solve import solve
from tests.strategies import random_problem

# Products with powers of two are exact. Others are rounded, and steps that make two trees score the
# same leave it to the last bit which of them comes first.
EXACT = (2.0**10, 2.0**-10, 2.0**30)
ROUNDED = (1000.0, 1e-3)


def scaled(p: Problem, times: float) -> Problem:
    fields: dict[str, Any] = {
        name: times * getattr(p, name) for name in FIELDS if name.endswith("_score")
    }
    return dataclasses.replace(p, **fields, quantum=times * p.quantum)


def course(s: Solution) -> list[Any]:
    names = ("nodes", "dp_calls", "trees_tried", "closed_at_root")
    return [s.heads.tolist(), s.status, *(s.stats.get(name) for name in names)]


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("method", [name for name in METHODS if name != "paper"])
def test_calls_and_nodes_are_free_of_scale(method: str, projective: bool) -> None:
    """The paper's update is not: it stops where the bound falls by less than 1e-8."""
    rng = np.random.default_rng(11)
    branched = 0
    calls = np.zeros(1 + len(ROUNDED))
    weak = DEFAULT.with_(method=method, root_calls=4, node_calls=2, close_k=2)
    for _ in range(40):
        p = random_problem(
            rng, min_words=4, max_words=6, projective=projective, labelled=False, scale="normal",
            max_factors=30, max_counts=2,
        )  # fmt: skip
        for settings in (DEFAULT.with_(method=method), weak):
            expected = solve(p, k_best=2, settings=settings, explain=False)
            branched += expected.stats.get("nodes", 0) > 1
            for times in EXACT:
                found = solve(scaled(p, times), k_best=2, settings=settings, explain=False)
                assert course(found) == course(expected)
            calls[0] += expected.stats.get("dp_calls", 0)
            for i, times in enumerate(ROUNDED, start=1):
                found = solve(scaled(p, times), k_best=2, settings=settings, explain=False)
                assert found.heads.tolist() == expected.heads.tolist()
                calls[i] += found.stats.get("dp_calls", 0)
    assert branched > 3
    # the many short steps of components that are to agree go apart by the last bits
    assert calls[1:] == pytest.approx(calls[0], rel=0.05 if projective else 0.1)
