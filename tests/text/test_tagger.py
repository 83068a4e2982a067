"""Training, using, saving and reading a tagger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.embeddings import WordVectors
from bbparse.models.model_file import TAGGER_KIND, load_tagger, save_tagger
from bbparse.runtime.archive import write_archive
from bbparse.runtime.errors import ModelError, OutputError
from bbparse.text import accuracy, train_tagger
from bbparse.text.tagger import LOWER, SAME, Tagger, tagger_arrays, tagger_from
from bbparse.text.tagger_training import folds_of, jackknife
from bbparse.treebank import Sentence
from bbparse.treebank.writing import with_columns
from tests import toy
from tests.neural.test_labelling import letters


def test_it_learns() -> None:
    own = accuracy(toy.tagger(), toy.sentences())
    assert own["UPOS"] > 0.97 and own["FEATS"] > 0.97 and own["lemma"] > 0.97
    new = accuracy(toy.tagger(), toy.dev_sentences())
    assert new["UPOS"] > 0.75 and new["XPOS"] > 0.7 and new["lemma"] > 0.8
    assert new["all"] <= min(new[name] for name in ("UPOS", "XPOS", "FEATS", "lemma"))


def test_only_tags_change() -> None:
    for sentence in toy.dev_sentences():
        found = toy.tagger()(sentence)
        assert found.n_words == sentence.n_words and found.name == sentence.name
        for line, old in zip(found.lines, sentence.lines):
            if line.startswith("#"):
                assert line == old
            else:
                assert [*line.split("\t")[:2], *line.split("\t")[6:]] == (
                    [*old.split("\t")[:2], *old.split("\t")[6:]]
                )
        fields = [found.lines[i].split("\t") for i in found.word_lines]
        assert [row[2] for row in fields] == found.lemmas
        assert [row[3] for row in fields] == found.upos
        assert [row[4] for row in fields] == found.xpos
        assert [row[5] for row in fields] == found.feats


def test_feats_fit_their_tags() -> None:
    seen = {
        (upos, xpos, feats)
        for sentence in toy.sentences()
        for upos, xpos, feats in zip(sentence.upos, sentence.xpos, sentence.feats)
    }
    for sentence in toy.dev_sentences():
        found = toy.tagger().columns(sentence.forms)
        assert set(zip(found.upos, found.xpos, found.feats)) <= seen


@pytest.mark.parametrize("words", [[], ["x"], ["Ωmega", "\u200b", "😀", "x" * 5000], ["a"] * 2000])
def test_odd_sentences(words: list[str]) -> None:
    found = toy.tagger().columns(words)
    assert [len(column) for column in (found.lemmas, found.upos, found.xpos, found.feats)] == (
        [len(words)] * 4
    )
    assert all(found.lemmas)


def test_treebanks_without_some_columns() -> None:
    bare = [
        with_columns(
            sentence, lemmas=["_"] * sentence.n_words, xpos=["_"] * sentence.n_words,
            feats=["_"] * sentence.n_words,
        )
        for sentence in toy.sentences()
    ]
    some = train_tagger(bare, toy.TAGGER)
    found = some(toy.dev_sentences()[0])
    assert set(found.lemmas) == set(found.xpos) == set(found.feats) == {"_"}
    assert accuracy(some, toy.dev_sentences())["UPOS"] > 0.75


def damage(field: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    """Something that changes one array."""

    def apply(arrays: dict[str, Any]) -> None:
        arrays[field] = change(arrays[field])

    return apply


def replaced(old: str, new: str) -> Callable[[Any], Any]:
    """Something that changes a text."""
    return lambda array: np.array(str(array).replace(old, new))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (damage("tagger_header", lambda a: np.array("{")), "header of the tagger is damaged"),
        (damage("tagger_pairs", lambda a: a[:0]), "expected at least one pair"),
        (damage("tagger_pairs", lambda a: a + 999), "tagger_pairs goes up to"),
        (damage("tagger_lexicon", lambda a: np.array("dog")), "tagger_lexicon is damaged"),
        (lambda arrays: arrays.pop("tagger_pairs"), "tagger_pairs"),
        (damage("tags_labels", lambda a: a[1:]), "in all|expected .* of int8"),
        (damage("tags_counts", lambda a: a + 1), "tags_counts are"),
        (damage("tags_sizes", lambda a: a * 1000), "a multiple of 16 up to 4096"),
        (damage("tags_layers", lambda a: np.array("rx")), "expected"),
        (damage("tags_keys", lambda a: a[::-1]), "keys are not strictly ascending"),
        (damage("tags_vectors", lambda a: a[:, 1:]), "vectors have shape"),
        (damage("tags_weights", lambda a: np.full_like(a, 127)), "not finite"),
        (damage("tagger_header", replaced('"rules": {"":', '"rules": {"x":')), "has no rules for"),
        (damage("tagger_header", replaced('"rules": {', '"rules": {"x": [9999], ')),
         "expected numbers of rules"),
        (lambda arrays: arrays.update(tagger_tags_keys=np.zeros(1, np.uint32)), "is unknown"),
    ],
)
def test_damaged_files(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    arrays = tagger_arrays(toy.tagger())
    change(arrays)
    path = tmp_path / "damaged.tagger"
    write_archive(path, TAGGER_KIND, arrays)
    with pytest.raises(ModelError, match=message) as caught:
        load_tagger(path)
    assert str(path) in str(caught.value)


def test_files_that_are_no_taggers(tmp_path: Path) -> None:
    path = tmp_path / "new.tagger"
    write_archive(path, "bbparse.Problem", {})
    with pytest.raises(ModelError, match=r"holds a 'bbparse\.Problem'"):
        load_tagger(path)
    with pytest.raises(ModelError, match="no such file"):
        load_tagger(tmp_path / "none")
    with pytest.raises(OutputError):
        save_tagger(tmp_path / "no folder" / "x.tagger", toy.tagger())
    swapped: Any = toy.tagger(), str(path)
    with pytest.raises(ModelError, match="tagger is of type str, expected a Tagger"):
        save_tagger(*swapped)


def test_a_tagger_with_embeddings(tmp_path: Path) -> None:
    source, path = letters(), tmp_path / "with.tagger"
    own = train_tagger(toy.sentences(), toy.TAGGER, embeddings=source)
    assert own.embeddings is source and own.network.sizes["embeddings"] == 8
    assert own.network.weights.values["embeddings_w"][:6].any(axis=1).all()
    save_tagger(path, own)
    again, _ = load_tagger(path)
    assert isinstance(again.embeddings, WordVectors) and again.embeddings.note == source.note
    for sentence in toy.dev_sentences():
        assert again(sentence).lines == own(sentence).lines
    for wrong in (None, letters(dimension=12)):
        with pytest.raises(ModelError, match="some: its tagger needs pretrained vectors of 8"):
            tagger_from(tagger_arrays(own), "some", wrong)
    assert tagger_from(tagger_arrays(toy.tagger()), "some", source).embeddings is None


def test_a_batch_is_tagged_as_its_sentences_are() -> None:
    own = list(toy.dev_sentences())
    bare = [Sentence.from_words(sentence.forms) for sentence in own]
    some = [bare[0], own[1], bare[2]]
    assert [s.upos for s in toy.tagger().tag(some)] == [toy.tagger()(s).upos for s in some]
    kept = list(toy.tagger().tag(some, keep_tags=True))
    assert kept[1] is own[1] and kept[2].upos == toy.tagger()(own[2]).upos
    assert list(toy.tagger().tag(own, keep_tags=True)) == own and toy.tagger().columns_of([]) == []
    (mixed,) = toy.tagger().tag(
        [Sentence.from_words(own[0].forms, upos=["X"] + ["_"] * (own[0].n_words - 1))],
        keep_tags=True,
    )
    assert mixed.upos == ["X", *toy.tagger()(own[0]).upos[1:]] and mixed.lemmas[0] == "_"
    batch = [sentence.forms for sentence in own]
    assert toy.tagger().columns_of([*batch, []])[:-1] == [toy.tagger().columns(s) for s in batch]


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
            ("Xylo", "NOUN\tNN", "_"), ("Xs", "NOUN\tNN", "_"), ("Ys", "NOUN\tNN", "_"),
            ("Ys", "NOUN\tNN", "Case=Nom"), ("y", "VERB\tVB", "_"),
        ]
    ]
    assert found == ["x", second, first, second, both]


def test_folds_keep_documents_whole() -> None:
    words = ["a"]
    sentences = []
    for i in range(60):
        sentence = Sentence.from_words(words)
        if i % 3 == 0:
            sentence.lines.insert(0, f"# newdoc id = {i}")
            sentence.word_lines = [line + 1 for line in sentence.word_lines]
        sentences.append(sentence)
    found = folds_of(sentences, 5)
    assert set(found) == set(range(5))
    assert all(len(set(found[i : i + 3])) == 1 for i in range(0, 60, 3))


def test_jackknifing_does_not_look_at_what_it_tags() -> None:
    some = list(toy.sentences()[:120])
    lines: list[str] = []
    tagged = jackknife(some, 3, toy.TAGGER, report=lines.append)
    assert len(lines) == 3 and lines[-1].startswith("fold 3 of 3: UPOS ")
    assert [sentence.heads for sentence in tagged] == [sentence.heads for sentence in some]
    words = sum(sentence.n_words for sentence in some)
    right = sum(a == b for x, y in zip(some, tagged) for a, b in zip(x.upos, y.upos))
    seen = accuracy(train_tagger(some, toy.TAGGER), some)["UPOS"]
    assert right / words < seen - 0.02
