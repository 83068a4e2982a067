"""Kernels around the scores: parts of a tree that another has not, and pruning."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel


class PartWords(NamedTuple):
    """The words of parts, int32[P] each; empty for roles that the parts have not."""

    grand: NDArray[np.int32]
    head: NDArray[np.int32]
    inner: NDArray[np.int32]
    mod: NDArray[np.int32]


@kernel
def tree_parts(heads):
    """The parts of a tree, one of each kind for every modifier that has one.

    `heads` is int32[n+1] (heads[0] is not read). Returns int32[n+1] arrays indexed by modifier:
    ``grand`` (head of the head, -1 under the root), ``inner`` (next modifier towards the head, -1
    if there is none) and ``outermost`` (1 for the farthest modifier on its side, else 0).
    """
    n = heads.shape[0] - 1
    grand = np.full(n + 1, -1, np.int32)
    inner = np.full(n + 1, -1, np.int32)
    outermost = np.zeros(n + 1, np.int32)
    left = np.full(n + 1, -1, np.int32)  # the modifier seen last on this side of each word
    right = np.full(n + 1, -1, np.int32)
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
def parts_not_in(heads, others, kind, compare):
    """Parts of one kind of a tree; with `compare`, those that the tree `others` has not.

    Returns `PartWords`, in the order of the modifiers.
    """
    n = heads.shape[0] - 1
    grand, inner, outermost = tree_parts(heads)
    other_grand, other_inner, other_outermost = tree_parts(others)
    out = np.empty((4, n), np.int32)
    count = 0
    for m in range(1, n + 1):
        h = heads[m]
        if (kind == 2 or kind == 3) and h == 0:
            continue
        if kind == 3 and not outermost[m]:
            continue
        if compare and others[m] == h:
            same = True
            if kind >= 2:
                same = grand[m] == other_grand[m]
            if kind == 1 or kind == 4:
                same = same and inner[m] == other_inner[m]
            if kind == 3:
                same = same and other_outermost[m] == 1
            if same:
                continue
        out[0, count] = grand[m]
        out[1, count] = h
        out[2, count] = inner[m]
        out[3, count] = m
        count += 1
    with_grand = count if kind >= 2 else 0
    with_inner = count if kind == 1 or kind == 4 else 0
    return PartWords(out[0, :with_grand], out[1, :count], out[2, :with_inner], out[3, :count])


@kernel
def all_arcs(n, reach):
    """Every arc of a sentence of n words, sorted by (head, mod): int32 arrays head, mod.

    Other heads than the root are at most `reach` words away.
    """
    head = np.empty(n * min(n, 2 * reach + 1), np.int32)
    mod = np.empty(head.shape[0], np.int32)
    filled = 0
    for h in range(n + 1):
        first = 1 if h == 0 else max(1, h - reach)
        last = n if h == 0 else min(n, h + reach)
        for m in range(first, last + 1):
            if m != h:
                head[filled] = h
                mod[filled] = m
                filled += 1
    return head[:filled], mod[:filled]


@kernel
def as_square(n, head, mod, scores):
    """Scores of arcs as float64[n+1, n+1], -inf where there is no arc."""
    square = np.full((n + 1, n + 1), -np.inf)
    for a in range(head.shape[0]):
        square[head[a], mod[a]] = scores[a]
    return square


@kernel
def prune_arcs(scores, k, margin, best_heads):
    """The candidate arcs worth keeping.

    `scores` is float64[n+1, n+1], scores[h, m], -inf where there is no arc. Kept are, for each
    word, its k best heads (0: all; of equal ones those with smaller index) as far as they score
    no less than its best minus `margin`, and the arc from best_heads[m] (int32[n+1]; -1: none).
    O(n² k). Returns int32 arrays head, mod, sorted by (head, mod).
    """
    n = scores.shape[0] - 1
    keep = np.zeros((n + 1, n + 1), np.bool_)
    most = n + 1 if k == 0 else min(k, n + 1)
    top = np.empty(most, np.int64)
    total = 0
    for m in range(1, n + 1):
        best = -np.inf
        for h in range(n + 1):
            if h != m:
                best = max(best, scores[h, m])
        least = best - margin
        count = 0
        for h in range(n + 1):
            score = scores[h, m]
            if h == m or score == -np.inf or score < least:
                continue
            if count == most and score <= scores[top[count - 1], m]:
                continue
            # Insertion from the end: a later head goes behind equal ones.
            place = count if count < most else most - 1
            count = place + 1
            if k == 0:
                top[place] = h
                continue
            while place > 0 and scores[top[place - 1], m] < score:
                top[place] = top[place - 1]
                place -= 1
            top[place] = h
        for i in range(count):
            keep[top[i], m] = True
        if best_heads[m] >= 0 and not keep[best_heads[m], m]:
            keep[best_heads[m], m] = True
            count += 1
        total += count
    head = np.empty(total, np.int32)
    mod = np.empty(total, np.int32)
    filled = 0
    for h in range(n + 1):
        for m in range(1, n + 1):
            if keep[h, m]:
                head[filled] = h
                mod[filled] = m
                filled += 1
    return head, mod
