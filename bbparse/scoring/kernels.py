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
``+@`` atom and the same slot of role b: start, end, first template that has arc atoms, atom of
``+@`` or -1, slot of role b or -1; a *signature* is a set of arc atoms.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# A mark of the guide: the label in the lower bits, the step of the odds above them.
LABEL_BITS = 10
NO_LABEL = (1 << LABEL_BITS) - 1  # of an arc that is not there


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
    if distance <= 5:
        return distance - 1
    return 5 if distance <= 10 else 6


@njit(cache=True, nogil=True)
def walk_parts(
    kind, grand, head, inner, mod, table, masks, words, counts, marks,
    weights, quantum, scores, want_indices,
    kind_cols, kind_size, kind_single, used, group_ptr, groups, kind_sig_ptr, sig_ptr, sig_atom,
    template_ptr, template_sig, shift, template_mult, set_slot, set_column,
):  # fmt: skip
    """Score parts of one kind, or list the indices of their features.

    `grand` and `inner` are empty for kinds without those roles; marks[h, m] is what the guide says
    of an arc (`bbparse.scoring.guide`), read only where a template asks for it. Consecutive parts
    that differ in the fastest role only (g if there is one, else s, else m) share the sum over the
    others.
    Scores go to `scores` (float64[P], integer sums times `quantum`); with `want_indices` the
    weights are not read and the indices of all features are returned instead, part by part.
    """
    # Two rules keep this loop at a nanosecond for a feature. Indices of the inner loops are
    # unsigned: numba looks whether a signed one counts from the end, and then nothing is
    # vectorised. And no array is sliced, renamed or handed to a function for each part: numba
    # counts references to arrays.
    n_parts = head.shape[0]
    n_templates = np.uint64(kind_size[kind])
    none_row = table.shape[0] - 1
    has_grand = grand.shape[0] > 0
    has_inner = inner.shape[0] > 0
    grand_col = np.uint64(kind_cols[kind, 0])
    head_col = np.uint64(kind_cols[kind, 1])
    inner_col = np.uint64(kind_cols[kind, 2])
    mod_col = np.uint64(kind_cols[kind, 3])
    last_col = grand_col if has_grand else inner_col if has_inner else mod_col
    b_col = np.uint64(kind_cols[kind, 4])
    n_single = np.uint64(kind_single[kind])
    t0 = np.uint64(template_ptr[kind])
    sig_first = kind_sig_ptr[kind]
    sig_last = kind_sig_ptr[kind + 1]
    sig_key = np.empty(sig_last - sig_first, np.uint64)
    first = group_ptr[kind]
    last = group_ptr[kind + 1]
    most = 0
    for group in range(first, last):
        values = 64 if groups[group, 4] >= 0 else 1
        double = 2 if groups[group, 3] >= 0 else 1
        most += (groups[group, 1] - groups[group, 0]) * values * double
    base = np.empty(n_templates, np.uint32)
    plain = np.empty(n_templates, np.uint32)
    block = most + 4096
    out = np.empty(block, np.uint32)
    ends = np.empty(256, np.uint64)
    rows = np.empty(65, np.uint64)
    n_waiting = 0
    waiting = np.uint64(0)
    atoms = np.zeros(used.shape[1], np.int64)
    sibling_atoms = used[kind, 3] or used[kind, 4]
    grand_atoms = used[kind, 5] or used[kind, 6]
    count_atoms = used[kind, 7] or used[kind, 8] or used[kind, 9]
    set_atom = used[kind, 10]
    mark_atoms = used[kind, 11] or used[kind, 12] or used[kind, 13] or used[kind, 14]
    indices = np.empty(n_parts * (2 * kind_size[kind] + 16) if want_indices else 0, np.int64)
    filled = 0
    g = -1
    s = -1
    base_h = -2
    base_s = -2
    base_m = -2
    for part in range(n_parts):
        h = np.int64(head[part])
        m = np.int64(mod[part])
        if has_inner:
            s = np.int64(inner[part])
        if has_grand:
            g = np.int64(grand[part])

        # The sum over all roles but the last one, whose row is added feature by feature.
        h_row = np.uint64(h)
        m_row = np.uint64(m)
        s_row = np.uint64(s if s >= 0 else none_row)
        if has_grand or has_inner:
            if h != base_h or m != base_m or (has_grand and s != base_s):
                for t in range(n_templates):
                    base[t] = table[h_row, head_col + t] ^ table[m_row, mod_col + t]
                if has_grand and has_inner:
                    for t in range(n_templates):
                        base[t] ^= table[s_row, inner_col + t]
            row = np.uint64(g if g >= 0 else none_row) if has_grand else s_row
        else:
            if h != base_h:
                for t in range(n_templates):
                    base[t] = table[h_row, head_col + t]
            row = m_row
        base_h = h
        base_s = s
        base_m = m

        # Arc atoms, numbered as in `ARC_ATOMS`.
        right = 1 if m > h else 0
        low = min(h, m)
        high = max(h, m)
        bucket = distance_bucket(high - low)
        atoms[0] = right
        atoms[1] = bucket
        atoms[2] = right * 7 + bucket
        if sibling_atoms:
            bucket = distance_bucket(abs(m - s)) if s >= 0 else bucket
            atoms[3] = bucket
            atoms[4] = right * 7 + bucket
        if grand_atoms:
            atoms[5] = right + (2 if h > g else 0)
            atoms[6] = distance_bucket(abs(h - g)) if g >= 0 else 0
        if count_atoms:
            for tag in range(3):
                atoms[7 + tag] = right * 4 + min(counts[tag, high - 1] - counts[tag, low], 3)
        if set_atom:
            # The sum over the distinct values of a hash of the value.
            mask = between_mask(masks, set_slot, low, high)
            total = np.int64(0)
            for bit in range(np.uint64(words[set_slot, 64])):
                value = np.int64(table[np.uint64(words[set_slot, bit]), np.uint64(set_column)])
                total += value * np.int64((mask >> bit) & np.uint64(1))
            atoms[10] = total
        if mark_atoms:
            mark = np.int64(marks[h, m])
            atoms[11] = mark & NO_LABEL
            atoms[12] = mark >> LABEL_BITS
            if has_inner:
                atoms[13] = np.int64(marks[h, s]) & NO_LABEL if s >= 0 else NO_LABEL
            if has_grand:
                atoms[14] = np.int64(marks[g, h]) & NO_LABEL if g >= 0 else NO_LABEL

        # Indices of the plain templates. Those over the words between wait in `plain`.
        for t in range(n_single):
            out[waiting + t] = base[t] ^ table[row, last_col + t]
        for t in range(n_single, n_templates):
            plain[t] = base[t] ^ table[row, last_col + t]
        for signature in range(sig_first, sig_last):
            key = np.uint64(0)
            for j in range(sig_ptr[signature], sig_ptr[signature + 1]):
                key = key * np.uint64(0x9E3779B97F4A7C15) + np.uint64(atoms[sig_atom[j]] + 1)
            sig_key[signature - sig_first] = key
        count = waiting + n_single
        listed = -1
        n_rows = np.uint64(0)
        for group in range(first, last):
            start = np.uint64(groups[group, 0])
            end = np.uint64(groups[group, 1])
            with_arcs = np.uint64(groups[group, 2])
            also = groups[group, 3]
            between = groups[group, 4]
            begin = waiting + start
            extra = end - start
            if between < 0:
                for t in range(with_arcs, end):
                    key = sig_key[np.uint64(template_sig[t0 + t])]
                    out[waiting + t] ^= np.uint32((key * template_mult[t0 + t]) >> shift)
            else:
                for t in range(with_arcs, end):
                    key = sig_key[np.uint64(template_sig[t0 + t])]
                    plain[t] ^= np.uint32((key * template_mult[t0 + t]) >> shift)
                if between != listed:
                    # The words with the values between, without a branch for each bit.
                    mask = between_mask(masks, between, low, high)
                    n_rows = np.uint64(0)
                    for bit in range(np.uint64(words[between, 64])):
                        rows[n_rows] = words[np.uint64(between), bit]
                        n_rows += (mask >> bit) & np.uint64(1)
                    listed = between
                begin = count
                for t in range(start, end):
                    for i in range(n_rows):
                        out[count + i] = plain[t] ^ table[rows[i], b_col + t]
                    count += n_rows
                extra = count - begin
            if also >= 0:
                flip = np.uint32(atoms[also] + 1)
                for i in range(extra):
                    out[count + i] = out[begin + i] ^ flip
                count += extra

        ends[n_waiting] = count
        n_waiting += 1
        waiting = count
        if n_waiting < 256 and waiting + np.uint64(most) <= np.uint64(block) and part + 1 < n_parts:
            continue
        if want_indices:
            needed = filled + np.int64(waiting)
            if needed > indices.shape[0]:
                grown = np.empty(2 * needed, np.int64)
                grown[:filled] = indices[:filled]
                indices = grown
            for i in range(waiting):
                indices[filled + np.int64(i)] = out[i]
            filled = needed
        else:
            at = np.uint64(0)
            for j in range(n_waiting):
                sum_ = np.int64(0)
                for i in range(at, ends[j]):
                    sum_ += weights[out[i]]
                at = ends[j]
                scores[part + 1 - n_waiting + j] = sum_ * quantum
        n_waiting = 0
        waiting = np.uint64(0)
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
    arc_head, arc_mod, projective, single_root, table, masks, words, counts, marks, weights,
    quantum,
    kind_cols, kind_size, kind_single, used, group_ptr, groups, kind_sig_ptr, sig_ptr, sig_atom,
    template_ptr, template_sig, shift, template_mult, set_slot, set_column,
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
                kind, grand, head, inner, mod, table, masks, words, counts, marks,
                weights, quantum, scores[start[kind] : start[kind + 1]], False,
                kind_cols, kind_size, kind_single, used, group_ptr, groups, kind_sig_ptr,
                sig_ptr, sig_atom, template_ptr, template_sig, shift, template_mult,
                set_slot, set_column,
            )  # fmt: skip
    return (
        parts, scores[: start[1]], scores[start[1] : start[2]], scores[start[2] : start[3]],
        scores[start[3] : start[4]], scores[start[4] :],
    )  # fmt: skip
