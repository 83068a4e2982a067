"""Silver trees: a teacher's trees of raw text in a CoNLL-U file, with its probabilities.

A comment of each sentence has the probabilities of likely heads, labels, tags and FEATS, in
thousandths: networks learn from them as from shares of a word's label (distillation, Hinton et al.
2015), so that a word of which the teacher is in doubt teaches this doubt.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bbparse.text.tagger import Tagger
from bbparse.treebank import Sentence, read_conllu
from bbparse.treebank.likely_tags import Likely
from bbparse.treebank.sentence import misc_values

#: Mean confidence of the arcs of a silver sentence below which its tree is no gold tree.
MIN_CONFIDENCE = 0.9
_MARK = "# likely = "
_KINDS = "heads", "labels", "tags", "feats"


@dataclass(frozen=True, slots=True)
class Silver:
    """Silver sentences in a CoNLL-U file.

    The file is read anew for every iteration, so that it may be larger than the memory. ``digest``
    identifies what is in it: the teacher and the text.
    """

    path: str | os.PathLike[str]
    digest: str
    #: Tags the sentences anew. The teacher's tags are better than those that a model will see, and
    #: it should learn to parse with its own tagger's errors.
    tagger: Tagger | None = None

    def __iter__(self) -> Iterator[Sentence]:
        sentences = (one for one in read_conllu(self.path) if _is_kept(one))
        return sentences if self.tagger is None else self.tagger.tag(sentences)

    def counts(self) -> tuple[int, int]:
        """Return the number of words, and of those in the sentences that are left out."""
        words = [0, 0]
        for sentence in read_conllu(self.path):
            words[not _is_kept(sentence)] += sentence.n_words
        return words[0], words[1]


def _is_kept(sentence: Sentence) -> bool:
    """Return False if a tree is unsure, and the sentence does not say what else is likely."""
    return bool(_line_of(sentence)) or is_sure(sentence)


def is_sure(sentence: Sentence) -> bool:
    """Return True if the arcs have enough confidence, or none because the teacher has none."""
    values = [float(x) for texts in misc_values(sentence, "Confidence") for x in texts]
    return not values or sum(values) >= MIN_CONFIDENCE * len(values)


def likely_line(kinds: Sequence[tuple[Likely, Sequence[Any]]]) -> str:
    """Return the comment with what is likely, and its names: of heads, labels, tags, FEATS."""
    return _MARK + json.dumps(dict(zip(_KINDS, (_rows(*kind) for kind in kinds)))) + "\n"


def _rows(likely: Likely, names: Sequence[Any]) -> list[Any]:
    """Return the likely values of each word: its name alone, or names and thousandths in turn."""
    ends, rows = likely.begin.tolist(), list[Any]()
    numbers, shares = likely.numbers.tolist(), np.rint(1000 * likely.probabilities).tolist()
    for a, b in pairwise(ends):
        row = [x for i in range(a, b) if shares[i] for x in (names[numbers[i]], int(shares[i]))]
        rows.append(row[0] if len(row) == 2 else row)
    return rows


def likely_in(sentence: Sentence) -> dict[str, list[Any]]:
    """Return what a teacher finds likely, by kind; empty if the sentence does not have it."""
    found: dict[str, list[Any]] = json.loads(_line_of(sentence)[len(_MARK) :] or "{}")
    return found


def _line_of(sentence: Sentence) -> str:
    """Return the comment of `likely_line`, empty if there is none."""
    return next((line for line in sentence.lines if line.startswith(_MARK)), "")


def shares_of(rows: Sequence[Any], number: Callable[[Any], int]) -> Likely:
    """Return rows of `likely_in` as numbers, -1 for names to leave out; shares of a word add to 1.

    A word without numbers has none.
    """
    ends, numbers, shares = [0], list[int](), list[float]()
    for row in rows:
        pairs = zip(row[::2], row[1::2]) if isinstance(row, list) else ((row, 1000),)
        known = [(number(name), share) for name, share in pairs]
        known = [(i, share) for i, share in known if i >= 0]
        total = sum(share for _, share in known)
        numbers += [i for i, _ in known]
        shares += [share / total for _, share in known]
        ends.append(len(numbers))
    return Likely(
        np.array(ends, np.int32), np.array(numbers, np.int32), np.array(shares, np.float32)
    )
