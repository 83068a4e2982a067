"""Words as hashes: the same everywhere, told apart where they differ, remembered within bounds."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.treebank import Sentence
from bbparse.treebank.encode import (
    ATTRIBUTES,
    PAD,
    WordEncoder,
    attribute_hash,
    attribute_values,
    encode,
)

WORDS = ["Dogs", "bark", "at", "3.50", "!"]
SENTENCE = Sentence.from_words(
    WORDS, lemmas=["dog", "bark", "at", "3.50", "!"], upos=["NOUN", "VERB", "ADP", "NUM", "PUNCT"],
    xpos=["NNS", "VBP", "IN", "CD", "."],
    feats=["Number=Plur", "Mood=Ind|VerbForm=Fin", "_", "NumType=Card", "_"],
)  # fmt: skip

DIGEST = """
import hashlib
from bbparse.treebank.encode import encode
from bbparse.treebank import Sentence
values = encode(Sentence.from_words(["Ünï", "漢字", "a"], upos=["NOUN", "X", "_"]))
print(hashlib.sha256(values.astype("<u8").tobytes()).hexdigest())
"""


def column(values: np.ndarray, attribute: str) -> list[int]:
    return values[:, ATTRIBUTES.index(attribute)].tolist()


def test_rows_are_the_words_between_padding_of_their_own() -> None:
    values = encode(SENTENCE)
    assert values.shape == (len(WORDS) + 1 + 2 * PAD, len(ATTRIBUTES))
    assert values.dtype == np.uint64
    assert values.flags.c_contiguous and values.flags.writeable
    forms = column(values, "form")
    assert forms[PAD + 1 : -PAD] == [attribute_hash("form", word) for word in WORDS]
    assert len(set(forms)) == len(forms)
    nothing: Any = SimpleNamespace(words=[])
    empty = encode(nothing)
    assert np.array_equal(empty, np.concatenate([values[: PAD + 1], values[-PAD:]]))


def test_a_result_belongs_to_the_caller() -> None:
    first = encode(SENTENCE)
    expected = first.copy()
    first[:] = 0
    assert np.array_equal(encode(SENTENCE), expected)


def test_every_attribute_is_described_in_order() -> None:
    assert tuple(attribute_values("a", "b", "X", "Y", "_")) == ATTRIBUTES


def test_equal_values_of_two_attributes_differ() -> None:
    word = encode(Sentence.from_words(["x"], lemmas=["x"], upos=["x"], xpos=["x"], feats=["x"]))
    hashes = word[PAD + 1].tolist()
    assert len(set(hashes)) == len(ATTRIBUTES)


def test_missing_columns_fall_back() -> None:
    plain = attribute_values("Cats", "_", "NOUN", "_", "_")
    assert plain["lemma"] == plain["norm"] == "cats"
    assert plain["xpos"] == "NOUN"
    assert plain["tag"] == "NOUN|NOUN"
    assert plain["feats"] == "_"
    assert attribute_values("Cats", "_", "_", "NNS", "_")["upos"] == "NNS"
    assert attribute_values("Cats", "_", "_", "_", "_")["upos"] == "_"
    assert attribute_values("_", "_", "SYM", "_", "_")["form"] == "_"


def test_lexpos_names_closed_classes_by_their_word() -> None:
    assert attribute_values("To", "to", "PART", "TO", "_")["lexpos"] == "to|PART"
    assert attribute_values("To", "to", "ADP", "IN", "_")["lexpos"] == "to|ADP"
    assert attribute_values("und", "_", "CONJ", "_", "_")["lexpos"] == "und|CONJ"
    assert attribute_values("runs", "run", "VERB", "VBZ", "_")["lexpos"] == "VBZ"
    assert attribute_values("runs", "run", "VERB", "_", "_")["lexpos"] == "VERB"


def test_morphological_features_are_read_one_by_one() -> None:
    values = attribute_values("ihn", "er", "PRON", "_", "Case=Acc|Number=Sing|PronType=Prs")
    assert values["case"] == "Case=Acc"
    assert values["agr"] == "Number=Sing"
    assert values["prontype"] == "PronType=Prs"
    assert values["verbform"] == ""
    assert values["extpos"] == "PRON"
    assert attribute_values("as", "as", "ADV", "_", "ExtPos=ADP")["extpos"] == "ADP"
    assert attribute_values("odd", "odd", "X", "_", "no-equals-sign|")["case"] == ""


@pytest.mark.parametrize(
    ("form", "shape", "norm"),
    [
        ("McDonald", "XxXx", "mcdonald"),
        ("1,234", "d,d", "0,000"),
        ("a@b.org", "x@x.x", "<mail>"),
        ("@", "@", "@"),
        ("http://x.y/1", "x:/x.x/d", "<url>"),
        ("www.x.y", "x.x.x", "<url>"),
        ("漢字", "x", "漢字"),
        ("x" * 5000, "x", "x" * 5000),
        ("x-" * 5000, "x-x-x-x-", "x-" * 5000),
    ],
)
def test_shape_and_norm(form: str, shape: str, norm: str) -> None:
    values = attribute_values(form, "_", "X", "_", "_")
    assert (values["shape"], values["norm"]) == (shape, norm)


def test_word_ends_and_length() -> None:
    values = attribute_values("圖書館員工會議", "_", "NOUN", "_", "_")
    assert [values[f"prefix{k}"] for k in (1, 2, 3)] == ["圖", "圖書", "圖書館"]
    assert [values[f"suffix{k}"] for k in (1, 2, 3)] == ["議", "會議", "工會議"]
    assert values["length"] == "5"
    assert attribute_values("的", "_", "PART", "_", "_")["length"] == "1"
    assert attribute_values("的", "_", "PART", "_", "_")["suffix3"] == "的"


def test_hashes_are_those_of_every_process() -> None:
    assert attribute_hash("upos", "NOUN") == 0x6CA988AE3FB47569
    found = set()
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        found.add(done.stdout)
    assert len(found) == 1


def test_unpaired_surrogates_have_a_hash() -> None:
    assert attribute_hash("form", "\ud800") != attribute_hash("form", "\ud801")


@given(
    st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6), max_size=12),
    st.integers(1, 9),
)
def test_forgetting_changes_nothing(sentences: list[list[str]], most: int) -> None:
    forgetful = WordEncoder(max_words=most)
    longest = 2 * PAD + 1 + max((len(set(forms)) for forms in sentences), default=0)
    for forms in sentences:
        sentence = Sentence.from_words(forms)
        assert np.array_equal(forgetful(sentence), encode(sentence))
        assert len(forgetful.memory) <= max(most, longest)


def test_memory_grows_past_its_first_size() -> None:
    encoder = WordEncoder()
    sentence = Sentence.from_words([f"word{i}" for i in range(1000)])
    values = encoder(sentence)
    assert column(values, "form")[PAD + 1 : -PAD] == [
        attribute_hash("form", f"word{i}") for i in range(1000)
    ]
    assert np.array_equal(encoder(sentence), values)


def test_threads_share_an_encoder() -> None:
    rng = np.random.default_rng(0)
    sentences = [
        Sentence.from_words([f"w{k}" for k in rng.integers(0, 3000, 30)]) for _ in range(300)
    ]
    shared = WordEncoder(max_words=500)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(shared, sentences * 2))
    alone = WordEncoder()
    for sentence, values in zip(sentences * 2, together):
        assert np.array_equal(values, alone(sentence))
