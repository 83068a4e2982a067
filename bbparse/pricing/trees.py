"""The best tree for a point of the linear program."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.oracle.nonprojective.arborescence import best_arborescence
from bbparse.oracle.projective.dense import eisner
from bbparse.problem import Problem

Floats = NDArray[np.float64]


def best_tree(problem: Problem, weight: Floats) -> NDArray[np.int32] | None:
    """The tree whose arcs weigh most, by arcs alone; None if there is none.

    Parameters
    ----------
    problem : Problem
        Its other parts, factors and required arcs are not looked at.
    weight : float64[A]
        -inf: the arc must not be used.

    Returns
    -------
    int32[n]
        Arc of each word.
    """
    p = problem
    order = np.lexsort((weight, p.arc_mod))  # of arcs between the same words the last is taken
    if p.projective:
        table = np.full((p.n_words + 1,) * 2, -np.inf)
        place = np.zeros(table.shape, np.int32)
        table[p.arc_head[order], p.arc_mod[order]] = weight[order]
        place[p.arc_head[order], p.arc_mod[order]] = order
        heads, score = eisner(table, p.single_root)
        return None if score == -np.inf else place[heads[1:], np.arange(1, p.n_words + 1)]
    tree = np.empty(p.n_words, np.int32)
    starts = np.searchsorted(p.arc_mod[order], np.arange(p.n_words + 2)).astype(np.int32)
    score = best_arborescence(
        starts, p.arc_head[order], weight[order], p.single_root, tree, np.empty(len(order)),
        np.empty(1),
    )  # fmt: skip
    return None if score == -np.inf else order[tree].astype(np.int32)
