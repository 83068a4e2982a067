"""Kernels of candidate arcs and pruning."""

from __future__ import annotations

import numpy as np

from bbparse.inference.oracles.projective.dense import eisner
from bbparse.runtime.arrays import Ints
from bbparse.runtime.jit import kernel

Pairs = tuple[Ints, Ints]
"""Heads and modifiers of arcs."""

#: Sentences of more than `LONG` words are pruned without arcs longer than `REACH`.
LONG, REACH = 300, 150


def all_arcs(n: int, reach: int) -> Pairs:
    """List every arc of a sentence of n words, sorted by (head, mod).

    Heads other than the root are at most `reach` words away.
    """
    words = np.arange(n + 1)
    away = np.abs(words[:, np.newaxis] - words)
    away[0] = 1  # arcs from the root may have any length
    head, mod = np.nonzero((away > 0) & (away <= reach) & (words > 0))
    return head.astype(np.int32), mod.astype(np.int32)


@kernel
def prune_arcs(scores, k, margin, best_heads):
    """Prune arcs, and return int32 arrays head, mod, sorted by (head, mod).

    `scores` is float64[n+1, n+1], scores[h, m], -inf where there is no arc. A word keeps those of
    its k best heads (0: all; among equal ones the smaller index) that score at least its best minus
    `margin`, and the arc from best_heads[m] (int32[n+1]; -1: none). O(n² k).
    """
    n = scores.shape[0] - 1
    keep = np.zeros((n + 1, n + 1), np.bool_)
    for m in range(1, n + 1):
        least = -np.inf
        for _ in range(n if k == 0 else min(k, n)):
            best, top = -1, -np.inf
            for h in range(n + 1):
                if h != m and not keep[h, m] and scores[h, m] > top and scores[h, m] >= least:
                    best, top = h, scores[h, m]
            if best < 0:
                break
            keep[best, m] = True
            least = max(least, top - margin)
        if best_heads[m] >= 0:
            keep[best_heads[m], m] = True
    head, mod = np.nonzero(keep)
    return head.astype(np.int32), mod.astype(np.int32)


@kernel
def long_best_tree(scores, single_root):
    """Find a good projective tree, int32[n+1] heads; for up to `LONG` words it is the best one.

    Longer sentences are divided into blocks of `REACH` words, each with its best tree; the root of
    a block heads the root of the next.
    """
    n = scores.shape[0] - 1
    if n <= LONG:
        heads, _ = eisner(scores, single_root)
        return heads
    heads = np.full(n + 1, np.int32(-1), np.int32)
    above = 0
    for start in range(0, n, REACH):
        size = min(REACH, n - start)
        block = np.empty((size + 1, size + 1))
        for i in range(size + 1):
            for j in range(size + 1):
                block[i, j] = scores[start + i if i > 0 else 0, start + j]
        block_heads, _ = eisner(block, True)
        root = above
        for j in range(1, size + 1):
            heads[start + j] = start + block_heads[j] if block_heads[j] > 0 else above
            if block_heads[j] == 0:
                root = start + j
        above = root
    return heads
