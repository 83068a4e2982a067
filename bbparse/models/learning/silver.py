"""Silver trees: those of a teacher, for raw text, from which a model learns beside its treebank."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from bbparse.treebank import Sentence, read_conllu
from bbparse.treebank.sentence import miscs

#: Mean confidence of the arcs of a sentence below which it is left out.
MIN_CONFIDENCE = 0.9


@dataclass(frozen=True, slots=True)
class Silver:
    """Sentences of a CoNLL-U file whose arcs are right with enough confidence.

    The file is read anew for every iteration, so that it may be larger than the memory. ``digest``
    identifies what is in it: the teacher and the text.
    """

    path: str | os.PathLike[str]
    digest: str

    def __iter__(self) -> Iterator[Sentence]:
        return (sentence for sentence in read_conllu(self.path) if _is_sure(sentence))

    def counts(self) -> tuple[int, int]:
        """Return the number of words, and of those in the sentences that are left out."""
        words, every = (
            sum(sentence.n_words for sentence in sentences)
            for sentences in (self, read_conllu(self.path))
        )
        return words, every - words


def _is_sure(sentence: Sentence) -> bool:
    """Return True if the arcs have enough confidence, or none because the teacher has none."""
    values = [
        float(item.partition("=")[2])
        for misc in miscs(sentence)
        for item in misc.split("|")
        if item.startswith("Confidence=")
    ]
    return not values or sum(values) >= MIN_CONFIDENCE * len(values)
