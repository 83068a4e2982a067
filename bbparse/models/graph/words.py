"""Words of trees as numbers, for the kernels that find and classify paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bbparse.runtime.arrays import Ints
from bbparse.treebank.encode import features_of
from bbparse.treebank.sentence import AnyTree

if TYPE_CHECKING:
    from bbparse.models.graph.recipes import Marks

#: Attributes of a word in the order of the columns of `Words.rows`, after head and relation.
ATTRIBUTES = ("upos", "xpos", "forms", "case", "lemma")
HEAD, RELATION, FIRST = 0, 1, 2
UPOS, LEMMA, RELATIVE = FIRST, FIRST + 4, FIRST + len(ATTRIBUTES)
N_COLUMNS = RELATIVE + 1
#: Features of FEATS whose values together are the attribute "forms" of a word.
_FORMS = ("VerbForm", "Voice", "Mood", "PronType", "Reflex")
#: Parts of speech whose lemmas are attributes; those of others are too many to learn from.
_CLOSED = frozenset({"ADP", "AUX", "CCONJ", "DET", "PART", "PRON", "SCONJ"})
#: Fewest occurrences of a value.
_FEWEST = 5

# Bits of relations.
SUBJECT, OBJECT, EXPLETIVE, PASSIVE, MARKER, CLAUSE = (1 << k for k in range(6))
_BITS = {
    **dict.fromkeys(("nsubj", "csubj"), SUBJECT),
    **dict.fromkeys(("obj", "iobj", "ccomp"), OBJECT),
    "expl": EXPLETIVE | SUBJECT,
    "aux:pass": PASSIVE,
    **dict.fromkeys(("case", "mark", "cc"), MARKER),
    **dict.fromkeys(("acl", "parataxis", "conj"), CLAUSE),
}


def bits_of(label: str) -> int:
    """Return the bits of a relation."""
    return _BITS.get(label, _BITS.get(label.partition(":")[0], 0))


def lemma_of(form: str, lemma: str) -> str:
    """Return a lemma in lower case, or the form of a word without one."""
    return (form if lemma == "_" else lemma).lower()


@lru_cache(10_000)
def is_relative(feats: str) -> bool:
    """Return True for FEATS of a relative or an interrogative word: some treebanks have one."""
    kinds = features_of(feats).get("PronType", "").split(",")
    return "Rel" in kinds or "Int" in kinds


def has_lemma(upos: str, feats: str) -> bool:
    """Return True for words whose lemmas are attributes."""
    return upos in _CLOSED or is_relative(feats)


def _tag_values(upos: str, xpos: str, feats: str) -> tuple[str, ...]:
    """Return the attributes that a word has by its tags."""
    named = features_of(feats)
    forms = "|".join([f"{name}={named[name]}" for name in _FORMS if name in named])
    return upos, xpos, forms, named.get("Case", "")


class Words(NamedTuple):
    """Words of the trees of a batch; each tree begins with a row for its root."""

    #: int32[rows, N_COLUMNS]: row of the head (-1 for a root), number of the relation, attributes,
    #: and 1 for relative and interrogative words.
    rows: Ints
    starts: Ints  #: int32[trees + 1]: first row of each tree.
    child_start: Ints  #: int32[rows + 1]: first child of each row in `children`.
    children: Ints  #: int32: rows of the children of each row, in order.


class Vocabulary:
    """Numbers of relations and values of attributes, from 1; 0 is an unknown one.

    The root has the number 0 as relation and the last one as part of speech.
    """

    def __init__(self, relations: Iterable[str], values: Sequence[Iterable[str]]) -> None:
        self.relations = list(relations)
        self.values = [list(column) for column in values]
        self._relation = {label: i for i, label in enumerate(self.relations, start=1)}
        self._value = [{v: i for i, v in enumerate(own, start=1)} for own in self.values]
        self._row = lru_cache(100_000)(self._tag_numbers)
        #: Number of different numbers of relations, and of each attribute.
        self.sizes = np.array(
            [len(self.relations) + 1, *(len(own) + 2 for own in self.values)], np.int32
        )
        #: int32[relations + 1]: bits of each relation.
        self.bits = np.array([0, *map(bits_of, self.relations)], np.int32)

    @classmethod
    def of(cls, trees: Iterable[AnyTree]) -> Vocabulary:
        """Return the vocabulary of trees: all relations, and frequent values."""
        relations, counts = Counter[str](), [Counter[str]() for _ in ATTRIBUTES]
        for sentence, _, labels in trees:
            relations.update(labels)
            for form, lemma, *tags in sentence.words:
                lemma = lemma_of(form, lemma) if has_lemma(tags[0], tags[2]) else ""
                for own, value in zip(counts, (*_tag_values(*tags), lemma)):
                    own[value] += bool(value)
        values = [sorted(v for v, n in own.items() if n >= _FEWEST) for own in counts]
        return cls(sorted(relations), values)

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (self.relations, self.values)

    def _tag_numbers(self, *tags: str) -> tuple[int, ...]:
        """Return the attributes of a word in `Words.rows`, -1 for a lemma."""
        numbers = [own.get(value, 0) for own, value in zip(self._value, _tag_values(*tags))]
        upos, _, feats = tags
        return *numbers, -has_lemma(upos, feats), is_relative(feats)

    def __call__(self, marks: Marks) -> Words:
        """Return the words of trees as numbers."""
        root = (int(self.sizes[1]) - 1, *[0] * (N_COLUMNS - FIRST - 1))
        attributes: list[tuple[int, ...]] = []
        texts: list[tuple[str, str]] = []
        for s, _, _ in marks.trees:
            attributes.append(root)
            attributes += map(self._row, s.upos, s.xpos, s.feats)
            texts.append(("", ""))
            texts += zip(s.forms, s.lemmas)
        n = len(attributes)
        rows = np.empty((n, N_COLUMNS), np.int32)
        rows[:, HEAD] = marks.heads
        rows[:, RELATION] = [self._relation.get(label, 0) for label in marks.labels]
        rows[:, FIRST:] = np.fromiter(chain.from_iterable(attributes), np.int32).reshape(n, -1)
        with_lemma = np.flatnonzero(rows[:, LEMMA] < 0)
        known = self._value[LEMMA - FIRST]
        lemmas = [texts[row] for row in with_lemma.tolist()]
        rows[with_lemma, LEMMA] = [  # `lemma_of`, without a call for each word
            known.get((form if lemma == "_" else lemma).lower(), 0) for form, lemma in lemmas
        ]
        children = np.argsort(rows[:, HEAD], kind="stable").astype(np.int32)
        counts = np.bincount(rows[:, HEAD] + 1, minlength=n + 1)
        ends = np.cumsum(counts).astype(np.int32)
        return Words(rows, np.array(marks.starts, np.int32), ends, children)
