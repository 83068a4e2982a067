"""Sentences made from words; cycles and crossing arcs, against definitions by pairs of words."""

from __future__ import annotations

import io
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.treebank import Sentence, find_cycle, format_sentence, is_projective, read_conllu
from bbparse.treebank.sentence import crossing_words


def test_from_words_and_back() -> None:
    sentence = Sentence.from_words(
        ["Birds", "sing"], upos=["NOUN", "VERB"], lemmas=["bird", "sing"], heads=[2, 0],
        deprels=["nsubj", "root"], name="birds-1",
    )  # fmt: skip
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


def crosses(heads: list[int]) -> bool:
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1) if h >= 0]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


def has_cycle(heads: list[int]) -> bool:
    for word in range(1, len(heads) + 1):
        for _ in range(len(heads) + 1):
            if word <= 0:
                break
            word = heads[word - 1]
        if word > 0:
            return True
    return False


def check(heads: list[int]) -> None:
    assert is_projective(heads) is not crosses(heads)
    cycle = find_cycle(heads)
    assert bool(cycle) is has_cycle(heads)
    for word, head in zip(cycle, [*cycle[1:], *cycle[:1]]):
        assert heads[word - 1] == head
    assert len(set(cycle)) == len(cycle)


def test_all_heads_of_short_sentences() -> None:
    for n in range(5):
        for heads in product(range(-1, n + 1), repeat=n):
            check(list(heads))


@given(st.integers(5, 12).flatmap(lambda n: st.lists(st.integers(-1, n), min_size=n, max_size=n)))
def test_heads_of_longer_sentences(heads: list[int]) -> None:
    check(heads)


@given(st.lists(st.integers(-1, 7), min_size=7, max_size=7))
def test_words_whose_arcs_cross(heads: list[int]) -> None:
    spans = {m: (min(h, m), max(h, m)) for m, h in enumerate(heads, 1) if h >= 0}
    expected = {
        m for m, (a, b) in spans.items()
        if any(a < c < b < d or c < a < d < b for c, d in spans.values())
    }  # fmt: skip
    assert crossing_words(heads) == expected
    assert bool(expected) == crosses(heads)
