"""φ of whole trees, in the order of the problem's arrays.

The search adds the same numbers in another order at every node; this gives the score a user sees,
the same however the tree was found and in whatever order the factors are given.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import inlined, kernel
from bbparse.problem import Problem


@inlined
def _add(total, low, value):
    """Add to a sum kept as two doubles (Neumaier 1974): as good as exact, whatever the order."""
    new = total + value
    if abs(total) >= abs(value):
        low += (total - new) + value
    else:
        low += (value - new) + total
    return new, low


@kernel
def rescore_trees(n, arcs, parts, factors, counts, heads, trees, out):
    """Write φ of the trees ``trees`` int32[K, n], ``heads`` int32[K, n+1] to ``out`` float64[K].

    ``arcs``, ``parts``, ``factors`` and ``counts`` are those of the problem.
    """
    sib, gc, ogc, gsib = parts
    inner = np.empty(n + 1, np.int32)
    outermost = np.empty((n + 1, 2), np.int32)
    for t in range(trees.shape[0]):
        head = heads[t]
        outermost[:] = -1
        for m in range(1, n + 1):  # left modifiers come from far to near
            h = head[m]
            if m < h and outermost[h, 0] < 0:
                outermost[h, 0] = m
            elif m > h:
                inner[m] = outermost[h, 1]
                outermost[h, 1] = m
        last = np.full(n + 1, -1, np.int32)
        for m in range(n, 0, -1):
            h = head[m]
            if m < h:
                inner[m] = last[h]
                last[h] = m
        score = 0.0
        low = 0.0
        for m in range(n):
            score, low = _add(score, low, arcs.score[trees[t, m]])
        for i in range(sib.score.shape[0]):
            m = sib.outer[i]
            if head[m] == sib.head[i] and inner[m] == sib.inner[i]:
                score, low = _add(score, low, sib.score[i])
        for i in range(gc.score.shape[0]):
            if head[gc.mod[i]] == gc.head[i] and head[gc.head[i]] == gc.grand[i]:
                score, low = _add(score, low, gc.score[i])
        for i in range(ogc.score.shape[0]):
            m = ogc.mod[i]
            h = ogc.head[i]
            if head[m] == h and head[h] == ogc.grand[i] and outermost[h, int(m > h)] == m:
                score, low = _add(score, low, ogc.score[i])
        for i in range(gsib.score.shape[0]):
            m = gsib.outer[i]
            h = gsib.head[i]
            if head[m] == h and inner[m] == gsib.inner[i] and (h == 0 or head[h] == gsib.grand[i]):
                score, low = _add(score, low, gsib.score[i])
        for c in range(factors.score.shape[0]):
            fires = True
            for i in range(factors.ptr[c], factors.ptr[c + 1]):
                a = factors.arcs[i]
                if trees[t, arcs.mod[a] - 1] != a:
                    fires = False
                    break
            if fires:
                score, low = _add(score, low, factors.score[c])
        for c in range(counts.ptr.shape[0] - 1):
            number = 0
            for i in range(counts.ptr[c], counts.ptr[c + 1]):
                a = counts.arcs[i]
                number += trees[t, arcs.mod[a] - 1] == a
            score, low = _add(score, low, counts.score[counts.score_ptr[c] + number])
        out[t] = score + low if score > -np.inf else score


def rescore(problem: Problem, arcs: NDArray[np.int32], heads: NDArray[np.int32]) -> NDArray:
    """Scores float64[K] of trees given as ``Solution.arcs`` and ``Solution.heads``."""
    p = problem
    out = np.empty(arcs.shape[0])
    rescore_trees(p.n_words, p.arcs, p.parts, p.factors, p.counts, heads, arcs, out)
    return out
