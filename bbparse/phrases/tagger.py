"""A trigram tagger as an oracle over the tags of words.

Words have the scores of the tagger of `bbparse.tagging`, trigrams their log probabilities. The
items of its chart are tag bigrams, so that a sequence is a derivation, and the oracle of charts
(`bbparse.phrases.oracles`) serves here, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.phrases.chart import FREE, Chart, Leaves
from bbparse.phrases.counts import backed_off, estimate, mix
from bbparse.phrases.grammar import FACTOR, Grammar, Table
from bbparse.phrases.words import Vocabulary
from bbparse.tagging import Tagger
from bbparse.tagging.tagger import TAGS

#: Maximum number of tags of a word.
MAX_TAGS = 4
FLOOR = 1e-4


@kernel
def trigram_contexts(tag_before, last_tag, out):
    """Write the context levels of a tag into uint64[3]: the two tags before, one, none."""
    out[2] = np.uint64(11)
    out[1] = mix(out[2], last_tag)
    out[0] = mix(out[1], tag_before)


def learn_trigrams(sentences: Sequence[Sequence[int]], n_tags: int) -> tuple[NDArray, NDArray]:
    """Estimate the table (`bbparse.phrases.counts`) of tag trigrams; n_tags is the border.

    Returns its keys and values.
    """
    rows: list[tuple[int, ...]] = []
    for tags in sentences:
        padded = [n_tags, n_tags, *tags, n_tags]
        rows += zip(padded, padded[1:], padded[2:])
    array = np.array(rows, np.int64)
    contexts = np.empty((len(rows), 3), np.uint64)
    outcomes = np.empty_like(contexts)
    _trigram_keys(array, contexts, outcomes)
    return estimate(contexts, outcomes, FACTOR, FLOOR)


@kernel
def _trigram_keys(rows, contexts, outcomes):
    for i in range(rows.shape[0]):
        trigram_contexts(rows[i, 0], rows[i, 1], contexts[i])
        for level in range(3):
            outcomes[i, level] = mix(contexts[i, level], rows[i, 2])


@kernel
def chain(words, table, weight):
    """Build the chart of tag sequences, whose items are bigrams; see `TrigramTagger.chart`.

    ``words`` are those of a sentence between two borders before it and one behind it, each of them
    with one tag: where the tags of each word begin, int32[n + 4], and for each tag its number, its
    score and its coordinate.
    """
    ptr, tag, score, coordinate = words
    n_words = ptr.shape[0] - 1
    widest = 1
    for i in range(n_words):
        widest = max(widest, ptr[i + 1] - ptr[i])
    room = n_words * widest**3 + 2
    chart = Chart(
        np.zeros(room + 1, np.int32), np.zeros(room, np.int32), np.zeros(room, np.int32),
        np.zeros(room), np.full(room, FREE, np.int32), np.full(room, -1, np.int32),
        np.zeros(room, np.int32),
    )  # fmt: skip
    contexts = np.empty(3, np.uint64)
    last = np.zeros((widest, widest), np.int32)  # items of the previous word: tag, tag before it
    n_items, n_edges = 1, 0
    for i in range(2, n_words):
        items = np.zeros((widest, widest), np.int32)
        for a in range(ptr[i], ptr[i + 1]):
            for b in range(ptr[i - 1], ptr[i]):
                if i < n_words - 1 or b == ptr[i - 1]:  # at the end, all share the goal item
                    items[a - ptr[i], b - ptr[i - 1]] = n_items
                    chart.head[n_items] = a - 2 if i < n_words - 1 else -1
                    chart.item_ptr[n_items] = n_edges
                    n_items += 1
                for c in range(ptr[i - 2], ptr[i - 1]):
                    trigram_contexts(tag[c], tag[b], contexts)
                    value = backed_off(table, contexts, tag[a], FLOOR)
                    chart.left[n_edges] = last[b - ptr[i - 1], c - ptr[i - 2]]
                    chart.weight[n_edges] = score[a] + weight * value
                    chart.coordinate[n_edges] = coordinate[a]
                    n_edges += 1
                chart.item_ptr[n_items] = n_edges
        last = items
    return Chart(
        chart.item_ptr[: n_items + 1], chart.left[:n_edges], chart.right[:n_edges],
        chart.weight[:n_edges], chart.coordinate[:n_edges], chart.symbol[:n_items],
        chart.head[:n_items],
    )  # fmt: skip


class TrigramTagger:
    """Scores of tag sequences: of the XPOS of a tagger, without tags that the grammar lacks.

    The tagger's scores are multiplied by ``scale``, log probabilities of trigrams by ``weight``.
    Tags whose scaled score is lower than the best of the word by more than ``margin`` are left out.
    """

    def __init__(
        self, tagger: Tagger, trigrams: Table, grammar: Grammar, vocabulary: Vocabulary,
        scale: float = 1.0, weight: float = 0.25, margin: float = 4.0,
    ) -> None:  # fmt: skip
        self.tagger, self.trigrams = tagger, trigrams
        self.vocabulary = vocabulary
        self.scale, self.weight, self.margin = scale, weight, margin
        self.n_tags = grammar.n_tags
        xpos = [label.partition("\t")[2] for label in tagger.tags]
        self._tag = np.array([grammar.tag_number.get(tag, -1) for tag in xpos], np.int32)

    def leaves(self, words: Sequence[str]) -> tuple[Leaves, NDArray[np.float64]]:
        """Return the words with their possible tags, a coordinate for each, and their scores."""
        every = self.scale * self.tagger.scores([words])[0][TAGS].astype(np.float64)
        labels = np.argsort(-every, axis=1, kind="stable")[:, :MAX_TAGS]
        scores = np.take_along_axis(every, labels, axis=1)
        keep = scores >= scores[:, :1] - self.margin
        in_grammar = self._tag[labels] >= 0
        keep = np.where((keep & in_grammar).any(1, keepdims=True), keep & in_grammar, keep)
        word, _ = np.nonzero(keep)
        q = np.arange(len(word), dtype=np.int32)
        leaves = Leaves(
            np.searchsorted(word, np.arange(len(words) + 1)).astype(np.int32),
            word.astype(np.int32), np.maximum(self._tag[labels[keep]], 0),
            np.array(self.vocabulary.numbers(words), np.int32)[word], q, np.zeros(len(q)),
        )  # fmt: skip
        return leaves, scores[keep]

    def chart(self, leaves: Leaves, scores: NDArray[np.float64]) -> Chart:
        """Return the chart of all tag sequences; its coordinates are those of the leaves."""
        ptr = np.concatenate([[0, 1], leaves.ptr + 2, leaves.ptr[-1:] + 3]).astype(np.int32)

        def between(values: NDArray[Any], border: float) -> NDArray[Any]:
            return np.concatenate([[border] * 2, values, [border]]).astype(values.dtype)

        words = (
            ptr, between(leaves.tag, self.n_tags), between(scores, 0.0),
            between(leaves.coordinate, FREE),
        )  # fmt: skip
        return chain(words, self.trigrams, self.weight)
