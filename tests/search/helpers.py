"""Roots of searches, made and not bounded."""

from __future__ import annotations

import numpy as np

from bbparse.problem import Problem
from bbparse.problem.order import in_order
from bbparse.search.search import Root
from bbparse.search.settings import SearchSettings
from bbparse.solving.options import Options
from bbparse.solving.trees import call_root


def made(
    problem: Problem, k: int, settings: SearchSettings, backbone: str | None = None
) -> tuple[Root, int, np.ndarray] | None:
    """The root of a problem, the size of its oracle, and counters; None: a word has no arc."""
    ordered, order = in_order(problem)
    found = call_root(ordered, Options(k, settings=settings, backbone=backbone), wait=True)
    if found.left is None:
        return None
    root = Root(*found.left)
    if order is not None:
        root = root._replace(order=order[root.order].astype(np.int32))
    return root, found.full_size, found.counters
