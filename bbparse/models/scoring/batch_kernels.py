"""Kernels from a network's scores of all arcs to candidate arcs and their parts, a call a batch.

Sentences follow each other: ``size`` (int64[S]) are their numbers of words, root included, and
element ``ptr[s]`` of an array is the first of sentence s.
"""

from __future__ import annotations

import numpy as np

from bbparse.models.scoring.candidates import LONG, best_tree, enumerate_parts, prune_arcs
from bbparse.models.scoring.in_trees import in_projective_trees
from bbparse.runtime.jit import kernel

#: Most candidate arcs of a long sentence, but two a word at least.
MOST_ARCS = 3000


@kernel
def candidate_arcs(scores, size, k, margin, single_root, in_trees):
    """Return the candidate arcs of sentences: ptr int64[S + 1], heads and modifiers int32[A].

    ``scores`` are those of all arcs, float32[Σ size²]. A word keeps its k best heads (0: all) that
    score at least its best minus ``margin``, and its head in the best tree (`prune_arcs`);
    sentences of more than `LONG` words keep fewer, because otherwise their charts are too large for
    any limit on work. With ``in_trees`` arcs that belong to no projective tree are left out, unless
    there is no tree.
    """
    room = 0
    for n in size:
        room += n * (n if k == 0 else min(n, k + 1))
    ptr = np.zeros(size.shape[0] + 1, np.int64)
    heads, mods = np.empty(room, np.int32), np.empty(room, np.int32)
    at = 0
    for s in range(size.shape[0]):
        n = size[s] - 1
        square = np.empty((n + 1, n + 1))
        for h in range(n + 1):
            for m in range(n + 1):
                square[h, m] = scores[at + h * (n + 1) + m]
        at += size[s] * size[s]
        most, least, best = k, margin, np.full(n + 1, np.int32(-1), np.int32)
        if k == 0:
            least = np.inf
        else:
            best = best_tree(square, single_root)
            if n > LONG:
                most = min(k, max(2, MOST_ARCS // n))
        head, mod = prune_arcs(square, most, least, best)
        if in_trees:
            kept_head, kept_mod = in_projective_trees(n, head, mod, single_root)
            if kept_head.shape[0] > 0:
                head, mod = kept_head, kept_mod
        ptr[s + 1] = ptr[s] + head.shape[0]
        for a in range(head.shape[0]):
            heads[ptr[s] + a], mods[ptr[s] + a] = head[a], mod[a]
    return ptr, heads[: ptr[-1]].copy(), mods[: ptr[-1]].copy()


@kernel
def _with_room(table, used, more):
    """Return a table, int32[6, columns], with room for more columns after those used."""
    if used + more <= table.shape[1]:
        return table
    bigger = np.empty((6, 2 * (used + more)), np.int32)
    for i in range(6):
        for j in range(used):
            bigger[i, j] = table[i, j]
    return bigger


@kernel
def _append(table, used, words, first):
    """Write the words of parts, and their rows in the batch, behind those of a table."""
    for i in range(3):
        for j in range(words[i].shape[0]):
            word = words[i][j]
            table[i, used + j] = word
            table[3 + i, used + j] = first + word if word >= 0 else word


@kernel
def part_words(ptr, arc_head, arc_mod, size, first, projective, single_root):
    """Enumerate the siblings and grandchildren that the candidate arcs of sentences can form.

    Returns for siblings (head, inner, modifier) and grandchildren (grandparent, head, modifier):
    int64[S + 1], where the parts of each sentence begin; int32[3, T], their words, -1 for no inner
    sibling; and int32[3, T], the rows of these words in the batch, of which ``first`` (int64[S])
    are those of the roots. The order is that of `enumerate_parts`.
    """
    n_sentences = size.shape[0]
    want = np.array([True, True, False])
    siblings = np.empty((6, 8 * arc_head.shape[0]), np.int32)
    grandchildren = np.empty((6, 8 * arc_head.shape[0]), np.int32)
    sib_ptr = np.zeros(n_sentences + 1, np.int64)
    gc_ptr = np.zeros(n_sentences + 1, np.int64)
    for s in range(n_sentences):
        head, mod = arc_head[ptr[s] : ptr[s + 1]], arc_mod[ptr[s] : ptr[s + 1]]
        sib, chains, _, top = enumerate_parts(
            size[s] - 1, head, mod, projective, single_root, want
        )
        n_sib, n_gc = sib.mod.shape[0], chains.mod.shape[0] - top
        siblings = _with_room(siblings, sib_ptr[s], n_sib)
        grandchildren = _with_room(grandchildren, gc_ptr[s], n_gc)
        _append(siblings, sib_ptr[s], (sib.head, sib.inner, sib.mod), first[s])
        chain = chains.grand[top:], chains.head[top:], chains.mod[top:]
        _append(grandchildren, gc_ptr[s], chain, first[s])
        sib_ptr[s + 1], gc_ptr[s + 1] = sib_ptr[s] + n_sib, gc_ptr[s] + n_gc
    siblings = siblings[:, : sib_ptr[-1]].copy()
    grandchildren = grandchildren[:, : gc_ptr[-1]].copy()
    return (
        (sib_ptr, siblings[:3], siblings[3:]),
        (gc_ptr, grandchildren[:3], grandchildren[3:]),
    )
