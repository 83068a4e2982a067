"""Kernels of `bbparse.core.score`: parts and sets of arcs of trees, and sums of their scores.

They are the only definition of φ beside the independent checker's (`inference.proof.spans`).
"""

from __future__ import annotations

import numpy as np

from bbparse.core.parts import ANY, OUTERMOST
from bbparse.runtime.jit import kernel


@kernel
def tree_parts(heads):
    """Return the parts of a tree: at most one of each kind for every modifier.

    ``heads`` is int32[n+1]; heads[0] is not read. The results are int32[n+1] arrays indexed by
    modifier: ``grand`` (head of the head, -1 under the root), ``inner`` (next modifier towards the
    head, -1 if there is none) and ``outermost`` (1 for the farthest modifier on its side, else 0).
    """
    n = heads.shape[0] - 1
    grand = np.full(n + 1, np.int32(-1), np.int32)
    inner = np.full(n + 1, np.int32(-1), np.int32)
    outermost = np.zeros(n + 1, np.int32)
    left = np.full(n + 1, np.int32(-1), np.int32)  # modifier seen last on this side
    right = np.full(n + 1, np.int32(-1), np.int32)
    for m in range(1, n + 1):
        h = heads[m]
        if h > 0:
            grand[m] = heads[h]
        if m > h:
            inner[m] = right[h]
            outermost[m] = 1
            if right[h] >= 0:
                outermost[right[h]] = 0
            right[h] = m
        else:
            if left[h] >= 0:
                inner[left[h]] = m
            else:
                outermost[m] = 1
            left[h] = m
    return grand, inner, outermost


@kernel
def mark_parts(words, kind_ptr, heads):
    """Return which parts of a ``part_table`` fire in a tree, bool[P]."""
    first, end = kind_ptr[OUTERMOST], kind_ptr[OUTERMOST + 1]
    grand, inner, outermost = tree_parts(heads)
    fires = np.empty(words.shape[1], np.bool_)
    for i in range(fires.shape[0]):
        g, h, s, m = words[0, i], words[1, i], words[2, i], words[3, i]
        fires[i] = (
            heads[m] == h
            and (g == ANY or g == grand[m])
            and (s == ANY or s == inner[m])
            and (outermost[m] == 1 or not first <= i < end)
        )
    return fires


@kernel
def count_members(trees, arc_mod, ptr, arcs):
    """Return how many arcs of each set ``arcs[ptr[c] : ptr[c + 1]]`` are in trees, int64[K, C]."""
    numbers = np.zeros((trees.shape[0], ptr.shape[0] - 1), np.int64)
    for t in range(trees.shape[0]):
        for c in range(numbers.shape[1]):
            for i in range(ptr[c], ptr[c + 1]):
                numbers[t, c] += trees[t, arc_mod[arcs[i]] - 1] == arcs[i]
    return numbers


@kernel
def _add_up(terms):
    """Add up terms nearly exactly, in any order, by two doubles (Neumaier 1974).

    Returns the sum, the sum of the magnitudes, and the smallest nonzero magnitude (inf: none).
    """
    total, low, size, least = 0.0, 0.0, 0.0, np.inf
    for value in terms:
        new = total + value
        if abs(total) >= abs(value):
            low += (total - new) + value
        else:
            low += (value - new) + total
        total = new
        magnitude = abs(value)
        size += magnitude
        if 0.0 < magnitude < least:
            least = magnitude
    return total + low if total > -np.inf else total, size, least


@kernel
def score_rows(trees, arc_head, arc_score, parts, others):
    """Return the scores of trees with further terms ``others`` float64[K, T]; see `score_trees`."""
    words, part_score, kind_ptr = parts
    n_trees, n = trees.shape
    n_parts, n_others = part_score.shape[0], others.shape[1]
    terms, heads = np.empty(n + n_parts + n_others), np.empty(n + 1, np.int32)
    scores = np.empty((3, n_trees))
    heads[0] = -1
    for t in range(n_trees):
        for m in range(n):
            heads[m + 1] = arc_head[trees[t, m]]
            terms[m] = arc_score[trees[t, m]]
        used = n
        if n_parts > 0:
            fires = mark_parts(words, kind_ptr, heads)
            for i in range(n_parts):
                if fires[i]:
                    terms[used] = part_score[i]
                    used += 1
        for i in range(n_others):
            terms[used + i] = others[t, i]
        scores[0, t], scores[1, t], scores[2, t] = _add_up(terms[: used + n_others])
    return scores
