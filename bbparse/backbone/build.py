"""Chart builder: from candidate arcs to the hyperedges of a projective dynamic program.

The chart of a sentence is written down once as an explicit hypergraph: an *item* is a span with
its state, a *hyperedge* a way of making it from two smaller items. Every pass afterwards
(Viterbi, max-marginals, k best, elimination) is one sweep over flat arrays and is the same code
for all recurrences. Derivations and projective trees correspond one to one, so the k best
derivations are the k best trees.

Items (h head, m modifier, b = arc h→m, p = arc into h, s = arc h→s with s between h and m):

* half span  ``H[m, e]`` (or ``H[b, e]``): m with all its modifiers on one side, reaching word e
* incomplete ``I[b]``    (or ``I[p, b]``): arc b with everything between h and m
* split      ``S[s, b]``: between adjacent siblings s and m, a half span of each

Recurrences (right side; the left side mirrors it):

* ``H[b, e] = max_c  I[b, c] + H[c, e] + outermost(b, c)``      c the outermost modifier
* ``I[p, b] = max(H[b, h+1] + first(p, b),  max_s I[p, s] + S[s, b] + sibling(p, s, b))``
* ``S[s, b] = max_r  H[s, r] + H[b, r+1]``
* first order: ``I[b] = max_r H[h, r] + H[m, r+1]``

The score of an arc is added at its incomplete items, through ``item_group``: it changes with the
multipliers and the hyperedges do not. Item 0 is the empty half span.
Sources: Eisner 1996; McDonald & Pereira 2006; Carreras 2007; Koo & Collins 2010 §4.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def index_groups(n, head, mod):
    """Index candidate head-modifier pairs ("groups") sorted by (head, mod).

    Returns ``table`` (n+1, n+1) group of each pair or -1; ``out_ptr`` first group of each head;
    ``out_mid`` first group right of each head; ``in_ptr``/``in_list`` groups by modifier;
    ``in_rank`` position of a group among those with its modifier.
    """
    n_groups = head.shape[0]
    table = np.full((n + 1, n + 1), -1, np.int32)
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
    return table, out_ptr, out_mid, in_ptr, in_list, in_rank


@njit(cache=True, nogil=True)
def weight_tables(
    n, head, mod, mode, index,
    sib_head, sib_inner, sib_outer, sib_score,
    gc_grand, gc_head, gc_mod, gc_score,
    ogc_grand, ogc_head, ogc_mod, ogc_score,
    gsib_grand, gsib_head, gsib_inner, gsib_outer, gsib_score,
):  # fmt: skip
    """Lay the part scores out as the builder walks them.

    For group b with ``c`` contexts (arcs into its head; one where the recurrence keeps none) and
    ``r`` ranks (0 = first modifier, then inner siblings from near to far), the weight of context
    j and rank i is ``inc_w[inc_ptr[b] + j * r + i]``; the outermost-grandchild weight of context
    j is ``out_w[ctx_ptr[b] + j]``.
    """
    table, _, out_mid, in_ptr, _in_list, in_rank = index
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
            ranks[b] = b - out_mid[h] + 1
        else:
            ranks[b] = out_mid[h] - b
        above = max(1, in_ptr[h + 1] - in_ptr[h])
        contexts = above if mode == 3 else 1
        ctx_ptr[b + 1] = ctx_ptr[b] + contexts
        inc_ptr[b + 1] = inc_ptr[b] + contexts * ranks[b]
        out_ctx_ptr[b + 1] = out_ctx_ptr[b] + (above if mode >= 2 else 1)
    inc_w = np.zeros(inc_ptr[n_groups], np.float64)
    out_w = np.zeros(out_ctx_ptr[n_groups], np.float64)
    if mode >= 1:
        for i in range(sib_head.shape[0]):
            h = sib_head[i]
            b = table[h, sib_outer[i]]
            if b < 0:
                continue
            rank = 0
            if sib_inner[i] >= 0:
                s = table[h, sib_inner[i]]
                if s < 0:
                    continue
                rank = s - out_mid[h] + 1 if mod[b] > h else out_mid[h] - s
            r = ranks[b]
            for j in range(ctx_ptr[b + 1] - ctx_ptr[b]):
                inc_w[inc_ptr[b] + j * r + rank] += sib_score[i]
    if mode == 3:
        for i in range(gc_head.shape[0]):
            p = table[gc_grand[i], gc_head[i]]
            b = table[gc_head[i], gc_mod[i]]
            if p < 0 or b < 0:
                continue
            r = ranks[b]
            start = inc_ptr[b] + in_rank[p] * r
            for j in range(r):
                inc_w[start + j] += gc_score[i]
        for i in range(gsib_head.shape[0]):
            h = gsib_head[i]
            b = table[h, gsib_outer[i]]
            if b < 0:
                continue
            j = 0
            if h > 0:
                p = table[gsib_grand[i], h]
                if p < 0:
                    continue
                j = in_rank[p]
            rank = 0
            if gsib_inner[i] >= 0:
                s = table[h, gsib_inner[i]]
                if s < 0:
                    continue
                rank = s - out_mid[h] + 1 if mod[b] > h else out_mid[h] - s
            inc_w[inc_ptr[b] + j * ranks[b] + rank] += gsib_score[i]
    if mode >= 2:
        for i in range(ogc_head.shape[0]):
            p = table[ogc_grand[i], ogc_head[i]]
            b = table[ogc_head[i], ogc_mod[i]]
            if p >= 0 and b >= 0:
                out_w[out_ctx_ptr[b] + in_rank[p]] += ogc_score[i]
    return ranks, ctx_ptr, inc_ptr, inc_w, out_ctx_ptr, out_w


@njit(cache=True, nogil=True)
def _grown(array, used):
    bigger = np.empty(2 * array.shape[0], array.dtype)
    bigger[:used] = array[:used]
    return bigger


@njit(cache=True, nogil=True)
def build_chart(n, head, mod, mode, single_root, index, weights):
    """Write down all items and hyperedges, smaller spans first.

    Parameters
    ----------
    n : int
        Number of words.
    head, mod : int32[B]
        Candidate pairs sorted by (head, mod).
    mode : int
        :attr:`Recurrence.mode`.
    single_root : bool
        Whether word 0 takes exactly one modifier.
    index, weights : tuples
        From :func:`index_groups` and :func:`weight_tables`.

    Returns
    -------
    item_ptr : int32[K+1]
        Hyperedges of item i are ``item_ptr[i] : item_ptr[i+1]``. Item 0 is empty; the goal is
        item K-1 (K is 1 where no tree exists).
    item_group : int32[K]
        Group whose score the item adds, or -1.
    edge_left, edge_right : int32[E]
        The two smaller items.
    edge_weight : float64[E]
        Score of the parts the hyperedge completes.
    """
    _table, out_ptr, out_mid, in_ptr, in_list, in_rank = index
    ranks, ctx_ptr, inc_ptr, inc_w, out_ctx_ptr, out_w = weights
    n_groups = head.shape[0]
    by_arc = mode >= 2
    n_half = n_groups + 1 if by_arc else n + 1
    root_key = n_groups if by_arc else 0

    half = np.full((n_half, n + 2), np.int32(-1), np.int32)
    for k in range(n_half):
        half[k, mod[k] if by_arc and k < n_groups else (0 if by_arc else k)] = 0
    inc = np.full(ctx_ptr[n_groups], -1, np.int32)
    split_table = np.full((n + 1, n + 1) if mode == 1 else (1, 1), -1, np.int32)
    split = np.empty(n + 2, np.int32)  # split item of each rank of the arc at hand

    # arcs and half-span keys by width
    width_ptr = np.zeros(n + 2, np.int64)
    for b in range(n_groups):
        width_ptr[abs(head[b] - mod[b]) + 1] += 1
    for w in range(n + 1):
        width_ptr[w + 1] += width_ptr[w]
    by_width = np.empty(n_groups, np.int32)
    fill = width_ptr.copy()
    for b in range(n_groups):
        w = abs(head[b] - mod[b])
        by_width[fill[w]] = b
        fill[w] += 1

    item_ptr = np.empty(64 + 4 * n_groups, np.int32)
    item_group = np.empty(64 + 4 * n_groups, np.int32)
    edge_left = np.empty(256 + 16 * n_groups, np.int32)
    edge_right = np.empty(256 + 16 * n_groups, np.int32)
    edge_weight = np.empty(256 + 16 * n_groups, np.float64)
    item_ptr[0] = 0
    item_ptr[1] = 0
    item_group[0] = -1
    n_items = 1
    n_edges = 0

    for w in range(1, n + 1):
        for wi in range(width_ptr[w], width_ptr[w + 1]):
            b = by_width[wi]
            h = head[b]
            m = mod[b]
            right = m > h
            lone = h == 0 and single_root
            # one item and its hyperedges at most: n splits each for all ranks, then all contexts
            contexts = ctx_ptr[b + 1] - ctx_ptr[b]
            room = n_edges + (n + 1) * (ranks[b] + 1) + contexts * (ranks[b] + 1)
            while room > edge_left.shape[0]:
                edge_left = _grown(edge_left, n_edges)
                edge_right = _grown(edge_right, n_edges)
                edge_weight = _grown(edge_weight, n_edges)
            while n_items + ranks[b] + contexts + 2 > item_group.shape[0]:
                item_ptr = _grown(item_ptr, n_items + 1)
                item_group = _grown(item_group, n_items)
            lo = h if right else m
            hi = m if right else h
            if mode == 0:
                last = lo + 1 if lone else hi
                for r in range(lo, last):
                    left = half[lo, r]
                    rite = half[hi, r + 1]
                    if left >= 0 and rite >= 0:
                        edge_left[n_edges] = left
                        edge_right[n_edges] = rite
                        edge_weight[n_edges] = 0.0
                        n_edges += 1
                if n_edges > item_ptr[n_items]:
                    inc[ctx_ptr[b]] = n_items
                    item_group[n_items] = b
                    n_items += 1
                    item_ptr[n_items] = n_edges
                continue
            n_ranks = 1 if lone else ranks[b]
            key = b if by_arc else m
            for rank in range(1, n_ranks):
                s = out_mid[h] + rank - 1 if right else out_mid[h] - rank
                ms = mod[s]
                if mode == 1 and split_table[ms, m] != -1:
                    split[rank] = split_table[ms, m]
                    continue
                skey = s if by_arc else ms
                lkey = skey if right else key
                rkey = key if right else skey
                for r in range(min(ms, m), max(ms, m)):
                    left = half[lkey, r]
                    rite = half[rkey, r + 1]
                    if left >= 0 and rite >= 0:
                        edge_left[n_edges] = left
                        edge_right[n_edges] = rite
                        edge_weight[n_edges] = 0.0
                        n_edges += 1
                split[rank] = -2
                if n_edges > item_ptr[n_items]:
                    split[rank] = n_items
                    item_group[n_items] = -1
                    n_items += 1
                    item_ptr[n_items] = n_edges
                if mode == 1:
                    split_table[ms, m] = split[rank]
            inner = half[key, h + 1] if right else half[key, h - 1]
            for j in range(contexts):
                if mode == 3 and h > 0:
                    if in_ptr[h + 1] == in_ptr[h]:
                        continue
                    g = head[in_list[in_ptr[h] + j]]
                    if lo <= g <= hi:  # the grandparent would stand inside the span of its own arc
                        continue
                start = inc_ptr[b] + j * ranks[b]
                if inner >= 0:
                    edge_left[n_edges] = inner
                    edge_right[n_edges] = 0
                    edge_weight[n_edges] = inc_w[start]
                    n_edges += 1
                for rank in range(1, n_ranks):
                    s = out_mid[h] + rank - 1 if right else out_mid[h] - rank
                    before = inc[ctx_ptr[s] + j]
                    if split[rank] >= 0 and before >= 0:
                        edge_left[n_edges] = before
                        edge_right[n_edges] = split[rank]
                        edge_weight[n_edges] = inc_w[start + rank]
                        n_edges += 1
                if n_edges > item_ptr[n_items]:
                    inc[ctx_ptr[b] + j] = n_items
                    item_group[n_items] = b
                    n_items += 1
                    item_ptr[n_items] = n_edges
        for k in range(n_half):
            is_root = k == root_key
            m = 0 if is_root else (mod[k] if by_arc else k)
            j_inc = in_rank[k] if mode == 3 and not is_root else 0
            for side in range(2):
                e = m + w if side == 1 else m - w
                if e < 1 or e > n:
                    continue
                if is_root and e < n and (single_root or mode > 0):
                    continue  # only the whole sentence is needed of the root
                if by_arc and not is_root:
                    g = head[k]
                    if (g < m and e <= g) or (g > m and e >= g):
                        continue
                room = n_edges + n + 1
                while room > edge_left.shape[0]:
                    edge_left = _grown(edge_left, n_edges)
                    edge_right = _grown(edge_right, n_edges)
                    edge_weight = _grown(edge_weight, n_edges)
                if n_items + 2 > item_group.shape[0]:
                    item_ptr = _grown(item_ptr, n_items + 1)
                    item_group = _grown(item_group, n_items)
                first = out_mid[m] if side == 1 else out_ptr[m]
                end = out_ptr[m + 1] if side == 1 else out_mid[m]
                for c in range(first, end):
                    mc = mod[c]
                    if (side == 1 and mc > e) or (side == 0 and mc < e):
                        continue
                    before = inc[ctx_ptr[c] + j_inc]
                    after = half[c if by_arc else mc, e]
                    if before >= 0 and after >= 0:
                        edge_left[n_edges] = before
                        edge_right[n_edges] = after
                        weight = 0.0
                        if by_arc and not is_root:
                            weight = out_w[out_ctx_ptr[c] + in_rank[k]]
                        edge_weight[n_edges] = weight
                        n_edges += 1
                if n_edges > item_ptr[n_items]:
                    half[k, e] = n_items
                    item_group[n_items] = -1
                    n_items += 1
                    item_ptr[n_items] = n_edges
    if half[root_key, n] < 0:
        n_items = 1
        n_edges = 0
    return (
        item_ptr[: n_items + 1].copy(),
        item_group[:n_items].copy(),
        edge_left[:n_edges].copy(),
        edge_right[:n_edges].copy(),
        edge_weight[:n_edges].copy(),
    )
