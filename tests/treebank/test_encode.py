"""Words as hashes: the same everywhere, told apart where they differ, remembered within bounds."""

from __future__ import annotations

import os
import subprocess
import sys

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
