"""Tuning encoders: the same encoder in PyTorch, what it learns, and what is written."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bbparse.embeddings import fit_encoder, tune_encoder
from bbparse.neural.embeddings import tuning
from bbparse.neural.embeddings.hugging_face import read_bert, read_folder, read_safetensors
from bbparse.runtime.errors import EmbeddingsError, OutputError
from bbparse.treebank import Sentence
from tests import toy
from tests.neural.embeddings.small import (
    WIDTH,
    make_mpnet,
    make_weights,
    mpnet_folder,
    plain_states,
    write_encoder,
)

torch = pytest.importorskip("torch")

WORDS = ["the", "seeing", "dog", "\u200b", "sees", "\N{SNOWMAN}", "it", "."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bert")
    return write_encoder(place, make_weights(99), max_position_embeddings=99)


@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_it_is_the_same_encoder(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_DROPPED", "_MASKED"):
        monkeypatch.setattr(tuning, name, 0.0)
    weights = make_weights()
    if family == "mpnet":
        weights = make_mpnet(weights)
    make = write_encoder if family == "bert" else mpnet_folder
    source = read_folder(make(tmp_path / family, weights), (2, 3))
    texts = (WORDS, WORDS[:1], WORDS[4:])
    sentences = [Sentence.from_words(words, heads=[0] * len(words)) for words in texts]
    rows, _ = tuning._rows(sentences, source)
    encoder = tuning._Encoder(torch, source, "cpu")
    ids, lengths, means = tuning._tensors(
        torch, rows, source.pieces, np.random.default_rng(0), "cpu"
    )
    states = (means @ encoder(ids, lengths)).detach().numpy()
    if family == "mpnet":
        name = "embeddings.position_embeddings.weight"
        weights = {**weights, name: weights[name][2:]}
        weights["embeddings.token_type_embeddings.weight"] = np.zeros((1, WIDTH))
    for row, found in zip(rows, states):
        text = [source.pieces.start, *row.ids, source.pieces.end]
        expected = plain_states(weights, text, range(2, 4))[1:-1]
        for word in range(len(row.heads)):
            own = expected[row.words == word]
            mean = own.mean(axis=0) if len(own) else np.zeros(WIDTH)
            assert np.allclose(found[word], mean, atol=1e-4)
        assert not found[len(row.heads) :].any()


def share_of_tags(folder: Path, sentences: list[Sentence]) -> float:
    """Return the share of universal tags that a linear layer tells from the states of words."""
    states = np.concatenate(fit_encoder(folder, sentences, layers=(2, 2))(sentences))
    tags = [tag for sentence in sentences for tag in sentence.upos]
    names = sorted(set(tags))
    targets = np.array([[tag == name for name in names] for tag in tags], np.float64)
    states = np.pad(states.astype(np.float64), ((0, 0), (0, 1)), constant_values=1.0)
    found = states @ np.linalg.lstsq(states, targets, rcond=None)[0]
    return float((found.argmax(axis=1) == targets.argmax(axis=1)).mean())


def test_states_tell_more_of_tags(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "_BATCH", 100)
    sentences = toy.sentences()[:30]
    tune_encoder(folder, sentences, tmp_path / "new", layers=(2, 2), passes=80, rate=3e-3)
    assert share_of_tags(tmp_path / "new", sentences) > share_of_tags(folder, sentences) + 0.08


def test_a_seed_decides(folder: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        tune_encoder(folder, toy.sentences()[:9], tmp_path / name, layers=2, passes=2, seed=seed)
    one, same, other = (read_bert(tmp_path / name).hash for name in "abc")
    assert one == same != other


def test_what_is_written(folder: Path, tmp_path: Path) -> None:
    """Layers that are used, all else as it was; without passes, the same encoder."""
    sentences = toy.sentences()[:5]
    tune_encoder(folder, sentences, tmp_path / "none", layers=(1, 2), passes=0)
    assert read_bert(tmp_path / "none", (1, 2)).hash == read_bert(folder, (1, 2)).hash
    tune_encoder(folder, sentences, tmp_path / "one", layers=2, passes=1, seed=2)
    assert json.loads((tmp_path / "one" / "config.json").read_text())["num_hidden_layers"] == 2
    old, new = (read_safetensors(f / "model.safetensors") for f in (folder, tmp_path / "one"))
    assert old.keys() - new.keys() == {name for name in old if name.startswith("encoder.layer.2.")}
    for name, array in new.items():
        assert np.array_equal(array, old[name]) == name.startswith("embeddings.")


def test_what_cannot_be_learned(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_trees, too_long = Sentence.from_words(WORDS), Sentence.from_words(WORDS * 20)
    for sentences in ([], [without_trees], [replace(too_long, heads=[0] * too_long.n_words)]):
        with pytest.raises(EmbeddingsError, match="no sentence to learn from"):
            tune_encoder(folder, sentences, tmp_path / "out")
    with pytest.raises(EmbeddingsError, match=r"not finite any more: rate is 1e\+30"):
        tune_encoder(folder, toy.sentences()[:5], tmp_path / "far", rate=1e30)
    assert not [*tmp_path.glob("far*"), *tmp_path.glob(".*")]
    for change, message in (
        ({"passes": -1.0}, "passes is -1.0, expected at least 0"),
        ({"rate": float("nan")}, "rate is nan"),
        ({"seed": 1.5}, "seed is 1.5, expected an integer"),
    ):
        with pytest.raises(EmbeddingsError, match=message):
            tune_encoder(folder, toy.sentences()[:5], tmp_path / "out", **change)
    with pytest.raises(OutputError, match="cannot be written: it is not empty"):
        tune_encoder(folder, toy.sentences()[:5], folder, passes=0)
    tune_encoder(folder, toy.sentences()[:5], tmp_path / "far", passes=0, seed=1 << 64)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(EmbeddingsError, match="needs PyTorch: pip install"):
        tune_encoder(folder, toy.sentences()[:5], tmp_path / "out")
    assert not (tmp_path / "out").exists()
