"""Encoders of transformers: states, windows, the cache, versions, and what may be missing.

They are tiny ones with random weights, made here.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.neural.embeddings import EncoderStates, embeddings_from, fit_encoder
from bbparse.neural.embeddings import encoder as encoder_module
from bbparse.neural.embeddings.encoder import VARIABLE
from bbparse.runtime.errors import EmbeddingsError, ModelError, OutputError
from bbparse.treebank import Sentence
from tests.neural.embeddings.tiny import make_encoder

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from bbparse.neural.embeddings.transformer import Transformer  # noqa: E402

SHORT = ["The", "dogs", "saw", "\u200b", "it", "."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture
def mine(folder: Path, tmp_path: Path) -> Path:
    """A copy that may be changed."""
    return Path(shutil.copytree(folder, tmp_path / "mine"))


@pytest.fixture(scope="module")
def encoder(folder: Path) -> Transformer:
    return Transformer(str(folder))


def by_hand(folder: Path, words: list[str]) -> np.ndarray:
    """Means over pieces and the last layers, by the library itself."""
    pieces = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    found = pieces(words, is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        layers = model(**found, output_hidden_states=True).hidden_states[1:]
    states = torch.stack(list(layers))[-4:].mean(dim=0)[0].numpy()
    out = np.zeros((len(words), states.shape[1]))
    for i in range(len(words)):
        own = [place for place, word in enumerate(found.word_ids(0)) if word == i]
        if own:
            out[i] = states[own].mean(axis=0)
    return out


def test_states_are_means_over_pieces_and_layers(folder: Path, encoder: Transformer) -> None:
    threads = torch.get_num_threads()
    (states,) = encoder.states([SHORT])
    assert states.dtype == np.float16 and states.shape == (6, encoder.dimension)
    assert np.allclose(states, by_hand(folder, SHORT), atol=2e-3)
    assert not states[3].any() and states[[0, 1, 2, 4, 5]].any(axis=1).all()  # a word of nothing
    assert torch.get_num_threads() == threads
    assert not encoder.states([["\u200b"]])[0].any()
    assert encoder.states([["a\udc80"]])[0].shape == (1, 18)  # no text that can be written


def test_states_do_not_depend_on_what_is_read_together(encoder: Transformer) -> None:
    others = [["a"], SHORT, [*SHORT] * 4, ["dog"] * 3]
    together = encoder.states(others)
    for words, states in zip(others, together):
        assert np.array_equal(encoder.states([words])[0], states)


def sentences() -> list[Sentence]:
    return [Sentence.from_words(words) for words in (SHORT, ["It", "saw", "dogs"], ["It"] * 40)]


def test_states_are_kept_on_disk(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = fit_encoder(str(folder), sentences(), folder=tmp_path / "states")
    expected = source(sentences())
    files = sorted((tmp_path / "states").glob("*/*.npy"))
    assert len(files) == 3
    again = EncoderStates(source.note, source.to_fields()["embeddings_shift"], tmp_path / "states")

    def fails(*given: Any, **others: Any) -> None:
        raise AssertionError("an encoder was loaded")

    with monkeypatch.context() as patch:
        patch.setattr(encoder_module, "Transformer", fails)
        for one, other in zip(expected, again(sentences())):
            assert np.array_equal(one, other)
    files[0].write_bytes(files[0].read_bytes()[:-9])  # damaged: computed anew
    third = EncoderStates(source.note, source.to_fields()["embeddings_shift"], tmp_path / "states")
    for one, other in zip(expected, third(sentences())):
        assert np.array_equal(one, other)
    np.load(files[0], allow_pickle=False)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written: Not a directory"):
        fit_encoder(str(folder), sentences(), folder=tmp_path / "file")


def test_a_model_has_its_encoder_by_name_and_hash(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = fit_encoder(str(mine), sentences())
    again = embeddings_from(source.to_fields())
    assert isinstance(again, EncoderStates) and again.note == source.note
    assert np.array_equal(again(sentences())[0], source(sentences())[0])

    mine.rename(tmp_path / "moved")
    lost = embeddings_from(source.to_fields())
    assert lost is not None
    with pytest.raises(EmbeddingsError, match=r"not found: config\.json, model.*BBPARSE_ENCODER"):
        lost(sentences())
    monkeypatch.setenv(VARIABLE, str(tmp_path / "moved"))
    assert np.array_equal(lost(sentences())[0], source(sentences())[0])

    make_encoder(tmp_path / "moved", seed=5)
    other = embeddings_from(source.to_fields())
    assert other is not None
    with pytest.raises(EmbeddingsError, match=r"another version than the model was trained with"):
        other(sentences())


@pytest.mark.parametrize("kind", ["T5EncoderModel", "T5Model", "XLNetModel"])
def test_encoders_of_other_kinds(kind: str, mine: Path) -> None:
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
    if kind == "XLNetModel":  # which sets no limit of pieces: it says -1
        sizes = {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32}
    model = getattr(transformers, kind)
    model(model.config_class(vocab_size=100, **sizes)).save_pretrained(mine)
    assert Transformer(str(mine)).states([SHORT])[0].shape == (6, 16)


@pytest.mark.parametrize(
    ("lost", "message"),
    [
        ("config.json", r"not found: config\.json;"),
        ("model.safetensors", r"not found: model\*\.safetensors or pytorch_model\*\.bin;"),
        ("vocab.txt", r"not found: tokenizer\.json or vocab\.txt"),
    ],
)
def test_missing_files_are_named(lost: str, message: str, mine: Path) -> None:
    (mine / lost).unlink()
    with pytest.raises(EmbeddingsError, match=message) as caught:
        Transformer(str(mine))
    assert "\n" not in str(caught.value)


def test_weights_that_are_not_there_are_not_made_up(mine: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(mine / "model.safetensors")
    some = {key: weight for key, weight in weights.items() if "layer.1" not in key}
    save_file(some, mine / "model.safetensors", {"format": "pt"})
    with pytest.raises(EmbeddingsError, match=r"mine: weights encoder\.layer\.1"):
        Transformer(str(mine))


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(EmbeddingsError, match=r"pip install '\.\[transformers\]' in the checkout"):
        Transformer("xlm-roberta-base")


def test_damaged_arrays_of_a_model(folder: Path) -> None:
    fields = fit_encoder(str(folder), sentences()).to_fields()
    bad = {**fields["embeddings"], "dimension": 17}
    with pytest.raises(ModelError, match=r"a\.model: .*expected \(2, 17\)"):
        embeddings_from({**fields, "embeddings": bad}, "a.model")
    shift = fields["embeddings_shift"].copy()
    shift[1, 0] = 0.0
    with pytest.raises(ModelError, match="not above 0"):
        embeddings_from({**fields, "embeddings_shift": shift}, "a.model")


def test_nobody_is_asked_whether_code_may_run(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = json.loads((mine / "config.json").read_text(encoding="utf-8"))
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.C", "AutoModel": "own.M"}}
    (mine / "config.json").write_text(json.dumps(config), encoding="utf-8")
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda text="": asked.append(text) or "n")
    with pytest.raises(EmbeddingsError, match="mine: cannot be loaded: "):
        Transformer(str(mine))
    assert not asked
