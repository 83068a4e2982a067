"""Factors of a problem that can fire, merged by their arcs and in canonical order.

Factors that cannot fire loosen a bound. So do two factors over the same arcs, because each is
bounded separately. The canonical order makes results independent of the order of the input. Whether
a factor can fire is decided by pairs of arcs only. Sets of the A alive arcs are rows of a matrix
int64[F, R]; shorter rows end with A.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from bbparse.core import Problem
from bbparse.core.parts import KINDS, PART_NAMES
from bbparse.inference.relaxation.counts import start_counts
from bbparse.inference.relaxation.multipliers import start_multipliers
from bbparse.inference.relaxation.state import NodeCounts, NodeFactors
from bbparse.runtime.arrays import NEG, Float64s, Ints, Longs

_SIB, _GC, _OGC, _GSIB = range(len(KINDS))


def possible_factors(p: Problem, place: Ints, head: Ints, mod: Ints) -> tuple[Longs, Float64s]:
    """Return the factors whose arcs are all alive and pairwise compatible: sets and weights.

    ``head`` and ``mod`` int32[A] describe the alive arcs; ``place`` maps each arc of the problem to
    its number among those, or to -1 if it is dead. The factors are in an order that depends on arcs
    and weights alone. Weights of factors over the same arcs are summed; factors of weight 0 are
    dropped.
    """
    sizes, none = np.diff(p.factor_ptr), len(head)
    inside = np.arange(sizes.max(initial=0)) < sizes[:, np.newaxis]
    sets = np.where(inside, 0, none)
    sets[inside] = place[p.factor_arcs]
    possible = (p.factor_score != 0.0) & (sets >= 0).all(axis=1)
    sets, weight = np.sort(sets[possible], axis=1), p.factor_score[possible]
    h, m = np.append(head, -1)[sets], np.append(mod, -1)[sets]
    low, high = np.minimum(h, m), np.maximum(h, m)
    possible = np.ones(len(sets), np.bool_)
    for i in range(1, sets.shape[1]):
        a, b = np.s_[:, :i], np.s_[:, i : i + 1]
        exclude = (m[a] == m[b]) | ((h[a] == m[b]) & (h[b] == m[a]))
        if p.single_root:
            exclude |= (h[a] == 0) & (h[b] == 0)
        if p.projective:
            exclude |= (low[a] < low[b]) & (low[b] < high[a]) & (high[a] < high[b])
            exclude |= (low[b] < low[a]) & (low[a] < high[b]) & (high[b] < high[a])
        possible &= ~(exclude.any(axis=1) & (sets[:, i] < none))
    sets, weight = sets[possible], weight[possible]
    # weights, too, so that their sum does not depend on the order of the input
    order = np.lexsort((weight, *np.where(sets == none, -1, sets).T[::-1]))
    sets, weight = sets[order], weight[order]
    is_new = np.ones(len(sets), np.bool_)
    is_new[1:] = (sets[1:] != sets[:-1]).any(axis=1)
    sets, weight = sets[is_new], np.add.reduceat(weight, np.flatnonzero(is_new))
    return sets[weight != 0.0], weight[weight != 0.0]


def take_parts(
    problem: Problem, mode: int, head: Ints, mod: Ints, sets: Longs, weight: Float64s
) -> tuple[Problem, Longs, Float64s]:
    """Turn factors that equal parts of the recurrence ``mode`` into parts of the problem.

    Returns also the sets and weights of the other factors. Alive arcs are sorted by head and
    modifier, and no two join the same words.
    """
    none, head_of, mod_of = len(head), np.append(head, -1), np.append(mod, -1)
    size = (sets < none).sum(axis=1)
    # two arcs of one head are siblings, the outer one and the inner one; a third is the upper one
    upper, inner, outer = np.full((3, len(sets)), none)
    for i, j in permutations(range(min(3, sets.shape[1])), 2):
        a, b = sets[:, i], sets[:, j]
        h, near, far = head_of[a], mod_of[a], mod_of[b]
        ordered = ((h < near) & (near < far)) | ((h > near) & (near > far))
        siblings = (b < none) & (a < none) & (head_of[b] == h) & ordered
        inner[siblings], outer[siblings] = a[siblings], b[siblings]
        above = (b < none) & (a < none) & (near == head_of[b])
        upper[above] = a[above]
        outer[above & (size == 2)] = b[above & (size == 2)]
    h, m, before, grand = head_of[outer], mod_of[outer], mod_of[inner], head_of[upper]
    lone = (inner == none) & (outer < none)
    beyond = np.where(outer < none, outer + np.where(m > h, 1, -1), none)
    adjacent = (inner < none) & (abs(inner - outer) == 1)  # no candidate is between the two
    kinds = np.select(
        [
            adjacent & (size == 2),
            lone & (mode == 3),
            lone & (mode == 2) & (head_of[beyond] != h),
            adjacent & (size == 3) & (mode == 3) & (mod_of[upper] == h),
        ],
        [_SIB, _GC, _OGC, _GSIB],
        -1,
    )
    kinds[(size > 3) | (weight == NEG)] = -1
    words = ((h, before, m), (grand, h, m), (grand, h, m), (grand, h, before, m))
    changes: dict[str, Any] = {}
    for kind, names in enumerate(PART_NAMES.values()):
        if (chosen := kinds == kind).any():
            for name, column in zip(names, (*words[kind], weight)):
                changes[name] = np.concatenate((getattr(problem, name), column[chosen]))
    others = kinds < 0
    return problem.changed(**changes), sets[others], weight[others]


def node_factors(sets: Longs, weight: Float64s, none: int, hard: float) -> NodeFactors:
    """Return factors with their first multipliers; weights of -inf are replaced by ``-hard``."""
    inside = sets < none
    ptr = np.append(0, np.cumsum(inside.sum(axis=1)))
    weight = np.where(weight == NEG, -hard, weight)
    multipliers = np.empty(ptr[-1])
    start_multipliers(ptr, weight, multipliers)
    arcs = sets[inside].astype(np.int32)
    return NodeFactors(ptr, arcs, weight, multipliers, np.full(1, len(weight)))


def node_counts(place: Ints, p: Problem) -> NodeCounts:
    """Return the count factors of a problem over alive arcs; dead arcs are in no tree."""
    members = place[p.count_arcs]
    alive = members >= 0
    ptr = np.concatenate(([0], np.cumsum(alive)))[p.count_ptr]
    sizes = np.diff(ptr)
    tables = [
        p.count_score[start : start + size + 1]
        for start, size in zip(p.count_score_ptr.tolist(), sizes.tolist())
    ]
    return NodeCounts(
        ptr,
        members[alive],
        ptr + np.arange(len(ptr)),
        np.concatenate([np.empty(0), *tables]),
        start_counts(tables),
        np.full(1, len(sizes)),
    )
