"""Small problems and a solution, for the tests of this folder."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from bbparse.core import Problem, Solution


def two_words(**fields: Any) -> Problem:
    """Every arc of two words: 0→1, 0→2, 1→2, 2→1; changed by `fields`."""
    values: dict[str, Any] = {
        "n_words": 2,
        "arc_head": [0, 0, 1, 2],
        "arc_mod": [1, 2, 2, 1],
        "arc_score": [1, 2, 3, 4],
    }
    return Problem(**{**values, **fields})


def three_words(**fields: Any) -> Problem:
    return dataclasses.replace(Problem.from_arc_scores(np.zeros((4, 4))), **fields)


SOLUTION = Solution(
    np.array([[-1, 0, 1], [-1, 2, 0]], np.int32),
    np.array([[0, 2], [3, 1]], np.int32),
    np.array([4.0, 3.0]),
    np.array([4.0, math.inf]),
    np.array([True, False]),
    "node_limit",
    {"nodes": 3, "seconds": 0.5},
)


def no_trees(status: str) -> Solution:
    """A solution of three words without trees."""
    none = np.zeros((2, 0))
    empty = np.zeros((0, 4), np.int32), np.zeros((0, 3), np.int32)
    return Solution(*empty, *none, np.zeros(0, np.bool_), status)
