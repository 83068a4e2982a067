"""Candidate arcs and part scores of a problem, in the order in which the chart builder reads them.

Candidate head-modifier pairs are called groups, because with labels each stands for several arcs.
For group b with ``c`` contexts (arcs into its head; one if the recurrence has none) and ``r`` ranks
(0 = first modifier, then inner siblings from near to far), the weight of context j and rank i is
``inc_w[inc_ptr[b] + j * r + i]``; the outermost-grandchild weight of context j is
``out_w[out_ctx_ptr[b] + j]``. Cost: O(n² + groups + weights + parts).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bbparse.core.parts import ANY, OUTERMOST
from bbparse.runtime.arrays import Float64s, Ints, Longs
from bbparse.runtime.jit import kernel

#: The first recurrence, by mode, that scores the parts of a kind, in the order of `Parts`.
_LEAST_MODE = (1, 3, 2, 3)


class Index(NamedTuple):
    """Groups of each pair of words, of each head and of each modifier."""

    table: Ints  # [n + 1, n + 1], group of each pair (head, modifier) or -1
    out_ptr: Ints  # [n + 2], first group of each head
    out_mid: Ints  # [n + 1], its first group to the right
    in_ptr: Ints  # [n + 2], groups by modifier
    in_list: Ints  # [B]
    in_rank: Ints  # [B], rank of a group among those with its modifier


class PartWeights(NamedTuple):
    """Part scores in the layout above."""

    ranks: Ints
    ctx_ptr: Longs
    inc_ptr: Longs
    inc_w: Float64s
    out_ctx_ptr: Longs
    out_w: Float64s


@kernel
def index_groups(n, head, mod):
    """Make an :class:`Index` of candidate head-modifier pairs sorted by (head, mod)."""
    n_groups = head.shape[0]
    table = np.full((n + 1, n + 1), np.int32(-1), np.int32)
    out_ptr = np.zeros(n + 2, np.int32)
    out_mid = np.zeros(n + 1, np.int32)
    in_ptr = np.zeros(n + 2, np.int32)
    for b in range(n_groups):
        table[head[b], mod[b]] = b
        out_ptr[head[b] + 1] += 1
        in_ptr[mod[b] + 1] += 1
        if mod[b] < head[b]:
            out_mid[head[b]] += 1
    for i in range(n + 1):
        out_ptr[i + 1] += out_ptr[i]
        in_ptr[i + 1] += in_ptr[i]
        out_mid[i] += out_ptr[i]
    in_list = np.empty(n_groups, np.int32)
    in_rank = np.empty(n_groups, np.int32)
    fill = np.zeros(n + 1, np.int32)
    for b in range(n_groups):
        m = mod[b]
        in_rank[b] = fill[m]
        in_list[in_ptr[m] + fill[m]] = b
        fill[m] += 1
    return Index(table, out_ptr, out_mid, in_ptr, in_list, in_rank)


@kernel
def _rank(index, h, inner, outer):
    """Return the rank of an inner sibling (-1: none, rank 0) for an arc; -1 if no candidate."""
    if inner < 0:
        return 0
    s = index.table[h, inner]
    if s < 0:
        return -1
    return s - index.out_mid[h] + 1 if outer > h else index.out_mid[h] - s


@kernel
def empty_weights(head, mod, mode, index):
    """Make the :class:`PartWeights` of candidate pairs for a recurrence ``mode``, all of them 0."""
    in_ptr = index.in_ptr
    n_groups = head.shape[0]
    ranks = np.empty(n_groups, np.int32)
    ctx_ptr = np.zeros(n_groups + 1, np.int64)
    inc_ptr = np.zeros(n_groups + 1, np.int64)
    out_ctx_ptr = np.zeros(n_groups + 1, np.int64)
    for b in range(n_groups):
        h = head[b]
        if mode == 0:
            ranks[b] = 1
        elif mod[b] > h:
            ranks[b] = b - index.out_mid[h] + 1
        else:
            ranks[b] = index.out_mid[h] - b
        above = max(1, in_ptr[h + 1] - in_ptr[h])
        contexts = above if mode == 3 else 1
        ctx_ptr[b + 1] = ctx_ptr[b] + contexts
        inc_ptr[b + 1] = inc_ptr[b] + contexts * ranks[b]
        out_ctx_ptr[b + 1] = out_ctx_ptr[b] + (above if mode >= 2 else 1)
    inc_w = np.zeros(inc_ptr[n_groups], np.float64)
    out_w = np.zeros(out_ctx_ptr[n_groups], np.float64)
    return PartWeights(ranks, ctx_ptr, inc_ptr, inc_w, out_ctx_ptr, out_w)


@kernel
def weight_tables(head, mod, mode, index, parts):
    """Make the :class:`PartWeights` of the parts of a problem, its ``part_table``.

    Parts over words that no candidate joins are left out, and so are kinds of part that the
    recurrence ``mode`` does not score.
    """
    part_words, part_score, kind_ptr = parts
    weights = empty_weights(head, mod, mode, index)
    for kind in range(4):
        if mode < _LEAST_MODE[kind]:
            continue
        for i in range(kind_ptr[kind], kind_ptr[kind + 1]):
            g, h = part_words[0, i], part_words[1, i]
            inner, m = part_words[2, i], part_words[3, i]
            b = index.table[h, m]
            if b < 0:
                continue
            first, end = 0, weights.ctx_ptr[b + 1] - weights.ctx_ptr[b]
            if g >= 0:
                p = index.table[g, h]
                if p < 0:
                    continue
                first, end = index.in_rank[p], index.in_rank[p] + 1
            if kind == OUTERMOST:
                weights.out_w[weights.out_ctx_ptr[b] + first] += part_score[i]
                continue
            ranks = weights.ranks[b]
            low, high = 0, ranks
            if inner != ANY:
                low = _rank(index, h, inner, m)
                high = low + 1
            if low < 0:
                continue
            for j in range(first, end):
                for rank in range(low, high):
                    weights.inc_w[weights.inc_ptr[b] + j * ranks + rank] += part_score[i]
    return weights
