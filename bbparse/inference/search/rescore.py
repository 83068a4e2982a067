"""φ of whole trees, in the order of the problem's arrays.

The search adds the same terms in a different order at every node. These kernels compute the score
that a user sees; it does not depend on how the tree was found, nor on the order of the factors. The
magnitudes of the terms determine how exact a score has to be.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Problem
from bbparse.core.parts import ANY
from bbparse.runtime.arrays import Ints
from bbparse.runtime.jit import inlined, kernel


@kernel
def add_up(terms):
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


@inlined
def _list_parts(part, rows, outermost, m, heads, above, terms, used):
    """Write the scores of the parts that fire at modifier m; return the number of terms so far.

    ``rows`` are those of `_by_arc`, ``above`` those of `tree_parts`; if ``outermost``, parts fire
    only if m is the farthest modifier on its side.
    """
    last, before = rows
    grand, inner, farthest = above
    h = heads[m]
    i = last[_place(h, m, last)]
    while i >= 0:
        if (
            part.mod[i] == m
            and part.head[i] == h
            and (part.grand[i] == ANY or part.grand[i] == grand[m])
            and (part.inner[i] == ANY or part.inner[i] == inner[m])
            and (farthest[m] == 1 or not outermost)
        ):
            terms[used] = part.score[i]
            used += 1
        i = before[i]
    return used


@kernel
def rescore_trees(n, arcs, parts, factors, counts, heads, trees, out):
    """Score trees, ``trees`` int32[K, n] with ``heads`` int32[K, n+1]; write ``out`` float64[3, K].

    The rows of ``out`` are φ, the sum of the magnitudes of all terms of a tree, and the smallest
    nonzero magnitude (inf: there is none). ``arcs``, ``parts``, ``factors`` and ``counts`` are
    those of the problem.
    """
    sib, gc, ogc, gsib = parts
    of_sib, of_gc = _by_arc(n, sib.head, sib.mod), _by_arc(n, gc.head, gc.mod)
    of_ogc, of_gsib = _by_arc(n, ogc.head, ogc.mod), _by_arc(n, gsib.head, gsib.mod)
    n_factors, n_counts = factors.score.shape[0], counts.ptr.shape[0] - 1
    first_head, first_mod = np.empty(n_factors, np.int32), np.empty(n_factors, np.int32)
    n_parts = sib.head.shape[0] + gc.head.shape[0] + ogc.head.shape[0] + gsib.head.shape[0]
    for c in range(n_factors):
        a = factors.arcs[factors.ptr[c]]
        first_head[c], first_mod[c] = arcs.head[a], arcs.mod[a]
    last_factor, before_factor = _by_arc(n, first_head, first_mod)
    terms = np.empty(n + n_parts + n_factors + n_counts)
    for t in range(trees.shape[0]):
        used = n
        for m in range(n):
            terms[m] = arcs.score[trees[t, m]]
        head = heads[t]
        above = tree_parts(head)
        for m in range(1, n + 1):
            used = _list_parts(sib, of_sib, False, m, head, above, terms, used)
            used = _list_parts(gc, of_gc, False, m, head, above, terms, used)
            used = _list_parts(ogc, of_ogc, True, m, head, above, terms, used)
            used = _list_parts(gsib, of_gsib, False, m, head, above, terms, used)
            c = last_factor[_place(head[m], m, last_factor)]
            while c >= 0:
                if first_mod[c] == m and _fires(factors, c, arcs.mod, trees[t]):
                    terms[used] = factors.score[c]
                    used += 1
                c = before_factor[c]
        for c in range(n_counts):
            number = 0
            for i in range(counts.ptr[c], counts.ptr[c + 1]):
                a = counts.arcs[i]
                number += trees[t, arcs.mod[a] - 1] == a
            terms[used] = counts.score[counts.score_ptr[c] + number]
            used += 1
        out[0, t], out[1, t], out[2, t] = add_up(terms[:used])


def rescore(problem: Problem, arcs: Ints, heads: Ints) -> NDArray:
    """Apply `rescore_trees` to ``Solution.arcs`` and ``Solution.heads``; return float64[3, K]."""
    p = problem
    out = np.empty((3, arcs.shape[0]))
    rescore_trees(p.n_words, p.arcs, p.parts, p.factors, p.counts, heads, arcs, out)
    return out
