"""Kernels of dense families: which sets of arcs there are, hashes of words, scores of the sets.

See `models.factors.templates` for shapes and for the hashing. Word 0 of a set of arcs is the head
of its first arc, and word i + 1 the modifier of arc i.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bbparse.models.factors.table import first_place, mix, passes
from bbparse.runtime.arrays import Hashes, Ints
from bbparse.runtime.jit import inlined, kernel
from bbparse.treebank.encode import ATTRIBUTES, PAD

_LOWER = ATTRIBUTES.index("lower")


class Shape(NamedTuple):
    """The arcs of a factor, and the classes that distinguish factors of the same family."""

    head: Ints  #: int32[S]: the word at which each arc begins; the first at word 0.
    #: int32[S]: the arc whose modifier must come before an arc's own, -1 for none.
    after: Ints
    #: int32[C, 4]: two words, 0 or 1, and a number that is added to the order class if the first
    #: word is left of the second (0) or has its form (1). Rows that need the last word come last.
    order: Ints
    n_early: int  #: Number of rows that do not.
    #: int32[D, 2]: two words; the distance class has a digit for each such pair.
    distance: Ints
    #: int32[D, *]: distances at which a pair's classes begin, but for the first one.
    starts: Ints
    n_classes: Ints  #: int32[D]: number of classes of each pair.
    alike: int  #: The arc that the last one must have the label of, -1 for none.


class Terms(NamedTuple):
    """Attributes that templates read, with a salt for each template and word: ``salts[t, r]``.

    Template t reads, around word r, the columns ``column[i]`` of the words ``offset[i]`` further
    on, for i from ``ptr[t, r]`` to ``ptr[t, r + 1] - 1``.
    """

    ptr: Ints
    offset: Ints
    column: Ints
    salts: Hashes


class Family(NamedTuple):
    """Arrays of a family for kernels; ``gate`` are the terms of the gate, which is one template.

    ``orders[order]`` is what an order class adds to the gate. ``codes[code, t]`` and
    ``labels[s, label, t]`` are what a code (see `find_sets`) and the label of arc s add to the key
    of template t; there are no labels where no template has any.
    """

    shape: Shape
    gate: Terms
    templates: Terms
    orders: Hashes
    codes: Hashes
    labels: Hashes


@kernel
def _is_among(word, words, n):
    for i in range(n):
        if words[i] == word:
            return True
    return False


@kernel
def _order(comparisons, first, last, words, values):
    """Return what the words add to the order class by some of the comparisons."""
    order = np.int64(0)
    for c in range(first, last):
        a, b = words[comparisons[c, 0]], words[comparisons[c, 1]]
        if comparisons[c, 2]:
            holds = values[PAD + a, _LOWER] == values[PAD + b, _LOWER]
        else:
            holds = a < b
        if holds:
            order += comparisons[c, 3]
    return order


@kernel
def _distance(pairs, starts, n_classes, words):
    found = np.int64(0)
    for d in range(pairs.shape[0]):
        length = abs(words[pairs[d, 0]] - words[pairs[d, 1]])
        digit = np.int64(0)
        while digit < n_classes[d] - 1 and length >= starts[d, digit]:
            digit += 1
        found = found * n_classes[d] + digit
    return found


@inlined
def _followers(words, level, x, arc_mod, begin, stop):
    """Narrow the arcs begin:stop from word x, which has a head among the words of levels so far.

    One that follows neither reaches nor passes over these words: no projective tree holds both.
    """
    for i in range(level + 1):
        if words[i] < x:
            while begin < stop and arc_mod[begin] <= words[i]:
                begin += 1
        elif words[i] > x:
            while begin < stop and arc_mod[stop - 1] >= words[i]:
                stop -= 1
    return begin, stop


@kernel
def _with_room(rows, count, more):
    """Return the rows; copied into twice the room, if that for `more` is not left."""
    if count + more <= rows.shape[0]:
        return rows
    grown = np.empty((2 * rows.shape[0] + more, rows.shape[1]), np.int32)
    for i in range(count):
        for j in range(rows.shape[1]):
            grown[i, j] = rows[i, j]
    return grown


@kernel
def _hash_words(values, gate, keys):
    """Write what word w as word r adds to the gate, uint64[r, w], and to keys, uint64[r, w, t]."""
    gate_ptr, gate_offset, gate_column, gate_salts = gate
    ptr, offset, column, salts = keys
    n_templates, n_roles = salts.shape
    n_rows = values.shape[0] - 2 * PAD
    gate_words = np.empty((n_roles, n_rows), np.uint64)
    parts = np.empty((n_roles, n_rows, n_templates), np.uint64)
    for r in range(n_roles):
        for w in range(n_rows):
            own = gate_salts[0, r]
            for i in range(gate_ptr[0, r], gate_ptr[0, r + 1]):
                own = mix(own ^ values[PAD + w + gate_offset[i], gate_column[i]])
            gate_words[r, w] = own
            for t in range(n_templates):
                x = mix(own ^ salts[t, r])
                for i in range(ptr[t, r], ptr[t, r + 1]):
                    x = mix(x ^ values[PAD + w + offset[i], column[i]])
                parts[r, w, t] = x
    return gate_words, parts


@kernel
def find_sets(values, arcs, first, family, gate_bits, gate_shift):  # noqa: PLR0915 – one depth-first search, with undo
    """Return the sets of arcs of a family whose gates pass a filter, and what words add to keys.

    The first arc of a set is in ``first`` (int64[*]); ``arcs`` are those of a `FactorView`, as its
    ``values``; ``family`` is a `Family`, as plain tuples. Each set is a row int32[S + 1]: its arcs,
    and ``order * number of distance classes + distance``. Then come what `_hash_words` gives.

    Cost: one addition and one look at a bit for each candidate; with n words and k candidate heads
    a word, about n k² / 2 pairs of siblings and chains of two, n k³ / 6 triples of siblings, n k³
    chains of three (less what projectivity rules out).
    """
    shape, gate, templates, gate_orders, _, _ = family
    gate_words, parts = _hash_words(values, gate, templates)
    # Arrays that are taken out of tuples in a loop are counted each time.
    arc_head, arc_mod, head_ptr, labels = arcs
    hangs_from, after, order, n_early, pairs, starts, n_classes, alike = shape
    n_distances = 1
    for size in n_classes:
        n_distances *= size
    last = hangs_from.shape[0] - 1
    at, end = np.zeros(last + 1, np.int64), np.zeros(last + 1, np.int64)
    chosen, words = np.zeros(last + 1, np.int64), np.zeros(last + 2, np.int64)
    sums = np.zeros(last + 2, np.uint64)
    rows = np.empty((256, last + 2), np.int32)
    count = np.int64(0)
    # Siblings that need not ascend may be one word.
    may_meet = hangs_from[last] == 0 and after[last] < 0
    end[0] = first.shape[0]
    level = 0
    while level >= 0:
        if at[level] == end[level]:
            level -= 1
            continue
        arc = np.int64(first[at[0]]) if level == 0 else at[level]
        at[level] += 1
        mod = np.int64(arc_mod[arc])
        if level == 0:
            words[0] = arc_head[arc]
            sums[0] = gate_words[0, words[0]]
        if _is_among(mod, words, level + 1):
            continue
        chosen[level] = arc
        level += 1
        words[level] = mod
        sums[level] = sums[level - 1] + gate_words[level, mod]
        x = words[hangs_from[level]]
        begin, stop = np.int64(head_ptr[x]), np.int64(head_ptr[x + 1])
        if after[level] >= 0:
            begin = chosen[after[level]] + 1
        elif hangs_from[level] > 0:
            begin, stop = _followers(words, level, x, arc_mod, begin, stop)
        if level < last:
            at[level], end[level] = begin, stop
            continue
        early = _order(order, 0, n_early, words, values)
        rows = _with_room(rows, count, stop - begin)
        for arc in range(begin, stop):
            mod = np.int64(arc_mod[arc])
            if alike >= 0 and labels[arc] != labels[chosen[alike]]:
                continue
            if may_meet and _is_among(mod, words, last + 1):
                continue
            words[last + 1] = mod
            own = early + _order(order, n_early, order.shape[0], words, values)
            gate_sum = sums[last] + gate_words[last + 1, mod] + gate_orders[own]
            if passes(gate_sum, gate_bits, gate_shift):
                for j in range(last):
                    rows[count, j] = chosen[j]
                rows[count, last] = arc
                distance = _distance(pairs, starts, n_classes, words)
                rows[count, last + 1] = own * n_distances + distance
                count += 1
        level -= 1
    return rows[:count], gate_words, parts


# Factors whose keys are made before their weights: the look-ups wait for memory together.
_BLOCK = 64


@kernel
def score_sets(values, arcs, first, family, index):
    """Return the sets of a family whose score is not 0: the arrays of `Factors`.

    ``index`` is a `KeyIndex` as a plain tuple; the others as for `find_sets`.

    Cost: (words + 1) additions and one look at a bit for each set and template, and a look-up for
    each key that passes the filter.
    """
    gate_bits, gate_shift, bits, shift, starts, pairs, weights = index
    rows, _, parts = find_sets(values, arcs, first, family, gate_bits, gate_shift)
    _, _, _, _, codes, label_parts = family
    n_rows, size = rows.shape[0], rows.shape[1] - 1
    out_ptr, out_score = np.zeros(n_rows + 1, np.int64), np.empty(n_rows)
    out_arcs = np.empty(n_rows * size, np.int32)
    n_templates = np.uint64(parts.shape[2])
    arc_head, arc_mod, _, arc_labels = arcs
    keys = np.empty((np.uint64(_BLOCK) + np.uint64(1)) * n_templates, np.uint64)
    places = np.empty(np.uint64(_BLOCK) * n_templates, np.uint64)
    ends = np.empty(_BLOCK, np.uint64)
    sums = np.empty(n_templates, np.uint64)
    n_known, one = np.uint64(pairs.shape[0]), np.uint64(1)
    n_factors = at = 0
    for first in range(0, n_rows, _BLOCK):
        last = min(first + _BLOCK, n_rows)
        n_keys = np.uint64(0)
        for i in range(first, last):
            code = np.uint64(rows[i, size])
            word = np.uint64(arc_head[rows[i, 0]])
            for t in range(n_templates):
                sums[t] = codes[code, t] + parts[0, word, t]
            for s in range(size):
                word = np.uint64(arc_mod[rows[i, s]])
                for t in range(n_templates):
                    sums[t] += parts[np.uint64(s + 1), word, t]
            for s in range(label_parts.shape[0]):
                label = arc_labels[rows[i, s]]
                for t in range(n_templates):
                    sums[t] += label_parts[s, label, t]
            for t in range(n_templates):
                # Written always, kept by counting it: no branch to be mispredicted.
                keys[n_keys] = sums[t]
                n_keys += np.uint64(passes(sums[t], bits, shift))
            ends[i - first] = n_keys
        for at_key in range(n_keys):
            places[at_key] = first_place(keys[at_key], bits, shift, starts)
        j = np.uint64(0)
        for i in range(first, last):
            total = 0.0
            while j < ends[i - first]:
                place = places[j]
                key = keys[j]
                while place < n_known and pairs[place, 0] < key:
                    place += one
                # Neither is this a branch: a filter is wrong too often to be guessed right.
                place = min(place, n_known - one)
                total += weights[place, 1] if pairs[place, 0] == key else 0.0
                j += one
            if total == 0.0:
                continue
            out_score[n_factors] = total
            for k in range(size):
                out_arcs[at] = rows[i, k]
                at += 1
            n_factors += 1
            out_ptr[n_factors] = at
    return out_ptr[: n_factors + 1], out_arcs[:at], out_score[:n_factors]
