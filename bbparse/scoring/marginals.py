"""Kernel that tells, for every arc, the score of the best projective tree that has it.

A head that looks poor by itself may be the only one that fits the rest of the sentence, and a good
one may fit nowhere. Where few heads are kept, or scores come from a structured model rather than
from a classifier of heads, pruning by max-marginals loses fewer right heads than by arc scores.

Inside and outside pass over the spans of Eisner (1996) in the (max, +) semiring: O(n³) time, O(n²)
memory. Pruning by max-marginals is due to Weiss & Taskar (2010) and Rush & Petrov (2012).
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def max_marginals(scores, single_root):
    """Score of the best projective tree with each arc.

    Parameters
    ----------
    scores : float64[n+1, n+1]
        scores[h, m], -inf where there is no such arc; column 0 is not read.
    single_root : bool
        The root has exactly one modifier.

    Returns
    -------
    float64[n+1, n+1]
        -inf for arcs in no tree. The arcs of a best tree have its score, which is the maximum.
    """
    n = scores.shape[0] - 1
    none = -np.inf
    best_with = np.full((n + 1, n + 1), none)
    # Row i of each array belongs to a span that starts (or, `by_end`, ends) at word i, so that
    # inner loops run along rows. right: spans whose head is their first word; left: their last.
    right = np.full((n + 1, n + 1), none)
    right_by_end = np.full((n + 1, n + 1), none)
    left = np.full((n + 1, n + 1), none)
    left_by_end = np.full((n + 1, n + 1), none)
    arc_right = np.full((n + 1, n + 1), none)
    arc_left_by_end = np.full((n + 1, n + 1), none)
    first = 1 if single_root else 0
    for i in range(first, n + 1):
        right[i, i] = right_by_end[i, i] = left[i, i] = left_by_end[i, i] = 0.0
    for length in range(1, n + 1 - first):
        for i in range(first, n + 1 - length):
            j = i + length
            best = none
            for r in range(i, j):
                best = max(best, right[i, r] + left_by_end[j, r + 1])
            arc_right[i, j] = best + scores[i, j]
            arc_left_by_end[j, i] = best + scores[j, i] if i > 0 else none
            best = none
            for r in range(i + 1, j + 1):
                best = max(best, arc_right[i, r] + right_by_end[j, r])
            right[i, j] = right_by_end[j, i] = best
            best = none
            for r in range(i, j):
                best = max(best, left[i, r] + arc_left_by_end[j, r])
            left[i, j] = left_by_end[j, i] = best

    out_right = np.full((n + 1, n + 1), none)
    out_right_by_end = np.full((n + 1, n + 1), none)
    out_left = np.full((n + 1, n + 1), none)
    out_left_by_end = np.full((n + 1, n + 1), none)
    out_arc_right = np.full((n + 1, n + 1), none)
    out_arc_left_by_end = np.full((n + 1, n + 1), none)
    if single_root:
        for m in range(1, n + 1):
            out_left[1, m] = scores[0, m] + right[m, n]
            out_right[m, n] = max(out_right[m, n], scores[0, m] + left[1, m])
            best_with[0, m] = scores[0, m] + left[1, m] + right[m, n]
    else:
        out_right[0, n] = 0.0
    for length in range(n - first, 0, -1):
        for i in range(first, n + 1 - length):
            j = i + length
            outer = max(out_right[i, j], out_right_by_end[j, i])
            if outer > none:
                for r in range(i + 1, j + 1):
                    out_arc_right[i, r] = max(out_arc_right[i, r], outer + right_by_end[j, r])
                    out_right_by_end[j, r] = max(out_right_by_end[j, r], outer + arc_right[i, r])
            outer = max(out_left[i, j], out_left_by_end[j, i])
            if outer > none:
                for r in range(i, j):
                    out_arc_left_by_end[j, r] = max(
                        out_arc_left_by_end[j, r], outer + left[i, r]
                    )
                    out_left[i, r] = max(out_left[i, r], outer + arc_left_by_end[j, r])
            best_with[i, j] = arc_right[i, j] + out_arc_right[i, j]
            outer = out_arc_right[i, j] + scores[i, j]
            if i > 0:
                best_with[j, i] = arc_left_by_end[j, i] + out_arc_left_by_end[j, i]
                outer = max(outer, out_arc_left_by_end[j, i] + scores[j, i])
            if outer > none:
                for r in range(i, j):
                    out_right[i, r] = max(out_right[i, r], outer + left_by_end[j, r + 1])
                    out_left_by_end[j, r + 1] = max(
                        out_left_by_end[j, r + 1], outer + right[i, r]
                    )
    return best_with
