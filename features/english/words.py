"""What the English families ask of words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from bbparse.factors import AnySentence, AnyValue, AnyWord

Rules = Iterator[tuple[list[Any], list[Any]]]

NOMINAL = frozenset(("NOUN", "PROPN", "PRON", "NUM"))

#: Closing partner of an opening bracket or quotation mark.
MATCHING = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'", "``": "''", "“": "”", "‘": "’"}


def between(s: AnySentence, left: Any, right: Any, tags: frozenset[str], most: int = 2) -> AnyValue:
    """How many words strictly between two have one of some UPOS tags; `most` for more, too."""
    return s.smaller(s.count(lambda word: word.upos.isin(tags), left + 1, right), most)


def feature(feats: str, name: str) -> str:
    """The value of a morphological feature, "" for none."""
    start = feats.find(name + "=")
    if start < 0 or (start > 0 and feats[start - 1] != "|"):
        return ""
    return feats[start + len(name) + 1 :].partition("|")[0]


_NUMBER, _PERSON, _CASE = (partial(feature, name=name) for name in ("Number", "Person", "Case"))


def number(word: AnyWord) -> AnyValue:
    """Singular or plural."""
    return word.ask(_NUMBER, "feats")


def person(word: AnyWord) -> AnyValue:
    """First, second or third."""
    return word.ask(_PERSON, "feats")


def case(word: AnyWord) -> AnyValue:
    """Nominative, accusative and so on."""
    return word.ask(_CASE, "feats")
