"""Kernels of the linear model: from encoded words to feature indices and scores of parts.

Hashing. Template t of a part with the words w_r in roles r has the index

    ⊕_r U_r[w_r, t]  ⊕  A(arc atoms, t)                 (⊕ is exclusive or of `bits`-bit numbers)

U_r[w, t] hashes what t reads around word w in role r, as the top bits of a 64-bit key times an odd
multiplier of (t, r): computed once for each word, not for each part. Summing random tables is
Zobrist hashing (Zobrist 1970), 3-independent (Carter & Wegman 1979), so no mixing is left to do
for a part: a feature costs one exclusive or, whatever its number of atoms, and one read of its
weight. Of the roles of a part all but one stay the same from part to part, and their sum is kept.
``+@name`` flips some of the low four bits: the weight lies in the memory line just read.

Cost of a sentence: O(n · columns) for U, O(1) for each feature of each part; the set of values
between two words is read from a sparse table of bit masks, O(n log n) to make and O(1) to read.

Tables (built by `bbparse.scoring.compile`): a *slot* is a set of (offset, attribute) pairs read
around a word; a *column* is one (template, role); a *group* is a run of templates with the same
arc atoms: start, end, signature or -1, atom of ``+@`` or -1, slot of role b or -1.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def between_mask(masks, j, low, high):
    """Values of slot j strictly between words low < high, as bits."""
    length = high - low - 1
    if length <= 0:
        return np.uint64(0)
    level = 0
    while (2 << level) <= length:
        level += 1
    return masks[j, level, low + 1] | masks[j, level, high - (1 << level)]


@njit(cache=True, nogil=True)
def distance_bucket(distance):
    """1, 2, 3, 4, 5, 6-10, 11 and more, as 0..6."""
    distance = abs(distance)
    if distance <= 5:
        return distance - 1
    return 5 if distance <= 10 else 6


@njit(cache=True, nogil=True)
def fill_atoms(atoms, used, g, h, s, m, set_slot, table, table_column, masks, words, counts):
    """Values of the arc atoms (in the order of `ARC_ATOMS`) of a part; only `used` ones count."""
    right = 1 if m > h else 0
    low = h if m > h else m
    high = m if m > h else h
    bucket = distance_bucket(m - h)
    atoms[0] = right
    atoms[1] = bucket
    atoms[2] = right * 7 + bucket
    if used[3] or used[4]:
        bucket = distance_bucket(m - s) if s >= 0 else bucket
        atoms[3] = bucket
        atoms[4] = right * 7 + bucket
    if used[5] or used[6]:
        atoms[5] = right + (2 if h > g else 0)
        atoms[6] = distance_bucket(h - g) if g >= 0 else 0
    for tag in range(3):
        if used[7 + tag]:
            atoms[7 + tag] = right * 4 + min(counts[tag, high - 1] - counts[tag, low], 3)
    if used[10]:
        # The sum over the distinct values of a hash of the value.
        mask = between_mask(masks, set_slot, low, high)
        total = np.int64(0)
        bit = 0
        while mask:
            if mask & np.uint64(1):
                total += np.int64(table[words[set_slot, bit], table_column])
            mask >>= np.uint64(1)
            bit += 1
        atoms[10] = total


@njit(cache=True, nogil=True)
def fill_indices(
    out, base, table, row, col, b_col, h, m, atoms, scratch, groups, first, last,
    sig_ptr, sig_atom, sig_mult, t0, shift, masks, words,
):  # fmt: skip
    """Write the indices of all features of one part to `out`; returns how many they are.

    `base` is the sum of the columns of all roles but one, whose word is `row` of the table and
    whose columns start at `col`.
    """
    pos = 0
    for group in range(first, last):
        start = groups[group, 0]
        end = groups[group, 1]
        signature = groups[group, 2]
        also = groups[group, 3]
        between = groups[group, 4]
        begin = pos
        target = scratch if between >= 0 else out
        at = 0 if between >= 0 else pos
        if signature < 0:
            for t in range(start, end):
                target[at + t - start] = base[t] ^ table[row, col + t]
        else:
            key = np.uint64(0)
            for j in range(sig_ptr[signature], sig_ptr[signature + 1]):
                key = key * np.uint64(0x9E3779B97F4A7C15) + np.uint64(atoms[sig_atom[j]] + 1)
            for t in range(start, end):
                hashed = np.uint32((key * sig_mult[t0 + t]) >> shift)
                target[at + t - start] = base[t] ^ table[row, col + t] ^ hashed
        if between >= 0:
            mask = between_mask(masks, between, min(h, m), max(h, m))
            bit = 0
            while mask:
                if mask & np.uint64(1):
                    word = words[between, bit]
                    for t in range(start, end):
                        out[pos + t - start] = scratch[t - start] ^ table[word, b_col + t]
                    pos += end - start
                mask >>= np.uint64(1)
                bit += 1
        else:
            pos += end - start
        if also >= 0:
            flip = np.uint32(atoms[also] + 1)
            count = pos - begin
            for i in range(count):
                out[pos + i] = out[begin + i] ^ flip
            pos += count
    return pos


@njit(cache=True, nogil=True)
def walk_parts(
    kind, grand, head, inner, mod, table, masks, words, counts,
    weights, quantum, scores, want_indices,
    kind_cols, kind_size, used, group_ptr, groups, sig_ptr, sig_atom, sig_mult, template_ptr,
    set_slot, set_column, shift,
):  # fmt: skip
    """Score parts of one kind, or list the indices of their features.

    `grand` and `inner` are empty for kinds without those roles. Consecutive parts that differ in
    the fastest role only (g if there is one, else s, else m) share the sum over the others.
    Scores go to `scores` (float64[P], integer sums times `quantum`); with `want_indices` the
    weights are not read and the indices of all features are returned instead, part by part.
    """
    n_parts = head.shape[0]
    size = kind_size[kind]
    none_row = table.shape[0] - 1
    has_grand = grand.shape[0] > 0
    has_inner = inner.shape[0] > 0
    grand_col = kind_cols[kind, 0]
    head_col = kind_cols[kind, 1]
    inner_col = kind_cols[kind, 2]
    mod_col = kind_cols[kind, 3]
    first = group_ptr[kind]
    last = group_ptr[kind + 1]
    most = 0
    for group in range(first, last):
        values = 64 if groups[group, 4] >= 0 else 1
        double = 2 if groups[group, 3] >= 0 else 1
        most += (groups[group, 1] - groups[group, 0]) * values * double
    base = np.empty(size, np.uint32)
    scratch = np.empty(size, np.uint32)
    out = np.empty(most, np.uint32)
    atoms = np.zeros(used.shape[1], np.int64)
    indices = np.empty(n_parts * (2 * size + 16) if want_indices else 0, np.int64)
    filled = 0
    g = -1
    s = -1
    base_h = -2
    base_s = -2
    base_m = -2
    for part in range(n_parts):
        h = head[part]
        m = mod[part]
        if has_inner:
            s = inner[part]
        if has_grand:
            g = grand[part]
        s_row = s if s >= 0 else none_row
        if has_grand:
            if h != base_h or m != base_m or s != base_s:
                for t in range(size):
                    base[t] = table[h, head_col + t] ^ table[m, mod_col + t]
                if has_inner:
                    for t in range(size):
                        base[t] ^= table[s_row, inner_col + t]
            row = g if g >= 0 else none_row
            col = grand_col
        elif has_inner:
            if h != base_h or m != base_m:
                for t in range(size):
                    base[t] = table[h, head_col + t] ^ table[m, mod_col + t]
            row = s_row
            col = inner_col
        else:
            if h != base_h:
                for t in range(size):
                    base[t] = table[h, head_col + t]
            row = m
            col = mod_col
        base_h = h
        base_s = s
        base_m = m
        fill_atoms(
            atoms, used[kind], g, h, s, m, set_slot, table, set_column, masks, words, counts
        )
        count = fill_indices(
            out, base, table, row, col, kind_cols[kind, 4], h, m, atoms, scratch,
            groups, first, last, sig_ptr, sig_atom, sig_mult, template_ptr[kind], shift,
            masks, words,
        )  # fmt: skip
        if want_indices:
            if filled + count > indices.shape[0]:
                grown = np.empty(2 * (filled + count), np.int64)
                grown[:filled] = indices[:filled]
                indices = grown
            for i in range(count):
                indices[filled + i] = out[i]
            filled += count
        else:
            total = np.int64(0)
            for i in range(count):
                total += weights[out[i]]
            scores[part] = total * quantum
    return indices[:filled]


@njit(cache=True, nogil=True)
def enumerate_parts(n, arc_head, arc_mod, projective, single_root, want):
    """All parts that candidate arcs can form.

    Arcs are sorted by (head, mod). `want` (bool[5]) says which kinds are asked for; the arrays of
    the others are empty. Siblings are sorted by (head, outer, inner), grandchildren by (head, mod,
    grand) and grand-siblings by (head, outer, inner, grand), -1 first, so that the parts of one
    arc, or of one sibling part, follow each other.

    Left out is what no tree contains: cycles; with `projective`, g→h→m with g between h and m
    (g would be a descendant of h); with `single_root`, siblings under the root.

    Returns sib_head, sib_inner, sib_outer, gc_grand, gc_head, gc_mod, gsib_grand, gsib_head,
    gsib_inner, gsib_outer.
    """
    n_arcs = arc_head.shape[0]
    head_ptr = np.zeros(n + 2, np.int64)
    in_ptr = np.zeros(n + 2, np.int64)
    for a in range(n_arcs):
        head_ptr[arc_head[a] + 1] += 1
        in_ptr[arc_mod[a] + 1] += 1
    for i in range(n + 1):
        head_ptr[i + 1] += head_ptr[i]
        in_ptr[i + 1] += in_ptr[i]
    in_head = np.empty(n_arcs, np.int32)
    fill = in_ptr.copy()
    for a in range(n_arcs):
        in_head[fill[arc_mod[a]]] = arc_head[a]
        fill[arc_mod[a]] += 1

    # How many heads of its head, and how many inner siblings, each arc can have.
    n_grand = np.zeros(n_arcs, np.int64)
    inner_from = np.zeros(n_arcs, np.int64)
    inner_to = np.zeros(n_arcs, np.int64)
    n_sib = 0
    n_gc = 0
    n_gsib = 0
    for a in range(n_arcs):
        h = arc_head[a]
        m = arc_mod[a]
        if m > h:
            low = a
            while low > head_ptr[h] and arc_mod[low - 1] > h:
                low -= 1
            inner_from[a] = low
            inner_to[a] = a
        else:
            high = a + 1
            while high < head_ptr[h + 1] and arc_mod[high] < h:
                high += 1
            inner_from[a] = a + 1
            inner_to[a] = high
        if h == 0 and single_root:
            inner_to[a] = inner_from[a]
        for j in range(in_ptr[h], in_ptr[h + 1]):
            g = in_head[j]
            if g != m and not (projective and min(h, m) < g < max(h, m)):
                n_grand[a] += 1
        siblings = 1 + inner_to[a] - inner_from[a]
        n_sib += siblings
        if h > 0:
            n_gc += n_grand[a]
        n_gsib += siblings * (n_grand[a] if h > 0 else 1)

    if not want[1]:
        n_sib = 0
    if not (want[2] or want[3]):
        n_gc = 0
    if not want[4]:
        n_gsib = 0
    sib_head = np.empty(n_sib, np.int32)
    sib_inner = np.empty(n_sib, np.int32)
    sib_outer = np.empty(n_sib, np.int32)
    gc_grand = np.empty(n_gc, np.int32)
    gc_head = np.empty(n_gc, np.int32)
    gc_mod = np.empty(n_gc, np.int32)
    gsib_grand = np.empty(n_gsib, np.int32)
    gsib_head = np.empty(n_gsib, np.int32)
    gsib_inner = np.empty(n_gsib, np.int32)
    gsib_outer = np.empty(n_gsib, np.int32)
    i = 0
    j = 0
    k = 0
    grands = np.empty(n + 1, np.int32)
    for a in range(n_arcs):
        h = arc_head[a]
        m = arc_mod[a]
        count = 0
        if h == 0:
            grands[0] = -1
            count = 1
        else:
            for c in range(in_ptr[h], in_ptr[h + 1]):
                g = in_head[c]
                if g != m and not (projective and min(h, m) < g < max(h, m)):
                    grands[count] = g
                    count += 1
            if n_gc:
                for c in range(count):
                    gc_grand[j] = grands[c]
                    gc_head[j] = h
                    gc_mod[j] = m
                    j += 1
        if not n_sib and not n_gsib:
            continue
        for b in range(inner_from[a] - 1, inner_to[a]):
            s = arc_mod[b] if b >= inner_from[a] else -1
            if n_sib:
                sib_head[i] = h
                sib_inner[i] = s
                sib_outer[i] = m
                i += 1
            if n_gsib:
                for c in range(count):
                    # Without `projective` the head of h may lie between h and m; it is not s.
                    if s < 0 or grands[c] != s:
                        gsib_grand[k] = grands[c]
                        gsib_head[k] = h
                        gsib_inner[k] = s
                        gsib_outer[k] = m
                        k += 1
    return (
        sib_head, sib_inner, sib_outer, gc_grand, gc_head, gc_mod,
        gsib_grand[:k], gsib_head[:k], gsib_inner[:k], gsib_outer[:k],
    )  # fmt: skip


@njit(cache=True, nogil=True)
def score_candidates(
    arc_head, arc_mod, projective, single_root, table, masks, words, counts, weights, quantum,
    kind_cols, kind_size, used, group_ptr, groups, sig_ptr, sig_atom, sig_mult, template_ptr,
    set_slot, set_column, shift,
):  # fmt: skip
    """Scores of candidate arcs (sorted by head, mod), and of all parts they can form.

    Returns the arrays of `enumerate_parts` and the five arrays of scores. Outermost grandchildren
    are the same triples as grandchildren. Kinds without templates have empty arrays.
    """
    parts = enumerate_parts(
        table.shape[0] - 2, arc_head, arc_mod, projective, single_root, kind_size > 0
    )
    n_arcs = arc_head.shape[0]
    # Where the scores of each kind start; a kind without templates has none.
    start = np.zeros(6, np.int64)
    start[1] = n_arcs
    start[2] = parts[0].shape[0] if kind_size[1] else 0
    start[3] = parts[3].shape[0] if kind_size[2] else 0
    start[4] = parts[3].shape[0] if kind_size[3] else 0
    start[5] = parts[6].shape[0] if kind_size[4] else 0
    for kind in range(5):
        start[kind + 1] += start[kind]
    scores = np.zeros(start[5])
    no_words = np.empty(0, np.int32)
    for kind in range(5):
        grand = no_words
        inner = no_words
        head = arc_head
        mod = arc_mod
        if kind == 1:
            head, inner, mod = parts[0], parts[1], parts[2]
        elif kind == 2 or kind == 3:
            grand, head, mod = parts[3], parts[4], parts[5]
        elif kind == 4:
            grand, head, inner, mod = parts[6], parts[7], parts[8], parts[9]
        if kind_size[kind]:
            walk_parts(
                kind, grand, head, inner, mod, table, masks, words, counts,
                weights, quantum, scores[start[kind] : start[kind + 1]], False,
                kind_cols, kind_size, used, group_ptr, groups,
                sig_ptr, sig_atom, sig_mult, template_ptr, set_slot, set_column, shift,
            )  # fmt: skip
    return (
        parts, scores[: start[1]], scores[start[1] : start[2]], scores[start[2] : start[3]],
        scores[start[3] : start[4]], scores[start[4] :],
    )  # fmt: skip
