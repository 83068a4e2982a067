"""Factors of a problem that can fire, merged by their arcs and in canonical order.

Factors that cannot fire loosen a bound. So do two factors over the same arcs, because each is
bounded separately. The canonical order makes results independent of the order of the input. Whether
a factor can fire is decided by pairs of arcs only. Cost: O(Σ r² + R (A + F)) for F factors of
r <= R arcs.
"""

from __future__ import annotations

import numpy as np

from bbparse.core import Problem
from bbparse.core.parts import ANY
from bbparse.inference.relaxation.state import NodeCounts
from bbparse.runtime.arrays import NEG, Ints
from bbparse.runtime.jit import kernel

#: Columns of the rows of `take_parts` after the kind: words of a part. Those that a kind names,
#: in the order of its arrays in a problem.
_GRAND, _HEAD, _INNER, _MOD = 1, 2, 3, 4
FIELDS_OF_KIND = (
    (_HEAD, _INNER, _MOD), (_GRAND, _HEAD, _MOD), (_GRAND, _HEAD, _MOD),
    (_GRAND, _HEAD, _INNER, _MOD),
)  # fmt: skip
#: Kinds of part, as `bbparse.core.parts.KINDS` numbers them.
_SIB, _GC, _OGC, _GSIB = 0, 1, 2, 3


@kernel
def _exclude(head, mod, a, b, projective, single_root):
    """Return True if no tree has both arcs."""
    h, m, g, k = head[a], mod[a], head[b], mod[b]
    if m == k or (h == k and g == m) or (single_root and h == 0 and g == 0):
        return True
    low, high = min(h, m), max(h, m)
    first, last = min(g, k), max(g, k)
    return projective and (low < first < high < last or first < low < last < high)


@kernel
def _nth_arc(f, which, ptr, arcs):
    """Return arc number ``which`` of a factor; -1 beyond the last."""
    at = ptr[f] + which
    return np.int64(arcs[at]) if at < ptr[f + 1] else np.int64(-1)


@kernel
def _sorted(count, n_arcs, ptr, arcs):
    """Sort factors by their arcs, prefixes first (radix sort: counting sorts from the last arc)."""
    order, out = np.arange(count), np.empty(count, np.int64)
    longest = 0
    for f in range(count):
        longest = max(longest, ptr[f + 1] - ptr[f])
    for which in range(longest - 1, -1, -1):
        start = np.zeros(n_arcs + 2, np.int64)  # factors without such an arc come first
        for f in order:
            start[_nth_arc(f, which, ptr, arcs) + 2] += 1
        for a in range(n_arcs + 1):
            start[a + 1] += start[a]
        for f in order:
            a = _nth_arc(f, which, ptr, arcs) + 1
            out[start[a]] = f
            start[a] += 1
        order, out = out, order
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
def possible_factors(head, mod, place, given, given_arcs, weight, projective, single_root):
    """Return the factors whose arcs are all alive and pairwise compatible: ptr, arcs and weights.

    ``head`` and ``mod`` int32[A'] describe the alive arcs; ``place`` int32[A] maps each arc of the
    problem to its number among those, or to -1 if it is dead. The returned factors are over alive
    arcs, in an order that depends on arcs and weights alone. Weights of factors over the same arcs
    are summed; factors of weight 0 are dropped.
    """
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
                possible = possible and not _exclude(head, mod, a, arcs[j], projective, single_root)
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
    order = _sorted(count, head.shape[0], ptr, arcs)
    new_ptr, new_arcs = np.zeros(count + 1, np.int64), np.empty(used, np.int32)
    new_score = np.empty(count)
    kept = used = i = 0
    while i < count:
        f, first = order[i], i
        i += 1
        while i < count and _same_arcs(f, order[i], ptr, arcs):
            j = i  # sorted by weight, so that the sum does not depend on the order of the input
            while j > first and score[order[j - 1]] > score[order[j]]:
                order[j - 1], order[j] = order[j], order[j - 1]
                j -= 1
            i += 1
        total = 0.0
        for j in range(first, i):
            total += score[order[j]]
        if total != 0.0:
            for j in range(ptr[f], ptr[f + 1]):
                new_arcs[used] = arcs[j]
                used += 1
            new_score[kept] = total
            kept += 1
            new_ptr[kept] = used
    return new_ptr[: kept + 1].copy(), new_arcs[:used].copy(), new_score[:kept].copy()


@kernel
def _part_of(head, mod, mode, arcs, row):
    """Write the part that a factor over some arcs equals in a recurrence; return False for none.

    Arcs are sorted by head and modifier, and no two join the same words.
    """
    # two arcs of one head are siblings, the outer one and the inner one; a third is the upper one
    upper, inner, outer = -1, -1, -1
    for first in arcs:
        for second in arcs:
            h = head[first]
            if head[second] == h:
                if h < mod[first] < mod[second] or h > mod[first] > mod[second]:
                    inner, outer = first, second
            elif mod[first] == head[second]:
                upper = first
                if arcs.shape[0] == 2:
                    outer = second
    row[:] = ANY
    if outer < 0:
        return False
    h = head[outer]
    row[_HEAD], row[_MOD] = h, mod[outer]
    if inner < 0:  # an arc below another
        row[_GRAND] = head[upper]
        row[0] = _GC if mode == 3 else _OGC
        at = outer + 1 if mod[outer] > h else outer - 1
        outermost = at < 0 or at == head.shape[0] or head[at] != h
        return mode == 3 or (mode == 2 and outermost)
    row[_INNER] = mod[inner]
    row[0] = _SIB
    if abs(inner - outer) != 1:  # another candidate may be between the two
        return False
    if arcs.shape[0] == 2:
        return True
    row[0] = _GSIB
    if mode != 3 or upper < 0 or mod[upper] != h:
        return False
    row[_GRAND] = head[upper]
    return True


@kernel
def take_parts(head, mod, mode, ptr, arcs, score):
    """Take the factors that equal parts of the recurrence ``mode`` out of `possible_factors`.

    Returns the parts as rows int32[R, 5] (kind and words) with scores float64[R]. The other factors
    move to the front of the arrays.
    """
    n_factors = score.shape[0]
    rows, row_score = np.empty((n_factors, 5), np.int32), np.empty(n_factors)
    kept = used = taken = lo = 0
    for f in range(n_factors):
        hi = ptr[f + 1]
        short = hi - lo <= 3 and score[f] > NEG
        if short and _part_of(head, mod, mode, arcs[lo:hi], rows[taken]):
            row_score[taken] = score[f]
            taken += 1
        else:
            for i in range(lo, hi):
                arcs[used] = arcs[i]
                used += 1
            score[kept] = score[f]
            kept += 1
            ptr[kept] = used
        lo = hi
    return rows[:taken].copy(), row_score[:taken].copy()


def node_counts(place: Ints, p: Problem) -> NodeCounts:
    """Return the count factors of a problem over alive arcs; dead arcs are in no tree."""
    if len(p.count_ptr) == 1:
        none = np.zeros(1, np.int64)
        return NodeCounts(none, np.empty(0, np.int32), none, np.empty(0), np.empty(0), none)
    members = place[p.count_arcs]
    alive = members >= 0
    ptr = np.concatenate(([0], np.cumsum(alive)))[p.count_ptr]
    sizes = np.diff(ptr)
    tables = [
        p.count_score[start : start + size + 1]
        for start, size in zip(p.count_score_ptr.tolist(), sizes.tolist())
    ]
    return NodeCounts(
        ptr, members[alive], ptr + np.arange(len(ptr)), np.concatenate(tables),
        np.zeros(ptr[-1]), np.full(1, len(sizes)),
    )  # fmt: skip
