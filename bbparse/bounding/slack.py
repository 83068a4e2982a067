"""How large tree scores can be, and with it how large the rounding errors of bounds."""

from __future__ import annotations

import numpy as np

from bbparse.jit import kernel

NEG = -np.inf

# Bounds are sums of at most a few thousand doubles; this share of the largest possible sum is
# far above their rounding error and far below any difference that matters.
RELATIVE_SLACK = 1e-12
_EPSILON = 2.220446049250313e-16
# Of problems whose scores are all zero; bounds have no rounding error then.
LEAST_SLACK = 1e-300
#: Largest sum of magnitudes, in largest sums of positive scores, that is not out of proportion.
IMBALANCE = 1e3


@kernel
def score_spread(n_words, arc_score, part_weight, fac_weight, cnt_score):
    """The largest sums of magnitudes, and of positive scores, that a tree can have.

    Every word has one arc, and completes at most one part of each of the four kinds.
    """
    arc_size = 0.0
    arc_high = 0.0
    for x in arc_score:
        if x > NEG:
            arc_size = max(arc_size, abs(x))
            arc_high = max(arc_high, x)
    part_size = 0.0
    part_high = 0.0
    for x in part_weight:
        if x > NEG:
            part_size = max(part_size, abs(x))
            part_high = max(part_high, x)
    size = n_words * (arc_size + 4.0 * part_size)
    high = n_words * (arc_high + 4.0 * part_high)
    for scores in (fac_weight, cnt_score):
        for x in scores:
            if x > NEG:
                size += abs(x)
                high += max(x, 0.0)
    return size, high


@kernel
def slack_of(size):
    """What bounds may be wrong by, where no tree's scores have a larger sum of magnitudes."""
    return max(RELATIVE_SLACK * size, LEAST_SLACK)


@kernel
def hard_weight(size):
    """A stand-in for an infinite weight: no sum of scores makes up for it."""
    return 4.0 * size if size > 0.0 else 1.0


@kernel
def noise_of(node, arc_score, tree, shift, inner):
    """What a bound may be wrong by.

    Rounding errors come from the numbers that were added, not from their sum; arcs that are merely
    very bad are in no sum that matters.
    """
    sizes = np.abs(node.base)
    factors, counts = node.factors, node.counts
    constants = abs(node.constant[0]) + abs(shift)
    for c in range(factors.size[0]):
        lo, hi = factors.ptr[c], factors.ptr[c + 1]
        for i in range(lo, hi):
            sizes[factors.arcs[i]] += factors.lam[i if factors.weight[c] >= 0.0 else lo]
    for i in range(counts.ptr[counts.size[0]]):
        sizes[counts.arcs[i]] += abs(counts.lam[i])
        constants += abs(counts.lam[i])
    cancelled = inner
    for a in range(sizes.shape[0]):
        if arc_score[a] > NEG:
            cancelled = max(cancelled, inner + sizes[a] - abs(arc_score[a]))
    reach = 0.0
    for a in tree:
        reach += abs(arc_score[a])
    return 64.0 * _EPSILON * (constants + reach + tree.shape[0] * cancelled) + LEAST_SLACK
