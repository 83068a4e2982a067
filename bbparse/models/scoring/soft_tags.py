"""`SoftTags`: the tags of a word as a mean over the tags that a tagger finds likely.

The best tag of a word may be wrong, and a parser that reads this tag alone then errs with it. So
where a tagger says which tags are likely (`bbparse.text.tag_probabilities`), the vectors of UPOS,
XPOS and FEATS that are summed for a word (`bbparse.neural.sequence`) become their means. What
depends on the form, too, stays as the best tag has it. The code fixes the order of all sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.ragged import Ragged
from bbparse.neural.sequence import SequenceNetwork, sums_of_words
from bbparse.runtime.arrays import Float32s, Hashes, Longs, indices_among
from bbparse.runtime.errors import TreebankError
from bbparse.runtime.jit import kernel
from bbparse.runtime.options import check_type
from bbparse.treebank import Sentence
from bbparse.treebank.encode import network_values, row_of
from bbparse.treebank.likely_tags import Likely, LikelyTags, TagNames

#: The attributes whose vectors become means: the first two of a tag, the last of FEATS.
SOFT = ("upos", "xpos", "feats")


def likely_tags_of(sentence: Sentence) -> LikelyTags | None:
    """Return the likely tags of a sentence; None if it has other tags than its tagger chose."""
    tags = sentence.likely_tags
    if tags is None:
        return None
    check_type("likely_tags", tags, LikelyTags, "LikelyTags or None", TreebankError)
    if tags.chosen in (None, (sentence.upos, sentence.xpos, sentence.feats)):
        return tags
    return None


class SoftTags:
    """Likely tags of the words of a batch.

    ``rows`` (int64[R, attributes]) become -1 in the ``columns`` of `SOFT`, where tags are known.
    """

    def __init__(
        self, batch: Ragged, rows: Longs, columns: Longs, likely: Sequence[LikelyTags | None]
    ) -> None:
        self._parts: list[tuple[slice, NDArray[np.bool_], LikelyTags]] = []
        for first, size, own in zip(batch.first.tolist(), batch.size.tolist(), likely):
            if own is None:
                continue
            for some in (own.tags, own.feats):
                if len(some.begin) != size:
                    raise ValueError(
                        f"likely_tags are those of {len(some.begin) - 1} words, expected {size - 1}"
                    )
            words = slice(first + 1, first + size)
            self._parts.append((words, rows[words].max(axis=1) >= 0, own))
            rows[words, columns] = -1

    def add_to(
        self, words: Float32s, tag_vectors: Callable[[TagNames], tuple[Float32s, Float32s]]
    ) -> None:
        """Add the means of `vectors_of_tags` to the sums of words, float32[R, d]."""
        for where, known, own in self._parts:
            for some, vectors in zip((own.tags, own.feats), tag_vectors(own.names)):
                _add_means(some, vectors, known, words[where])


@kernel
def _add_means(likely: Likely, vectors: Float32s, known: NDArray[np.bool_], out: Float32s) -> None:
    """Add the means of vectors to the rows of known words."""
    begin, numbers, probabilities = likely
    for i in range(np.uint64(out.shape[0])):
        if not known[i]:
            continue
        for at in range(max(begin[i], 0), min(begin[i + 1], len(numbers), len(probabilities))):
            number = np.int64(numbers[at])
            if 0 <= number < vectors.shape[0]:
                row, share = np.uint64(number), probabilities[at]
                for j in range(np.uint64(out.shape[1])):
                    out[i, j] += share * vectors[row, j]


def vectors_of_tags(network: SequenceNetwork, names: TagNames) -> tuple[Float32s, Float32s]:
    """Return the vectors of tags (UPOS and XPOS) and of FEATS, float32[names, d] each."""
    tags, feats = (
        sums_of_words(network.weights, indices_among(network.keys, own), network.vectors, None)
        for own in _encoded(names)
    )
    return tags, feats


@lru_cache(1)  # of all members of a network
def _encoded(names: TagNames) -> list[Hashes]:
    """Return the hashes of the attributes of tags (UPOS and XPOS) and of FEATS."""
    encoded = []
    for attributes, texts in zip((SOFT[:2], SOFT[2:]), names):
        hashes = np.array([_hashes(attributes, text) for text in texts], np.uint64)
        encoded.append(hashes.reshape(len(texts), len(attributes)))
    return encoded


def _hashes(attributes: Sequence[str], text: str) -> list[int]:
    """Return the hashes of a tag's attributes: of UPOS, tab, XPOS, or of FEATS."""
    upos, _, xpos = text.partition("\t")
    values = network_values("", "", upos, xpos, text)
    return row_of((name, values[name]) for name in attributes)
