"""Inconsistent annotation: the same words in the same context with different analyses.

A *variation nucleus* (Dickinson & Meurers 2003; for dependencies Boyd, Dickinson & Meurers 2008) is
a sequence of words whose first and last word are connected in some places of a corpus, and in
others not, or by another arc. If also the words around the sequence are the same, such variation is
an error more often than not. Arcs of punctuation are left out, as their heads depend on the rest of
the sentence. Cost: O(words · longest sequence) time and memory.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from bbparse.runtime.progress import watched
from bbparse.treebank.sentence import Sentence

#: Most words of a nucleus.
MAX_NUCLEUS = 8
#: Stands for the words before the first and after the last of a sentence.
EDGE = ""


@dataclass(frozen=True, slots=True)
class Analysis:
    """The arc between the first and the last word of a nucleus."""

    side: str  #: Where the modifier is: "left", "right"; "" if there is no arc.
    label: str = ""

    @classmethod
    def of(cls, sentence: Sentence, first: int, last: int) -> Self:
        """Return the analysis of the words from the first to the last one."""
        if sentence.heads[first - 1] == last:
            return cls("left", sentence.deprels[first - 1])
        if sentence.heads[last - 1] == first:
            return cls("right", sentence.deprels[last - 1])
        return cls("")

    def __str__(self) -> str:
        if not self.side:
            return "no arc"
        return f"{self.label} of the {'last' if self.side == 'left' else 'first'} word"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place of a nucleus."""

    sentence: Sentence
    first: int  #: Number of its first word.
    last: int
    analysis: Analysis

    @property
    def modifier(self) -> int:
        """The word whose arc is in question; without an arc, the last one."""
        return self.first if self.analysis.side == "left" else self.last


@dataclass(frozen=True, slots=True)
class Variation:
    """A nucleus in one context, with two analyses or more."""

    words: tuple[str, ...]  #: The nucleus with the word before and after it.
    occurrences: tuple[Occurrence, ...]

    def counts(self) -> list[tuple[Analysis, int]]:
        """Return the analyses and how often each occurs, the most frequent first."""
        counts = Counter(place.analysis for place in self.occurrences)
        return sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))

    def suspects(self) -> list[Occurrence]:
        """Return the places whose analysis is rarer than the most frequent; all if none is."""
        counts = dict(self.counts())
        most = max(counts.values())
        rare = [place for place in self.occurrences if counts[place.analysis] < most]
        return rare or list(self.occurrences)


def variations(sentences: Iterable[Sentence]) -> list[Variation]:
    """Find word sequences with several analyses between the same two words, in order."""
    kept = list(watched(sentences, "read"))
    connected: set[tuple[str, ...]] = set()
    for sentence in kept:
        forms = [EDGE, *sentence.forms, EDGE]
        for m, head in enumerate(sentence.heads, start=1):
            first, last = min(m, head), max(m, head)
            is_punct = sentence.deprels[m - 1].partition(":")[0] == "punct"
            if first > 0 and last - first < MAX_NUCLEUS and not is_punct:
                connected.add(tuple(forms[first - 1 : last + 2]))
    places: defaultdict[tuple[str, ...], list[Occurrence]] = defaultdict(list)
    for sentence in watched(kept, "compared"):
        forms, n = [EDGE, *sentence.forms, EDGE], sentence.n_words
        pairs = (
            (a, a + size) for a in range(1, n) for size in range(1, min(MAX_NUCLEUS, n - a + 1))
        )
        for first, last in pairs:
            words = tuple(forms[first - 1 : last + 2])
            if words in connected:
                analysis = Analysis.of(sentence, first, last)
                places[words].append(Occurrence(sentence, first, last, analysis))
    return [
        Variation(words, tuple(found))
        for words, found in places.items()
        if any(place.analysis != found[0].analysis for place in found)
    ]
