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

from bbparse.inference.oracles.arcs import MOST_POSITIONS
from bbparse.inference.oracles.projective.weights import Index, PartWeights
from bbparse.runtime.arrays import Float64s, Ints, Longs
from bbparse.runtime.clock import is_over
from bbparse.runtime.jit import kernel

#: So many take a tenth of a second: smaller charts are built at any time.
_MANY_EDGES = 2**22
#: What stands in the place of the number of items of a chart that is not built.
TOO_LARGE, TOO_LATE = -1, -2


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
        """Return an independent copy of the remaining items and hyperedges."""
        items = int(self.size[0])
        edges = int(self.item_ptr[items])
        return Chart(
            self.item_ptr[: items + 1].copy(),
            self.item_group[:items].copy(),
            self.left[:edges].copy(),
            self.right[:edges].copy(),
            self.weight[:edges].copy(),
            self.size.copy(),
            self.group_ptr,
            self.group_mod,
        )

    def positions(self) -> int:
        """Return the number of hyperedges that are left."""
        return int(self.item_ptr[self.size[0]])

    def part_scores(self) -> Float64s:
        """Return the scores of parts, for their magnitudes."""
        return self.weight


class Edges(NamedTuple):
    """Items and hyperedges made so far, in the layout of a chart; the arrays have room for more."""

    item_ptr: Ints
    item_group: Ints
    left: Ints
    right: Ints
    weight: Float64s
    used: Longs  # [2], numbers of items and of hyperedges


class SpanItems(NamedTuple):
    """Items by what they span, -1 if there is none; keys are words, or arcs (the last: no arc)."""

    half: Ints  # [keys, n + 2], half span of a key up to each word
    ends: Ints  # [keys, n + 2], ends of the right half spans of a key, ascending
    n_ends: Ints  # [keys]
    incomplete: Ints  # [contexts], by arc and arc above
    split: Ints  # [weights], between two siblings, by a weight of the outer one's arc
    between: Ints  # [n + 1, n + 1], the same by words, if these are the keys; -2: not tried
    # arcs c from word h whose half span away from h reaches e, those of near modifiers first on the
    # left, last on the right: first[h, e], then next_arc[c, e]
    first: Ints  # [n + 1, n + 2]
    last: Ints
    next_arc: Ints  # [B, n + 2]
    listed: Longs  # [3, n + 2], scratch


class ChartInput(NamedTuple):
    """Input of the builder: a recurrence, candidate pairs of words, and weights of parts."""

    mode: int  # of the recurrence (`inference.oracles.projective.recurrences`)
    single_root: bool
    head: Ints
    mod: Ints
    pairs: Index
    weights: PartWeights


@kernel
def _longer(array, used, wanted):
    """Return the array, or a larger copy of its ``used`` values if it has not the wanted length."""
    if wanted <= array.shape[0]:
        return array
    bigger = np.empty(max(2 * array.shape[0], wanted), array.dtype)
    for i in range(used):
        bigger[i] = array[i]
    return bigger


@kernel(inline=True)
def _with_room(edges, more_items, more_edges):
    """Return lists with room for more items and hyperedges."""
    items, used = edges.used[0], edges.used[1]
    return Edges(
        _longer(edges.item_ptr, items + 1, items + more_items + 1),
        _longer(edges.item_group, items, items + more_items),
        _longer(edges.left, used, used + more_edges),
        _longer(edges.right, used, used + more_edges),
        _longer(edges.weight, used, used + more_edges),
        edges.used,
    )


@kernel(inline=True)
def _link(first, last, next_arc, h, m, c, e):
    """List arc c from h to m under (h, e); the nearest m comes last for right arcs."""
    before, end = first[h, e], last[h, e]
    behind = before >= 0 and m < h
    row = end if behind else c
    next_arc[c, e] = -1 if behind else before
    next_arc[row, e] = c if behind else before
    first[h, e] = before if behind else c
    last[h, e] = c if behind or before < 0 else end


@kernel
def _start(n, layout):
    """Make the tables of spans of one word, and of none else."""
    mod, by_arc, n_groups = layout.mod, layout.mode >= 2, layout.mod.shape[0]
    n_keys = n_groups + 1 if by_arc else n + 1
    by_words = n + 1 if layout.mode == 1 else 1
    spans = SpanItems(
        np.full((n_keys, n + 2), np.int32(-1), np.int32),
        np.empty((n_keys, n + 2), np.int32),
        np.empty(n_keys, np.int32),
        np.empty(layout.weights.ctx_ptr[n_groups], np.int32),
        np.empty(layout.weights.inc_w.shape[0], np.int32),
        np.full((by_words, by_words), np.int32(-2), np.int32),
        np.full((n + 1, n + 2), np.int32(-1), np.int32),
        np.empty((n + 1, n + 2), np.int32),
        np.empty((n_groups, n + 2), np.int32),
        np.empty((3, n + 2), np.int64),
    )
    spans.incomplete[:] = -1
    spans.n_ends[:] = 1
    for key in range(n_keys):
        m = np.int64(key)
        if by_arc:
            m = np.int64(mod[key]) if key < n_groups else 0
        spans.half[key, m] = 0
        spans.ends[key, 0] = m
    for b in range(n_groups):
        m = np.int64(mod[b])
        _link(spans.first, spans.last, spans.next_arc, layout.head[b], m, np.int32(b), m)
    return spans


@kernel
def _by_width(n, head, mod):
    """Sort pairs of words by their distance w: those of w are ``order[ptr[w] : ptr[w + 1]]``."""
    ptr, order = np.zeros(n + 2, np.int64), np.empty(head.shape[0], np.int32)
    for b in range(head.shape[0]):
        ptr[abs(head[b] - mod[b]) + 1] += 1
    for w in range(n + 1):
        ptr[w + 1] += ptr[w]
    fill = ptr.copy()
    for b in range(head.shape[0]):
        w = abs(head[b] - mod[b])
        order[fill[w]] = b
        fill[w] += 1
    return ptr, order


@kernel(inline=True)
def _join_words(layout, spans, edges, arcs):
    """Make the incomplete items of arcs of one width in the first-order recurrence."""
    head, mod, half, ends, n_ends = layout.head, layout.mod, spans.half, spans.ends, spans.n_ends
    left, right, weight, item_ptr = edges.left, edges.right, edges.weight, edges.item_ptr
    incomplete, item_group, single_root = spans.incomplete, edges.item_group, layout.single_root
    item, at = edges.used[0], np.uintp(edges.used[1])
    for b in arcs:
        low, high = np.uintp(min(head[b], mod[b])), np.uintp(max(head[b], mod[b]))
        for i in range(1 if head[b] == 0 and single_root else n_ends[low]):
            end = ends[low, i]
            if end >= high:
                break
            # always written, but counted only if it exists: no branch to predict
            other = half[high, np.uintp(end + 1)]
            left[at], right[at], weight[at] = half[low, np.uintp(end)], other, 0.0
            at += np.uintp(other >= 0)
        if at > item_ptr[item]:
            incomplete[b] = item
            item_group[item] = b
            item += 1
            item_ptr[item] = at
    edges.used[0], edges.used[1] = item, at


@kernel(inline=True)
def _make_splits(layout, spans, edges, arcs):
    """Make the split items of each arc of one width and each sibling inside of it.

    ``spans.split`` has them by the place of their weight under the first arc above.
    """
    head, mod, out_mid, ranks = layout.head, layout.mod, layout.pairs.out_mid, layout.weights.ranks
    half, ends, n_ends, inc_ptr = spans.half, spans.ends, spans.n_ends, layout.weights.inc_ptr
    left, right, weight, item_ptr = edges.left, edges.right, edges.weight, edges.item_ptr
    split, between, item_group = spans.split, spans.between, edges.item_group
    by_arc, single_root = layout.mode >= 2, layout.single_root
    item, at = edges.used[0], np.uintp(edges.used[1])
    for b in arcs:
        h, m = head[b], np.int64(mod[b])
        for rank in range(1, 1 if h == 0 and single_root else ranks[b]):
            s = out_mid[h] + rank - 1 if m > h else out_mid[h] - rank
            sibling, place = np.int64(mod[s]), inc_ptr[b] + rank
            if not by_arc and between[sibling, m] != -2:
                split[place] = between[sibling, m]
                continue
            key, other = (np.int64(b), np.int64(s)) if by_arc else (m, sibling)
            low, high = np.uintp(other if m > h else key), np.uintp(key if m > h else other)
            until = max(sibling, m)
            for i in range(np.uintp(n_ends[low])):
                end = ends[low, i]
                if end >= until:
                    break
                item_right = half[high, np.uintp(end + 1)]
                left[at], right[at], weight[at] = half[low, np.uintp(end)], item_right, 0.0
                at += np.uintp(item_right >= 0)
            split[place] = -1
            if at > item_ptr[item]:
                split[place] = item
                item_group[item] = -1
                item += 1
                item_ptr[item] = at
            if not by_arc:
                between[sibling, m] = split[place]
    edges.used[0], edges.used[1] = item, at


@kernel(inline=True)
def _make_incomplete(layout, spans, edges, arcs):
    """Make the incomplete items of arcs of one width, one for each arc above that counts."""
    head, mod, in_ptr, in_list = layout.head, layout.mod, layout.pairs.in_ptr, layout.pairs.in_list
    inputs = layout.weights
    weights, inc_ptr = inputs.inc_w, inputs.inc_ptr
    ctx_ptr, ranks = inputs.ctx_ptr, inputs.ranks
    half, incomplete, split, listed = spans.half, spans.incomplete, spans.split, spans.listed
    left, right, weight, item_ptr = edges.left, edges.right, edges.weight, edges.item_ptr
    item_group, out_mid = edges.item_group, layout.pairs.out_mid
    mode, single_root = layout.mode, layout.single_root
    item, at = edges.used[0], np.uintp(edges.used[1])
    for b in arcs:
        h, m, begin = head[b], mod[b], inc_ptr[b]
        nearest = half[b if mode >= 2 else m, h + 1 if m > h else h - 1]
        # siblings inside of the arc: first item of their arc, split item, rank
        n_listed = np.uintp(0)
        for rank in range(1, 1 if h == 0 and single_root else ranks[b]):
            if split[begin + rank] >= 0:
                s = out_mid[h] + rank - 1 if m > h else out_mid[h] - rank
                listed[0, n_listed] = ctx_ptr[s]
                listed[1, n_listed] = split[begin + rank]
                listed[2, n_listed] = rank
                n_listed += np.uintp(1)
        for j in range(ctx_ptr[b + 1] - ctx_ptr[b]):
            if mode == 3 and h > 0:
                # the arc above would begin inside of its own span, or there is none
                if in_ptr[h + 1] == in_ptr[h]:
                    continue
                if min(h, m) <= head[in_list[in_ptr[h] + j]] <= max(h, m):
                    continue
            start = begin + j * ranks[b]
            if nearest >= 0:
                left[at], right[at], weight[at] = nearest, 0, weights[start]
                at += np.uintp(1)
            for i in range(n_listed):
                before = incomplete[np.uintp(listed[0, i] + j)]
                left[at], right[at] = before, listed[1, i]
                weight[at] = weights[np.uintp(start + listed[2, i])]
                at += np.uintp(before >= 0)
            if at > item_ptr[item]:
                incomplete[ctx_ptr[b] + j] = item
                item_group[item] = b
                item += 1
                item_ptr[item] = at
    edges.used[0], edges.used[1] = item, at


@kernel(inline=True)
def _make_half(layout, spans, edges, w):
    """Make the half spans of one width, one for each arc into a word if these are the keys."""
    head, mod, in_ptr, in_list = layout.head, layout.mod, layout.pairs.in_ptr, layout.pairs.in_list
    weights, out_ctx_ptr = layout.weights.out_w, layout.weights.out_ctx_ptr
    ctx_ptr = layout.weights.ctx_ptr
    half, ends, n_ends, mode = spans.half, spans.ends, spans.n_ends, layout.mode
    first, last, next_arc = spans.first, spans.last, spans.next_arc
    left, right, weight, item_ptr = edges.left, edges.right, edges.weight, edges.item_ptr
    incomplete, listed, item_group = spans.incomplete, spans.listed, edges.item_group
    item, at, n = edges.used[0], np.uintp(edges.used[1]), first.shape[0] - 1
    only_whole, by_arc = layout.single_root or mode > 0, mode >= 2
    for side in range(2 * n + 2):
        m = side >> 1
        e = m + w if side & 1 else m - w
        if e < 1 or e > n or first[m, e] < 0 or (m == 0 and e < n and only_whole):
            continue  # the root only needs the whole sentence
        # outermost arcs: first item, half span, first weight
        n_listed, c = np.uintp(0), first[m, e]
        while c >= 0:
            listed[0, n_listed] = ctx_ptr[c]
            listed[1, n_listed] = half[c if by_arc else mod[c], e]
            listed[2, n_listed] = out_ctx_ptr[c]
            n_listed += np.uintp(1)
            c = next_arc[c, e]
        weighed = by_arc and m > 0
        for i in range(in_ptr[m + 1] - in_ptr[m] if weighed else 1):
            key = np.int32(head.shape[0] if by_arc else m)
            if weighed:
                key = in_list[in_ptr[m] + i]
                if (head[key] < m and e <= head[key]) or (head[key] > m and e >= head[key]):
                    continue
            context = i if mode == 3 else 0
            for x in range(n_listed):
                before = incomplete[np.uintp(listed[0, x] + context)]
                left[at], right[at] = before, listed[1, x]
                weight[at] = weights[np.uintp(listed[2, x] + i)] if weighed else 0.0
                at += np.uintp(before >= 0)
            if at == item_ptr[item]:
                continue
            half[key, e] = item
            item_group[item] = -1
            item += 1
            item_ptr[item] = at
            if e > m:
                ends[key, n_ends[key]] = e
                n_ends[key] += 1
            for j in range(in_ptr[m] + i, in_ptr[m] + i + 1 if by_arc else in_ptr[m + 1]):
                c = in_list[j]
                if m > 0 and (head[c] < m) == (e > m):
                    _link(first, last, next_arc, head[c], m, c, e)
    edges.used[0], edges.used[1] = item, at


@kernel(inline=True)
def _room_for(layout, spans, order, w):
    """Return upper bounds on the items and hyperedges of spans of width w, whose arcs are given."""
    items, edges, n = 1, 0, spans.first.shape[0] - 1
    for b in order:
        contexts = layout.weights.ctx_ptr[b + 1] - layout.weights.ctx_ptr[b]
        items += layout.weights.ranks[b] + contexts
        edges += (layout.weights.ranks[b] + 1) * (w + 1 + contexts)
    for m in range(n + 1):
        many = layout.mode >= 2 and m > 0
        n_keys = np.int64(layout.pairs.in_ptr[m + 1] - layout.pairs.in_ptr[m] if many else 1)
        for e in (m - w, m + w):
            if 1 <= e <= n and spans.first[m, e] >= 0:
                items += n_keys
                edges += n_keys * (w + 1)
    return items, edges + w + 1


@kernel
def build_chart(head, mod, mode, single_root, index, weights, group_ptr, over):
    """Build a :class:`Chart` with all items and hyperedges, smaller spans first.

    Candidate pairs ``head`` and ``mod`` int32[B] are sorted; ``group_ptr`` int32[B + 1] has the
    arcs of each. ``mode`` is that of the recurrence; ``index`` and ``weights`` are from
    :mod:`bbparse.inference.oracles.projective.weights`. Arrays grow once for each width, outside of
    the inner loops, which would count references to them at each step. The size is `TOO_LARGE` if
    there could be more than `MOST_POSITIONS` hyperedges, and `TOO_LATE` if there are many at the
    time ``over``.
    """
    stopped, n = 0, index.out_mid.shape[0] - 1
    layout = ChartInput(mode, single_root, head, mod, index, weights)
    n_groups, item_room = head.shape[0], 64 + 4 * head.shape[0]
    spans, (width_ptr, order) = _start(n, layout), _by_width(n, head, mod)
    edges = Edges(
        np.empty(item_room, np.int32),
        np.empty(item_room, np.int32),
        np.empty(4 * item_room, np.int32),
        np.empty(4 * item_room, np.int32),
        np.empty(4 * item_room),
        np.zeros(2, np.int64),
    )
    edges.used[0] = 1
    edges.item_ptr[:2] = 0
    edges.item_group[0] = -1
    for w in range(1, n + 1):
        arcs = order[width_ptr[w] : width_ptr[w + 1]]
        more_items, more_edges = _room_for(layout, spans, arcs, w)
        most = edges.used[1] + more_edges
        if most > MOST_POSITIONS or (most > _MANY_EDGES and is_over(over)):
            stopped = TOO_LARGE if most > MOST_POSITIONS else TOO_LATE
            break
        edges = _with_room(edges, more_items, more_edges)
        if mode == 0:
            _join_words(layout, spans, edges, arcs)
        else:
            _make_splits(layout, spans, edges, arcs)
            _make_incomplete(layout, spans, edges, arcs)
        _make_half(layout, spans, edges, w)
    if stopped < 0 or spans.half[n_groups if mode >= 2 else 0, n] < 0:
        edges.used[0], edges.used[1] = 1, 0
    items, n_edges = edges.used[0], edges.used[1]
    size = edges.used[:1].copy()
    if stopped < 0:
        size[0] = stopped
    return Chart(
        edges.item_ptr[: items + 1].copy(),
        edges.item_group[:items].copy(),
        edges.left[:n_edges].copy(),
        edges.right[:n_edges].copy(),
        edges.weight[:n_edges].copy(),
        size,
        group_ptr,
        mod,
    )
