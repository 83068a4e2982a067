"""Chart builder: from candidate arcs to the hyperedges of a projective dynamic program.

The chart of a sentence is stored as an explicit hypergraph: an *item* is a span with its state, a
*hyperedge* a way to make it from two smaller items. Every later pass (Viterbi, max-marginals, k
best, elimination) is one sweep over flat arrays, with the same code for all recurrences.
Derivations and projective trees correspond one to one, so the k best derivations are the k best
trees.

Items (h head, m modifier, b = arc h→m, p = arc into h, s = arc h→s with s between h and m):

* half span  ``H[m, e]`` (or ``H[b, e]``): m with all its modifiers on one side, up to word e
* incomplete ``I[b]``    (or ``I[p, b]``): arc b with everything between h and m
* split      ``S[s, b]``: between adjacent siblings s and m, a half span of each

Recurrences (right side; the left side mirrors it):

* ``H[b, e] = max_c  I[b, c] + H[c, e] + outermost(b, c)``      c the outermost modifier
* ``I[p, b] = max(H[b, h+1] + first(p, b),  max_s I[p, s] + S[s, b] + sibling(p, s, b))``
* ``S[s, b] = max_r  H[s, r] + H[b, r+1]``
* first order: ``I[b] = max_r H[h, r] + H[m, r+1]``

The score of an arc is added at its incomplete items, through ``item_group``, because it changes
with the multipliers while the hyperedges do not. Item 0 is the empty half span.

Sources: Eisner 1996; McDonald & Pereira 2006; Carreras 2007; Koo & Collins 2010 §4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bbparse.runtime.arrays import Float64s, Ints, Longs
from bbparse.runtime.jit import kernel


class Chart(NamedTuple):
    """All items and hyperedges of a projective dynamic program; elimination shrinks it in place.

    Item 0 is empty; the goal is the last item (missing if there is no tree).
    """

    item_ptr: Ints  # [K + 1], hyperedges of item i: item_ptr[i] : item_ptr[i + 1]
    item_group: Ints  # [K], head-modifier pair whose score the item adds, or -1
    left: Ints  # [E], the two smaller items of a hyperedge
    right: Ints
    weight: Float64s  # [E], score of the parts that the hyperedge completes
    size: Longs  # [1], number of items; the arrays may be longer
    group_ptr: Ints  # [B + 1], arcs of each pair, by (head, modifier)
    group_mod: Ints  # [B], modifier of each pair

    def trimmed(self) -> Chart:
        """Return an independent copy of what is left."""
        items = int(self.size[0])
        edges = int(self.item_ptr[items])
        return Chart(
            self.item_ptr[: items + 1].copy(), self.item_group[:items].copy(),
            self.left[:edges].copy(), self.right[:edges].copy(), self.weight[:edges].copy(),
            self.size.copy(), self.group_ptr, self.group_mod,
        )  # fmt: skip

    def positions(self) -> int:
        """Return the number of hyperedges that are left."""
        return int(self.item_ptr[self.size[0]])

    def part_scores(self) -> Float64s:
        """Return the scores of parts, for their magnitudes."""
        return self.weight


@kernel
def _with_room(array, used, wanted):
    """Return the array, or a larger copy of its ``used`` values if it has not the wanted length."""
    if wanted <= array.shape[0]:
        return array
    bigger = np.empty(max(2 * array.shape[0], wanted), array.dtype)
    for i in range(used):
        bigger[i] = array[i]
    return bigger


@kernel
def _link(h, m, c, e, first, last, next_arc):
    """List arc c from h to m under (h, e); the nearest m comes last for right arcs."""
    before, end = first[h, e], last[h, e]
    behind = before >= 0 and m < h
    row = end if behind else c
    next_arc[c, e] = -1 if behind else before
    next_arc[row, e] = c if behind else before
    first[h, e] = before if behind else c
    last[h, e] = c if behind or before < 0 else end


@kernel
def build_chart(n, head, mod, mode, single_root, index, weights, group_ptr):  # noqa: C901, PLR0915 – one recurrence
    """Build a :class:`Chart` with all items and hyperedges, smaller spans first.

    Candidate pairs ``head`` and ``mod`` int32[B] are sorted; ``group_ptr`` int32[B + 1] has the
    arcs of each. ``mode`` is that of the recurrence (`inference.oracles.projective.recurrences`);
    ``index`` and ``weights`` are from :mod:`bbparse.inference.oracles.projective.weights`.
    """
    out_mid, in_ptr, in_list = index.out_mid, index.in_ptr, index.in_list
    ranks, ctx_ptr, inc_ptr, inc_w = weights.ranks, weights.ctx_ptr, weights.inc_ptr, weights.inc_w
    out_ctx_ptr, out_w = weights.out_ctx_ptr, weights.out_w
    n_groups = head.shape[0]
    by_arc = mode >= 2
    n_half = n_groups + 1 if by_arc else n + 1
    root_key = n_groups if by_arc else 0

    half = np.full((n_half, n + 2), np.int32(-1), np.int32)
    # ends of the right half spans of a key, ascending
    ends = np.empty((n_half, n + 2), np.int32)
    n_ends = np.ones(n_half, np.int32)
    # arcs c from word m whose half span away from m reaches e, ascending:
    # first[m, e], then next_arc[c, e]
    first = np.full((n + 1, n + 2), np.int32(-1), np.int32)
    last = np.empty((n + 1, n + 2), np.int32)
    next_arc = np.empty((n_groups, n + 2), np.int32)
    for k in range(n_half):
        m = k if not by_arc else (mod[k] if k < n_groups else 0)
        half[k, m] = 0
        ends[k, 0] = m
    for c in range(n_groups):
        m = np.int64(mod[c])
        _link(head[c], m, np.int64(c), m, first, last, next_arc)
    inc = np.full(ctx_ptr[n_groups], -1, np.int32)
    split_table = np.full((n + 1, n + 1) if mode == 1 else (1, 1), -1, np.int32)
    split = np.empty(n + 2, np.int32)  # split item of each rank of the current arc
    inner_ctx = np.empty(n + 2, np.int64)
    inner_split = np.empty(n + 2, np.int32)
    inner_rank = np.empty(n + 2, np.int64)
    outer_ctx = np.empty(n + 2, np.int64)
    outer_half = np.empty(n + 2, np.int32)
    outer_at = np.empty(n + 2, np.int64)

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
    n_items = np.int64(1)
    n_edges = np.int64(0)

    for w in range(1, n + 1):
        # Arrays grow outside of the inner loops, which would count references to them at each step.
        more_items, more_edges = n_items + 1, n_edges
        for wi in range(width_ptr[w], width_ptr[w + 1]):
            b = by_width[wi]
            contexts = ctx_ptr[b + 1] - ctx_ptr[b]
            more_items += ranks[b] + contexts
            more_edges += (ranks[b] + 1) * (w + 1 + contexts)
        item_ptr = _with_room(item_ptr, n_items + 1, more_items + 1)
        item_group = _with_room(item_group, n_items, more_items)
        edge_left = _with_room(edge_left, n_edges, more_edges)
        edge_right = _with_room(edge_right, n_edges, more_edges)
        edge_weight = _with_room(edge_weight, n_edges, more_edges)
        for wi in range(width_ptr[w], width_ptr[w + 1]):
            b = by_width[wi]
            h = head[b]
            m = mod[b]
            right = m > h
            lone = h == 0 and single_root
            contexts = ctx_ptr[b + 1] - ctx_ptr[b]
            lo = h if right else m
            hi = m if right else h
            if mode == 0:
                for i in range(1 if lone else n_ends[lo]):
                    r = ends[lo, i]
                    if r >= hi:
                        break
                    rite = half[hi, r + 1]
                    if rite >= 0:
                        edge_left[n_edges] = half[lo, r]
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
                until = max(ms, m)
                first_side = np.uintp(lkey)
                second_side = np.uintp(rkey)
                at = np.uintp(n_edges)
                for i in range(np.uintp(n_ends[lkey])):
                    r = ends[first_side, i]
                    if r >= until:
                        break
                    # always written, but counted only if it exists: no branch to predict
                    rite = half[second_side, np.uintp(r + 1)]
                    edge_left[at] = half[first_side, np.uintp(r)]
                    edge_right[at] = rite
                    edge_weight[at] = 0.0
                    at += np.uintp(rite >= 0)
                n_edges = np.int64(at)
                split[rank] = -2
                if n_edges > item_ptr[n_items]:
                    split[rank] = n_items
                    item_group[n_items] = -1
                    n_items += 1
                    item_ptr[n_items] = n_edges
                if mode == 1:
                    split_table[ms, m] = split[rank]
            inner = half[key, h + 1] if right else half[key, h - 1]
            # ranks with a split: context of the inner arc, split item, rank
            n_inner = np.uintp(0)
            for rank in range(1, n_ranks):
                if split[rank] >= 0:
                    s = out_mid[h] + rank - 1 if right else out_mid[h] - rank
                    inner_ctx[n_inner] = ctx_ptr[s]
                    inner_split[n_inner] = split[rank]
                    inner_rank[n_inner] = rank
                    n_inner += np.uintp(1)
            for j in range(contexts):
                if mode == 3 and h > 0:
                    if in_ptr[h + 1] == in_ptr[h]:
                        continue
                    g = head[in_list[in_ptr[h] + j]]
                    if lo <= g <= hi:  # the grandparent would be inside the span of its own arc
                        continue
                start = inc_ptr[b] + j * ranks[b]
                if inner >= 0:
                    edge_left[n_edges] = inner
                    edge_right[n_edges] = 0
                    edge_weight[n_edges] = inc_w[start]
                    n_edges += 1
                at = np.uintp(n_edges)
                for i in range(n_inner):
                    before = inc[np.uintp(inner_ctx[i] + j)]
                    edge_left[at] = before
                    edge_right[at] = inner_split[i]
                    edge_weight[at] = inc_w[np.uintp(start + inner_rank[i])]
                    at += np.uintp(before >= 0)
                n_edges = np.int64(at)
                if n_edges > item_ptr[n_items]:
                    inc[ctx_ptr[b] + j] = n_items
                    item_group[n_items] = b
                    n_items += 1
                    item_ptr[n_items] = n_edges
        more = 1
        for m in range(n + 1):
            n_keys = in_ptr[m + 1] - in_ptr[m] if by_arc and m > 0 else 1
            for e in (m - w, m + w):
                if 1 <= e <= n and first[m, e] >= 0:
                    more += n_keys
        item_ptr = _with_room(item_ptr, n_items + 1, n_items + more + 1)
        item_group = _with_room(item_group, n_items, n_items + more)
        edge_left = _with_room(edge_left, n_edges, n_edges + more * (w + 1))
        edge_right = _with_room(edge_right, n_edges, n_edges + more * (w + 1))
        edge_weight = _with_room(edge_weight, n_edges, n_edges + more * (w + 1))
        for m in range(n + 1):
            is_root = m == 0
            for side in range(2):
                e = m + w if side == 1 else m - w
                if e < 1 or e > n or first[m, e] < 0:
                    continue
                if is_root and e < n and (single_root or mode > 0):
                    continue  # the root only needs the whole sentence
                n_keys = in_ptr[m + 1] - in_ptr[m] if by_arc and not is_root else 1
                # candidate arcs c: their contexts, half spans and outermost weights
                n_outer = np.uintp(0)
                c = first[m, e]
                while c >= 0:
                    outer_ctx[n_outer] = ctx_ptr[c]
                    outer_half[n_outer] = half[c if by_arc else mod[c], e]
                    outer_at[n_outer] = out_ctx_ptr[c]
                    n_outer += np.uintp(1)
                    c = next_arc[c, e]
                for i in range(n_keys):
                    k = m
                    j_inc = 0
                    if by_arc:
                        k = root_key if is_root else in_list[in_ptr[m] + i]
                    if by_arc and not is_root:
                        g = head[k]
                        if (g < m and e <= g) or (g > m and e >= g):
                            continue
                        j_inc = i if mode == 3 else 0
                    weighed = by_arc and not is_root
                    at = np.uintp(n_edges)
                    for x in range(n_outer):
                        before = inc[np.uintp(outer_ctx[x] + j_inc)]
                        edge_left[at] = before
                        edge_right[at] = outer_half[x]
                        edge_weight[at] = out_w[np.uintp(outer_at[x] + i)] if weighed else 0.0
                        at += np.uintp(before >= 0)
                    n_edges = np.int64(at)
                    if n_edges == item_ptr[n_items]:
                        continue
                    half[k, e] = n_items
                    item_group[n_items] = -1
                    n_items += 1
                    item_ptr[n_items] = n_edges
                    if side == 1:
                        ends[k, n_ends[k]] = e
                        n_ends[k] += 1
                    if by_arc and not is_root and (head[k] < m) == (side == 1):
                        _link(head[k], np.int64(m), np.int64(k), np.int64(e), first, last, next_arc)
                if not by_arc and half[m, e] >= 0:
                    for i in range(in_ptr[m], in_ptr[m + 1]):
                        c = in_list[i]
                        if (head[c] < m) == (side == 1):
                            _link(
                                head[c], np.int64(m), np.int64(c), np.int64(e), first, last,
                                next_arc,
                            )  # fmt: skip
    if half[root_key, n] < 0:
        n_items = np.int64(1)
        n_edges = np.int64(0)
    size = np.empty(1, np.int64)
    size[0] = n_items
    return Chart(
        item_ptr[: n_items + 1].copy(), item_group[:n_items].copy(), edge_left[:n_edges].copy(),
        edge_right[:n_edges].copy(), edge_weight[:n_edges].copy(), size, group_ptr, mod,
    )  # fmt: skip
