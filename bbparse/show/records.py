"""Sentences and their trees as records, and as JSON lines.

docs/showing.md has the schema. Within a version, fields are added, but none changes or goes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bbparse.treebank.tokens import offsets

if TYPE_CHECKING:
    from bbparse.treebank import Sentence
    from bbparse.treebank.sentence import ScoredTree

VERSION = 1


def tree_record(tree: ScoredTree) -> dict[str, Any]:
    """One tree, as the schema says."""
    return {
        "heads": list(tree.heads),
        "labels": list(tree.labels) or None,
        "score": finite(tree.score),
        "upper_bound": finite(tree.upper_bound),
        "proved": tree.proved,
        "broken": list(tree.broken),
        "confidences": list(tree.confidences) or None,
        "confidence": finite(tree.confidence),
        "rivals": list(tree.rivals) or None,
        "either": list(tree.either) or None,
    }


def sentence_record(
    sentence: Sentence, trees: Sequence[ScoredTree], status: str
) -> dict[str, Any]:
    """A sentence and its trees, as the schema says."""
    places = offsets(sentence)
    return {
        "version": VERSION,
        "sentence": sentence.name,
        "words": list(sentence.forms),
        "lemmas": list(sentence.lemmas),
        "upos": list(sentence.upos),
        "xpos": list(sentence.xpos),
        "feats": list(sentence.feats),
        "offsets": None if (-1, -1) in places else [list(place) for place in places],
        "status": status,
        "trees": [tree_record(tree) for tree in trees],
    }


def json_line(sentence: Sentence, trees: Sequence[ScoredTree], status: str) -> str:
    """The record on one line, with its line feed; everything but controls is written as it is."""
    record = sentence_record(sentence, trees, status)
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))
    # These break lines for some readers, though not for JSON.
    for character in "\u0085\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text + "\n"


def finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None
