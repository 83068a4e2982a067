"""Faults of solutions."""

from __future__ import annotations

import math
from typing import Any

import pytest

from bbparse.errors import ProblemError
from bbparse.problem import Solution
from tests.problem.helpers import SOLUTION


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"heads": [[-1, 0, 1]]}, "heads has 1 elements, expected 2 as in scores"),
        ({"heads": [[-1, 0], [-1, 0]]}, "arcs has shape (2, 2), expected (2, 1)"),
        ({"heads": [[0, 0, 1], [-1, 2, 0]]}, "heads[0, 0] is 0, expected -1"),
        ({"heads": [[-1, 0, 1], [-1, 3, 0]]}, "heads[1, 1:][0] is 3, expected 0..2"),
        ({"arcs": [[0, 2], [-3, 1]]}, "arcs[1][0] is -3"),
        ({"scores": [3.0, 4.0]}, "scores[1] is 4.0, expected at most scores[0] = 3.0"),
        ({"scores": [3.0, math.nan]}, "scores[1] is nan"),
        ({"upper_bounds": [3.0, math.nan]}, "upper_bounds[1] is nan"),
        ({"proved": [1, 0]}, "proved has dtype int64"),
        ({"status": "done"}, "status is 'done', expected one of optimal, gap, time_limit"),
        ({"stats": {"nodes": "3"}}, "stats['nodes'] is '3', expected a number"),
    ],
)
def test_faults_of_solutions(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        Solution(**{**SOLUTION, **fields})
    assert message in str(caught.value)
