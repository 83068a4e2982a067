"""Words as hashes: the same everywhere, told apart where they differ."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bbparse.treebank.encode import attribute_hash, attribute_values

DIGEST = """
import hashlib
from bbparse.treebank.encode import encode
from bbparse.treebank import Sentence
values = encode(Sentence.from_words(["Ünï", "漢字", "a"], upos=["NOUN", "X", "_"]))
print(hashlib.sha256(values.astype("<u8").tobytes()).hexdigest())
"""


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        # missing columns fall back on others
        ("Cats _ NOUN _ _", {"lemma": "cats", "norm": "cats", "xpos": "NOUN", "tag": "NOUN|NOUN"}),
        ("Cats _ NOUN _ _", {"feats": "_"}),
        ("Cats _ _ NNS _", {"upos": "NNS"}),
        ("Cats _ _ _ _", {"upos": "_"}),
        ("_ _ SYM _ _", {"form": "_"}),
        # lexpos names closed classes by their word
        ("To to PART TO _", {"lexpos": "to|PART"}),
        ("To to ADP IN _", {"lexpos": "to|ADP"}),
        ("und _ CONJ _ _", {"lexpos": "und|CONJ"}),
        ("runs run VERB VBZ _", {"lexpos": "VBZ"}),
        ("runs run VERB _ _", {"lexpos": "VERB"}),
        # features are read one by one
        (
            "ihn er PRON _ Case=Acc|Number=Sing|PronType=Prs",
            {
                "case": "Case=Acc",
                "agr": "Number=Sing",
                "prontype": "PronType=Prs",
                "verbform": "",
                "extpos": "PRON",
            },
        ),
        ("as as ADV _ ExtPos=ADP", {"extpos": "ADP"}),
        ("odd odd X _ no-equals-sign|", {"case": ""}),
    ],
)
def test_attributes_of_words(word: str, expected: dict[str, str]) -> None:
    values = attribute_values(*word.split())
    assert {name: values[name] for name in expected} == expected


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
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout)
    assert len(found) == 1
