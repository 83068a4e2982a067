"""Heads of few candidates as tables: the score of each choice of head and modifiers.

A table can express what an automaton cannot: factors over any arcs of one head, adjacent or not.
Optional modifiers of the head are the bits of a set; required ones are in all sets. Row r of head h
belongs to its r-th candidate head that was left when the table was made, and set M is at ``at[h] +
r * sets[h] + M``. A table does not change when candidates are removed: sets with removed modifiers,
or without ones that are required by now, are skipped.
"""

from __future__ import annotations

import numpy as np

from bbparse.runtime.arrays import NEG
from bbparse.runtime.jit import kernel

#: Bit number of modifiers that are in all sets.
ALWAYS = 100
#: Maximum number of entries in a table, and in all tables of a node.
MAX_ENTRIES, CAPACITY = 128, 2048


@kernel
def _pay(o, s, h, sums):
    """Compute minus the multipliers of each set of modifiers; -inf if the set is impossible."""
    bit, u, gscore, needed = o.bit, o.u, s.gscore, s.needed
    lo, middle, hi = o.out_ptr[h], o.out_mid[h], o.out_ptr[h + 1]
    start = 0.0
    for c in range(lo, hi):
        if bit[c] == ALWAYS:
            start -= u[c] if gscore[c] > NEG else np.inf
    sums[0] = start
    size = 1
    for i in range(hi - lo):  # from near to far on either side, as bits rise
        c = middle + i if middle + i < hi else hi - 1 - i
        if not 0 <= bit[c] < ALWAYS:
            continue
        dead = gscore[c] == NEG
        for k in range(size):
            sums[size + k] = NEG if dead else sums[k] - u[c]
            if needed[c]:
                sums[k] = NEG
        size *= 2


@kernel
def table_best(o, s, h):
    """Mark the best choice of a head that has a table; return its value."""
    in_list, bit, row, v, table = o.in_list, o.bit, o.row, o.v, o.table
    gscore, taken, above, sums = s.gscore, s.taken, s.above, s.sums
    size = o.sets[h]
    _pay(o, s, h, sums)
    best, chosen, upper = NEG, 0, -1
    for i in range(o.in_ptr[h], o.in_ptr[h + 1]):
        p = in_list[i]
        above[p] = 0
        if gscore[p] == NEG:
            continue
        start = o.at[h] + row[p] * size
        for k in range(size):
            value = table[start + k] + sums[k] - v[p]
            if value > best:
                best, chosen, upper = value, k, p
    if upper >= 0:
        above[upper] = 1
    for c in range(o.out_ptr[h], o.out_ptr[h + 1]):
        always = bit[c] == ALWAYS
        taken[c] = always or (bit[c] >= 0 and chosen >> bit[c] & 1)
    return best


@kernel
def table_spread(o, s, h):
    """Compute the best values of a head with a table for each modifier, and for each head."""
    in_list, bit, row, v, table = o.in_list, o.bit, o.row, o.v, o.table
    gscore, with_mod, with_head, sums, most = s.gscore, s.with_mod, s.with_head, s.sums, s.most
    size = o.sets[h]
    _pay(o, s, h, sums)
    for k in range(size):
        most[k] = NEG
    for i in range(o.in_ptr[h], o.in_ptr[h + 1]):
        p = in_list[i]
        if gscore[p] == NEG:
            continue
        start = o.at[h] + row[p] * size
        best = NEG
        for k in range(size):
            value = table[start + k] + sums[k] - v[p]
            best = max(best, value)
            most[k] = max(most[k], value)
        with_head[p] = best
    for c in range(o.out_ptr[h], o.out_ptr[h + 1]):
        best = NEG
        if bit[c] >= 0:
            for k in range(size):
                if bit[c] == ALWAYS or k >> bit[c] & 1:
                    best = max(best, most[k])
        with_mod[c] = best


@kernel
def table_score(o, h, j, picked):
    """Return the score of a tree at a head with a table, under its j-th candidate head."""
    chosen = 0
    for c in range(o.out_ptr[h], o.out_ptr[h + 1]):
        if picked[c] == 1 and o.bit[c] < ALWAYS:
            chosen += 1 << o.bit[c]
    return o.table[o.at[h] + o.row[o.in_list[o.in_ptr[h] + j]] * o.sets[h] + chosen]
