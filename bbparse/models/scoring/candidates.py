"""Kernels of candidate arcs: pruning, and the parts that the remaining arcs can form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.inference.oracles.projective.dense import eisner
from bbparse.inference.oracles.projective.weights import index_groups
from bbparse.runtime.jit import kernel

#: Sentences of more than `LONG` words are pruned without arcs longer than `REACH`.
LONG, REACH = 300, 150


class PartWords(NamedTuple):
    """The words of parts, int32[P] each; empty for roles that the parts lack."""

    grand: NDArray[np.int32]
    head: NDArray[np.int32]
    inner: NDArray[np.int32]
    mod: NDArray[np.int32]


@kernel
def enumerate_parts(n, arc_head, arc_mod, projective, single_root, want):
    """Enumerate all parts that candidate arcs can form, as `PartWords`.

    Arcs are sorted by (head, mod). `want` (bool[3]) selects siblings, chains and grand-siblings;
    kinds that are not selected are empty. Siblings are sorted by (head, outer, inner), chains by
    (head, mod, grand) and grand-siblings by (head, outer, inner, grand), -1 first, so that the
    parts of one arc, or of one sibling part, follow each other. Chains are the arcs from the root,
    as (-1, 0, m), then grandchildren.

    Parts that no tree contains are left out: cycles; with `projective`, g→h→m with g between h and
    m (g would be a descendant of h); with `single_root`, siblings under the root.

    Returns siblings, chains, grand-siblings and the number of arcs from the root.
    """
    n_arcs = arc_head.shape[0]
    _, out_ptr, out_mid, in_ptr, in_list, _ = index_groups(n, arc_head, arc_mod)
    room = np.zeros(3, np.int64)  # an upper bound, as some parts fit no tree
    for a in range(n_arcs):
        h, m = arc_head[a], arc_mod[a]
        n_inner = a - out_mid[h] if m > h else out_mid[h] - a - 1
        if h == 0 and single_root:
            n_inner = 0
        n_grand = max(1, in_ptr[h + 1] - in_ptr[h])
        room[0] += 1 + n_inner if want[0] else 0
        room[1] += n_grand if want[1] else 0
        room[2] += n_grand * (1 + n_inner) if want[2] else 0
    sib = np.empty((3, room[0]), np.int32)
    chains = np.empty((3, room[1]), np.int32)
    gsib = np.empty((4, room[2]), np.int32)
    grands = np.empty(n + 1, np.int32)
    n_sib = n_chains = n_gsib = 0
    for a in range(n_arcs):
        h, m = arc_head[a], arc_mod[a]
        count = 0
        if h == 0:
            grands[0] = -1
            count = 1
        for c in range(in_ptr[h], in_ptr[h + 1]):
            g = arc_head[in_list[c]]
            if g != m and not (projective and min(h, m) < g < max(h, m)):
                grands[count] = g
                count += 1
        for c in range(count if want[1] else 0):
            chains[0, n_chains], chains[1, n_chains], chains[2, n_chains] = grands[c], h, m
            n_chains += 1
        # Arcs to the modifiers between h and m.
        first, last = (out_mid[h], a) if m > h else (a + 1, out_mid[h])
        if h == 0 and single_root:
            last = first
        for b in range(first - 1, last):
            s = arc_mod[b] if b >= first else np.int32(-1)
            if want[0]:
                sib[0, n_sib], sib[1, n_sib], sib[2, n_sib] = h, s, m
                n_sib += 1
            for c in range(count if want[2] else 0):
                # Without `projective` the head of h may lie between h and m; it cannot be s.
                if s < 0 or grands[c] != s:
                    gsib[0, n_gsib], gsib[1, n_gsib] = grands[c], h
                    gsib[2, n_gsib], gsib[3, n_gsib] = s, m
                    n_gsib += 1
    return (
        PartWords(sib[0, :0], sib[0, :n_sib], sib[1, :n_sib], sib[2, :n_sib]),
        PartWords(chains[0, :n_chains], chains[1, :n_chains], chains[0, :0], chains[2, :n_chains]),
        PartWords(gsib[0, :n_gsib], gsib[1, :n_gsib], gsib[2, :n_gsib], gsib[3, :n_gsib]),
        min(np.int64(out_ptr[1]), n_chains),
    )


@kernel
def all_arcs(n, reach):
    """List every arc of a sentence of n words, sorted by (head, mod): int32 arrays head, mod.

    Heads other than the root are at most `reach` words away.
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
def prune_arcs(scores, k, margin, best_heads):
    """Prune arcs, and return int32 arrays head, mod, sorted by (head, mod).

    `scores` is float64[n+1, n+1], scores[h, m], -inf where there is no arc. A word keeps those of
    its k best heads (0: all; among equal ones the smaller index) that score at least its best minus
    `margin`, and the arc from best_heads[m] (int32[n+1]; -1: none). O(n² k).
    """
    n = scores.shape[0] - 1
    keep = np.zeros((n + 1, n + 1), np.bool_)
    most = n + 1 if k == 0 else min(k, n + 1)
    top = np.empty(most, np.int64)
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
            # Insert from the end: a later head goes behind equal ones.
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
        if best_heads[m] >= 0:
            keep[best_heads[m], m] = True
    head, mod = np.nonzero(keep)
    return head.astype(np.int32), mod.astype(np.int32)


@kernel
def best_tree(scores, single_root):
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
