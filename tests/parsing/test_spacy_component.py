"""The component in the real spaCy."""

from __future__ import annotations

import importlib
import shutil
import tomllib
import warnings
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc

import bbparse
from bbparse.errors import ModelError
from bbparse.parsing.spacy_component import SpacyParser
from bbparse.tagging import train_tagger
from bbparse.treebank import Sentence
from tests import toy

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model") / "toy.model"
    toy.parser().save(path)
    return str(path)


@pytest.fixture(scope="module")
def nlp(model: str) -> spacy.Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("bbparse", config={"model": model})
    return nlp


def doc_of(nlp: spacy.Language, sentences: list[Sentence], **options: object) -> Doc:
    """A Doc with the tokens and tags of sentences."""
    words = [form for s in sentences for form in s.forms]
    return Doc(
        nlp.vocab,
        words=words,
        pos=[tag for s in sentences for tag in s.upos],
        tags=[tag for s in sentences for tag in s.xpos],
        lemmas=[lemma for s in sentences for lemma in s.lemmas],
        morphs=["" if f == "_" else f for s in sentences for f in s.feats],
        sent_starts=[i == 0 for s in sentences for i in range(s.n_words)],
        **options,
    )


def test_heads_and_labels_are_the_parsers(nlp: spacy.Language) -> None:
    sentences = list(toy.dev_sentences())
    doc = nlp(doc_of(nlp, sentences))
    found = list(doc.sents)
    assert len(found) == len(sentences)
    parser = toy.parser()
    for span, sentence, facts in zip(found, sentences, doc._.bbparse):
        (tree,) = parser.parse(sentence)
        heads = [0 if t.head == t else t.head.i - span.start + 1 for t in span]
        assert heads == list(tree.heads)
        labels = ["root" if t.dep_ == "ROOT" else t.dep_ for t in span]
        assert labels == list(tree.labels)
        assert span.root.dep_ == "ROOT"
        assert [t.text for t in span] == sentence.forms
        assert facts == {
            "start": span.start, "end": span.end, "score": tree.score,
            "upper_bound": tree.upper_bound, "proved": True,
        }  # fmt: skip
    assert doc.has_annotation("DEP")
    assert [t.pos_ for t in doc] == [tag for s in sentences for tag in s.upos]


def test_raw_text(nlp: spacy.Language) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        doc = nlp("  She saw\n\nthe cat.  It slept. ")
    texts = [[t.text for t in span if not t.is_space] for span in doc.sents]
    assert texts == [["She", "saw", "the", "cat", "."], ["It", "slept", "."]]
    for token in doc:
        if token.is_space:
            assert token.dep_ == "dep" and not token.head.is_space
    for span in doc.sents:
        assert sum(t.head == t for t in span) == 1


def test_documents_without_words(nlp: spacy.Language) -> None:
    assert len(nlp("")) == 0
    doc = nlp(" \n ")
    assert all(t.head == t for t in doc) and doc._.bbparse == []


def test_a_stream_and_bytes(nlp: spacy.Language) -> None:
    docs = [doc_of(nlp, [sentence]) for sentence in toy.dev_sentences()[:5]]
    for doc in nlp.pipe(docs):
        again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
        assert [t.head.i for t in again] == [t.head.i for t in doc]
        assert [t.dep_ for t in again] == [t.dep_ for t in doc]


def test_missing_tags_are_told_once(model: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("bbparse", config={"model": model})
    with pytest.warns(UserWarning, match="no tags"):
        nlp("She slept.")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp("She slept.")


def test_the_tagger_of_the_model_gives_tags_where_there_are_none(tmp_path: Path) -> None:
    parser = toy.changed(toy.parser(), tagger=train_tagger(toy.sentences()))
    path = tmp_path / "tagged.model"
    parser.save(path)
    nlp = spacy.blank("en")
    nlp.add_pipe("bbparse", config={"model": str(path)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        doc = nlp("She slept.")
    expected = parser.parse(parser.tagged(Sentence.from_words(["She", "slept", "."])))[0]
    assert doc._.bbparse[0]["score"] == expected.score


def test_words_with_white_space_in_them(nlp: spacy.Language) -> None:
    doc = Doc(nlp.vocab, words=["New\nYork", "sleeps"], pos=["PROPN", "VERB"])
    assert [t.text for t in nlp(doc)] == ["New\nYork", "sleeps"]
    assert sum(t.head == t for t in doc) == 1


def test_settings(model: str, tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    with pytest.raises(ModelError):
        nlp.add_pipe("bbparse", config={"model": str(tmp_path / "nothing.model")})
    component = nlp.add_pipe("bbparse", config={"model": model, "prune": 2, "node_limit": 5})
    assert isinstance(component, SpacyParser)
    assert component.options == {"prune": 2, "node_limit": 5, "time_limit": None}
    assert nlp.pipe_names == ["bbparse"]
    again = spacy.blank("en").from_config(nlp.config)
    assert again.pipe_names == ["bbparse"]
    sentence = toy.dev_sentences()[2]
    doc = nlp(doc_of(nlp, [sentence]))
    assert doc._.bbparse[0]["score"] == toy.parser().parse(sentence, prune=2)[0].score


def test_the_model_that_comes_with_the_package(
    model: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copy(model, tmp_path / "english.model")
    monkeypatch.setattr("bbparse.model.path._FOLDER", tmp_path)
    monkeypatch.chdir(tmp_path.parent)
    nlp = spacy.blank("en")
    component = nlp.add_pipe("bbparse")
    assert isinstance(component, SpacyParser)
    assert repr(component.pipeline) == repr(bbparse.load())


def test_spacy_can_find_it() -> None:
    with open(ROOT / "pyproject.toml", "rb") as stream:
        declared = tomllib.load(stream)["project"]["entry-points"]["spacy_factories"]
    module, _, name = declared["bbparse"].partition(":")
    assert callable(getattr(importlib.import_module(module), name))
    assert spacy.Language.has_factory("bbparse")
