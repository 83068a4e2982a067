"""Batches of sentences, and `Ragged`: sentences of any length as the rows of one matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from bbparse.runtime.arrays import Longs
from bbparse.runtime.errors import TreebankError
from bbparse.runtime.options import check_type
from bbparse.treebank import Sentence
from bbparse.treebank.sections import SECTION_WORDS

T = TypeVar("T")


class Ragged(NamedTuple):
    """Row of the first word of each sentence in a batch, and its number of words, int64[S] each."""

    first: Longs
    size: Longs

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Ragged:
        """Lay out sentences with these numbers of words, one after the other."""
        size = np.array(sizes, np.int64)
        return cls(np.cumsum(size) - size, size)


def grouped(items: Iterable[T], size: Callable[[T], int], limit: int) -> Iterator[list[T]]:
    """Yield items in groups whose sizes add up to at most `limit`; a larger item is alone.

    An error of `items` or `size` comes after the items before it.
    """
    group: list[T] = []
    total = 0
    try:
        for item in items:
            n = size(item)
            if group and total + n > limit:
                yield group
                group, total = [], 0
            group.append(item)
            total += n
    except Exception:
        if group:
            yield group
        raise
    if group:
        yield group


def batches(sentences: Iterable[Sentence], together: bool = True) -> Iterator[list[Sentence]]:
    """Yield sentences in batches of some thousand words, or one by one unless `together`."""
    check_type("sentences", sentences, Iterable, "sentences", TreebankError)
    yield from grouped(sentences, _checked_size, SECTION_WORDS if together else -1)


def _checked_size(sentence: Sentence) -> int:
    """Return the number of words; `TreebankError` for what is no sentence."""
    if not isinstance(sentence, Sentence):
        check_type("sentence", sentence, Sentence, "a Sentence", TreebankError)
    return len(sentence.forms)
