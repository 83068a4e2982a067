"""What models say of themselves."""

from __future__ import annotations

import dataclasses

from bbparse.models.model import card, card_note
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
