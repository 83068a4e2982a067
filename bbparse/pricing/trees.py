"""The best tree for a point of the linear program."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.oracle.nonprojective.arborescence import best_arborescence
from bbparse.oracle.projective.dense import eisner
from bbparse.problem import Problem

Floats = NDArray[np.float64]


class Tree(NamedTuple):
    """A tree, int32[n]; no tree weighs more than `most`, none with arc a more than most + loss[a].

    `noise` is more than all rounding in these.
    """

    arcs: NDArray[np.int32]
    most: float
    loss: Floats
    noise: float


def best_tree(problem: Problem, weight: Floats) -> Tree | None:
    """The tree whose arcs weigh most, by arcs alone; None if there is none.

    Weights are float64[A], -inf for an arc that must not be used. Bounds are those of
    arborescences, which may cross. Required arcs are not looked at.
    """
    p = problem
    order = np.lexsort((weight, p.arc_mod))  # of arcs between the same words the last is taken
    tree, largest = np.empty(p.n_words, np.int32), np.empty(1)
    reduced, loss = np.empty((2, len(order)))
    starts = np.searchsorted(p.arc_mod[order], np.arange(p.n_words + 2)).astype(np.int32)
    most = best_arborescence(
        starts, p.arc_head[order], weight[order], p.single_root, tree, reduced, largest
    )
    if most == -np.inf:
        return None
    loss[order] = reduced
    arcs = order[tree]
    if p.projective:
        table = np.full((p.n_words + 1,) * 2, -np.inf)
        place = np.zeros(table.shape, np.int32)
        table[p.arc_head[order], p.arc_mod[order]] = weight[order]
        place[p.arc_head[order], p.arc_mod[order]] = order
        heads, score = eisner(table, p.single_root)
        if score == -np.inf:
            return None
        arcs = place[heads[1:], np.arange(1, p.n_words + 1)]
    return Tree(arcs.astype(np.int32), most, loss, 1e-15 * p.n_words * float(largest[0]))
