"""What must hold of every solution, and of one that is compared with all trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bbparse.core import FIELDS, Problem, Solution


def spread(p: Problem) -> float:
    """The sum of all magnitudes, of which rounding errors are a tiny share."""
    arrays = [getattr(p, name) for name in FIELDS if name.endswith("_score")]
    return float(sum(np.abs(a[np.isfinite(a)]).sum() for a in arrays))


def all_but_time(s: Solution) -> list[Any]:
    """All of a solution but what the clock says."""
    stats = {name: value for name, value in s.stats.items() if name != "seconds"}
    arrays = [s.heads, s.arcs, s.scores, s.upper_bounds, s.proved]
    return [*((a.dtype, a.shape, a.tobytes()) for a in arrays), s.status, stats]


def check_trees(p: Problem, s: Solution) -> None:
    """Everything that must hold of a solution, however the search ended."""
    rounding = 1e-14 * spread(p)
    assert s.heads.shape == (len(s), p.n_words + 1)
    assert len({tuple(row) for row in s.arcs.tolist()}) == len(s)
    for heads, arcs, score in zip(s.heads, s.arcs, s.scores):
        assert p.is_feasible(arcs)
        assert heads.tolist() == [-1, *p.arc_head[arcs].tolist()]
        assert p.score(arcs) == pytest.approx(score, rel=1e-12, abs=rounding)
    assert (np.diff(s.scores) <= 0).all()
    assert (s.upper_bounds >= s.scores).all()
    assert (np.diff(s.upper_bounds) <= 0).all()
