"""Kernels: a network's scores of all arcs in, candidate arcs and parts of a batch out.

Sentences follow each other: ``size`` (int64[S]) are their numbers of words, root included, and
element ``ptr[s]`` of an array is the first of sentence s.
"""

from __future__ import annotations

import numpy as np

from bbparse.models.scoring.candidates import LONG, long_best_tree, prune_arcs
from bbparse.runtime.jit import kernel

#: Value of a weight of 1 of a model with templates, and unit of the scores of all models: a power
#: of two, so that sums of scores are exact in doubles.
QUANTUM = 2.0**-16
#: Most candidate arcs of a long sentence, but two a word at least.
MOST_ARCS = 3000


@kernel
def candidate_arcs(scores, size, k, margin, single_root):
    """Return the candidate arcs of sentences: ptr int64[S + 1], heads and modifiers int32[A].

    ``scores`` are those of all arcs, float32[Σ size²]. A word keeps its k best heads (0: all) that
    score at least its best minus ``margin``, and its head in the best tree (`prune_arcs`);
    sentences of more than `LONG` words keep fewer, because otherwise their charts are too large for
    any limit on work.
    """
    room = 0
    for n in size:
        room += n * (n if k == 0 else min(n, k + 1))
    ptr = np.zeros(size.shape[0] + 1, np.int64)
    heads, mods = np.empty(room, np.int32), np.empty(room, np.int32)
    at = 0
    for s in range(size.shape[0]):
        n = size[s] - 1
        square = scores[at : at + size[s] ** 2].reshape((n + 1, n + 1)).astype(np.float64)
        at += size[s] ** 2
        most, least, best = k, margin, np.full(n + 1, np.int32(-1), np.int32)
        if k == 0:
            least = np.inf
        else:
            best = long_best_tree(square, single_root)
            if n > LONG:
                most = min(k, max(2, MOST_ARCS // n))
        head, mod = prune_arcs(square, most, least, best)
        ptr[s + 1] = ptr[s] + head.shape[0]
        for a in range(head.shape[0]):
            heads[ptr[s] + a], mods[ptr[s] + a] = head[a], mod[a]
    return ptr, heads[: ptr[-1]].copy(), mods[: ptr[-1]].copy()


@kernel
def _arcs_into(ptr, arc_mod, size, first):
    """List the arcs into each row of a batch: those into row r are ``arcs[at[r] : at[r + 1]]``."""
    at = np.zeros(2 + (first[-1] + size[-1] if size.shape[0] > 0 else 0), np.int64)
    arcs = np.empty(arc_mod.shape[0], np.int64)
    for s in range(size.shape[0]):
        for a in range(ptr[s], ptr[s + 1]):
            at[first[s] + arc_mod[a] + 2] += 1
    for row in range(1, at.shape[0]):
        at[row] += at[row - 1]
    for s in range(size.shape[0]):
        for a in range(ptr[s], ptr[s + 1]):
            row = first[s] + arc_mod[a] + 1
            arcs[at[row]] = a
            at[row] += 1
    return at, arcs


@kernel(inline=True)
def _put(table, at, first, above, middle, below):
    """Write the words of a part into a column of a table, and below them their rows."""
    table[0, at], table[1, at], table[2, at] = above, middle, below
    table[3, at], table[5, at] = first + above, first + below
    table[4, at] = first + middle if middle >= 0 else middle


@kernel
def part_words(ptr, arc_head, arc_mod, size, first, projective, single_root):
    """Enumerate the siblings and grandchildren that the candidate arcs of sentences can form.

    Returns for siblings (head, inner, modifier) and for grandchildren (grandparent, head, modifier)
    where the parts of each sentence begin, int64[S + 1], and int32[6, T]: their words, -1 for no
    inner sibling, and the rows of these words in the batch, of which ``first`` (int64[S]) are those
    of the roots. Arcs are sorted by (head, modifier), siblings by (head, modifier, inner) and
    grandchildren by (head, modifier, grandparent), so that the parts of an arc follow each other.

    Parts that no tree contains are left out: cycles; with ``projective``, g → h → m with g between
    h and m (g would be a descendant of h); with ``single_root``, siblings under the root.
    """
    above_ptr, above = _arcs_into(ptr, arc_mod, size, first)
    middle = np.empty(above_ptr.shape[0], np.int64)  # by row: its first arc to the right
    n_sib = n_gc = 0
    for s in range(size.shape[0]):
        for a in range(ptr[s], ptr[s + 1]):
            row = first[s] + arc_head[a]
            if a == ptr[s] or arc_head[a] != arc_head[a - 1]:
                middle[row] = begin = a
            if arc_mod[a] < arc_head[a]:
                middle[row] = a + 1
            n_sib += a + 1 - (begin if arc_mod[a] < arc_head[a] else middle[row])
            n_gc += above_ptr[row + 1] - above_ptr[row]
    siblings, grandchildren = np.empty((6, n_sib), np.int32), np.empty((6, n_gc), np.int32)
    sib_ptr, gc_ptr = np.zeros(size.shape[0] + 1, np.int64), np.zeros(size.shape[0] + 1, np.int64)
    n_sib = n_gc = 0
    for s in range(size.shape[0]):
        for a in range(ptr[s], ptr[s + 1]):
            h, m, row = arc_head[a], arc_mod[a], first[s] + arc_head[a]
            for i in range(above_ptr[row], above_ptr[row + 1]):
                g = arc_head[above[i]]
                if g != m and not (projective and min(h, m) < g < max(h, m)):
                    _put(grandchildren, n_gc, first[s], g, h, m)
                    n_gc += 1
            _put(siblings, n_sib, first[s], h, np.int32(-1), m)
            n_sib += 1
            if h == 0 and single_root:
                continue
            for b in range(middle[row], a) if m > h else range(a + 1, middle[row]):
                _put(siblings, n_sib, first[s], h, arc_mod[b], m)
                n_sib += 1
        sib_ptr[s + 1], gc_ptr[s + 1] = n_sib, n_gc
    return ((sib_ptr, siblings[:, :n_sib].copy()), (gc_ptr, grandchildren[:, :n_gc].copy()))
