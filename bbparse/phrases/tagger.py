"""Possible tags of words, with the scores of the tagger of `bbparse.tagging`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bbparse.arrays import Floats, Ints
from bbparse.phrases.chart import Leaves
from bbparse.phrases.grammar import Grammar
from bbparse.phrases.words import Vocabulary
from bbparse.tagging import Tagger
from bbparse.tagging.tagger import TAGS

#: Maximum number of tags of a word.
MAX_TAGS = 4


class PhraseTagger:
    """The best tags of words, of those that a grammar has; these are XPOS of the tagger.

    Tags whose score is lower than the best of the word by more than ``margin`` are left out.
    """

    def __init__(
        self, tagger: Tagger, grammar: Grammar, vocabulary: Vocabulary, margin: float = 4.0
    ) -> None:
        self.tagger, self.vocabulary, self.margin = tagger, vocabulary, margin
        self.tag_number = grammar.tag_number
        xpos = [label.partition("\t")[2] for label in tagger.tags]
        self._tag = np.array([self.tag_number.get(tag, -1) for tag in xpos], np.int32)

    def leaves(self, words: Sequence[str]) -> Leaves:
        """Return the words with their possible tags, the best first."""
        every = self.tagger.scores([words])[0][TAGS].astype(np.float64)
        labels = np.argsort(-every, axis=1, kind="stable")[:, :MAX_TAGS]
        scores = np.take_along_axis(every, labels, axis=1)
        keep = scores >= scores[:, :1] - self.margin
        in_grammar = self._tag[labels] >= 0
        keep = np.where((keep & in_grammar).any(1, keepdims=True), keep & in_grammar, keep)
        return self._leaves(
            words, np.nonzero(keep)[0], np.maximum(self._tag[labels[keep]], 0), scores[keep]
        )

    def leaves_with(self, words: Sequence[str], tags: Sequence[str]) -> Leaves:
        """Return the words with known tags, whose scores are 0."""
        numbers = np.array([self.tag_number[tag] for tag in tags], np.int32)
        return self._leaves(words, np.arange(len(words)), numbers, np.zeros(len(words)))

    def _leaves(
        self, words: Sequence[str], word: NDArray[np.int64], tag: Ints, score: Floats
    ) -> Leaves:
        """Return leaves of the words with these indices."""
        return Leaves(
            np.searchsorted(word, np.arange(len(words) + 1)).astype(np.int32),
            word.astype(np.int32), tag, np.array(self.vocabulary.numbers(words), np.int32)[word],
            np.arange(len(word), dtype=np.int32), score,
        )  # fmt: skip
