"""Scores of tags and joins by the network of a tagger.

The tagger (`bbparse.text`) is trained with joins (`bbparse.grammar.phrases.joins`), not FEATS.
Each step of a chart that adds a modifier joins two adjacent words, and any two adjacent words are
joined by exactly one step, so log probabilities of joins are scores of steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bbparse.grammar.chart import Leaves
from bbparse.grammar.grammar import Grammar
from bbparse.grammar.phrases import join_label
from bbparse.grammar.words import Vocabulary
from bbparse.runtime.arrays import Ints
from bbparse.runtime.errors import ModelError
from bbparse.text.tagger import FEATS, TAGS, Tagger

#: Maximum number of tags of a word.
MAX_TAGS = 4
#: Weight and minimum of the log probabilities of joins.
JOINS, LEAST = 2.0, -9.0


class PhraseTagger:
    """The likely tags of words, restricted to those of a grammar, and scores of joins.

    Tags are XPOS of the tagger. ``joins``, int32[2, S, S], numbers the joins of a phrase and a
    modifier, by side and plain symbols; the numbers index `Leaves.join`.
    """

    margin = 4.0  #: Tags whose scores are this much below the best one of a word are dropped.

    def __init__(self, tagger: Tagger, grammar: Grammar, vocabulary: Vocabulary) -> None:
        self.tagger, self.vocabulary = tagger, vocabulary
        xpos = [label.partition("\t")[2] for label in tagger.tags]
        self._tag = np.array([grammar.tag_number.get(tag, -1) for tag in xpos], np.int32)
        if not (self._tag >= 0).any():
            raise ModelError("tagger and grammar have no tag in common: are they from one model?")
        self.joins = _numbers(grammar, tagger.feats)

    def leaves(self, words: Sequence[str]) -> Leaves:
        """Return the words with their possible tags, best first, and their joins."""
        scores = self.tagger.scores([words])[0]
        every = np.where(self._tag >= 0, scores[TAGS].astype(np.float64), -np.inf)
        labels = np.argsort(-every, axis=1, kind="stable")[:, :MAX_TAGS]
        best = np.take_along_axis(every, labels, axis=1)
        joins = scores[FEATS].astype(np.float64)
        with np.errstate(invalid="ignore"):
            joins -= np.logaddexp.reduce(joins, axis=1, keepdims=True)
        if not np.isfinite(best[:, 0]).all() or np.isnan(joins).any():
            raise ModelError("the tagger's scores are not finite: retrain the model")
        keep = best >= best[:, :1] - self.margin
        word, _ = np.nonzero(keep)
        unseen = np.full((len(joins), 1), LEAST)
        return Leaves(
            np.searchsorted(word, np.arange(len(words) + 1)).astype(np.int32),
            word.astype(np.int32),
            self._tag[labels[keep]],
            np.array(self.vocabulary.numbers(words), np.int32)[word],
            best[keep],
            JOINS * np.hstack((np.maximum(joins, LEAST), unseen)),
        )


def with_tags(leaves: Leaves, tags: Ints) -> Leaves:
    """Return the same words with one tag each, with score 0."""
    each = np.arange(len(tags) + 1, dtype=np.int32)
    number = leaves.number[leaves.ptr[:-1]]
    return Leaves(each, each[:-1], tags, number, np.zeros(len(tags)), leaves.join)


def _numbers(grammar: Grammar, labels: Sequence[str]) -> Ints:
    """Return the number of each join among the labels; unknown ones get the next number."""
    number = {label: i for i, label in enumerate(labels)}
    plain = np.unique(grammar.forms.plain).tolist()
    joins = np.full((2, len(grammar.symbols), len(grammar.symbols)), len(labels), np.int32)
    for side in range(2):
        for p in plain:
            for m in plain:
                label = join_label(side, grammar.symbols[p], grammar.symbols[m])
                joins[side, p, m] = number.get(label, len(labels))
    return joins
