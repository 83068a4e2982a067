"""φ of whole trees, in the order of the problem's arrays.

The search adds the same terms in a different order at every node. These kernels compute the score
that a user sees; it does not depend on how the tree was found, nor on the order of the factors. The
magnitudes of the terms determine how exact a score has to be.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import inlined, kernel
from bbparse.problem import Problem


@inlined
def _add(total, low, size, least, value):
    """Add a value to a compensated sum of two doubles (Neumaier 1974): nearly exact in any order.

    The sum of magnitudes and the smallest nonzero magnitude are updated too.
    """
    new = total + value
    if abs(total) >= abs(value):
        low += (total - new) + value
    else:
        low += (value - new) + total
    own = abs(value)
    if 0.0 < own < least:
        least = own
    return new, low, size + own, least


@kernel
def _place(head, mod, last):
    """Return the hash slot of an arc; several arcs may share a slot."""
    return (np.int64(head) * 31 + mod) & (last.shape[0] - 1)


@kernel
def _by_arc(n, head, mod):
    """Index rows by arc: the last row of each hash slot, and the previous row of each row."""
    size = 64
    while size < 4 * n:
        size *= 2
    last, before = np.full(size, -1), np.empty(head.shape[0], np.int64)
    for i in range(head.shape[0]):
        place = _place(head[i], mod[i], last)
        before[i] = last[place]
        last[place] = i
    return last, before


@kernel
def tree_parts(heads):
    """Return the parts of a tree: at most one of each kind for every modifier.

    ``heads`` is int32[n+1]; heads[0] is not read. The results are int32[n+1] arrays indexed by
    modifier: ``grand`` (head of the head, -1 under the root), ``inner`` (next modifier towards the
    head, -1 if there is none) and ``outermost`` (1 for the farthest modifier on its side, else 0).
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
def _fires(factors, c, arc_mod, tree):
    """Return True if a tree has all arcs of a factor."""
    for i in range(factors.ptr[c], factors.ptr[c + 1]):
        a = factors.arcs[i]
        if tree[arc_mod[a] - 1] != a:
            return False
    return True


@kernel
def rescore_trees(n, arcs, parts, factors, counts, heads, trees, out):  # noqa: C901 – one case for each kind of part
    """Score trees, ``trees`` int32[K, n] with ``heads`` int32[K, n+1]; write ``out`` float64[3, K].

    The rows of ``out`` are φ, the sum of the magnitudes of all terms of a tree, and the smallest
    nonzero magnitude (inf: there is none). ``arcs``, ``parts``, ``factors`` and ``counts`` are
    those of the problem.
    """
    sib, gc, ogc, gsib = parts
    last_sib, before_sib = _by_arc(n, sib.head, sib.outer)
    last_gc, before_gc = _by_arc(n, gc.head, gc.mod)
    last_ogc, before_ogc = _by_arc(n, ogc.head, ogc.mod)
    last_gsib, before_gsib = _by_arc(n, gsib.head, gsib.outer)
    first_head = np.empty(factors.score.shape[0], np.int32)
    first_mod = np.empty(factors.score.shape[0], np.int32)
    for c in range(first_mod.shape[0]):
        a = factors.arcs[factors.ptr[c]]
        first_head[c], first_mod[c] = arcs.head[a], arcs.mod[a]
    last_factor, before_factor = _by_arc(n, first_head, first_mod)
    for t in range(trees.shape[0]):
        head = heads[t]
        _, inner, outermost = tree_parts(head)
        score, low, size, least = 0.0, 0.0, 0.0, np.inf
        for m in range(n):
            score, low, size, least = _add(score, low, size, least, arcs.score[trees[t, m]])
        for m in range(1, n + 1):
            h = head[m]
            i = last_sib[_place(h, m, last_sib)]
            while i >= 0:
                if sib.outer[i] == m and sib.head[i] == h and inner[m] == sib.inner[i]:
                    score, low, size, least = _add(score, low, size, least, sib.score[i])
                i = before_sib[i]
            i = last_gc[_place(h, m, last_gc)]
            while i >= 0:
                if gc.mod[i] == m and gc.head[i] == h and head[h] == gc.grand[i]:
                    score, low, size, least = _add(score, low, size, least, gc.score[i])
                i = before_gc[i]
            i = last_ogc[_place(h, m, last_ogc)]
            while i >= 0:
                if ogc.mod[i] == m and ogc.head[i] == h and head[h] == ogc.grand[i]:
                    if outermost[m] == 1:
                        score, low, size, least = _add(score, low, size, least, ogc.score[i])
                i = before_ogc[i]
            i = last_gsib[_place(h, m, last_gsib)]
            while i >= 0:
                if gsib.outer[i] == m and gsib.head[i] == h and inner[m] == gsib.inner[i]:
                    if h == 0 or head[h] == gsib.grand[i]:
                        score, low, size, least = _add(score, low, size, least, gsib.score[i])
                i = before_gsib[i]
            c = last_factor[_place(h, m, last_factor)]
            while c >= 0:
                if first_mod[c] == m and _fires(factors, c, arcs.mod, trees[t]):
                    score, low, size, least = _add(score, low, size, least, factors.score[c])
                c = before_factor[c]
        for c in range(counts.ptr.shape[0] - 1):
            number = 0
            for i in range(counts.ptr[c], counts.ptr[c + 1]):
                a = counts.arcs[i]
                number += trees[t, arcs.mod[a] - 1] == a
            value = counts.score[counts.score_ptr[c] + number]
            score, low, size, least = _add(score, low, size, least, value)
        out[0, t] = score + low if score > -np.inf else score
        out[1, t], out[2, t] = size, least


def rescore(problem: Problem, arcs: NDArray[np.int32], heads: NDArray[np.int32]) -> NDArray:
    """Apply `rescore_trees` to ``Solution.arcs`` and ``Solution.heads``; return float64[3, K]."""
    p = problem
    out = np.empty((3, arcs.shape[0]))
    rescore_trees(p.n_words, p.arcs, p.parts, p.factors, p.counts, heads, arcs, out)
    return out
