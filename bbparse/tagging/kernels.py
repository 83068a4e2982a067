"""Kernels of the tagger: features of words, scores of their candidates, and the best sequence.

A feature is 32 bits of a hash. Its weights are found in sorted arrays: `first` says where the keys
with given high bits begin, so that a look-up reads one or two neighbouring keys, beside each key
stands where its entries begin, and an entry is a label and a weight in 32 bits. So a look-up costs
three accesses to memory, which is what tagging waits for. Scores are sums of small integers.

The best sequence is found exactly (Viterbi 1967), in O(n·K²) for K candidates a word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.tagging.encode import TagTemplates

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Keys = NDArray[np.uint32]


@kernel
def feature_keys(
    values: NDArray[np.uint64],
    word: int,
    templates: TagTemplates,
    out: Keys,
) -> None:
    """Return the features of the word in row `word`, one for each template, into uint32[T]."""
    ptr, offset, column, multiplier = templates
    for t in range(ptr.shape[0] - 1):
        key = np.uint64(0)
        for j in range(ptr[t], ptr[t + 1]):
            key += values[word + offset[j], column[j]] * multiplier[j]
            key ^= key >> np.uint64(32)
        key *= np.uint64(0x9E3779B97F4A7C15)
        out[t] = np.uint32(key >> np.uint64(32))


@kernel
def sentence_keys(
    values: NDArray[np.uint64], pad: int, templates: TagTemplates, out: Keys
) -> None:
    """Return the features of all words of a sentence, into uint32[n, T]."""
    for i in range(out.shape[0]):
        feature_keys(values, pad + i, templates, out[i])


@kernel
def best_first(labels: Ints, scores: Longs, count: int, most: int) -> int:
    """Keep the `most` candidates of a word with the highest scores; returns how many are left."""
    if count <= most:
        return count
    for i in range(most):
        best = i
        for j in range(i + 1, count):
            if scores[j] > scores[best]:
                best = j
        score, label = scores[best], labels[best]
        scores[best], labels[best] = scores[i], labels[i]
        scores[i], labels[i] = score, label
    return most


@kernel
def best_sequence(counts: Ints, labels: Ints, scores: Longs, bigrams: Ints, out: Ints) -> None:
    """Return the best sequence of candidates, given their own scores, which are overwritten.

    Two neighbours have ``bigrams``, int32[L+1, L+1], label L standing before the sentence and after
    it; of size 1: there are none, each word is by itself. Which candidate each word gets goes to
    ``out``.
    """
    n = counts.shape[0]
    border = bigrams.shape[0] - 1
    back = np.zeros((n, labels.shape[1]), np.int32)
    for i in range(n):
        for b in range(counts[i]):
            if border == 0:
                continue
            label = labels[i, b]
            if i == 0:
                best = np.int64(bigrams[border, label])
            else:
                best = scores[i - 1, 0] + bigrams[labels[i - 1, 0], label]
                for a in range(1, counts[i - 1]):
                    score = scores[i - 1, a] + bigrams[labels[i - 1, a], label]
                    if score > best:
                        best = score
                        back[i, b] = a
            scores[i, b] += best
            if i == n - 1:
                scores[i, b] += bigrams[label, border]
    for i in range(n - 1, -1, -1):
        if border and i < n - 1:
            out[i] = back[i + 1, out[i + 1]]
            continue
        best_place = 0
        for b in range(1, counts[i]):
            if scores[i, b] > scores[i, best_place]:
                best_place = b
        out[i] = best_place


@kernel
def score_labels(
    features: Keys,
    first: Ints,
    shift: int,
    keys: NDArray[np.uint32],
    entries: NDArray[np.uint32],
    scores: Longs,
) -> None:
    """Add the weights of all features of a word to `scores`, int64[L]."""
    for f in range(features.shape[0]):
        key = features[f]
        bucket = key >> np.uint32(shift)
        for place in range(first[bucket], first[bucket + 1]):
            if keys[place, 0] == key:
                for e in range(keys[place, 1], keys[place + 1, 1]):
                    entry = entries[e]
                    scores[entry >> np.uint32(16)] += np.int16(entry & np.uint32(0xFFFF))
                break


@kernel
def score_words(
    values: NDArray[np.uint64],
    pad: int,
    candidates: tuple[Ints, Ints],
    most: int,
    templates: TagTemplates,
    table: tuple[Any, ...],
    more: Ints,
    every_word: bool,
) -> tuple[Ints, Ints, Longs]:
    """Candidates of the words of a sentence: counts int32[n], labels int32[n, K], int64[n, K].

    With candidates (ptr, label), word i has ``label[ptr[i]:ptr[i+1]]``, one at least, of which
    ``most`` are kept, by their own scores; all but rare words have fewer. One alone is scored only
    if ``every_word`` is. The table is that of `bbparse.tagging.layer.Weights`; ``more`` (int32[n,
    L] or [0, L]) is added to the scores of labels.
    """
    cand_ptr, cand_label = candidates
    n = cand_ptr.shape[0] - 1
    counts = np.empty(n, np.int32)
    widest = 1
    for i in range(n):
        counts[i] = cand_ptr[i + 1] - cand_ptr[i]
        widest = max(widest, counts[i])
    width = min(widest, most)
    labels = np.zeros((n, width), np.int32)
    scores = np.zeros((n, width), np.int64)
    first, shift, keys, entries, n_labels = table
    features = np.empty(templates.ptr.shape[0] - 1, np.uint32)
    every = np.zeros(n_labels, np.int64)
    own_labels = np.empty(widest, np.int32)
    own_scores = np.empty(widest, np.int64)
    for i in range(n):
        count = counts[i]
        if count == 1 and not every_word:  # nothing to choose
            labels[i, 0] = cand_label[cand_ptr[i]]
            continue
        feature_keys(values, pad + i, templates, features)
        every[:] = 0
        score_labels(features, first, shift, keys, entries, every)
        for k in range(count):
            own_labels[k] = cand_label[cand_ptr[i] + k]
            own_scores[k] = every[own_labels[k]]
            if more.shape[0] > 0:
                own_scores[k] += more[i, own_labels[k]]
        counts[i] = best_first(own_labels, own_scores, count, most)
        for k in range(counts[i]):
            labels[i, k] = own_labels[k]
            scores[i, k] = own_scores[k]
    return counts, labels, scores


@kernel
def label_words(
    values: NDArray[np.uint64],
    pad: int,
    candidates: tuple[Ints, Ints],
    most: int,
    templates: TagTemplates,
    table: tuple[Any, ...],
    bigrams: Ints,
    more: Ints,
) -> Ints:
    """Labels of the words of a sentence, int32[n]; see `score_words` and `best_sequence`."""
    counts, labels, scores = score_words(
        values, pad, candidates, most, templates, table, more, False
    )
    places = np.empty(counts.shape[0], np.int32)
    best_sequence(counts, labels, scores, bigrams, places)
    out = np.empty(counts.shape[0], np.int32)
    for i in range(counts.shape[0]):
        out[i] = labels[i, places[i]]
    return out
