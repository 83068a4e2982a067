"""Kernels of the guide that is a neural network: see `bbparse.scoring.network`.

Sums are taken as in `bbparse.network.kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.network.dense import dense
from bbparse.network.kernels import context, sum_of
from bbparse.scoring.parts import UPOS
from bbparse.treebank.encode import PAD, attribute_hash

Floats = NDArray[np.float32]
Hashes = NDArray[np.uint64]
Ints = NDArray[np.int32]

#: Steps of the distance, and of the number of words of a kind between head and modifier.
_DISTANCES = 10
_COUNTS = 4
#: Tags of the kinds of words that are counted between head and modifier.
KINDS = (("VERB", "AUX"), ("PUNCT",), ("CCONJ", "SCONJ", "CONJ"), ("NOUN", "PROPN", "PRON"))
N_KINDS = len(KINDS)
#: Hashes of their tags; the last of a kind is repeated.
_HASHES = np.array(
    [[attribute_hash("upos", (*kind, *kind[-1:] * 2)[i]) for i in range(3)] for kind in KINDS],
    np.uint64,
)
#: Rows of what is known of an arc but for its words: distance and counts, in two directions.
ARC_VALUES = 2 * (_DISTANCES + N_KINDS * _COUNTS)


@kernel
def arc_rows(head: Ints, mod: Ints, values: Hashes) -> NDArray[np.int64]:
    """What is known of arcs but for their words: rows of a table, int64[A, 1 + N_KINDS].

    The distance in `_DISTANCES` steps, and how many words of each kind there are between; each by
    direction.
    """
    n_kinds, n_tags = _HASHES.shape
    n = values.shape[0] - 2 * PAD
    before = np.zeros((n + 1, n_kinds), np.int64)
    for i in range(n):
        for k in range(n_kinds):
            found = 0
            for other in range(n_tags):
                if values[PAD + i, UPOS] == _HASHES[k, other]:
                    found = 1
            before[i + 1, k] = before[i, k] + found
    n_arcs = head.shape[0]
    out = np.empty((n_arcs, 1 + n_kinds), np.int64)
    for arc in range(n_arcs):
        low, high, left = np.int64(head[arc]), np.int64(mod[arc]), 0
        if low > high:
            low, high, left = high, low, 1
        distance = high - low
        step = 0
        for least in (2, 3, 4, 5, 6, 8, 11, 16, 31):
            if distance >= least:
                step += 1
        out[arc, 0] = 2 * step + left
        for k in range(n_kinds):
            count = before[high, k] - before[low + 1, k]
            if count >= _COUNTS:
                count = _COUNTS - 1
            out[arc, 1 + k] = 2 * (_DISTANCES + k * _COUNTS + count) + left
    return out


@kernel
def network_scores(
    values: Hashes,
    head: Ints,
    mod: Ints,
    encoder: tuple[Any, ...],
    outside: Floats,
    ends: tuple[Any, ...],
) -> tuple[NDArray[np.float64], Floats, Floats]:
    """Scores of arcs, float64[A]; what those of their labels are made of, r of each arc after the
    other, and some more; and of what all are made, float32[n + 1 or some more, columns].
    """
    end_w, end_b, arc_table, out_w, n_shared, n_pairs = ends
    state = context(values, encoder, outside)
    n = values.shape[0] - 2 * PAD
    fours = (n + 3) & -4  # what `dense` does at once
    width = end_w.shape[0]
    both = np.empty((fours, end_w.shape[1]), np.float32)
    dense(state, width, width, width, end_w, end_b, both)
    known = arc_rows(head, mod, values)
    n_arcs = head.shape[0]
    many = (n_arcs + 3) & -4
    shared = np.zeros(many * n_shared, np.float32)
    scores = np.empty(n_arcs)
    lanes = np.empty(max(n_shared, n_pairs), np.float32)
    of_mod, pair_head = np.uint64(n_shared), np.uint64(2 * n_shared)
    pair_mod = np.uint64(2 * n_shared + n_pairs)
    for arc in range(n_arcs):
        h, m, to = np.uint64(head[arc]), np.uint64(mod[arc]), np.uint64(arc * n_shared)
        for j in range(of_mod):
            shared[to + j] = both[h, j] + both[m, of_mod + j]
        for k in range(known.shape[1]):
            row = np.uint64(known[arc, k])
            for j in range(of_mod):
                shared[to + j] += arc_table[row, j]
        for j in range(of_mod):
            shared[to + j] = max(shared[to + j], np.float32(0.0))
            lanes[j] = shared[to + j] * out_w[j]
        total = sum_of(lanes, of_mod)
        for j in range(np.uint64(n_pairs)):
            lanes[j] = both[h, pair_head + j] * both[m, pair_mod + j]
        scores[arc] = total + sum_of(lanes, np.uint64(n_pairs))
    return scores, shared, both


@kernel
def arc_label_scores(shared: Floats, label_w: Floats, label_b: Floats) -> Floats:
    """Scores of labels, float32[A or some more, width], of arcs that have been scored."""
    n_shared = label_w.shape[0]
    out = np.empty((shared.shape[0] // n_shared, label_w.shape[1]), np.float32)
    dense(shared, 0, n_shared, n_shared, label_w, label_b, out)
    return out
