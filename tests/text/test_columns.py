"""Attributes of words, and rules of lemmas."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.text.columns import COLUMNS, N_GRAMS, FormEncoder, grams, style
from bbparse.text.lemmas import apply_rule, is_absolute, rule_of
from bbparse.treebank.encode import PAD, shape


def column(values: np.ndarray, name: str) -> np.ndarray:
    """A column without the padding."""
    return values[PAD : len(values) - PAD, COLUMNS.index(name)]


@pytest.mark.parametrize(
    ("form", "short", "long"),
    [("Obama", "Xx", "Xxxxx"), ("U.S.", "X.X.", "X.X."), ("1999", "d", "dddd"), ("e-mail", "x-x",
      "x-xxxx"), ("été", "x", "xxx")],
)  # fmt: skip
def test_shape(form: str, short: str, long: str) -> None:
    assert shape(form, 1) == short
    assert shape(form, 4) == long


@pytest.mark.parametrize(
    ("words", "found"),
    [("THE WHOLE TITLE", "A"), ("The Whole Title", "T"), ("the whole title", "l"),
     ("The whole title is here", "x"), ("!", "?")],
)  # fmt: skip
def test_style(words: str, found: str) -> None:
    assert style(words.split()) == found


def test_attributes_that_agree_and_that_do_not() -> None:
    values = FormEncoder({})(["Cats", "cats", "bats", "5", "7"])
    assert values.shape == (5 + 2 * PAD, len(COLUMNS))
    lower, suffix3, prefix1 = (column(values, name) for name in ("lower", "suffix3", "prefix1"))
    assert lower[0] == lower[1] != lower[2]
    assert suffix3[0] == suffix3[1] == suffix3[2]
    assert prefix1[3] == prefix1[4]
    # another attribute of the same text is another value
    assert lower[1] != column(values, "form")[1]


def test_habits() -> None:
    values = FormEncoder({"run": "l"})(["run", "Run", "walk"])
    assert len(set(column(values, "habit").tolist())) == 3  # Run has a capital, walk is not known


def test_words_share_their_n_grams() -> None:
    assert grams("cats") == ["<ca", "cat", "ats", "ts>", "<cat", "cats", "ats>", "<cats", "cats>"]
    assert grams("") == [] and len(grams("x" * 5000)) == N_GRAMS
    values = FormEncoder({})(["cats", "Bats", "7", "8"])
    places = [i for i, name in enumerate(COLUMNS) if name.startswith("gram")]
    cats, bats, seven, eight = (set(row[places].tolist()) - {0} for row in values[PAD:-PAD])
    assert len(cats) == 9 and len(cats & bats) == 3  # ats, ts>, ats>
    assert seven == eight and len(seven) == 1


def test_the_memory_is_bounded_and_changes_nothing() -> None:
    small, large = FormEncoder({}, max_forms=1500), FormEncoder({})
    for start in range(0, 6000, 10):
        forms = [f"w{i}" for i in range(start, start + 10)]
        np.testing.assert_array_equal(small(forms), large(forms))
    np.testing.assert_array_equal(small(["w3", "w5999"]), large(["w3", "w5999"]))
    assert len(small.memory) <= 1500


def test_threads_share_an_encoder() -> None:
    encoder = FormEncoder({}, max_forms=2000)
    wrong = []

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(300):
            forms = [f"w{k}" for k in random.integers(0, 4000, 8)]
            if not np.array_equal(encoder(forms), FormEncoder({})(forms)):
                wrong.append(forms)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_same_in_every_process() -> None:
    code = (
        "from bbparse.text.columns import FormEncoder;"
        "print(FormEncoder({'a': 'l'})(['a', 'Ünder']).sum())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert found == {f"{FormEncoder({'a': 'l'})(['a', 'Ünder']).sum()}\n"}


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
