"""What the English families ask of words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bbparse.factors import AnySentence, AnyValue, AnyWord

__all__ = ["MATCHING", "NOMINAL", "Rules", "between", "case", "feature", "number", "person"]

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


def _number(feats: str) -> str:
    return feature(feats, "Number")


def _person(feats: str) -> str:
    return feature(feats, "Person")


def _case(feats: str) -> str:
    return feature(feats, "Case")


def number(word: AnyWord) -> AnyValue:
    """Singular or plural."""
    return word.ask(_number, "feats")


def person(word: AnyWord) -> AnyValue:
    """First, second or third."""
    return word.ask(_person, "feats")


def case(word: AnyWord) -> AnyValue:
    """Nominative, accusative and so on."""
    return word.ask(_case, "feats")
