"""Kernels of the linear model: from encoded words to feature indices and scores of parts.

Hashing. Template t of a part with the words w_r in roles r has the index

    ⊕_r U_r[w_r, t]  ⊕  A(arc atoms, t)                 (⊕ is exclusive or of `bits`-bit numbers)

U_r[w, t] hashes the attributes that t reads around word w in role r, as the top bits of a 64-bit
key times an odd multiplier of (t, r). It is computed once for each word, not for each part. Summing
random tables is Zobrist hashing (Zobrist 1970), 3-independent (Carter & Wegman 1979), so no mixing
is left to do for a part: a feature costs one exclusive or, whatever its number of atoms, and one
read of its weight. All roles of a part but one stay the same from part to part, and their sum is
kept. ``+@name`` flips some of the low four bits: the weight lies in the memory line just read.

Cost of a sentence: O(n · columns) for U, O(1) for each feature of each part. The set of values
between two words is read from a sparse table of bit masks, built in O(n log n) and read in O(1).

Tables (built by `models.scoring.compile`): a *slot* is a set of (offset, attribute) pairs read
around a word; a *column* is one (template, role); a *group* is a run of templates with the same
``+@`` atom, the same slot of role b and the same arc atoms without a precomputed row of hashes.
"""

from __future__ import annotations

import numpy as np

from bbparse.models.scoring.compile import FIRST, GROUP, NEEDS, ROW, SIZE
from bbparse.models.scoring.prefetch import prefetch
from bbparse.runtime.jit import kernel

_AHEAD = np.uint64(128)  # number of weights that are prefetched


@kernel
def between_mask(masks, j, low, high):
    """Return the values of slot j strictly between words low < high, as bits."""
    length = high - low - 1
    if length <= 0:
        return np.uint64(0)
    level = 0
    while (2 << level) <= length:
        level += 1
    return masks[j, level, low + 1] | masks[j, level, high - (1 << level)]


@kernel
def distance_bucket(distance):
    """Map the distances 1, 2, 3, 4, 5, 6-10, 11 and more to 0..6."""
    if distance <= 5:
        return distance - 1
    return 5 if distance <= 10 else 6


@kernel
def walk_parts(walk, parts, tables, weights, quantum, scores, templates):  # noqa: C901, PLR0915 – one pass for all template groups
    """Score parts by the templates of one of `WALKS`, or list the indices of their features.

    `parts` are `PartWords`, `tables` those of the sentence, `templates` `PartTemplates`. `grand`
    and `inner` are empty for template groups without those roles. Consecutive parts that differ
    only in the fastest role (g if there is one, else s, else m) share the sum over the others.
    Scores are written to `scores` (float64[P], integer sums times `quantum`). If it is empty, no
    weights are read, and the indices of all features are returned, part by part.

    Kernels should pass numbers as variables or np.int64(…): numba compiles a kernel anew for each
    literal, and this one takes seconds.
    """
    # Two rules keep this loop at a nanosecond for a feature. Indices of the inner loops are
    # unsigned: numba checks signed ones for negative values, which prevents vectorisation. And
    # no array is sliced, renamed or passed to a function for each part: numba counts references
    # to arrays.
    grand, head, inner, mod = parts
    table, masks, words, counts = tables
    walks, groups, group_atoms, mult, arc_rows, shift, set_slot, set_column = templates
    n_parts = head.shape[0]
    want_indices = scores.shape[0] == 0
    indices = np.empty(0, np.int64)
    n_templates = np.uint64(walks[walk, SIZE])
    if n_templates == 0:
        return indices
    first_group, last_group = walks[walk, GROUP], walks[walk + 1, GROUP]
    none_row = table.shape[0] - 1
    has_grand = grand.shape[0] > 0
    has_inner = inner.shape[0] > 0
    grand_col, head_col = np.uint64(walks[walk, 0]), np.uint64(walks[walk, 1])
    inner_col, mod_col = np.uint64(walks[walk, 2]), np.uint64(walks[walk, 3])
    b_col = np.uint64(walks[walk, 4])
    last_col = grand_col if has_grand else inner_col if has_inner else mod_col
    step_dir, step_dist, step_sdist = walks[walk, 5], walks[walk, 6], walks[walk, 7]
    step_gdir, step_gdist = walks[walk, 8], walks[walk, 9]
    t0, row0 = np.uint64(walks[walk, FIRST]), np.uint64(walks[walk, ROW])
    most = 0
    for group in range(first_group, last_group):
        values = 64 if groups[group, 3] >= 0 else 1
        double = 2 if groups[group, 2] >= 0 else 1
        most += (groups[group, 1] - groups[group, 0]) * values * double
    base = np.empty(n_templates, np.uint32)
    plain = np.empty(n_templates, np.uint32)
    block = most + 4096
    out = np.zeros(np.uint64(block) + _AHEAD, np.uint32)  # entries past the used ones are valid
    ends = np.empty(256, np.uint64)
    rows = np.empty(65, np.uint64)
    n_waiting = 0
    waiting = np.uint64(0)
    atoms = np.zeros(11, np.int64)
    needs = walks[walk, NEEDS]
    sibling_atoms = has_inner and needs >> 3 & 3 != 0
    grand_atoms = has_grand and needs >> 5 & 3 != 0
    count_atoms = needs >> 7 & 7 != 0
    set_atom = needs >> 10 & 1 != 0
    set_value = np.empty(64, np.int64)
    n_values = np.uint64(0)
    if set_atom:
        n_values = np.uint64(words[set_slot, 64])
        for bit in range(n_values):
            set_value[bit] = table[np.uint64(words[set_slot, bit]), np.uint64(set_column)]
    if want_indices:
        indices = np.empty(n_parts * (2 * np.int64(n_templates) + 16), np.int64)
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

        # The sum over all roles but the last, whose row is added feature by feature.
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

        # Arc atoms, numbered as in `ARC_ATOMS`, and the precomputed row of some of them.
        right = 1 if m > h else 0
        low = min(h, m)
        high = max(h, m)
        bucket = distance_bucket(high - low)
        atoms[0] = right
        atoms[1] = bucket
        atoms[2] = right * 7 + bucket
        arc_row = right * step_dir + bucket * step_dist
        if sibling_atoms:
            bucket = distance_bucket(abs(m - s)) if s >= 0 else bucket
            atoms[3] = bucket
            atoms[4] = right * 7 + bucket
            arc_row += bucket * step_sdist
        if grand_atoms:
            below = 1 if h > g else 0
            if low < g < high:
                below = 2
            bucket = distance_bucket(abs(h - g)) if g >= 0 else 0
            atoms[5] = right + 2 * below
            atoms[6] = bucket
            arc_row += below * step_gdir + bucket * step_gdist
        if count_atoms:
            for tag in range(3):
                atoms[7 + tag] = right * 4 + min(counts[tag, high - 1] - counts[tag, low], 3)
        if set_atom:
            # The sum of a hash of each distinct value.
            mask = between_mask(masks, np.int64(set_slot), low, high)
            total = np.int64(0)
            for bit in range(n_values):
                total += set_value[bit] * np.int64((mask >> bit) & np.uint64(1))
            atoms[10] = total

        # Indices of the plain templates, then of their features.
        arc_at = row0 + np.uint64(arc_row) * n_templates
        for t in range(n_templates):
            plain[t] = base[t] ^ table[row, last_col + t] ^ arc_rows[arc_at + t]
        count = waiting
        listed = -1
        n_rows = np.uint64(0)
        for group in range(first_group, last_group):
            start = np.uint64(groups[group, 0])
            end = np.uint64(groups[group, 1])
            also = groups[group, 2]
            between = groups[group, 3]
            source = count
            if groups[group, 4] < groups[group, 5]:
                key = np.uint64(0)
                for j in range(groups[group, 4], groups[group, 5]):
                    atom = np.uint64(group_atoms[np.uint64(j)])
                    key = key * np.uint64(0x9E3779B97F4A7C15) + np.uint64(atoms[atom] + 1)
                for t in range(start, end):
                    plain[t] ^= np.uint32((key * mult[t0 + t]) >> shift)
            if between < 0:
                for t in range(start, end):
                    out[count + t - start] = plain[t]
                count += end - start
            else:
                if between != listed:
                    # The words with the values between, without a branch for each bit.
                    mask = between_mask(masks, np.int64(between), low, high)
                    n_rows = np.uint64(0)
                    for bit in range(np.uint64(words[between, 64])):
                        rows[n_rows] = words[np.uint64(between), bit]
                        n_rows += (mask >> bit) & np.uint64(1)
                    listed = between
                for t in range(start, end):
                    for i in range(n_rows):
                        out[count + i] = plain[t] ^ table[rows[i], b_col + t]
                    count += n_rows
            if also >= 0:
                flip = np.uint32(atoms[also] + 1)
                extra = count - source
                for i in range(extra):
                    out[count + i] = out[source + i] ^ flip
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
                for i in range(filled):
                    grown[i] = indices[i]
                indices = grown
            for i in range(waiting):
                indices[filled + np.int64(i)] = out[i]
            filled = needed
        else:
            at = np.uint64(0)
            for j in range(n_waiting):
                sum_ = np.int64(0)
                for i in range(at, ends[j]):
                    # The prefetch hides the wait for memory, and prevents vectors, which would be
                    # assembled number by number.
                    prefetch(weights, np.int64(out[i + _AHEAD]))
                    sum_ += weights[out[i]]
                at = ends[j]
                scores[part + 1 - n_waiting + j] = sum_ * quantum
        n_waiting = 0
        waiting = np.uint64(0)
    return indices[:filled]
