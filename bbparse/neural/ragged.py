"""Batches of sentences, and `Ragged`: sentences of any length as the rows of one matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbparse.runtime.errors import TreebankError
from bbparse.runtime.options import check_type
from bbparse.treebank import Sentence
from bbparse.treebank.sections import SECTION_WORDS

#: Rows that a matrix product takes at once.
_ROWS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Positions of the words of a batch of sentences among the rows of a matrix.

    The number of rows is a multiple of four: there may be rows of padding after the last sentence.
    """

    #: int64[S]: row of the first word of each sentence, and its number of words.
    first: NDArray[np.int64]
    size: NDArray[np.int64]
    #: float32[R]: 1 for words, 0 for padding.
    mask: NDArray[np.float32]

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Ragged:
        """Lay out sentences with these numbers of words."""
        size = np.array(sizes, np.int64)
        end = int(size.sum())
        mask = np.zeros(end + -end % _ROWS, np.float32)
        mask[:end] = 1.0
        return cls(np.cumsum(size) - size, size, mask)

    @property
    def n_rows(self) -> int:
        return len(self.mask)

    def rows_of(self, parts: Sequence[NDArray], fill: float) -> NDArray:
        """Join the rows of all sentences into one matrix, with ``fill`` in the padding."""
        out = np.full((self.n_rows, parts[0].shape[1]), fill, parts[0].dtype)
        for start, part in zip(self.first.tolist(), parts):
            out[start : start + len(part)] = part
        return out


def batches(sentences: Iterable[Sentence], together: bool = True) -> Iterator[list[Sentence]]:
    """Yield sentences in batches of some dozens, or one by one unless `together`.

    The scored parts of a batch are in memory at the same time, so it has some thousand words. If
    iterating the sentences raises an error, the sentences before it are yielded first.
    """
    check_type("sentences", sentences, Iterable, "sentences", TreebankError)
    batch: list[Sentence] = []
    words = 0
    try:
        for sentence in sentences:
            check_type("sentence", sentence, Sentence, "a Sentence", TreebankError)
            if batch and (not together or words + sentence.n_words > SECTION_WORDS):
                yield batch
                batch, words = [], 0
            batch.append(sentence)
            words += sentence.n_words
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch
