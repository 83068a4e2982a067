"""The component in the real spaCy."""

from __future__ import annotations

import pickle
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from bbparse.adapters.spacy_component import BBParseTokenizer, SpacyParser
from bbparse.models.graph.training import train_enhancer
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import ModelError
from bbparse.treebank import Sentence
from tests import graphs, toy

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model(model: Path) -> str:
    return str(model)


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
            "start": span.start,
            "end": span.end,
            "score": tree.score,
            "upper_bound": tree.upper_bound,
            "proved": True,
        }
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


@pytest.mark.parametrize(
    ("preset", "starts"),
    [({}, [0, 3, 6]), ({1: False}, [0, 3, 6]), ({3: False}, [0, 6]), ({4: True}, [0, 3, 4, 6])],
)
def test_boundaries_that_are_set_stay(
    nlp: spacy.Language, preset: dict[int, bool], starts: list[int]
) -> None:
    doc = Doc(nlp.vocab, words="Dogs bark . Cats sleep . Birds sing .".split())
    for i, begins in preset.items():
        doc[i].is_sent_start = begins
    assert [sentence.start for sentence in nlp(doc).sents] == starts


def test_settings(model: str, tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    lost = SpacyParser(str(tmp_path / "nothing.model"))
    with pytest.raises(ModelError):
        lost(nlp.make_doc("She slept."))
    component = nlp.add_pipe("bbparse", config={"model": model, "prune": 2, "node_limit": 5})
    assert isinstance(component, SpacyParser)
    assert component.options == {"prune": 2, "node_limit": 5, "time_limit": None, "k_best": 1}
    assert nlp.pipe_names == ["bbparse"]
    again = spacy.blank("en").from_config(nlp.config)
    assert again.pipe_names == ["bbparse"]
    sentence = toy.dev_sentences()[2]
    doc = nlp(doc_of(nlp, [sentence]))
    assert doc._.bbparse[0]["score"] == toy.parser().parse(sentence, prune=2)[0].score


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that tags words and cuts text."""
    path = tmp_path_factory.mktemp("reading") / "reading.model"
    toy.reader().save(path)
    return str(path)


TEXT = "She doesn't sleep.  The cat saw\nthe stars. "


def test_tags_lemmas_and_features_are_set(reading: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("bbparse", config={"model": reading, "k_best": 3})
    doc = nlp(Doc(nlp.vocab, words=["The", "cat", "slept", "."]))
    (expected,) = toy.reader()([["The", "cat", "slept", "."]], k_best=3)
    sentence = expected.sentence
    assert [t.pos_ for t in doc] == sentence.upos and [t.tag_ for t in doc] == sentence.xpos
    assert [t.lemma_ for t in doc] == sentence.lemmas
    assert [str(t.morph) or "_" for t in doc] == sentence.feats
    (facts,) = doc._.bbparse
    assert [tree["score"] for tree in facts["trees"]] == [tree.score for tree in expected.trees]
    heads = expected.trees[1].heads
    assert facts["trees"][1]["heads"] == [h - 1 if h else m for m, h in enumerate(heads)]
    doc = nlp(Doc(nlp.vocab, words=["The", "cat"], pos=["X", "X"], tags=["Y", "Y"]))
    assert [t.pos_ for t in doc] == ["X", "X"] and [t.tag_ for t in doc] == ["Y", "Y"]


def test_the_tokenizer_agrees_with_the_pipeline(reading: str) -> None:
    nlp = spacy.blank("en")
    nlp.tokenizer = BBParseTokenizer(nlp.vocab, reading)
    nlp.add_pipe("bbparse", config={"model": reading})
    for text in (TEXT, "", "  ", " Yes!\n\nNo.", "a\u00a0b  c"):
        doc = nlp(text)
        assert doc.text == text
        expected = toy.reader()(text) if text.strip() else []
        found = [[t for t in span if not t.is_space] for span in doc.sents]
        found = [tokens for tokens in found if tokens]
        assert [[t.text for t in s] for s in found] == [s.sentence.forms for s in expected]
        for tokens, sentence in zip(found, expected):
            places = [t.i for t in tokens]
            heads = [0 if t.head == t else places.index(t.head.i) + 1 for t in tokens]
            assert heads == list(sentence.heads)


def test_the_model_goes_where_the_pipeline_goes(reading: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.model"
    shutil.copy(reading, copy)
    nlp = spacy.blank("en")
    nlp.add_pipe("bbparse", config={"model": str(copy)})
    expected = [t.head.i for t in nlp("The cat slept.")]
    data = nlp.to_bytes()
    nlp.to_disk(tmp_path / "pipeline")
    copy.unlink()
    again = spacy.load(tmp_path / "pipeline")
    assert [t.head.i for t in again("The cat slept.")] == expected
    blank = spacy.blank("en")
    blank.add_pipe("bbparse", config={"model": str(copy)})
    assert [t.head.i for t in blank.from_bytes(data)("The cat slept.")] == expected


def test_documents_without_words(nlp: spacy.Language) -> None:
    assert len(nlp("")) == 0
    doc = nlp(" \n ")
    assert all(t.head == t for t in doc) and doc._.bbparse == []


def test_words_with_white_space_in_them(nlp: spacy.Language) -> None:
    doc = Doc(nlp.vocab, words=["New\nYork", "sleeps"], pos=["PROPN", "VERB"])
    assert [t.text for t in nlp(doc)] == ["New\nYork", "sleeps"]
    assert sum(t.head == t for t in doc) == 1


def test_noun_chunks_go_where_documents_go(reading: str) -> None:
    """A chunk of UD needs no dobj; spaCy's own rules know no others."""
    nlp = spacy.blank("en")
    nlp.add_pipe("bbparse", config={"model": reading})
    words = ["The", "cat", "saw", "a", "star"]
    tags = ["DET", "NOUN", "VERB", "DET", "NOUN"]

    def parsed() -> Doc:
        doc = nlp(Doc(nlp.vocab, words=words, pos=tags))
        for token, head, label in zip(doc, (1, 2, 2, 4, 2), ("det", "nsubj", "ROOT", "det", "obj")):
            token.head, token.dep_ = doc[head], label
        return doc

    doc = parsed()
    expected = ["The cat", "a star"]
    copies = {
        "pickle": pickle.loads(pickle.dumps(doc)),
        "copy": doc.copy(),
        "from_docs": Doc.from_docs([doc], exclude=["user_data"]),
        "DocBin": next(DocBin(docs=[doc]).get_docs(nlp.vocab)),
        "from_bytes": Doc(nlp.vocab).from_bytes(doc.to_bytes()),
        "from_json": Doc(nlp.vocab).from_json(doc.to_json()),
        "as_doc": doc[:].as_doc(),
    }
    for name, copy in copies.items():
        assert [chunk.text for chunk in copy.noun_chunks] == expected, name
    # n_process=2 sends bytes to a process that has parsed nothing
    other = spacy.blank("en")
    other.add_pipe("bbparse", config={"model": reading})
    sent = Doc(other.vocab).from_bytes(doc.to_bytes())
    assert [chunk.text for chunk in sent.noun_chunks] == expected


def test_a_saved_tokenizer_is_loaded(reading: str, tmp_path: Path) -> None:
    tokenizer = {"@tokenizers": "bbparse.Tokenizer.v1", "model": reading}
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": tokenizer}})
    nlp.add_pipe("bbparse", config={"model": reading})
    nlp.to_disk(tmp_path / "a")
    nlp.to_bytes()
    again = spacy.load(tmp_path / "a")
    again.to_disk(tmp_path / "b")
    for loaded in (again, spacy.load(tmp_path / "b")):
        assert [t.text for t in loaded(TEXT)] == [t.text for t in nlp(TEXT)]
    nlp.tokenizer = BBParseTokenizer(nlp.vocab, reading)
    for save in (nlp.to_bytes, lambda: nlp.to_disk(tmp_path / "c")):
        with pytest.raises(ModelError, match="names spaCy's tokenizer, which would be loaded"):
            save()


def test_long_texts_are_cut_and_invisible_tokens_no_words(nlp: spacy.Language) -> None:
    doc = nlp(Doc(nlp.vocab, words=["w"] * 2001, pos=["X"] * 2001))
    assert [(s.start, s.end) for s in doc.sents] == [(0, 2000), (2000, 2001)]
    doc = nlp(Doc(nlp.vocab, words=["\u200b", "a", "\u200d", "\ufeffb"], pos=["X"] * 4))
    assert [t.dep_ for t in doc if t.text in ("\u200b", "\u200d")] == ["dep", "dep"]
    assert doc._.bbparse and len(list(doc.sents)) == 1


def test_tokens_have_the_heads_of_graphs() -> None:
    """The pairs of the tree's words, over tokens; a root is its own head. They are stored, too."""
    model = replace(toy.parser().model)
    model.enhancer = train_enhancer(graphs.sentences(1, 200))
    parser = Parser(model)
    component = SpacyParser(parser)
    blank = spacy.blank("en")
    sentences = toy.dev_sentences()[:4]
    doc = component(doc_of(blank, list(sentences)))
    for again in (doc, Doc(blank.vocab).from_bytes(doc.to_bytes())):
        for span, sentence in zip(again.sents, sentences):
            (tree,) = parser.parse(sentence)
            found = [
                sorted((0 if h == t else h.i - span.start + 1, label) for h, label in t._.heads)
                for t in span
            ]
            assert found == [sorted(edges) for edges in tree.enhanced]
