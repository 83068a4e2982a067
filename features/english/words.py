"""Properties of words that the English families use."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from bbparse.factors import Arc, FactorView, Feature

#: What `FactorFamily.factors` and `FactorFamily.counts` yield.
Proposed = Iterator[tuple[list[Arc], list[Feature]]]
Counts = Iterator[tuple[list[Arc], list[list[Feature]]]]

NOMINAL = frozenset(("NOUN", "PROPN", "PRON", "NUM"))

#: Closing partner of an opening bracket or quotation mark.
MATCHING = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'", "``": "''", "“": "”", "‘": "’"}


def words_with(column: Sequence[str], texts: Container[str]) -> list[int]:
    """Return the words whose entry of a column is one of ``texts``."""
    return [i for i, text in enumerate(column) if text in texts]


def counter(column: Sequence[str], texts: Container[str]) -> Callable[[int, int], int]:
    """Return a function that counts such words strictly between two; 2 for more, too."""
    before = list(accumulate((text in texts for text in column), initial=0))

    def between(left: int, right: int) -> int:
        return max(0, min(before[min(right, len(column))] - before[left + 1], 2))

    return between


def introduced(view: FactorView, words: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Word, its head after it, and the head of that before it: *and*, *B* and *A* of "A and B"."""
    for word in words:
        for head in view.heads_of(word):
            if head > word:
                for above in view.heads_of(head):
                    if 0 < above < word:
                        yield word, head, above


@lru_cache(1 << 12)
def feature(feats: str, name: str) -> str:
    """Return the value of a morphological feature, "" for none."""
    start = feats.find(name + "=")
    if start < 0 or (start > 0 and feats[start - 1] != "|"):
        return ""
    return feats[start + len(name) + 1 :].partition("|")[0]
