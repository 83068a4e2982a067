"""What the English families ask of words."""

from __future__ import annotations

from collections.abc import Sequence

from bbparse.factors import FactorView

__all__ = ["MATCHING", "NOMINAL", "PREDICATE", "between", "feature", "words_with"]

NOMINAL = frozenset(("NOUN", "PROPN", "PRON", "NUM"))
PREDICATE = frozenset(("VERB", "AUX", "ADJ"))

#: Closing partner of an opening bracket or quotation mark.
MATCHING = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'", "``": "''", "“": "”", "‘": "’"}


def words_with(tags: Sequence[str], wanted: frozenset[str] | tuple[str, ...]) -> list[int]:
    """Words whose tag is one of some; `tags` has the root at 0."""
    return [i for i, tag in enumerate(tags) if tag in wanted]


def between(view: FactorView, left: int, right: int, tags: frozenset[str]) -> int:
    """How many words strictly between two have one of some UPOS tags; 2 stands for more too."""
    found = sum(tag in tags for tag in view.upos[left + 1 : right])
    return min(found, 2)


def feature(feats: str, name: str) -> str:
    """The value of a morphological feature, "" for none."""
    start = feats.find(name + "=")
    if start < 0 or (start > 0 and feats[start - 1] != "|"):
        return ""
    return feats[start + len(name) + 1 :].partition("|")[0]
