"""What models say of themselves; and packed weights come back, or damaged ones are refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.models.model import card, card_note, scripts
from bbparse.models.model_file import pack, packed_rules, unpack
from bbparse.runtime.errors import ModelError
from tests import toy


def test_a_card_takes_what_it_can_from_file_names() -> None:
    named = [
        dataclasses.replace(one, source="/data/hu_szeged-ud-train.conllu")
        for one in toy.sentences()
    ]
    note = card_note(named, [], {"license": "CC0"})
    assert note["name"] == "hu_szeged-ud-train.conllu"
    assert (note["language"], note["license"]) == ("hu", "CC0")
    assert note["train"]["sentences"] == len(named) and note["dev"]["words"] == 0
    assert card_note(named, [], {"language": "xx", "name": "Own"})["language"] == "xx"
    assert card_note([], [], {})["name"] is None


def test_models_without_a_card_say_what_can_be_seen() -> None:
    found = card(toy.parser().model)
    assert found["takes"][-1] == "words and tags" and found["projective"]
    assert found["configuration"]["learning"]["seed"] == found["seed"]


INT32 = np.iinfo(np.int32)


@given(
    st.lists(st.one_of(st.just(0), st.integers(INT32.min + 1, INT32.max)), max_size=30),
    st.sampled_from([1, 7, 256]),
)
def test_what_is_packed_comes_back(values: list[int], factor: int) -> None:
    weights = np.array([v // factor * factor for v in values], np.int64)
    weights = np.clip(weights, INT32.min + 1, INT32.max).astype(np.int32)
    fields = pack("w", weights)
    assert set(fields) == set(packed_rules("w"))
    assert unpack("w", fields, len(weights)).tolist() == weights.tolist()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("w_gap", np.array([2, 0], np.uint8), "ascend"),
        ("w_gap", np.array([2, 99], np.uint8), "ascend"),
        ("w_gap", np.array([7, 3], np.uint8), "goes up to weight 10"),
        ("w_step", 0, "w_step is 0"),
        ("w_step", 1 << 40, "w_step is"),
        ("w_value", np.array([1, 1 << 33], np.int64), "at most"),
    ],
)
def test_damage_is_refused(field: str, value: Any, message: str) -> None:
    fields: dict[str, Any] = pack("w", np.array([0, 0, 5, 0, 0, 0, 0, 3, 0, 0], np.int32))
    fields[field] = value
    with pytest.raises(ModelError, match=message):
        unpack("w", fields, 10)


def test_scripts_are_named_by_their_letters() -> None:
    assert scripts(["das", "Größe", "3", "!"]) == ["Latin"]
    assert scripts(["我们", "喜欢", "DNA", "。"]) == ["CJK", "Latin"]
    assert scripts(["и" * 200, "a"]) == ["Cyrillic"]
    assert scripts([]) == []
