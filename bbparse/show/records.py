"""Sentences and their trees as records, and as JSON lines.

The schema, version 1; within a version, fields are added but none changes or goes:

``version``
    1.
``sentence``
    The ``sent_id`` of the sentence, or ``sentence #k`` where it has none.
``words``
    List of n strings: the syntactic words as written.
``lemmas``, ``upos``, ``xpos``, ``feats``
    Lists of n strings, ``_`` where nothing is given.
``offsets``
    List of n pairs: where each word begins and ends in the text, in characters; null where the
    MISC column has no ``TokenRange``.
``status``
    What ended the search: ``optimal``, ``gap``, ``node_limit``, ``time_limit``, ``work_limit``, or
    ``infeasible`` where no tree exists.
``trees``
    List of records, best first, as many as were asked for or exist:

    ``heads``
        List of n whole numbers: the head of each word, counted from 1, 0 for the root.
    ``labels``
        List of n strings, or null where the model has no labels.
    ``score``
        The score of the tree.
    ``upper_bound``
        No tree of this rank scores more; null where that is not known.
    ``proved``
        Whether this is proved to be the tree of its rank among the candidate arcs.
    ``broken``
        List of strings: the rules of valid trees that it breaks, because all trees do, or the
        search was cut short.
    ``confidences``
        List of n numbers: the chance of each arc to be right; null if not asked for.
    ``confidence``
        The chance of the whole tree; null if not asked for.
    ``rivals``
        List of n numbers: the best other head of each word, -1 for none; null if not asked for.
    ``either``
        List of n numbers: the chance of the head being this one or the rival; null if not asked
        for.
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
