"""Sentences made from words."""

from __future__ import annotations

import io
from typing import Any

import pytest

from bbparse.treebank import Sentence, format_sentence, read_conllu


def test_from_words_and_back() -> None:
    sentence = Sentence.from_words(
        ["Birds", "sing"],
        upos=["NOUN", "VERB"],
        lemmas=["bird", "sing"],
        heads=[2, 0],
        deprels=["nsubj", "root"],
        name="birds-1",
    )
    assert sentence.name == "birds-1"
    assert sentence.text == "Birds sing"
    (again,) = read_conllu(io.StringIO(format_sentence(sentence)), require_heads=True)
    again.source = sentence.source
    assert again == sentence


def test_only_forms() -> None:
    sentence = Sentence.from_words(["Birds", "sing"])
    assert sentence.heads == [-1, -1]
    assert not sentence.has_heads
    assert sentence.upos == sentence.deprels == sentence.feats == ["_", "_"]
    assert sentence.name == "sentence #1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"forms": []}, "forms: a sentence has at least one word"),
        ({"forms": ["a"], "upos": ["X", "Y"]}, "upos: expected 1 values, found 2"),
        ({"forms": ["a", "b\tc"]}, r"forms\[1\]: expected text without tabs"),
        ({"forms": ["a", ""]}, r"forms\[1\]: expected text"),
        ({"forms": ["a"], "heads": [2]}, r"heads\[0\]: expected -1 to 1, found 2"),
        ({"forms": ["a"], "heads": [0, 1]}, "heads: expected 1 values, found 2"),
        ({"forms": ["a"], "name": "a\nb"}, r"name\[0\]: expected text"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sentence.from_words(**arguments)
