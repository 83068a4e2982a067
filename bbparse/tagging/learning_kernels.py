"""Kernel that teaches a layer of the tagger.

A sentence is decoded with a cost for every wrong label; where the answer is wrong, features of the
right labels gain and those of the answer lose, by AdaGrad's step (Duchi et al. 2011). Weights are
whole quanta and averaged as in `bbparse.learning.averaging`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.tagging.kernels import best_first, best_sequence

__all__ = ["Learned", "learn_sentence"]

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Reals = NDArray[np.float32]


class Learned(NamedTuple):
    """Weights in quanta, the changes of each times their moments, the squares of its gradients."""

    weights: Ints
    sums: Reals
    squares: Reals


@kernel
def _change(learned: Learned, place: int, sign: int, rate: float, clock: int) -> None:
    weights, sums, squares = learned
    squares[place] += np.float32(1.0)
    step = np.int64(np.rint(sign * rate / np.sqrt(1.0 + squares[place])))
    weights[place] += step
    sums[place] += clock * step


@kernel
def learn_sentence(
    features: Ints,
    cand_ptr: Ints,
    cand_label: Ints,
    gold: Ints,
    n_labels: int,
    most: int,
    cost: int,
    rate: float,
    clock: int,
    own: Learned,
    chain: Learned,
) -> int:
    """Decode a sentence and learn from it; returns its number of errors.

    Parameters
    ----------
    features : int32[n, T]
        Of each word; -1 for those that take no part.
    cand_ptr, cand_label : int32[n+1], int32[…]
        Candidates of the words; where the gold label is not among them, it is added.
    gold : int32[n]
    most : int
        Candidates kept for the search, the gold label among them.
    cost : int
        Of a wrong label, in quanta.
    rate : float
        AdaGrad's step, in quanta.
    clock : int
        Number of the sentence, for the average.
    own : Learned
        Place ``feature * n_labels + label``.
    chain : Learned
        Of two labels in a row; (n_labels + 1)² places, or one where there are none.
    """
    n = gold.shape[0]
    n_features = features.shape[1]
    counts = np.empty(n, np.int32)
    labels = np.empty((n, most), np.int32)
    scores = np.zeros((n, most), np.int64)
    own_labels = np.empty(n_labels + 1, np.int32)
    own_scores = np.empty(n_labels + 1, np.int64)
    for i in range(n):
        count = 0
        there = False
        for k in range(cand_ptr[i], cand_ptr[i + 1]):
            own_labels[count] = cand_label[k]
            there |= cand_label[k] == gold[i]
            count += 1
        if not there:
            own_labels[count] = gold[i]
            count += 1
        for k in range(count):
            own_scores[k] = 0 if own_labels[k] == gold[i] else cost
        if count > 1:
            for f in range(n_features):
                if features[i, f] >= 0:
                    place = np.int64(features[i, f]) * n_labels
                    for k in range(count):
                        own_scores[k] += own.weights[place + own_labels[k]]
        counts[i] = best_first(own_labels, own_scores, count, most)
        there = False
        for k in range(counts[i]):
            labels[i, k] = own_labels[k]
            scores[i, k] = own_scores[k]
            there |= own_labels[k] == gold[i]
        if not there:
            for k in range(most, count):
                if own_labels[k] == gold[i]:
                    labels[i, most - 1] = gold[i]
                    scores[i, most - 1] = own_scores[k]
    border = n_labels if chain.weights.shape[0] > 1 else 0
    size = border + 1
    places = np.empty(n, np.int32)
    best_sequence(counts, labels, scores, chain.weights.reshape((size, size)), places)
    errors = 0
    for i in range(n):
        found = labels[i, places[i]]
        if found == gold[i]:
            continue
        errors += 1
        for f in range(n_features):
            if features[i, f] >= 0:
                place = np.int64(features[i, f]) * n_labels
                _change(own, place + gold[i], 1, rate, clock)
                _change(own, place + found, -1, rate, clock)
    if border and errors:
        right_before = wrong_before = border
        for i in range(n + 1):
            right = gold[i] if i < n else border
            wrong = labels[i, places[i]] if i < n else border
            if right != wrong or right_before != wrong_before:
                here = right_before * size + right
                _change(chain, here, 1, rate, clock)
                here = wrong_before * size + wrong
                _change(chain, here, -1, rate, clock)
            right_before, wrong_before = right, wrong
    return errors
