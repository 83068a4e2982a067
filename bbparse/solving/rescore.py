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
def rescore_trees(
    n, arcs, heads, arc_score,
    sib_head, sib_inner, sib_outer, sib_score,
    gc_grand, gc_head, gc_mod, gc_score,
    ogc_grand, ogc_head, ogc_mod, ogc_score,
    gsib_grand, gsib_head, gsib_inner, gsib_outer, gsib_score,
    factor_ptr, factor_arcs, factor_score,
    arc_mod, count_ptr, count_arcs, count_score_ptr, count_score, out,
):  # fmt: skip
    """Write φ of the trees ``arcs`` int32[K, n], ``heads`` int32[K, n+1] to ``out`` float64[K]."""
    inner = np.empty(n + 1, np.int32)
    outermost = np.empty((n + 1, 2), np.int32)
    for t in range(arcs.shape[0]):
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
            score, low = _add(score, low, arc_score[arcs[t, m]])
        for i in range(sib_score.shape[0]):
            m = sib_outer[i]
            if head[m] == sib_head[i] and inner[m] == sib_inner[i]:
                score, low = _add(score, low, sib_score[i])
        for i in range(gc_score.shape[0]):
            if head[gc_mod[i]] == gc_head[i] and head[gc_head[i]] == gc_grand[i]:
                score, low = _add(score, low, gc_score[i])
        for i in range(ogc_score.shape[0]):
            m = ogc_mod[i]
            h = ogc_head[i]
            if head[m] == h and head[h] == ogc_grand[i] and outermost[h, int(m > h)] == m:
                score, low = _add(score, low, ogc_score[i])
        for i in range(gsib_score.shape[0]):
            m = gsib_outer[i]
            h = gsib_head[i]
            if head[m] == h and inner[m] == gsib_inner[i] and (h == 0 or head[h] == gsib_grand[i]):
                score, low = _add(score, low, gsib_score[i])
        for c in range(factor_score.shape[0]):
            fires = True
            for i in range(factor_ptr[c], factor_ptr[c + 1]):
                a = factor_arcs[i]
                if arcs[t, arc_mod[a] - 1] != a:
                    fires = False
                    break
            if fires:
                score, low = _add(score, low, factor_score[c])
        for c in range(count_ptr.shape[0] - 1):
            number = 0
            for i in range(count_ptr[c], count_ptr[c + 1]):
                a = count_arcs[i]
                number += arcs[t, arc_mod[a] - 1] == a
            score, low = _add(score, low, count_score[count_score_ptr[c] + number])
        out[t] = score + low if score > -np.inf else score


def rescore(problem: Problem, arcs: NDArray[np.int32], heads: NDArray[np.int32]) -> NDArray:
    """Scores float64[K] of trees given as ``Solution.arcs`` and ``Solution.heads``."""
    p = problem
    out = np.empty(arcs.shape[0])
    rescore_trees(
        p.n_words, arcs, heads, p.arc_score,
        p.sib_head, p.sib_inner, p.sib_outer, p.sib_score,
        p.gc_grand, p.gc_head, p.gc_mod, p.gc_score,
        p.ogc_grand, p.ogc_head, p.ogc_mod, p.ogc_score,
        p.gsib_grand, p.gsib_head, p.gsib_inner, p.gsib_outer, p.gsib_score,
        p.factor_ptr, p.factor_arcs, p.factor_score,
        p.arc_mod, p.count_ptr, p.count_arcs, p.count_score_ptr, p.count_score, out,
    )  # fmt: skip
    return out
