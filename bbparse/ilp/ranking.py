"""From trees and one bound to a `Solution`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bbparse.problem import Problem, Solution


def ranked(
    problem: Problem,
    trees: Sequence[NDArray[np.int32]],
    scores: Sequence[float],
    bound: float,
    status: str,
    stats: dict[str, float | int],
) -> Solution:
    """Trees, best first.

    Parameters
    ----------
    problem : Problem
    trees : sequence of int32[n]
        Arc of each word.
    scores : sequence of float
    bound : float
        No other tree scores more, so that the k-th best does not either where one of the k best is
        not among them.
    status : str
        ``optimal`` for a search that ended by itself: it becomes ``infeasible`` where it has
        nothing, and ``gap`` where the bound is above a score.
    stats : dict
    """
    values = np.array(scores, dtype=np.float64)
    order = np.argsort(-values, kind="stable")
    values = values[order]
    arcs = np.array(trees, dtype=np.int32).reshape(len(trees), problem.n_words)[order]
    heads = np.full((len(arcs), problem.n_words + 1), -1, dtype=np.int32)
    if len(arcs):
        heads[:, 1:] = problem.arc_head[arcs]
    proved = values >= bound
    if status == "optimal" and not len(trees):
        status = "infeasible"
    if status == "optimal" and not proved.all():
        status = "gap"
    return Solution.trusted(heads, arcs, values, np.maximum(values, bound), proved, status, stats)
