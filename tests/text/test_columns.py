"""Attributes of words, and rules of lemmas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.text.columns import COLUMNS, FormEncoder, style
from bbparse.text.lemmas import apply_rule, rule_of
from bbparse.treebank.encode import attribute_hash


def column(values: np.ndarray, name: str) -> np.ndarray:
    return values[:, COLUMNS.index(name)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("THE WHOLE TITLE", "A"),
        ("The Whole Title", "T"),
        ("the whole title", "l"),
        ("The whole title is here", "x"),
        ("!", "?"),
    ],
)
def test_style(words: str, found: str) -> None:
    assert style(words.split()) == found


@pytest.mark.parametrize(
    ("form", "kinds"),
    [
        ("iPhone", "X"),
        ("McX", "TX"),
        ("Obama", "T"),
        ("IBM", "A"),
        ("U.S.", "A."),
        ("A", "T"),
        ("1/2", "d/"),
        ("e-mail", "-"),
        ("a@b", "@"),
        ("@b", ""),
        ("!", "o"),
        ("été", "u"),
    ],
)
def test_kinds_of_characters(form: str, kinds: str) -> None:
    assert column(FormEncoder({})([form]), "habit")[0] == attribute_hash("habit", f"|{kinds}")


def test_attributes_that_agree_and_that_do_not() -> None:
    forms = ["Cats", "cats", "bats", "5", "7"]
    values = FormEncoder({})(forms)
    assert values.shape == (5, len(COLUMNS))
    lower, suffix3, prefix1 = (column(values, name) for name in ("lower", "suffix3", "prefix1"))
    assert lower[0] == lower[1] != lower[2]
    assert suffix3[0] == suffix3[1] == suffix3[2]
    assert prefix1[3] == prefix1[4]
    assert (column(values, "style") == attribute_hash("style", style(forms))).all()
    assert FormEncoder({})([]).shape == (0, len(COLUMNS))
    # another attribute of the same text is another value
    assert lower[1] != column(values, "form")[1]


words = st.text(
    st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1, max_size=12
)


@given(words, words)
def test_a_rule_makes_its_lemma(form: str, lemma: str) -> None:
    assert apply_rule(rule_of(form, lemma), form) == lemma


@pytest.mark.parametrize(
    ("form", "lemma", "other", "found"),
    [
        ("cities", "city", "Parties", "party"),
        ("Dogs", "dog", "cats", "cat"),
        ("running", "run", "winning", "win"),
        ("running", "run", "going", None),
        ("gemacht", "machen", "gelacht", "lachen"),
        ("Paris", "Paris", "London", "London"),
        ("IBM", "IBM", "dog", "dog"),
        ("OBAMA", "Obama", "SMITH", "Smith"),
    ],
)
def test_a_rule_goes_on_to_other_words(
    form: str, lemma: str, other: str, found: str | None
) -> None:
    assert apply_rule(rule_of(form, lemma), other) == found
