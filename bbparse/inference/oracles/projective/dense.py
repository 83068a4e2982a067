"""Eisner's algorithm over a full score matrix, without a chart.

The pre-pruner scores all n² arcs of a sentence, and needs one best tree and max-marginals. For
that, tables over spans are smaller and faster than the explicit chart that the search needs.
Recurrences as in `inference.oracles.projective.build`, first order. O(n^3) time, O(n^2) memory.
"""

from __future__ import annotations

import numpy as np

from bbparse.runtime.arrays import NEG, Float64s, Ints
from bbparse.runtime.clock import is_over
from bbparse.runtime.jit import kernel

#: Number of widths after which the clock is looked at: a tenth of a second among 2,000 words.
_WIDTHS = 32


@kernel
def _inside(scores, first, right, left, inc_right, inc_left, until):
    """Fill the span tables of the words from the first on: head left or right, complete or not.

    Returns False if the time is over before all spans of `_WIDTHS` words and more are filled.
    """
    n = scores.shape[0] - 1
    # complete spans once more, by their other end, so that all loops read along rows
    right_to, left_to = np.full((n + 1, n + 1), NEG), np.full((n + 1, n + 1), NEG)
    for i in range(first, n + 1):
        right[i, i] = right_to[i, i] = 0.0
        left[i, i] = left_to[i, i] = 0.0
    for width in range(1, n + 1):
        if width % _WIDTHS == 0 and is_over(until):
            return False
        for i in range(first, n + 1 - width):
            j = i + width
            # unsigned indices, which numba does not check for negative values
            ui = np.uintp(i)
            uj = np.uintp(j)
            best = NEG
            for r in range(i, j):
                value = right[ui, np.uintp(r)] + left[uj, np.uintp(r + 1)]
                if value > best:
                    best = value
            inc_right[i, j] = best + scores[i, j]
            inc_left[j, i] = best + scores[j, i] if i > 0 else NEG
            best = NEG
            for r in range(i + 1, j + 1):
                value = inc_right[ui, np.uintp(r)] + right_to[uj, np.uintp(r)]
                if value > best:
                    best = value
            right[i, j] = right_to[j, i] = best
            best = NEG
            for r in range(i, j):
                value = left_to[ui, np.uintp(r)] + inc_left[uj, np.uintp(r)]
                if value > best:
                    best = value
            left[j, i] = left_to[i, j] = best
    return True


@kernel
def _push(stack, depth, head, end, incomplete):
    stack[depth, 0] = head
    stack[depth, 1] = end
    stack[depth, 2] = incomplete


@kernel
def _follow(right, left, inc_right, inc_left, heads, stack, depth):
    """Write the heads of the spans on the stack, rows (head, end, 1 if incomplete)."""
    while depth > 0:
        depth -= 1
        i = stack[depth, 0]
        j = stack[depth, 1]
        if i == j:
            continue
        step = 1 if j > i else -1
        best = NEG
        at = i
        if stack[depth, 2] == 1:
            heads[j] = i
            lo = min(i, j)
            hi = max(i, j)
            for r in range(lo, hi):
                value = right[lo, r] + left[hi, r + 1]
                if value > best:
                    best = value
                    at = r
            _push(stack, depth, lo, at, 0)
            _push(stack, depth + 1, hi, at + 1, 0)
        else:
            for r in range(i + step, j + step, step):
                value = inc_right[i, r] + right[r, j] if step > 0 else inc_left[i, r] + left[r, j]
                if value > best:
                    best = value
                    at = r
            _push(stack, depth, i, at, 1)
            _push(stack, depth + 1, at, j, 0)
        depth += 2


@kernel
def eisner(scores, single_root, until=np.inf):
    """Find the best projective tree of a score matrix; return its heads and its score.

    ``scores[h, m]``, float64[n + 1, n + 1], is -inf if there is no such arc; column 0 is ignored.
    Of heads, int32[n + 1], the first is -1, and all are if there is no tree. Ties go to the smaller
    split. The score is NaN, without heads, if the time ``until`` is over before.
    """
    n = scores.shape[0] - 1
    heads = np.full(n + 1, np.int32(-1), np.int32)
    if n == 0:
        return heads, 0.0
    right, left = np.full((n + 1, n + 1), NEG), np.full((n + 1, n + 1), NEG)
    inc_right, inc_left = np.full((n + 1, n + 1), NEG), np.full((n + 1, n + 1), NEG)
    if not _inside(scores, 1 if single_root else 0, right, left, inc_right, inc_left, until):
        return heads, np.nan
    stack = np.empty((4 * n + 8, 3), np.int32)
    if single_root:
        best = NEG
        root = -1
        for m in range(1, n + 1):
            value = scores[0, m] + left[m, 1] + right[m, n]
            if value > best:
                best = value
                root = m
        if root < 0:
            return heads, NEG
        heads[root] = 0
        _push(stack, 0, root, 1, 0)
        _push(stack, 1, root, n, 0)
        _follow(right, left, inc_right, inc_left, heads, stack, np.int64(2))
        return heads, best
    if right[0, n] == NEG:
        return heads, NEG
    _push(stack, 0, 0, n, 0)
    _follow(right, left, inc_right, inc_left, heads, stack, np.int64(1))
    return heads, right[0, n]


def dense_tree(
    n: int, head: Ints, mod: Ints, score: Float64s, single_root: bool, until: float = np.inf
) -> tuple[Ints, float]:
    """Find the best projective tree of n words by the scores float64[A] of its arcs alone.

    Returns the arc of each word, int32[n], none if there is no tree, and the score; that is NaN,
    without a tree, if the time ``until`` is over before. Of several arcs between the same words the
    last one counts.
    """
    table, place = np.full((n + 1, n + 1), NEG), np.zeros((n + 1, n + 1), np.int32)
    table[head, mod], place[head, mod] = score, np.arange(len(score))
    heads, total = eisner(table, single_root, until)
    if not total > NEG:
        return np.empty(0, np.int32), total
    return place[heads[1:], np.arange(1, n + 1)], total
