"""Parsers with pretrained embeddings: the whole way, from training to a loaded model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from bbparse.apps.explain import explain
from bbparse.models.configuration import Configuration
from bbparse.models.model_file import KIND, load_model
from bbparse.models.scoring.problem_maker import ProblemMaker
from bbparse.neural.embeddings import read_vectors
from bbparse.neural.embeddings.vectors import WordVectors
from bbparse.parser.parser import Parser
from bbparse.runtime.archive import write_archive
from bbparse.runtime.errors import ConfigError, ModelError
from bbparse.treebank import Sentence
from tests import toy
from tests.archives import fields_of

TRAIN, DEV = toy.sentences()[:25], toy.dev_sentences()[:5]


def configuration() -> Configuration:
    return toy.network_configuration(epochs=2).with_("factors", fold_epochs=1, epochs=1, cutoff=1)


class Silent:
    """A source of vectors that are 0."""

    width = 8
    note: ClassVar = {"name": "nothing"}

    def __call__(self, sentences: Sequence[Sentence]) -> list[np.ndarray]:
        return [np.zeros((s.n_words, 8), np.float32) for s in sentences]

    def to_fields(self) -> dict[str, np.ndarray]:
        return {}


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words by their letters."""
    path = tmp_path_factory.mktemp("vectors") / "letters.vec"
    words = sorted({form for s in (*TRAIN, *DEV) for form in s.forms})
    rng = np.random.default_rng(3)
    rows = [" ".join([w, *(f"{x:.4f}" for x in rng.standard_normal(6))]) for w in words]
    path.write_text("".join(row + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def parser(vectors: Path) -> Parser:
    embeddings = partial(read_vectors, vectors, license="CC0")
    return Parser.train(TRAIN, DEV, configuration(), embeddings=embeddings)


def test_a_network_without_its_vectors_is_refused(parser: Parser) -> None:
    maker = parser.model.maker
    for without in (
        partial(replace, maker, embeddings=None),
        lambda: ProblemMaker(maker.config, maker.network),
    ):
        with pytest.raises(ModelError, match="the network needs pretrained vectors of 8 dim"):
            without()


def test_networks_have_the_same_mean_in_memory_and_in_a_file(vectors: Path, tmp_path: Path) -> None:
    config = configuration().with_("network", members=2)
    embeddings = partial(read_vectors, vectors)
    whole = Parser.train(TRAIN, DEV, config, factors=(), embeddings=embeddings)
    whole.save(tmp_path / "two.model")
    again = Parser.load(tmp_path / "two.model")
    assert [p.trees[0].score for p in whole.parse_all(DEV)] == [
        p.trees[0].score for p in again.parse_all(DEV)
    ]
    (one, two), maker = whole.model.maker.network.members, whole.model.maker
    joined = replace(whole.model, maker=replace(maker, network=one.with_others([two])))
    assert [p.trees[0].score for p in Parser(joined).parse_all(DEV)] == [
        p.trees[0].score for p in again.parse_all(DEV)
    ]


def test_a_loaded_model_parses_the_same(parser: Parser, tmp_path: Path) -> None:
    path = tmp_path / "embeddings.model"
    parser.save(path)
    again = Parser.load(path)
    assert isinstance(again.model.maker.embeddings, WordVectors)
    for sentence in DEV:
        trees = parser.parse(sentence, k_best=2)
        assert [(t.heads, t.labels, t.score) for t in trees] == [
            (t.heads, t.labels, t.score) for t in again.parse(sentence, k_best=2)
        ]
    card = again.card
    assert card["embeddings"]["name"] == "letters.vec" and card["embeddings"]["license"] == "CC0"
    assert [p.trees[0].score for p in again.parse_all(DEV, threads=2)] == [
        p.trees[0].score for p in parser.parse_all(DEV)
    ]


def test_all_that_asks_the_network_gives_it_its_vectors(parser: Parser) -> None:
    sentence = DEV[0]
    best = parser.parse(sentence)[0]
    assert parser.labels(sentence, np.array([-1, *best.heads], np.int32)) == list(best.labels)
    assert explain(parser, sentence).trees[0].heads == best.heads
    (around,) = parser.parse_all([sentence], keep_heads=True)
    assert list(around.trees[0].heads) == sentence.heads
    assert parser.problem(sentence, prune=0).n_words == sentence.n_words


def test_vectors_are_looked_at(parser: Parser) -> None:
    blind = toy.changed(parser, embeddings=Silent())
    for sentence in DEV:
        one, other = (p.model.maker([sentence])[0].scores for p in (parser, blind))
        assert one is not None and other is not None
        assert not np.array_equal(one.scores, other.scores)


def test_what_does_not_fit_is_said(parser: Parser, vectors: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"network\.epochs is 0: only networks use"):
        Parser.train(TRAIN, (), toy.configuration(), embeddings=partial(read_vectors, vectors))
    path = tmp_path / "embeddings.model"
    parser.save(path)
    fields = fields_of(path)
    lost = {name: value for name, value in fields.items() if not name.startswith("embeddings")}
    other = {
        **fields,
        "embeddings": {**fields["embeddings"], "dimension": 12},
        "embeddings_rows": np.zeros((len(fields["embeddings_rows"]), 12), np.int8),
    }
    for changed in (lost, other):
        write_archive(tmp_path / "changed.model", KIND, changed)
        with pytest.raises(ModelError, match="its network needs pretrained vectors of 8"):
            load_model(tmp_path / "changed.model")
