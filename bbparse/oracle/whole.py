"""An oracle of all candidate arcs of a problem, as kernels take it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.oracle.calls import make
from bbparse.oracle.nonprojective.calls import Nonprojective
from bbparse.oracle.projective.calls import Projective
from bbparse.oracle.projective.weights import index_groups, weight_tables
from bbparse.problem import Problem
from bbparse.problem.order import in_order


def oracle_of(problem: Problem, mode: int) -> tuple[Any, NDArray[np.int32]]:
    """The oracle of a problem, projective or not, over all its arcs, forbidden ones too.

    It is for :mod:`bbparse.oracle.calls`, and holds the parts that the recurrence ``mode`` holds;
    int32[A] has the problem's arc at each of its places.
    """
    p, order = in_order(problem)
    key = p.arc_head.astype(np.int64) * (p.n_words + 1) + p.arc_mod
    starts = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: len(key)])
    head, mod = p.arc_head[starts], p.arc_mod[starts]
    index = index_groups(p.n_words, head, mod)
    weights = weight_tables(p.n_words, head, mod, mode, index, p.parts)
    oracle = make(
        (Projective if p.projective else Nonprojective)(mode), p.n_words, head, mod, p.single_root,
        index, weights, np.append(starts, len(key)).astype(np.int32),
    )  # fmt: skip
    places = np.arange(len(key)) if order is None else order
    return oracle, places.astype(np.int32)
