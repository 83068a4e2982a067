"""`Sequences`: the best sequence of labels of a sentence, and others that are nearly as good."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.tagging.kernels import best_sequence, best_totals, score_words
from bbparse.tagging.layer import MOST, NO_MORE, Ints, Layer, Lists, flat


class Choice(NamedTuple):
    """A candidate of a word, and by how much sequences with it fall short of the best, in steps of
    `LAYER_QUANTUM`."""

    gap: int
    word: int
    place: int


class Sequences:
    """What `Layer.find` searches, given as there; no sentence without words."""

    def __init__(
        self, layer: Layer, values: NDArray[np.uint64], lists: Lists, more: Ints | None = None
    ) -> None:
        self._layer = layer
        self.counts, self.labels, self.scores = score_words(
            values, layer._reach, *flat(lists), MOST, layer.compiled, layer.weights.table,
            NO_MORE if more is None else more, False,
        )  # fmt: skip

    def best(self, choices: Iterable[Choice] = ()) -> tuple[list[str], int]:
        """The best sequence with some choices made, and its score."""
        counts, labels, scores = self.counts.copy(), self.labels.copy(), self.scores.copy()
        for _, word, place in choices:
            counts[word] = 1
            labels[word, 0], scores[word, 0] = labels[word, place], scores[word, place]
        bigrams, words = self._layer.bigrams, np.arange(len(counts))
        places = np.empty(len(counts), np.int32)
        best_sequence(counts, labels, scores.copy(), bigrams, places)
        found, total = labels[words, places], int(scores[words, places].sum())
        border = len(bigrams) - 1
        if border:
            total += int(bigrams[np.append(border, found), np.append(found, border)].sum())
        return [self._layer.labels[number] for number in found.tolist()], total

    def near(self, most: int, furthest: int) -> list[Choice]:
        """The candidates that the best sequence has not and that cost least, sorted: so many at
        most, none further away from it."""
        totals = best_totals(self.counts, self.labels, self.scores, self._layer.bigrams)
        there = np.arange(totals.shape[1]) < self.counts[:, np.newaxis]
        totals = np.where(there, totals, np.iinfo(np.int64).min)
        gaps = totals.max(axis=1, keepdims=True) - totals
        words, places = np.nonzero(there & (gaps > 0) & (gaps <= furthest))
        found = zip(gaps[words, places].tolist(), words.tolist(), places.tolist())
        return [Choice(*one) for one in sorted(found)[:most]]
