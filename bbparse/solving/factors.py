"""The factors of a problem that a tree can have, each set of arcs once and in one order.

Factors that cannot fire make a bound looser, and so do two over the same arcs, as each is bounded
by itself. The order makes answers independent of the one they were given in. Only pairs of arcs are
looked at to see whether a factor can fire. Cost: O(A + Σ r² + F log F) for F factors of r arcs.
"""

from __future__ import annotations

import numpy as np

from bbparse.jit import kernel
from bbparse.problem.parts import Factors

#: Bits of an arc's number in a key; no sentence has more arcs (see `MAX_WORDS`).
_BITS = 30


@kernel
def _exclude(head, mod, a, b, projective, single_root):
    """Whether no tree has both arcs."""
    h, m, g, k = head[a], mod[a], head[b], mod[b]
    if m == k or (h == k and g == m) or (single_root and h == 0 and g == 0):
        return True
    low, high = min(h, m), max(h, m)
    first, last = min(g, k), max(g, k)
    return projective and (low < first < high < last or first < low < last < high)


@kernel
def _rises(f, g, key, ptr, arcs, score):
    """Whether factor f stands before g, or may: by key, then by all arcs, then by weight."""
    if key[f] != key[g]:
        return key[f] < key[g]
    size, other = ptr[f + 1] - ptr[f], ptr[g + 1] - ptr[g]
    for i in range(min(size, other)):
        a, b = arcs[ptr[f] + i], arcs[ptr[g] + i]
        if a != b:
            return a < b
    return size < other if size != other else score[f] <= score[g]


@kernel
def _sorted(order, key, ptr, arcs, score):
    """Factors in their order: merges runs, from below."""
    spare = np.empty_like(order)
    count = order.shape[0]
    width = 1
    while width < count:
        for low in range(0, count, 2 * width):
            middle, high = min(low + width, count), min(low + 2 * width, count)
            i, j = low, middle
            for k in range(low, high):
                if j >= high or (
                    i < middle and _rises(order[i], order[j], key, ptr, arcs, score)
                ):
                    spare[k] = order[i]
                    i += 1
                else:
                    spare[k] = order[j]
                    j += 1
        order, spare = spare, order
        width *= 2
    return order


@kernel
def _same_arcs(f, g, ptr, arcs):
    size = ptr[f + 1] - ptr[f]
    if ptr[g + 1] - ptr[g] != size:
        return False
    for i in range(size):
        if arcs[ptr[f] + i] != arcs[ptr[g] + i]:
            return False
    return True


@kernel
def possible_factors(head, mod, place, factors, projective, single_root):
    """The factors whose arcs are all alive and can be in one tree, as far as pairs of them tell.

    Parameters
    ----------
    head, mod : int32[A']
        The arcs that are alive.
    place : int32[A]
        Of each arc of the problem, its number among those; -1: it is dead.
    factors : Factors
        Of the problem.
    projective, single_root : bool

    Returns
    -------
    Factors
        Over the arcs that are alive, in an order that depends on arcs and weights alone. Weights of
        factors over the same arcs are added up; none is 0.
    """
    given, weight = factors.ptr, factors.score
    n_factors = weight.shape[0]
    ptr, arcs = np.zeros(n_factors + 1, np.int64), np.empty(factors.arcs.shape[0], np.int32)
    score, key = np.empty(n_factors), np.empty(n_factors, np.int64)
    count = used = 0
    for f in range(n_factors):
        possible = weight[f] != 0.0
        end = used
        for i in range(given[f], given[f + 1]):
            a = place[factors.arcs[i]]
            possible = possible and a >= 0
            if not possible:
                break
            for j in range(used, end):
                possible = possible and not _exclude(
                    head, mod, a, arcs[j], projective, single_root
                )
            j = end
            while j > used and arcs[j - 1] > a:
                arcs[j] = arcs[j - 1]
                j -= 1
            arcs[j] = a
            end += 1
        if possible:
            key[count] = (np.int64(arcs[used]) << _BITS) | arcs[used + 1]
            score[count] = weight[f]
            count, used = count + 1, end
            ptr[count] = used
    order = _sorted(np.arange(count), key, ptr, arcs, score)
    new_ptr, new_arcs = np.zeros(count + 1, np.int64), np.empty(used, np.int32)
    new_score = np.empty(count)
    kept = used = i = 0
    while i < count:
        f = order[i]
        total = 0.0
        while i < count and _same_arcs(f, order[i], ptr, arcs):
            total += score[order[i]]
            i += 1
        if total != 0.0:
            for j in range(ptr[f], ptr[f + 1]):
                new_arcs[used] = arcs[j]
                used += 1
            new_score[kept] = total
            kept += 1
            new_ptr[kept] = used
    return Factors(new_ptr[: kept + 1], new_arcs[:used], new_score[:kept])
