"""`bbparse.load`, and documents that show themselves."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import bbparse
from bbparse import Document, ModelError, Parser, Sentence, TreebankError
from bbparse.models.model_file import model_bytes
from bbparse.treebank import read_conllu
from tests import toy
from tests.treebank.drawing.test_drawing import heads_in

TAGGED = [("She", "PRON", "PRP", "she"), ("slept", "VERB", "VBD", "sleep"), (".", "PUNCT", ".")]


@pytest.fixture(scope="module")
def nlp(model: Path) -> Parser:
    return bbparse.load(model)


def test_whatever_holds_the_words_the_trees_are_the_same(nlp: Parser) -> None:
    sentence = Sentence.from_words(
        ["She", "slept", "."],
        upos=["PRON", "VERB", "PUNCT"],
        xpos=["PRP", "VBD", "."],
        lemmas=["she", "sleep", "_"],
    )
    expected = tuple(toy.parser().parse(sentence, k_best=2))
    for given in (sentence, TAGGED, tuple(TAGGED), [sentence], iter([sentence]), [TAGGED]):
        doc = nlp(given, k_best=2)
        assert isinstance(doc, Document) and len(doc) == 1
        trees = doc[0].trees
        assert tuple((t.heads, t.labels, t.score, t.proved) for t in trees) == tuple(
            (t.heads, t.labels, t.score, t.proved) for t in expected
        )
        assert [tree.rank for tree in trees] == [1, 2]
    several = nlp([TAGGED, sentence, ["just", "words"]])
    assert [s.sentence.forms for s in several] == [sentence.forms] * 2 + [["just", "words"]]
    assert len(nlp([])) == 0
    assert nlp(["just", "words"])[0].sentence.upos == ["_", "_"]


def test_what_is_no_sentence(nlp: Parser) -> None:
    several = [Sentence.from_words(["a"])]
    with pytest.raises(TreebankError, match=r"sentence 1, word 2 is 3, expected text or a tuple"):
        nlp([["a", 3]])
    with pytest.raises(TreebankError, match="sentence 2 has no words"):
        nlp([["a"], []])
    with pytest.raises(TreebankError, match="without tabs"):
        nlp(["a\tb"])
    with pytest.raises(TreebankError, match="sentence 2 is 'b', expected a list of words"):
        nlp([["a"], "b"])
    row = ("She", "PRON", "PRP", "she", "_", "_")  # one item too many
    with pytest.raises(TreebankError, match=r"word 1 is \('She', .*, expected .* up to 5 texts"):
        nlp([row])
    with pytest.raises(TreebankError, match=r"sentence 2, word 2 is \('She', .* up to 5 texts"):
        nlp([["a"], ["b", row]])
    for items in ([("She", "PRON"), ["slept"]], [("a", "b", "c", "d", "e", "f"), *several]):
        with pytest.raises(TreebankError, match=r"sentence 1 is \('.*, a word, expected a list"):
            nlp(items)
    with pytest.raises(TreebankError, match=r"^sentence #1: 2,001 words, expected at most 2,000"):
        nlp(["word"] * 2001)
    with pytest.raises(TreebankError, match="found b'abc', expected text"):
        nlp(b"abc")  # type: ignore[arg-type]
    with pytest.raises(TreebankError, match="sentence 1 is b'abc', expected a list"):
        list(nlp.pipe([b"abc"]))  # type: ignore[list-item]
    with pytest.raises(ModelError, match="no tagger"):
        nlp("She slept.")


def test_words_and_trees(nlp: Parser) -> None:
    (sentence,) = nlp(TAGGED, k_best=3)
    assert [word.form for word in sentence] == ["She", "slept", "."]
    assert sentence[1].head == 0 and sentence[1].label == "root"
    assert sentence[:1] == [sentence[0]]
    assert sentence.best.root == sentence[1]
    assert sentence.best.words == list(sentence.best) == list(sentence)
    assert sentence.heads == sentence.best.heads == tuple(word.head for word in sentence)
    assert sentence.labels == tuple(word.label for word in sentence.best)
    assert sentence.proved and sentence.status == "optimal"
    scores = [tree.score for tree in sentence.trees]
    assert scores == sorted(scores, reverse=True) and scores[0] == sentence.score


def test_conllu_and_records(nlp: Parser) -> None:
    doc = nlp(toy.dev_sentences()[:4])
    text = doc.to_conllu()
    again = list(read_conllu(io.StringIO(text)))
    assert [tuple(s.heads) for s in again] == [s.heads for s in doc]
    assert [tuple(s.deprels) for s in again] == [s.labels for s in doc]
    assert [s.name for s in again] == [s.name for s in toy.dev_sentences()[:4]]
    record = doc.to_dict()
    assert json.loads(json.dumps(record)) == record
    assert record["sentences"] == [sentence.to_dict() for sentence in doc]
    assert record["sentences"][2]["trees"][0]["heads"] == list(doc[2].heads)
    two = nlp(toy.dev_sentences()[3], k_best=2)[0]
    assert two.to_conllu().count("# tree = ") == 2
    assert len(two.to_dict()["trees"]) == 2


def test_texts(nlp: Parser) -> None:
    doc = nlp(toy.dev_sentences()[:3])
    assert repr(doc) == "<Document: 3 sentences, 14 words>"
    assert repr(Document(doc[:1])) == "<Document: 1 sentence, 1 word>"
    assert repr(doc[2]).startswith(
        "<ParsedSentence 'The small cat slept behind the stove.': 1 tree, best score "
    )
    assert repr(doc[2]).endswith(", proved>")
    assert repr(doc[2].best).startswith("<Tree 1: 8 words, score ")
    assert tuple(heads_in(str(doc[2].best))) == doc[2].heads
    assert tuple(heads_in(str(doc[2]).split("\n", 1)[1])) == doc[2].heads
    assert str(doc).count("small-dev-00") == 3
    assert repr(nlp) == "<Parser: grandsib backbone, factors siblings, grandchildren>"


def test_notebooks(nlp: Parser) -> None:
    doc = nlp(["<script>alert(1)</script>", "&"], k_best=2)
    page = doc._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page
    figures = ElementTree.fromstring(f"<div>{page}</div>").findall("figure")
    assert len(figures) == len(doc[0].trees) == 2
    captions = [figure.findtext("figcaption") or "" for figure in figures]
    assert "tree 1 of 2" in captions[0] and "tree 2 of 2" in captions[1]
    image = doc[0].best._repr_svg_()
    assert ElementTree.fromstring(image).tag == "{http://www.w3.org/2000/svg}svg"
    long = nlp([["a"]] * (Document.SHOWN + 3))
    assert long._repr_html_().count("<figure") == Document.SHOWN
    assert "3 sentences more" in long._repr_html_()


@pytest.fixture(scope="module")
def reader() -> Parser:
    """The toy parser with a tagger, so that it reads text."""
    return toy.reader()


@pytest.mark.parametrize("nothing", [None, 7, [None], [3, "words"]])
def test_what_is_neither_text_nor_words(reader: Parser, nothing: Any) -> None:
    with pytest.raises(TreebankError, match=r"^(found|sentence 1)"):
        reader(nothing)
    with pytest.raises(TreebankError, match="expected an iterable of sentences or texts"):
        list(reader.pipe("I saw."))  # type: ignore[arg-type]


def test_parsers_can_be_sent_to_other_processes(reader: Parser) -> None:
    sent = pickle.dumps(reader)
    # the model's file, and what families remember: networks and tables are made anew of it
    assert len(sent) < 50_000 + len(model_bytes(reader.model))
    again = pickle.loads(sent)
    text = "She slept. I saw the stars."
    assert [s.heads for s in again(text)] == [s.heads for s in reader(text)]
    assert again(text)[0].score == reader(text)[0].score


def test_words_say_where_they_stand(reader: Parser) -> None:
    text = "She doesn't sleep. Yes!"
    doc = reader(text)
    for sentence in doc:
        for word in sentence:
            assert text[word.start : word.end] == word.form
            assert [sentence[m - 1].head for m in word.children] == [word.id] * len(word.children)
    first = doc[0]
    assert first[2].misc.startswith("TokenRange=") and len(first.best.root.children) > 0
    (record,) = [doc.to_dict()["sentences"][0]]
    assert record["offsets"] == [[word.start, word.end] for word in first]
    assert record["lemmas"] == [word.lemma for word in first]
    (bare,) = reader([["She", "slept"]])
    assert (bare[0].start, bare[0].misc) == (-1, "_")


STRANGE = [
    "",
    "x",
    "\0",
    "\ud800 a",
    "😀",
    "\u200f\u200f",
    "שלום עולם.",
    "我喜欢书。",
    "a\rb\x1b[0m",
]


@pytest.mark.parametrize("text", STRANGE)
def test_strange_texts_lose_nothing(reader: Parser, text: str) -> None:
    found = reader(text)
    assert "".join(word.form for one in found for word in one) == "".join(text.split())
    assert all(0 <= word.head <= len(one) for one in found for word in one)
