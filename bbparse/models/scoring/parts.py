"""Hashed words of a sentence, and the parts of a tree.

Words are hashed once for every template and role they may have; see `models.scoring.kernels`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.inference.search.rescore import tree_parts
from bbparse.models.scoring.compile import (
    GRANDCHILD,
    OUTERMOST,
    SIBLING,
    WITHOUT_GRAND,
    WITHOUT_INNER,
)
from bbparse.runtime.jit import kernel
from bbparse.treebank.encode import ATTRIBUTES, PAD, attribute_hash, text_hash

#: Key of a missing word, in place of its attributes.
NONE = np.uint64(text_hash("none") | 1)
#: Hashes of the tags that @nverb, @npunct and @nconj count, and the column of tags.
COUNTED = tuple(np.uint64(attribute_hash("upos", tag)) for tag in ("VERB", "PUNCT", "CCONJ"))
UPOS = ATTRIBUTES.index("upos")


class SentenceTables(NamedTuple):
    """Tables from which the parts of a sentence are scored."""

    #: uint32[n+2, C]: the hash of every word (and, last, of "none") in every column.
    table: NDArray[np.uint32]
    #: uint64[J, L, n+1]: masks[j, l, i] has a bit for each value of slot j that occurs in words
    #: i .. i+2^l-1.
    masks: NDArray[np.uint64]
    #: int32[J, 65]: a word with the value of each bit, and the number of bits in use. Values
    #: beyond the 64th of a sentence share the last bit.
    words: NDArray[np.int32]
    #: int32[3, n+1]: number of words up to i with each of the counted tags.
    counts: NDArray[np.int32]


@kernel
def sentence_tables(values, templates):
    """Build the `SentenceTables` of an encoded sentence, for `WordTemplates`.

    O(n · (columns + slots)) and, for each slot of role b, O(n log n).
    """
    shift, slot_ptr, slot_attr, slot_offset, slot_mult, col_slot, col_mult, between_slot = templates
    size = values.shape[0] - 2 * PAD
    n_slots = slot_ptr.shape[0] - 1
    n_cols = col_slot.shape[0]
    n_between = between_slot.shape[0]
    table = np.empty((size + 1, n_cols), np.uint32)
    keys = np.empty((size + 1, n_slots), np.uint64)
    for w in range(size + 1):
        for slot in range(n_slots):
            key = NONE
            if w < size:
                key = np.uint64(0)
                for j in range(slot_ptr[slot], slot_ptr[slot + 1]):
                    key += values[PAD + w + slot_offset[j], slot_attr[j]] * slot_mult[j]
            keys[w, slot] = key ^ (key >> np.uint64(32))
        for c in range(np.uint64(n_cols)):
            table[w, c] = np.uint32((keys[w, np.uint64(col_slot[c])] * col_mult[c]) >> shift)

    levels = 1
    while (1 << levels) < size:
        levels += 1
    masks = np.zeros((n_between, levels, size), np.uint64)
    words = np.zeros((n_between, 65), np.int32)
    for j in range(n_between):
        known = 0
        for w in range(1, size):
            key = keys[w, between_slot[j]]
            bit = 0
            while bit < known and keys[words[j, bit], between_slot[j]] != key:
                bit += 1
            if bit == known and known < 64:
                words[j, known] = w
                known += 1
            masks[j, 0, w] = np.uint64(1) << np.uint64(min(bit, 63))
        words[j, 64] = known
        for level in range(1, levels):
            half = 1 << (level - 1)
            for w in range(1, size - 2 * half + 1):
                masks[j, level, w] = masks[j, level - 1, w] | masks[j, level - 1, w + half]

    counts = np.zeros((3, size), np.int32)
    for tag in range(3):
        for w in range(1, size):
            same = values[PAD + w, UPOS] == COUNTED[tag]
            counts[tag, w] = counts[tag, w - 1] + (1 if same else 0)
    return SentenceTables(table, masks, words, counts)


class PartWords(NamedTuple):
    """The words of parts, int32[P] each; empty for roles that the parts lack."""

    grand: NDArray[np.int32]
    head: NDArray[np.int32]
    inner: NDArray[np.int32]
    mod: NDArray[np.int32]


@kernel
def parts_not_in(heads, others, walk, compare):
    """Return the parts of a tree for one of `WALKS`; with `compare`, only those not in `others`.

    Returns `PartWords`, in the order of the modifiers. Groups of grand-siblings leave out those
    that the other tree has with all four words.
    """
    n = heads.shape[0] - 1
    grand, inner, outermost = tree_parts(heads)
    other_grand, other_inner, other_outermost = tree_parts(others)
    chain = walk == GRANDCHILD or walk == OUTERMOST
    out = np.empty((4, n), np.int32)
    count = 0
    for m in range(1, n + 1):
        h = heads[m]
        if chain and h == 0:
            continue
        if walk == OUTERMOST and not outermost[m]:
            continue
        if compare and others[m] == h:
            same = True
            if walk >= GRANDCHILD:
                same = grand[m] == other_grand[m]
            if walk == SIBLING or walk >= WITHOUT_GRAND:
                same = same and inner[m] == other_inner[m]
            if walk == OUTERMOST:
                same = same and other_outermost[m] == 1
            if same:
                continue
        out[0, count] = grand[m]
        out[1, count] = h
        out[2, count] = inner[m]
        out[3, count] = m
        count += 1
    with_grand = count if walk >= GRANDCHILD and walk != WITHOUT_GRAND else 0
    with_inner = 0 if walk == 0 or chain or walk == WITHOUT_INNER else count
    return PartWords(out[0, :with_grand], out[1, :count], out[2, :with_inner], out[3, :count])
