"""Order of trees, and what a bound proves of them."""

from __future__ import annotations

from bbparse.core import Problem
from bbparse.core.order import ranked


def test_trees_are_ranked_and_proved_down_to_the_bound() -> None:
    p = Problem(2, [0, 1, 0, 2], [1, 2, 2, 1], [1.0, 1.0, 2.0, 2.0])
    trees = [[0, 1], [3, 2]]
    for bound, proved in ((2.0, [True, True]), (3.0, [True, False]), (5.0, [False, False])):
        found = ranked(p, trees, [2.0, 4.0], bound, "gap", {})
        assert found.scores.tolist() == [4.0, 2.0] and found.heads[0].tolist() == [-1, 2, 0]
        assert found.proved.tolist() == proved
        assert found.status == ("optimal" if all(proved) else "gap")
        assert found.upper_bounds.tolist() == [max(4.0, bound), max(2.0, bound)]
