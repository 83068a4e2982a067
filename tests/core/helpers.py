"""Small problems and a solution, for the tests of this folder."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from bbparse.core import Problem


def two_words(**fields: Any) -> Problem:
    """Every arc of two words: 0→1, 0→2, 1→2, 2→1; changed by `fields`."""
    values: dict[str, Any] = {
        "n_words": 2, "arc_head": [0, 0, 1, 2], "arc_mod": [1, 2, 2, 1], "arc_score": [1, 2, 3, 4]
    }  # fmt: skip
    return Problem(**{**values, **fields})


def three_words(**fields: Any) -> Problem:
    return dataclasses.replace(Problem.from_arc_scores(np.zeros((4, 4))), **fields)


SOLUTION: dict[str, Any] = {
    "heads": [[-1, 0, 1], [-1, 2, 0]], "arcs": [[0, 2], [3, 1]], "scores": [4.0, 3.0],
    "upper_bounds": [4.0, math.inf], "proved": [True, False], "status": "node_limit",
    "stats": {"nodes": 3},
}  # fmt: skip
