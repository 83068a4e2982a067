"""Sums over all trees that may cross, by arcs alone: the matrix-tree theorem in logarithms.

The determinant of the Laplacian is computed by eliminating one word after the other. A word with
heads h and modifiers k goes; each path h → word → k becomes part of the arc h → k. Nothing is
subtracted, so the sum is exact in every digit however far the scores are apart, and logarithms
cannot overflow. With one root modifier, arcs from the root are not heads of eliminated words, and
the last word hangs from the root: the part of the determinant that is linear in these arcs.

Sources: Tutte 1984; Koo et al. 2007; Alfa, Xue & Ye 2002 (elimination without subtraction).
"""

from __future__ import annotations

import numpy as np

from bbparse.runtime.arrays import NEG
from bbparse.runtime.jit import kernel

#: Lead of the root over all other heads of a word that would cost digits of the sum.
_LEAD = 1e6


@kernel
def _head_sum(w, order, i, from_root):
    """Return the log of the sum over heads of word order[i] among the root and later words."""
    m = order[i]
    top = w[0, m] if from_root else NEG
    for j in range(i + 1, order.shape[0]):
        top = max(top, w[order[j], m])
    if top == NEG:
        return NEG
    total = np.exp(w[0, m] - top) if from_root else 0.0
    for j in range(i + 1, order.shape[0]):
        total += np.exp(w[order[j], m] - top)
    return top + np.log(total)


@kernel
def matrix_tree(scores, single_root, marginal):
    """Return the log of the sum of exp(score) over all trees, -inf if there is none.

    ``scores[h, m]`` float64[n + 1, n + 1] are -inf where there is no arc; the diagonal and column 0
    are ignored. The marginals of arcs, which are the gradient, are written to ``marginal``, zeros
    of that shape. O(n^3) time, and memory of n^3 numbers.
    """
    n = scores.shape[0] - 1
    w = scores.copy()
    order = np.arange(1, n + 1)
    via = np.empty((n, n + 1, n + 1))  # fraction of each arc that is a path via word order[i]
    of_head = np.zeros((n, n + 1))  # probability of each head of an eliminated word
    log_sum, largest = 0.0, _LEAD
    for i in range(n):
        below = _head_sum(w, order, i, not single_root or i == n - 1)
        while single_root and i < n - 1 and w[0, order[i]] - below > largest:
            # no word is its head, or only by a mask: it is the one under the root and comes last
            largest = w[0, order[i]] - below
            order[i], order[n - 1] = order[n - 1], order[i]
            below = _head_sum(w, order, i, False)
        if below == NEG:
            return NEG
        log_sum += below
        m = order[i]
        for j in range(i, n):
            h = 0 if j == i else order[j]
            if h > 0 or not single_root or i == n - 1:
                of_head[i, h] = np.exp(w[h, m] - below)
            for x in range(i + 1, n):
                k = order[x]
                path = w[h, m] - below + w[m, k]
                via[i, h, k] = 0.0
                if k != h and path > NEG:
                    direct = w[h, k]
                    ratio = np.exp(-abs(path - direct))
                    via[i, h, k] = (1.0 if path >= direct else ratio) / (1.0 + ratio)
                    w[h, k] = max(path, direct) + np.log1p(ratio)
    for i in range(n - 1, -1, -1):
        m, through = order[i], 0.0
        for j in range(i, n):
            h = 0 if j == i else order[j]
            for x in range(i + 1, n):
                k = order[x]
                moving = marginal[h, k] * via[i, h, k]
                marginal[h, k] -= moving
                marginal[m, k] += moving
                marginal[h, m] += moving
                through += moving
        for h in range(n + 1):
            marginal[h, m] += of_head[i, h] * (1.0 - through)
    return log_sum
