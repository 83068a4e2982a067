"""The factors of a problem that a tree can have, each set of arcs once and in one order.

Factors that cannot fire make a bound looser, and so do two over the same arcs, as each is bounded
by itself. The order makes answers independent of the one they were given in. Only pairs of arcs are
looked at to see whether a factor can fire. Cost: O(A + Σ r² + F log F) for F factors of r arcs.
"""

from __future__ import annotations

import numpy as np

from bbparse.jit import kernel
from bbparse.problem.parts import Factors


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
def _by_arc(order, which, n_arcs, ptr, arcs):
    """Factors by the number of their first arc, or of another; a counting sort, stable."""
    start = np.zeros(n_arcs + 1, np.int64)
    for f in order:
        start[arcs[ptr[f] + which] + 1] += 1
    for a in range(n_arcs):
        start[a + 1] += start[a]
    out = np.empty_like(order)
    for f in order:
        a = arcs[ptr[f] + which]
        out[start[a]] = f
        start[a] += 1
    return out


@kernel
def _rises(f, g, ptr, arcs, score):
    """Whether factor f stands before g, or may: by all arcs, then by weight."""
    size, other = ptr[f + 1] - ptr[f], ptr[g + 1] - ptr[g]
    for i in range(min(size, other)):
        a, b = arcs[ptr[f] + i], arcs[ptr[g] + i]
        if a != b:
            return a < b
    return size < other if size != other else score[f] <= score[g]


@kernel
def _sort(order, first, last, spare, ptr, arcs, score):
    """Sort ``order[first:last]``: inserts into runs of eight, and merges these."""
    width = 8
    for i in range(first, last):
        f, j = order[i], i
        while j > first + (i - first) // width * width and not _rises(
            order[j - 1], f, ptr, arcs, score
        ):
            order[j] = order[j - 1]
            j -= 1
        order[j] = f
    while width < last - first:
        for low in range(first, last, 2 * width):
            middle, high = min(low + width, last), min(low + 2 * width, last)
            i, j = low, middle
            for k in range(low, high):
                if j >= high or (i < middle and _rises(order[i], order[j], ptr, arcs, score)):
                    spare[k] = order[i]
                    i += 1
                else:
                    spare[k] = order[j]
                    j += 1
        for k in range(first, last):
            order[k] = spare[k]
        width *= 2


@kernel
def _sorted(count, n_arcs, ptr, arcs, score):
    """Factors in their order; those of the same first two arcs, which are few, are compared.

    But for two pairs: they will be one factor, of the sum of their weights.
    """
    order = _by_arc(_by_arc(np.arange(count), 1, n_arcs, ptr, arcs), 0, n_arcs, ptr, arcs)
    spare = np.empty_like(order)
    first = 0
    for i in range(1, count + 1):
        if i < count:
            at, start = ptr[order[i]], ptr[order[first]]
            if arcs[at] == arcs[start] and arcs[at + 1] == arcs[start + 1]:
                continue
        f, g = order[first], order[i - 1]
        if i - first > 2 or (i - first == 2 and ptr[f + 1] - ptr[f] + ptr[g + 1] - ptr[g] > 4):
            _sort(order, first, i, spare, ptr, arcs, score)
        first = i
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

    ``head`` and ``mod`` int32[A'] are of the arcs that are alive; ``place`` int32[A] has for each
    arc of the problem its number among those, -1 if it is dead. What is left is over the arcs that
    are alive, in an order that depends on arcs and weights alone. Weights of factors over the same
    arcs are added up; none is 0.
    """
    given, given_arcs, weight = factors
    n_factors = weight.shape[0]
    ptr, arcs = np.zeros(n_factors + 1, np.int64), np.empty(given_arcs.shape[0], np.int32)
    score = np.empty(n_factors)
    count = used = 0
    for f in range(n_factors):
        possible = weight[f] != 0.0
        end = used
        for i in range(given[f], given[f + 1]):
            a = place[given_arcs[i]]
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
            score[count] = weight[f]
            count, used = count + 1, end
            ptr[count] = used
    order = _sorted(count, head.shape[0], ptr, arcs, score)
    new_ptr, new_arcs = np.zeros(count + 1, np.int64), np.empty(used, np.int32)
    new_score = np.empty(count)
    kept = used = i = 0
    while i < count:
        f = order[i]
        total = score[f]
        i += 1
        second = arcs[ptr[f] + 1]
        while i < count:
            g = order[i]
            if arcs[ptr[g] + 1] != second or not _same_arcs(f, g, ptr, arcs):
                break
            total += score[g]
            i += 1
        if total != 0.0:
            for j in range(ptr[f], ptr[f + 1]):
                new_arcs[used] = arcs[j]
                used += 1
            new_score[kept] = total
            kept += 1
            new_ptr[kept] = used
    return Factors(new_ptr[: kept + 1], new_arcs[:used], new_score[:kept])
