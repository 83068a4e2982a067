"""Kernels of the scores of all arcs of a batch of sentences.

With the vectors a, b, c, d of words, an arc from the head h to the modifier m scores

    s(h, m) = a(h) · b(m) + v · max(0, c(h) + d(m) + t),

where t is the sum of rows of a table for the distance and for the words between, by direction. The
products are those of Dozat & Manning (2017), the sums of both endpoints those of Kiperwasser &
Goldberg (2016). The scores of a sentence of n words are a matrix [n + 1, n + 1], head by modifier,
-inf where there is no arc; matrices follow each other. The code fixes the order of all sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

import numpy as np

from bbparse.models.scoring.candidates import LONG, REACH
from bbparse.neural.tiles import lane_sum
from bbparse.runtime.arrays import Float32s, Ints
from bbparse.runtime.jit import kernel
from bbparse.treebank import Sentence

#: Steps of the distance, and of the number of words of a kind, between head and modifier.
_DISTANCES = 10
_COUNTS = 4
#: Tags of the kinds of words that are counted between head and modifier.
KINDS = (("VERB", "AUX"), ("PUNCT",), ("CCONJ", "SCONJ", "CONJ"), ("NOUN", "PROPN", "PRON"))
N_KINDS = len(KINDS)
_KIND_OF = {tag: k for k, tags in enumerate(KINDS) for tag in tags}
#: Rows of the table: distance and counts, in both directions.
ARC_VALUES = 2 * (_DISTANCES + N_KINDS * _COUNTS)
_STEPS = np.array([np.searchsorted((2, 3, 4, 5, 6, 8, 11, 16, 31), d, "right") for d in range(32)])


def counts_before(sentences: Iterable[Sentence]) -> Ints:
    """Count the words of each kind before each word of sentences, int32[Σ size, N_KINDS].

    Sentences follow each other, their roots included. Only differences within a sentence count.
    """
    tags: list[str] = []
    for s in sentences:
        tags.append("")
        tags += [xpos if upos == "_" else upos for upos, xpos in zip(s.upos, s.xpos)]
    kinds = np.array([*map(_KIND_OF.get, tags, repeat(-1))])
    is_kind = kinds[:, np.newaxis] == np.arange(N_KINDS)
    return np.cumsum(is_kind, axis=0, dtype=np.int32) - is_kind


def row_sums(table: Float32s) -> Float32s:
    """Return the sum of the table's rows for each `_row` that an arc can have."""
    rest, left = np.divmod(np.arange(2 * _DISTANCES * _COUNTS**N_KINDS), 2)
    out = table[2 * (rest // _COUNTS**N_KINDS) + left]
    for k in range(N_KINDS):
        count = rest // _COUNTS**k % _COUNTS
        out += table[2 * (_DISTANCES + k * _COUNTS + count) + left]
    return out


@kernel(inline=True)
def _row(h, m, first, before, steps):
    """Return the number of an arc's direction, distance and counts of words between."""
    low, high, left = (h, m, 0) if h < m else (m, h, 1)
    row, unit = steps[min(high - low, 31)] * _COUNTS**N_KINDS, 1
    for k in range(N_KINDS):
        count = before[first + high, k] - before[first + low + 1, k]
        row += min(count, _COUNTS - 1) * unit
        unit *= _COUNTS
    return np.uint64(2 * row + left)


@kernel(inline=True)
def _pair(head, mod, both, sizes, known, row, out_w, terms):
    """Score an arc between two rows of endpoint vectors, with the given row of `row_sums`."""
    products, sums = np.uint64(sizes[0]), np.uint64(sizes[1])
    c_at, zero = np.uint64(2) * products, np.float32(0.0)
    for j in range(products):
        terms[j] = both[head, j] * both[mod, products + j]
    for j in range(sums):
        r = both[head, c_at + j] + both[mod, c_at + sums + j] + known[row, j]
        terms[products + j] = max(r, zero) * out_w[j]
    return lane_sum(terms, 0, products + sums)


@kernel
def pair_scores(both, sizes, layout, before, known, out_w):
    """Score all arcs of all sentences, float32[Σ (n + 1)²].

    ``both`` (float32[R, columns]) has a, b, c, d of each word side by side. ``sizes`` are the
    lengths of a and c. ``layout`` has the first rows of the sentences and their numbers of words,
    root included. ``known`` are the `row_sums`. Sentences of more than `LONG` words have no arcs
    longer than `REACH`, except from the root: see `far_scores`.
    """
    first, size = layout
    total = 0
    for s in range(first.shape[0]):
        total += size[s] * size[s]
    out = np.full(total, np.float32(-np.inf), np.float32)
    terms = np.empty(sizes[0] + sizes[1], np.float32)
    at = 0
    for s in range(first.shape[0]):
        n = size[s]
        for h in range(n):
            head = np.uint64(first[s] + h)
            for m in range(1, n):
                if m == h or (n - 1 > LONG and h > 0 and abs(h - m) > REACH):
                    continue
                row = _row(h, m, first[s], before, _STEPS)
                mod = np.uint64(first[s] + m)
                out[at + h * n + m] = _pair(head, mod, both, sizes, known, row, out_w, terms)
        at += n * n
    return out


@kernel
def far_scores(both, sizes, first, before, known, out_w, head, mod):
    """Score some arcs of a sentence, float32[A], of any length.

    ``first`` is the row of the sentence's root; the other parameters are those of `pair_scores`.
    """
    scores = np.empty(head.shape[0], np.float32)
    terms = np.empty(sizes[0] + sizes[1], np.float32)
    for arc in range(head.shape[0]):
        h, m = np.int64(head[arc]), np.int64(mod[arc])
        row = _row(h, m, first, before, _STEPS)
        rows = np.uint64(first + h), np.uint64(first + m)
        scores[arc] = _pair(rows[0], rows[1], both, sizes, known, row, out_w, terms)
    return scores


@kernel
def pair_scores_back(both, sizes, layout, before, weights, d_out, d_both, d_weights):
    """Add the gradients of `pair_scores` from those of the scores, which are 0 without an arc.

    ``weights`` are the table and the last argument of `pair_scores`, ``d_weights`` their gradients.
    """
    (table, out_w), (d_table, d_out_w) = weights, d_weights
    first, size = layout
    products, sums = np.uint64(sizes[0]), np.uint64(sizes[1])
    c_at = np.uint64(2) * products
    d_at = c_at + sums
    known = np.empty(sizes[1], np.float32)
    d_sum = np.empty(sizes[1], np.float32)
    rows = np.empty(1 + N_KINDS, np.uint64)
    zero = np.float32(0.0)
    at = 0
    for s in range(first.shape[0]):
        n = size[s]
        for h in range(n):
            head = np.uint64(first[s] + h)
            for m in range(1, n):
                g = d_out[at + h * n + m]
                if m == h or abs(g) < np.float32(1e-7):
                    continue
                mod = np.uint64(first[s] + m)
                for j in range(products):
                    d_both[head, j] += g * both[mod, products + j]
                    d_both[mod, products + j] += g * both[head, j]
                low, high, left = (h, m, 0) if h < m else (m, h, 1)
                rows[0] = np.uint64(2 * _STEPS[min(high - low, 31)] + left)
                for k in range(N_KINDS):
                    count = before[first[s] + high, k] - before[first[s] + low + 1, k]
                    count = min(count, _COUNTS - 1)
                    rows[1 + k] = np.uint64(2 * (_DISTANCES + k * _COUNTS + count) + left)
                for j in range(sums):
                    known[j] = both[head, c_at + j] + both[mod, d_at + j]
                for k in range(1 + N_KINDS):
                    row = rows[k]
                    for j in range(sums):
                        known[j] += table[row, j]
                for j in range(sums):
                    r = known[j]
                    there = r > zero
                    d_out_w[j] += g * r if there else zero
                    d_sum[j] = g * out_w[j] if there else zero
                for j in range(sums):
                    d_both[head, c_at + j] += d_sum[j]
                    d_both[mod, d_at + j] += d_sum[j]
                for k in range(1 + N_KINDS):
                    row = rows[k]
                    for j in range(sums):
                        d_table[row, j] += d_sum[j]
        at += n * n


@kernel
def head_losses(scores, layout, targets, scale, d_scores):
    """Return the cross-entropy of choosing heads by p(h | m) ∝ exp s(h, m), over all sentences.

    ``targets`` are shares of heads in each row (`bbparse.neural.targets`). The gradient times
    ``scale`` is added to ``d_scores``.
    """
    (first, size), (begin, heads, shares) = layout, targets
    loss = 0.0
    at = 0
    for s in range(first.shape[0]):
        n = size[s]
        top = np.full(n, np.float32(-np.inf))
        total = np.zeros(n, np.float32)
        for h in range(n):
            for m in range(1, n):
                top[m] = max(top[m], scores[at + h * n + m])
        for h in range(n):
            for m in range(1, n):
                total[m] += np.exp(scores[at + h * n + m] - top[m])
        for m in range(1, n):
            known = range(begin[first[s] + m], begin[first[s] + m + 1])
            whole = np.float32(0.0)
            for i in known:
                arc = at + heads[i] * n + m
                if scores[arc] != -np.inf:
                    loss -= shares[i] * (scores[arc] - top[m] - np.log(total[m]))
                    whole += shares[i]
            if whole == 0.0:
                continue
            for h in range(n):
                if h != m:
                    p = np.exp(scores[at + h * n + m] - top[m]) / total[m]
                    d_scores[at + h * n + m] += scale * whole * p
            for i in known:
                if scores[at + heads[i] * n + m] != -np.inf:
                    d_scores[at + heads[i] * n + m] -= scale * shares[i]
        at += n * n
    return loss


@kernel(inline=True)
def _exp(x):
    """Approximate e^x for x <= 0 by multiplications, which are the same on every machine."""
    y = max(0.0, 1.0 + x * 2.0**-16)
    for _ in range(16):
        y *= y
    return y


@kernel(inline=True)
def _log(x):
    """Approximate log x for x >= 1 by operations that are the same on every machine."""
    whole = 0.0
    while x >= 1.5:
        x *= 0.5
        whole += 0.6931471805599453
    z = (x - 1.0) / (x + 1.0)
    square = z * z
    series = 1.0 + square * (1 / 3 + square * (1 / 5 + square * (1 / 7 + square / 9)))
    return whole + 2.0 * z * series


@kernel
def log_sums(scores, size):
    """Return log Σ_h exp s(h, m) over all heads of each word, float64[Σ size], 0 for the roots.

    ``scores`` are those of all arcs of the sentences of a batch, float32[Σ size²], as in
    `pair_scores`. The result is accurate to about four digits, and the same on every machine.
    """
    out = np.zeros(size.sum())
    at = row = 0
    for n in size:
        total = np.zeros(n)
        top = np.full(n, -np.inf)
        for h in range(n):
            for m in range(1, n):
                top[m] = max(top[m], np.float64(scores[at + h * n + m]))
        for h in range(n):
            for m in range(1, n):
                total[m] += _exp(scores[at + h * n + m] - top[m])
        for m in range(1, n):
            out[row + m] = top[m] + _log(total[m])
        at += n * n
        row += n
    return out
