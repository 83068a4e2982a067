"""Kernel of `bbparse.best_tree`: a score matrix in, the heads of the best tree out.

A matrix has arcs only, so one run of Eisner's or of Chu-Liu and Edmonds' algorithm finds its best
tree. `bbparse.solve` does the same, and takes twenty times as long over making and reading records.
"""

from __future__ import annotations

import numpy as np

from bbparse.core.check import MAX_SCORE
from bbparse.inference.oracles.nonprojective.arborescence import best_arborescence
from bbparse.inference.oracles.projective.dense import eisner
from bbparse.inference.search.rescaling import rounding_matters
from bbparse.runtime.jit import kernel

# This fraction of the numbers added bounds the rounding of the sums of a tree from above.
_ROUNDING = 2.0**-46
#: The same in kernels.
_rounding_matters = kernel(rounding_matters, inline=True)


@kernel
def _crossing_tree(square, single_root, heads):
    """Write the heads of the best tree, crossing arcs allowed; return the largest number added."""
    n = square.shape[0] - 1
    ptr = np.zeros(n + 2, np.int32)
    head, score = np.empty(n * n, np.int32), np.empty(n * n)
    at = 0
    for m in range(1, n + 1):
        for h in range(n + 1):
            if h != m and square[h, m] > -np.inf:
                head[at], score[at] = h, square[h, m]
                at += 1
        ptr[m + 1] = at
    tree, reduced, info = np.zeros(n, np.int32), np.empty(at), np.zeros(1)
    best_arborescence(ptr, head[:at], score[:at], single_root, tree, reduced, info, np.inf)
    for m in range(1, n + 1):
        heads[m] = head[tree[m - 1]] if ptr[m + 1] > ptr[m] else 0
    return info[0]


@kernel
def _is_certain(square, single_root, heads, largest):
    """Return True if there are heads for all words, and no term of the tree may be lost."""
    n = square.shape[0] - 1
    size, least, tops = 0.0, np.inf, 0
    for m in range(1, n + 1):
        h = heads[m]
        if h < 0 or h == m or square[h, m] == -np.inf:
            return False
        tops += h == 0
        magnitude = abs(square[h, m])
        size += magnitude
        if 0.0 < magnitude < least:
            least = magnitude
    slack = _ROUNDING * n * max(largest, size)
    if _rounding_matters(slack, size, least):
        return False
    return tops == 1 or not single_root


@kernel
def best_heads(scores, projective, single_root, heads):
    """Write the heads of the best tree of a matrix; return True if it certainly is the best.

    ``scores[d, h]``, float64[n + 1, n + 1], is of the arc from head h to dependent d, -inf if there
    is none; row 0 and the diagonal are ignored. ``heads`` int32[n + 1] is written, but for the
    first. False: `bbparse.solve` has to look. Scores are no numbers, few arcs are left (its charts
    are then faster), there may be no tree, or terms differ so much in magnitude that rounding
    could hide some.
    """
    n = scores.shape[0] - 1
    square = np.full((n + 1, n + 1), -np.inf)
    arcs = 0
    for m in range(1, n + 1):
        for h in range(n + 1):
            score = scores[m, h]
            if h == m or score == -np.inf:
                continue
            if not abs(score) <= MAX_SCORE:
                return False
            square[h, m] = score
            arcs += 1
    if 4 * arcs < n * n:
        return False
    largest = 0.0
    if projective:
        tree, _ = eisner(square, single_root)
        for m in range(1, n + 1):
            heads[m] = tree[m]
    else:
        largest = _crossing_tree(square, single_root, heads)
    return _is_certain(square, single_root, heads, largest)
