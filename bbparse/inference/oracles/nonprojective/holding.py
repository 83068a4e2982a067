"""Absorbed factors: factors whose arcs are all at one head of few candidates join its automaton.

A factor that is bounded by itself leaves a gap that no multiplier closes; in the table of its head
(`inference.oracles.nonprojective.tables`) it is exact. Its multipliers are added to those of its
pairs, so that the bound does not rise.
"""

from __future__ import annotations

import numpy as np

from bbparse.inference.oracles.nonprojective.automata import (
    FIRST,
    GROUP,
    LAST,
    LAST_STRIDE,
    NEEDED,
    RANK,
    STRIDE,
    list_side,
    only_pair,
)
from bbparse.inference.oracles.nonprojective.tables import ALWAYS, CAPACITY, MAX_ENTRIES
from bbparse.runtime.arrays import NEG
from bbparse.runtime.jit import kernel


@kernel
def _center(o, pair, arcs, lo, hi):
    """Return the head that all arcs of a factor have, or lead to; -1 if there is none."""
    head, mod = o.head, o.mod
    p, q = pair[arcs[lo]], pair[arcs[lo + 1]]
    if p < 0 or q < 0:
        return -1
    h = head[q] if head[q] == mod[p] else head[p]
    for i in range(lo, hi):
        p = pair[arcs[i]]
        if p < 0 or (head[p] != h and mod[p] != h):
            return -1
    return h


@kernel
def _side_scores(inc_w, out_w, place, bit, count, j, score, last):
    """Score the parts of each set of modifiers on one side under context j; return their number."""
    score[0], last[0] = 0.0, -1
    size = 1
    for i in range(count):
        always = bit[place[GROUP, i]] == ALWAYS
        start = place[FIRST, i] + j * place[STRIDE, i]
        for k in range(size):
            with_it = score[k] + inc_w[start + (place[RANK, last[k]] if last[k] >= 0 else 0)]
            to = k if always else size + k
            score[to], last[to] = with_it, i
        if not always:
            size *= 2
    for k in range(size):
        if last[k] >= 0:
            score[k] += out_w[place[LAST, last[k]] + j * place[LAST_STRIDE, last[k]]]
    return size


@kernel
def _make_table(o, s, h, gscore, needed):
    """Make the table of a head, if there is room."""
    lo, middle, hi = o.out_ptr[h], o.out_mid[h], o.out_ptr[h + 1]
    n_right = list_side(o.place, o.u, gscore, needed, middle, hi, True, s.right)
    n_left = list_side(o.place, o.u, gscore, needed, lo, middle, False, s.left)
    rows = free = 0
    for i in range(o.in_ptr[h], o.in_ptr[h + 1]):
        rows += gscore[o.in_list[i]] > NEG
    for c in range(lo, hi):
        free += gscore[c] > NEG and not needed[c]
    used = o.at[-1]
    if free > 9 or rows << free > min(MAX_ENTRIES, CAPACITY - used):
        return
    bit, table = o.bit, o.table
    for c in range(lo, hi):
        bit[c] = -1
    b = 0
    for side, count in ((s.right, n_right), (s.left, n_left)):
        for i in range(count):
            always = side.place[NEEDED, i]
            bit[side.place[GROUP, i]] = ALWAYS if always else b
            b += not always
    o.at[h], o.sets[h] = used, 1 << free
    last = np.empty(1 << free, np.int64)
    r = 0
    for j in range(o.in_ptr[h + 1] - o.in_ptr[h]):
        p = o.in_list[o.in_ptr[h] + j]
        o.row[p] = -1
        if gscore[p] == NEG:
            continue
        o.row[p] = r
        rights = _side_scores(o.inc_w, o.out_w, s.right.place, bit, n_right, j, s.sums, last)
        lefts = _side_scores(o.inc_w, o.out_w, s.left.place, bit, n_left, j, s.most, last)
        for k in range(lefts):
            for i in range(rights):
                table[used + k * rights + i] = s.most[k] + s.sums[i]
        used += 1 << free
        r += 1
    o.at[-1] = used


@kernel
def _add(o, h, pair, factors, f):
    """Add a factor to the table of head h, and its multipliers to those of pairs."""
    arcs, lam, weight = factors.arcs, factors.lam, factors.weight[f]
    lo, hi = factors.ptr[f], factors.ptr[f + 1]
    mask, only = 0, -1
    for i in range(lo, hi):
        c = pair[arcs[i]]
        pays = lam[i] if weight >= 0.0 else -lam[lo]
        if o.head[c] != h:
            only = o.row[c]
            o.v[c] += pays
            continue
        o.u[c] += pays
        if o.bit[c] < ALWAYS:
            mask |= 1 << o.bit[c]
    size, table, rows = o.sets[h], o.table, 0
    for i in range(o.in_ptr[h], o.in_ptr[h + 1]):
        rows = max(rows, o.row[o.in_list[i]] + 1)
    for r in range(rows):
        start = o.at[h] + r * size
        if only < 0 or r == only:
            for k in range(mask, size):
                if k & mask == mask:
                    table[start + k] += weight


@kernel
def automata_hold(o, s, base, factors, hard):
    """Absorb the factors of a node that fit; they are removed from it, in place."""
    if not o.flags[1] or factors.size[0] == 0:
        return
    n, b = o.in_ptr.shape[0] - 2, o.head.shape[0]
    ptr, arcs, weight, lam = factors.ptr, factors.arcs, factors.weight, factors.lam
    pair = np.full(base.shape[0], -1, np.int64)
    gscore, needed = np.full(b, NEG), np.zeros(b, np.int8)
    for c in range(b):
        for a in range(o.group_ptr[c], o.group_ptr[c + 1]):
            if base[a] > NEG:
                gscore[c] = 0.0
        if o.group_ptr[c + 1] - o.group_ptr[c] == 1:  # a pair would merge labelled arcs
            pair[o.group_ptr[c]] = c
    for m in range(1, n + 1):
        only = only_pair(o, gscore, m)
        if only >= 0:
            needed[only] = 1
    tried = np.zeros(n + 1, np.bool_)
    n_kept = used = lo = 0
    for f in range(factors.size[0]):
        hi = ptr[f + 1]
        h = _center(o, pair, arcs, lo, hi)
        if h > 0 and weight[f] > -hard:
            if o.at[h] < 0 and not tried[h]:
                tried[h] = True
                _make_table(o, s, h, gscore, needed)
            if o.at[h] >= 0:
                ptr[f] = lo
                _add(o, h, pair, factors, f)
                s.stale[h] = True
                lo = hi
                continue
        for i in range(lo, hi):
            arcs[used], lam[used] = arcs[i], lam[i]
            used += 1
        weight[n_kept] = weight[f]
        n_kept += 1
        ptr[n_kept] = used
        lo = hi
    factors.size[0] = n_kept
