"""Kernels of the labeller: the parts around the arcs of a tree, and their features.

See `models.scoring.labeller` for the meaning of the kinds of part here. Cost of a tree of n words
with F features and L labels: O(n · columns) for the tables of `bbparse.models.scoring.parts`, then
O(F · L) additions of small integers, one run of L for each feature.
"""

from __future__ import annotations

import numpy as np

from bbparse.models.scoring.compile import GRANDCHILD, OUTERMOST, SIBLING, SIZE, PartTemplates
from bbparse.models.scoring.kernels import walk_parts
from bbparse.models.scoring.parts import PartWords, parts_not_in, sentence_tables
from bbparse.models.scoring.prefetch import add_rows
from bbparse.runtime.jit import kernel

#: Most modifiers of the same head, on either side, that count as siblings.
REACH = 4


@kernel
def label_parts(heads, walk):
    """Return the parts of a template group in a tree, and the arc that each part describes.

    ``heads`` is int32[n+1]. The arc is given as int32 owner, its modifier.
    """
    if walk != SIBLING:
        parts = parts_not_in(heads, heads, walk, False)
        return parts, parts.head if walk == GRANDCHILD or walk == OUTERMOST else parts.mod
    n = heads.shape[0] - 1
    out = np.empty((3, 2 * REACH * n), np.int32)
    count = 0
    # Modifiers by head, from left to right.
    start = np.zeros(n + 2, np.int64)
    for m in range(1, n + 1):
        start[heads[m] + 1] += 1
    for h in range(n + 1):
        start[h + 1] += start[h]
    mods = np.empty(n, np.int32)
    fill = start.copy()
    for m in range(1, n + 1):
        mods[fill[heads[m]]] = m
        fill[heads[m]] += 1
    for h in range(n + 1):
        for i in range(start[h], start[h + 1]):
            for j in range(max(start[h], i - REACH), min(start[h + 1], i + REACH + 1)):
                if i != j:
                    out[0, count] = h
                    out[1, count] = mods[j]
                    out[2, count] = mods[i]
                    count += 1
    return PartWords(out[0, :0], out[0, :count], out[1, :count], out[2, :count]), out[2, :count]


@kernel
def label_features(values, heads, templates):
    """List all features of the arcs of a tree.

    ``heads`` is int32[n+1], with no head out of range. ``values`` is the encoded sentence, and
    ``templates`` are `CompiledTemplates` as plain tuples. Returns ``owner`` int32[F] (the modifier
    of the arc that has the feature) and ``indices`` int64[F].
    """
    word_templates, part_templates = templates
    tables = sentence_tables(values, word_templates)
    named = PartTemplates(*part_templates)
    walks, shift = named.walks, named.shift
    # Siblings before m and after m are different features: the highest bit of the index.
    left = np.int64(np.uint64(1) << (np.uint64(63) - shift))
    # The type of a model's weights: another type would be compiled again.
    no_weights = np.zeros(1, np.int8)
    no_scores = np.zeros(0)
    owner = np.empty(256 * heads.shape[0], np.int32)
    indices = np.empty(256 * heads.shape[0], np.int64)
    filled = 0
    for walk in range(walks.shape[0] - 1):
        if not walks[walk, SIZE]:
            continue
        parts, owners = label_parts(heads, walk)
        n_parts = owners.shape[0]
        if not n_parts:
            continue
        features = walk_parts(
            walk, parts, tables, no_weights, 0.0, no_scores, part_templates
        )  # fmt: skip
        n_features = features.shape[0]
        if filled + n_features > indices.shape[0]:
            size = 2 * (filled + n_features)
            more_owner = np.empty(size, np.int32)
            more_indices = np.empty(size, np.int64)
            for i in range(filled):
                more_owner[i] = owner[i]
                more_indices[i] = indices[i]
            owner = more_owner
            indices = more_indices
        each = n_features // n_parts
        for part in range(n_parts):
            before = walk == SIBLING and parts.inner[part] < parts.mod[part]
            flip = left if before else np.int64(0)
            for i in range(part * each, (part + 1) * each):
                owner[filled] = owners[part]
                indices[filled] = features[i] ^ flip
                filled += 1
    return owner[:filled], indices[:filled]


@kernel
def label_scores(values, heads, templates, weights):
    """Score all labels, int32[n+1, width], in quanta, by ``weights`` int16[*, width]."""
    owner, indices = label_features(values, heads, templates)
    scores = np.zeros((heads.shape[0], weights.shape[1]), np.int32)
    add_rows(indices, owner, weights, scores)
    return scores
