"""Roots of searches, made and not bounded."""

from __future__ import annotations

import numpy as np

from bbparse.problem import Problem
from bbparse.search.search import Root
from bbparse.search.settings import SearchSettings
from bbparse.solving.options import Options
from bbparse.solving.trees import call_root


def made(
    problem: Problem, k: int, settings: SearchSettings, backbone: str | None = None
) -> tuple[Root, int, np.ndarray]:
    """The root of a problem, the size of its oracle, and counters; None: there is no tree."""
    options = Options(k, settings=settings, backbone=backbone)
    found = call_root(problem, options, wait=True)
    assert found.left is not None
    return Root(*found.left), found.full_size, found.counters
