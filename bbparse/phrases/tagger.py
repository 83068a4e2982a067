"""A trigram tagger as an oracle over the tags of words.

Words have the scores of the tagger of `bbparse.tagging`, trigrams their log probabilities. The
items of its chart are tag bigrams, so that a sequence is a derivation, and the oracle of charts
(`bbparse.phrases.oracles`) serves here, too.
"""

from __future__ import annotations

from collections.abc import Sequence

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
def chain(leaves, score, table, weight, border):
    """Build the chart of tag sequences, whose items are bigrams; see `TrigramTagger.chart`."""
    n = leaves.ptr.shape[0] - 1
    n_items, n_edges = 2, 0
    widest = 1
    for i in range(n):
        widest = max(widest, leaves.ptr[i + 1] - leaves.ptr[i])
    room = n * widest**3 + widest**2 + 2
    chart = Chart(
        np.zeros(room + 1, np.int32), np.zeros(room, np.int32), np.zeros(room, np.int32),
        np.zeros(room), np.full(room, FREE, np.int32), np.full(room, -1, np.int32),
        np.zeros(room, np.int32),
    )  # fmt: skip
    contexts = np.empty(3, np.uint64)
    last = np.zeros((widest, widest), np.int32)  # items of the previous word: tag, tag before it
    n_items = 1
    for i in range(n + 1):
        items = np.zeros((widest, widest), np.int32)
        n_tags = leaves.ptr[i + 1] - leaves.ptr[i] if i < n else 1
        n_before = leaves.ptr[i] - leaves.ptr[i - 1] if i > 0 else 1
        n_before_that = leaves.ptr[i - 1] - leaves.ptr[i - 2] if i > 1 else 1
        for a in range(n_tags):
            for b in range(n_before):
                if i == n and b > 0:
                    pass  # all share one goal item
                else:
                    items[a, b] = n_items
                    chart.head[n_items] = leaves.ptr[i] + a if i < n else -1
                    chart.item_ptr[n_items] = n_edges
                    n_items += 1
                plain = score[leaves.ptr[i] + a] if i < n else 0.0
                tag = leaves.tag[leaves.ptr[i] + a] if i < n else border
                last_tag = leaves.tag[leaves.ptr[i - 1] + b] if i > 0 else border
                for c in range(n_before_that):
                    tag_before = leaves.tag[leaves.ptr[i - 2] + c] if i > 1 else border
                    trigram_contexts(tag_before, last_tag, contexts)
                    chart.left[n_edges] = last[b, c]
                    chart.weight[n_edges] = plain + weight * backed_off(table, contexts, tag, FLOOR)
                    if i < n:
                        chart.coordinate[n_edges] = leaves.coordinate[leaves.ptr[i] + a]
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

    Parameters
    ----------
    tagger : Tagger
    trigrams : Table
    grammar : Grammar
    vocabulary : Vocabulary
    scale : float
        Factor of the tagger's scores.
    weight : float
        Factor of the log probabilities of trigrams.
    margin : float
        Tags whose scaled score is lower than the best of the word by more than this are left out.
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
        return chain(leaves, scores, self.trigrams, self.weight, self.n_tags)
