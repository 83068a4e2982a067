"""Edit rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.tagging.lemmas import apply_rule, is_absolute, rule_of

words = st.text(
    st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1, max_size=12
)


@given(words, words)
def test_a_rule_makes_its_lemma(form: str, lemma: str) -> None:
    assert apply_rule(rule_of(form, lemma), form) == lemma


@pytest.mark.parametrize(
    ("form", "lemma", "other", "found"),
    [("cities", "city", "Parties", "party"), ("Dogs", "dog", "cats", "cat"),
     ("running", "run", "winning", "win"), ("running", "run", "going", None),
     ("gemacht", "machen", "gelacht", "lachen"), ("Paris", "Paris", "London", "London"),
     ("IBM", "IBM", "dog", "dog"), ("OBAMA", "Obama", "SMITH", "Smith")],
)  # fmt: skip
def test_a_rule_goes_on_to_other_words(
    form: str, lemma: str, other: str, found: str | None
) -> None:
    assert apply_rule(rule_of(form, lemma), other) == found


def test_words_with_nothing_in_common() -> None:
    rule = rule_of("went", "go")
    assert is_absolute(rule)
    assert apply_rule(rule, "anything") == "go"


def test_a_rule_never_makes_an_empty_lemma() -> None:
    assert apply_rule(rule_of("dogs", "dog"), "s") is None
