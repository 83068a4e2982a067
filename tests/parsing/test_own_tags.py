"""Tags that tagger and guide like best together."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from bbparse.parsing import own_tags
from bbparse.parsing.own_tags import with_own_tags
from bbparse.parsing.parser import Parser
from bbparse.tagging import Tagger, train_tagger
from bbparse.tagging.layer import LAYER_QUANTUM
from tests import toy


@cache
def tagger() -> Tagger:
    return train_tagger(toy.sentences()[:40], toy.TAGGER)


@cache
def guided() -> Parser:
    config = toy.guided_configuration().with_("learning", epochs=1).with_("guide", tags=True)
    return Parser.train(toy.sentences()[:40], config=config, factors=[])


def test_other_sequences_fall_short_by_what_they_say() -> None:
    layer, seen = tagger().tags, 0
    for sentence in toy.dev_sentences()[:20]:
        values = tagger().encode(sentence.forms)
        sequences = tagger().sequences(values, sentence.forms)
        tags, top = sequences.best()
        found = tagger()(sentence)
        assert [tag.split("\t") for tag in tags] == [list(p) for p in zip(found.upos, found.xpos)]
        choices = sequences.near(5, 1000)
        assert choices == sorted(choices) and len(choices) <= 5
        assert sequences.near(2, 1000) == choices[:2]
        for choice in choices:
            other, total = sequences.best([choice])
            assert top - total == choice.gap > 0
            assert other[choice.word] == layer.labels[sequences.labels[choice.word, choice.place]]
            assert other[choice.word] != tags[choice.word]
            seen += 1
    assert seen > 20


def test_what_is_chosen_is_worth_its_price(monkeypatch: pytest.MonkeyPatch) -> None:
    maker = guided().maker
    monkeypatch.setattr(own_tags, "FURTHEST", 1000)
    changed = 0
    for sentence in toy.dev_sentences():
        alone, found = tagger()(sentence), with_own_tags(sentence, tagger(), maker)
        assert (found.forms, found.heads) == (sentence.forms, sentence.heads)
        if found.upos == alone.upos and found.xpos == alone.xpos:
            assert found.lines == alone.lines
            continue
        changed += 1
        sequences = tagger().sequences(tagger().encode(sentence.forms), sentence.forms)
        gained = own_tags._certainty(found, maker) - own_tags._certainty(alone, maker)
        nearest = sequences.near(1, 1000)[0].gap
        assert gained > own_tags.WEIGHT * LAYER_QUANTUM * nearest
    assert changed > 3


def test_without_a_guide_tags_are_the_taggers() -> None:
    for sentence in toy.dev_sentences()[:5]:
        found = with_own_tags(sentence, tagger(), toy.parser().maker)
        assert found.lines == tagger()(sentence).lines


def test_where_the_configuration_does_not_ask_tags_are_the_taggers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(own_tags, "FURTHEST", 1000)
    maker = guided().maker
    silent = replace(maker, config=maker.config.with_("guide", tags=False))
    changed = 0
    for sentence in toy.dev_sentences()[:20]:
        alone = tagger()(sentence).lines
        assert with_own_tags(sentence, tagger(), silent).lines == alone
        changed += with_own_tags(sentence, tagger(), maker).lines != alone
    assert changed > 0
