"""Parsers that take vectors from outside: the whole way, from training to a loaded model."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.configuration import Configuration
from bbparse.errors import ConfigError, ModelError
from bbparse.explain import explain
from bbparse.learning import candidates
from bbparse.model.file import load_model
from bbparse.outside import read_vectors
from bbparse.outside.vectors import WordVectors
from bbparse.parsing.parser import Parser
from bbparse.parsing.pipeline import Pipeline
from tests import toy

TRAIN, DEV = toy.sentences()[:25], toy.dev_sentences()[:5]


def configuration() -> Configuration:
    return toy.guided_configuration(epochs=2, folds=2).with_("learning", epochs=1)


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
    outside = partial(read_vectors, vectors, license="CC0")
    return Parser.train(TRAIN, DEV, configuration(), outside=outside)


def test_a_loaded_model_parses_the_same(parser: Parser, tmp_path: Path) -> None:
    path = tmp_path / "outside.model"
    parser.save(path)
    again = Parser.load(path)
    assert isinstance(again.maker.outside, WordVectors)
    for sentence in DEV:
        trees = parser.parse(sentence, k_best=2)
        assert [(t.heads, t.labels, t.score) for t in trees] == [
            (t.heads, t.labels, t.score) for t in again.parse(sentence, k_best=2)
        ]
    card = Pipeline(again).card
    assert card["outside"]["name"] == "letters.vec" and card["outside"]["license"] == "CC0"
    assert [p.solution.scores[0] for p in again.parse_all(DEV, threads=2)] == [
        p.solution.scores[0] for p in parser.parse_all(DEV)
    ]


def test_all_that_asks_the_guide_gives_it_its_vectors(parser: Parser) -> None:
    sentence = DEV[0]
    best = parser.parse(sentence)[0]
    assert parser.labels(sentence, np.array([-1, *best.heads], np.int32)) == list(best.labels)
    assert explain(parser, sentence).trees[0].heads == best.heads
    (around,) = parser.parse_around([sentence])
    assert list(around.trees[0].heads) == sentence.heads
    assert parser.problem(sentence, prune=0).n_words == sentence.n_words


def test_vectors_are_looked_at(parser: Parser, vectors: Path) -> None:
    guide = parser.maker.guide
    assert guide is not None and guide.outside_width == 8
    assert np.abs(guide.parameters["outside_w"][:6]).min() > 0.0
    assert guide.parameters["outside_w"].std() > 0.01


def test_an_interrupted_run_goes_on(
    parser: Parser, vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = candidates.train_guide
    seen: list[int] = []

    def counted(stop: int) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            if len(seen) == stop:
                raise KeyboardInterrupt
            seen.append(1)
            return train(*given)

        return call

    run = partial(Parser.train, TRAIN, DEV, configuration(), checkpoint=tmp_path / "run")
    outside = partial(read_vectors, vectors, license="CC0")
    monkeypatch.setattr(candidates, "train_guide", counted(2))
    with pytest.raises(KeyboardInterrupt):
        run(outside=outside)
    seen.clear()
    monkeypatch.setattr(candidates, "train_guide", counted(99))
    again = run(outside=outside)
    assert len(seen) == 1
    first, second = (p.maker.guide.to_arrays() for p in (parser, again) if p.maker.guide)
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_what_does_not_fit_is_said(parser: Parser, vectors: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"guide\.epochs is 0"):
        Parser.train(TRAIN, (), toy.configuration(), outside=partial(read_vectors, vectors))
    path = tmp_path / "outside.model"
    parser.save(path)
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    lost = {name: a for name, a in arrays.items() if not name.startswith("outside_")}
    note = json.loads(arrays["outside_note"].item())
    other = {
        **arrays, "outside_note": np.array(json.dumps({**note, "dimension": 12})),
        "outside_rows": np.zeros((len(arrays["outside_rows"]), 12), np.int8),
    }  # fmt: skip
    for changed in (lost, other):
        with open(tmp_path / "changed.model", "wb") as file:
            np.savez(file, **changed)
        with pytest.raises(ModelError, match="its guide takes vectors of 8 numbers from outside"):
            load_model(tmp_path / "changed.model")
