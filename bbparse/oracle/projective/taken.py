"""Factors that equal parts: an oracle that holds such parts scores them by itself."""

from __future__ import annotations

import numpy as np

from bbparse.jit import kernel
from bbparse.oracle.projective.weights import add_gc, add_gsib, add_ogc, add_sib

NEG = -np.inf


@kernel
def take_factors(head, mod, mode, index, weights, factors):
    """Add the factors that equal parts to the weights, and drop them, in place.

    Parameters
    ----------
    head, mod : int32[A]
        The arcs, sorted by (head, mod); no two join the same words.
    mode : int
        Of the recurrence.
    index, weights : Index, Weights
    factors : Factors

    Returns
    -------
    int
        How many factors are left.
    """
    ptr, arcs, score = factors
    kept = used = lo = 0
    for f in range(score.shape[0]):
        hi = ptr[f + 1]
        size = hi - lo
        taken = False
        # Two arcs of one head are the siblings a and b, the outer one b; a third is the upper one.
        upper, a, b = -1, -1, -1
        if mode > 0 and size <= 3 and score[f] > NEG:
            for i in range(lo, hi):
                for j in range(lo, hi):
                    first, second = arcs[i], arcs[j]
                    h = head[first]
                    if head[second] == h:
                        if h < mod[first] < mod[second] or h > mod[first] > mod[second]:
                            a, b = first, second
                    elif mod[first] == head[second]:
                        upper = first
                        if size == 2:
                            b = second
        if size == 2 and upper >= 0:
            g, h, m = head[upper], head[b], mod[b]
            outermost = index.out_ptr[h + 1] - 1 if m > h else index.out_ptr[h]
            if mode == 3:
                add_gc(index, weights, g, h, m, score[f])
                taken = True
            elif mode == 2 and b == outermost:
                add_ogc(index, weights, g, h, m, score[f])
                taken = True
        elif a >= 0 and abs(a - b) == 1:  # no candidate is between the two
            h, inner, outer = head[a], mod[a], mod[b]
            if size == 2:
                add_sib(index, weights, h, inner, outer, score[f])
                taken = True
            elif mode == 3 and upper >= 0 and mod[upper] == h:
                add_gsib(index, weights, head[upper], h, inner, outer, score[f])
                taken = True
        if not taken:
            for i in range(lo, hi):
                arcs[used] = arcs[i]
                used += 1
            score[kept] = score[f]
            kept += 1
            ptr[kept] = used
        lo = hi
    return kept
