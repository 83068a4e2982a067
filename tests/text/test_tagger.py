"""Training, using, saving and reading a tagger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pytest

from bbparse.embeddings import WordVectors
from bbparse.models.model_file import TAGGER_KIND, load_tagger, save_tagger
from bbparse.runtime.archive import write_archive
from bbparse.runtime.errors import ModelError, OutputError
from bbparse.text.tagger import LOWER, SAME, Tagger, tagger_fields, tagger_from
from bbparse.text.tagger_training import train_tagger
from bbparse.treebank import Sentence, evaluate
from bbparse.treebank.writing import with_columns
from tests import toy
from tests.neural.test_labelling import letters


def test_it_learns() -> None:
    for sentences, least in ((toy.sentences(), 0.97), (toy.dev_sentences(), 0.7)):
        scores = evaluate(sentences, toy.tagger().tag(sentences))
        assert min(scores.upos or 0, scores.xpos or 0, scores.lemmas or 0) > least
    assert toy.tagger().network.keys.all()  # what a word does not have has no vector


def test_only_tags_change() -> None:
    for sentence in toy.dev_sentences():
        found = toy.tagger()(sentence)
        for line, old in zip(found.lines, sentence.lines, strict=True):
            cells, old_cells = line.split("\t"), old.split("\t")
            assert cells[:2] + cells[6:] == old_cells[:2] + old_cells[6:]
        rows = [found.lines[i].split("\t")[2:6] for i in found.word_lines]
        columns = (found.lemmas, found.upos, found.xpos, found.feats)
        assert rows == [list(row) for row in zip(*columns, strict=True)]


def test_decomposed_letters_are_those_they_make() -> None:
    composed = ["Zo\u00eb", "saw", "the", "caf\u00e9"]
    marked = [normalize("NFD", form) for form in composed]
    assert marked != composed
    (expected,), (found,) = (toy.tagger().columns([forms]) for forms in (composed, marked))
    assert found == expected and found.lemmas[0] == normalize("NFC", found.lemmas[0])
    parser = toy.parser()
    trees = [parser.parse(Sentence.from_words(f, upos=["X"] * 4))[0] for f in (composed, marked)]
    assert trees[0] == trees[1]


def test_feats_fit_their_tags() -> None:
    seen = {
        (upos, xpos, feats)
        for sentence in toy.sentences()
        for upos, xpos, feats in zip(sentence.upos, sentence.xpos, sentence.feats)
    }
    for sentence in toy.dev_sentences():
        found = toy.tagger()(sentence)
        assert set(zip(found.upos, found.xpos, found.feats)) <= seen


@pytest.mark.parametrize("words", [[], ["x"], ["Ωmega", "\u200b", "😀", "x" * 5000], ["a"] * 2000])
def test_odd_sentences(words: list[str]) -> None:
    (found,) = toy.tagger().columns([words])
    assert [len(column) for column in (found.lemmas, found.upos, found.xpos, found.feats)] == (
        [len(words)] * 4
    )
    assert all(found.lemmas)


def test_treebanks_without_some_columns() -> None:
    bare = [
        with_columns(s, **dict.fromkeys(("lemmas", "xpos", "feats"), ["_"] * s.n_words))
        for s in toy.sentences()
    ]
    some = train_tagger(bare, toy.NETWORK)
    found = some(toy.dev_sentences()[0])
    assert set(found.lemmas) == set(found.xpos) == set(found.feats) == {"_"}
    assert (evaluate(toy.dev_sentences(), some.tag(toy.dev_sentences())).upos or 0) > 0.75


def with_rules(**changes: Any) -> Callable[[Any], Any]:
    return lambda card: {**card, "rules": {**card["rules"], **changes}}


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        ("tagger", lambda card: {**card, "rules": 7}, "the entry tagger of the card is damaged"),
        ("tagger", lambda card: {**card, "lexicon": ["a"]}, "entry tagger of the card is damaged"),
        ("tagger", with_rules(x=[9999]), "expected numbers of rules"),
        ("tagger", with_rules(**{"": []}), "has no rules for"),
        ("tagger_pairs", lambda a: a[:0], "expected at least one pair"),
        ("tagger_pairs", lambda a: a + 999, "tagger_pairs goes up to"),
        ("tagger_pairs", None, "tagger_pairs"),
        ("tags", lambda card: {**card, "labels": card["labels"][1:]}, "in all|expected .* of int8"),
        ("tags", lambda card: {**card, "counts": [1]}, "counts are"),
        ("tagger_tags_keys", lambda a: np.zeros(1, np.uint32), "is unknown"),
    ],
)
def test_damaged_files(
    tmp_path: Path, field: str, change: Callable[[Any], Any] | None, message: str
) -> None:
    fields = tagger_fields(toy.tagger())
    if change is None:
        del fields[field]
    else:
        fields[field] = change(fields.get(field))
    path = tmp_path / "damaged.tagger"
    write_archive(path, TAGGER_KIND, fields)
    with pytest.raises(ModelError, match=message) as caught:
        load_tagger(path)
    assert str(path) in str(caught.value)


def test_files_that_are_no_taggers(tmp_path: Path) -> None:
    path = tmp_path / "new.tagger"
    write_archive(path, "bbparse.Problem", {})
    with pytest.raises(ModelError, match=r"holds a 'bbparse\.Problem'"):
        load_tagger(path)
    with pytest.raises(OutputError):
        save_tagger(tmp_path / "no folder" / "x.tagger", toy.tagger())


def test_a_tagger_with_embeddings(tmp_path: Path) -> None:
    source, path = letters(), tmp_path / "with.tagger"
    own = train_tagger(toy.sentences(), toy.NETWORK, embeddings=source)
    assert own.embeddings is source and own.network.sizes["embeddings"] == 8
    assert own.network.weights.values["embeddings_w"][:6].any(axis=1).all()
    save_tagger(path, own)
    again, _ = load_tagger(path)
    assert isinstance(again.embeddings, WordVectors) and again.embeddings.note == source.note
    for sentence in toy.dev_sentences():
        assert again(sentence).lines == own(sentence).lines
    for wrong in (None, letters(dimension=12)):
        with pytest.raises(ModelError, match="some: its tagger needs pretrained vectors of 8"):
            tagger_from(tagger_fields(own), "some", wrong)
    assert tagger_from(tagger_fields(toy.tagger()), "some", source).embeddings is None


def test_a_batch_is_tagged_as_its_sentences_are() -> None:
    own = list(toy.dev_sentences())
    bare = [Sentence.from_words(sentence.forms) for sentence in own]
    some = [bare[0], own[1], bare[2]]
    assert [s.upos for s in toy.tagger().tag(some)] == [toy.tagger()(s).upos for s in some]
    kept = list(toy.tagger().tag(some, keep_tags=True))
    assert kept[1] is own[1] and kept[2].upos == toy.tagger()(own[2]).upos
    assert list(toy.tagger().tag(own, keep_tags=True)) == own and toy.tagger().columns([]) == []
    (mixed,) = toy.tagger().tag(
        [Sentence.from_words(own[0].forms, upos=["X"] + ["_"] * (own[0].n_words - 1))],
        keep_tags=True,
    )
    assert mixed.upos == ["X", *toy.tagger()(own[0]).upos[1:]] and mixed.lemmas[0] == "_"
    batch = [sentence.forms for sentence in own]
    alone = [toy.tagger().columns([forms])[0] for forms in batch]
    assert toy.tagger().columns([*batch, []])[:-1] == alone


def test_lemmas_of_known_and_of_new_words() -> None:
    own = toy.tagger()
    lexicon = {"Xylo\tNOUN\tNN": "x"}
    both = own.rules[""]
    assert {own.lemma_rules[i] for i in both} == {LOWER, SAME}
    first, second = both[:1], both[1:]
    rules = {"": both, "xs\tNOUN\tNN": second, "NOUN\tNN": first, "\tNOUN\tNN\tCase=Nom": second}
    other = Tagger(own.network, own.pairs, rules, lexicon, {})
    found = [
        other._lemma(form, tag, feats)
        for form, tag, feats in [
            ("Xylo", "NOUN\tNN", "_"),
            ("Xs", "NOUN\tNN", "_"),
            ("Ys", "NOUN\tNN", "_"),
            ("Ys", "NOUN\tNN", "Case=Nom"),
            ("y", "VERB\tVB", "_"),
        ]
    ]
    assert found == ["x", second, first, second, both]
