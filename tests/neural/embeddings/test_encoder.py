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

from bbparse.neural.embeddings.transformer import Transformer, _pooled  # noqa: E402

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


def test_long_sentences_are_read_in_windows(encoder: Transformer) -> None:
    words = [*SHORT[:3], "barking", "zzz"] * 20  # many more pieces than it takes
    (states,) = encoder.states([words])
    assert states.any(axis=1).all()
    # pieces of the first window that are far from its end have the states that it gives alone
    ids, word_of = encoder._pieces_of(words)
    window = encoder._read([ids[: encoder._room]])[0]
    whole = max(w for i, w in enumerate(word_of) if i < encoder._room // 2)
    for word in range(whole):
        own = [i for i, w in enumerate(word_of) if w == word]
        assert np.allclose(states[word], window[own].mean(axis=0), atol=2e-3)
    (one,) = encoder.states([["z" * 200]])  # one word of more pieces than it takes
    assert one.shape == (1, encoder.dimension) and one.any()


def sentences() -> list[Sentence]:
    return [Sentence.from_words(words) for words in (SHORT, ["It", "saw", "dogs"], ["It"] * 40)]


def test_dimensions_are_evened_out(folder: Path) -> None:
    source = fit_encoder(str(folder), sentences(), license="MIT")
    known = np.concatenate([v for v in source(sentences())])
    known = known[known.any(axis=1)][:, : source.note["dimension"]]
    assert np.allclose(known.mean(axis=0), 0.0, atol=1e-3)
    assert np.allclose(known.std(axis=0), 1.0, atol=1e-2)
    assert source.width % 4 == 0 and not source(sentences())[0][3].any()
    assert source.note["license"] == "MIT" and len(source.note["hash"]) == 32


def test_states_are_kept_on_disk(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = fit_encoder(str(folder), sentences(), folder=tmp_path / "states")
    expected = source(sentences())
    files = sorted((tmp_path / "states").glob("*/*.npy"))
    assert len(files) == 3
    again = EncoderStates(source.note, source.to_arrays()["embeddings_shift"], tmp_path / "states")

    def fails(*given: Any, **others: Any) -> None:
        raise AssertionError("an encoder was loaded")

    with monkeypatch.context() as patch:
        patch.setattr(encoder_module, "Transformer", fails)
        for one, other in zip(expected, again(sentences())):
            assert np.array_equal(one, other)
    files[0].write_bytes(files[0].read_bytes()[:-9])  # damaged: computed anew
    third = EncoderStates(source.note, source.to_arrays()["embeddings_shift"], tmp_path / "states")
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
    again = embeddings_from(source.to_arrays())
    assert isinstance(again, EncoderStates) and again.note == source.note
    assert np.array_equal(again(sentences())[0], source(sentences())[0])

    mine.rename(tmp_path / "moved")
    lost = embeddings_from(source.to_arrays())
    assert lost is not None
    with pytest.raises(EmbeddingsError, match=r"not there: config\.json, model.*BBPARSE_ENCODER"):
        lost(sentences())
    monkeypatch.setenv(VARIABLE, str(tmp_path / "moved"))
    assert np.array_equal(lost(sentences())[0], source(sentences())[0])

    make_encoder(tmp_path / "moved", seed=5)
    other = embeddings_from(source.to_arrays())
    assert other is not None
    with pytest.raises(EmbeddingsError, match=r"another version than the model was trained with"):
        other(sentences())


@pytest.mark.parametrize("kind", ["RobertaTokenizerFast", "PreTrainedTokenizerFast"])
def test_an_encoder_with_pieces_of_bytes(kind: str, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train_from_iterator(["the dog saw it ."] * 9, vocab_size=300, min_frequency=1)
    special = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    trained.add_special_tokens([*special.values(), "<unk>", "<mask>"])
    fast = getattr(transformers, kind)(
        tokenizer_object=trained._tokenizer, model_max_length=24, **special
    )
    fast.save_pretrained(tmp_path)
    torch.manual_seed(1)
    transformers.RobertaModel(
        transformers.RobertaConfig(
            vocab_size=400, hidden_size=12, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16, max_position_embeddings=26,
        )
    ).save_pretrained(tmp_path)  # fmt: skip
    encoder = Transformer(str(tmp_path))
    states, long = encoder.states([["the", "dög", "saw"], ["dog"] * 60])
    assert states.any(axis=1).all() and long.any(axis=1).all()
    # pieces as they are in text after a blank, be a word the first or not
    in_text = trained.encode(" dog").ids
    assert encoder._pieces_of(["dog", "dog"])[0] == [*in_text, *in_text]


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
        ("config.json", r"not there: config\.json;"),
        ("model.safetensors", r"not there: model\*\.safetensors or pytorch_model\*\.bin;"),
        ("vocab.txt", r"not there: tokenizer\.json or vocab\.txt"),
    ],
)
def test_missing_files_are_named(lost: str, message: str, mine: Path) -> None:
    (mine / lost).unlink()
    with pytest.raises(EmbeddingsError, match=message) as caught:
        Transformer(str(mine))
    assert "\n" not in str(caught.value)


def test_damaged_files_and_names_of_nothing(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (mine / "model.safetensors").write_bytes(b"nothing of it")
    with pytest.raises(EmbeddingsError, match=r"mine: cannot be loaded: ") as caught:
        Transformer(str(mine))
    assert "\n" not in str(caught.value)
    import huggingface_hub

    def offline(*given: Any, **others: Any) -> str:
        raise OSError("no\nconnection")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    with pytest.raises(EmbeddingsError, match=r"not there: config\.json, .* \(no connection\)"):
        Transformer("some/encoder")


def test_weights_that_are_not_there_are_not_made_up(mine: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(mine / "model.safetensors")
    some = {key: weight for key, weight in weights.items() if "layer.1" not in key}
    save_file(some, mine / "model.safetensors", {"format": "pt"})
    with pytest.raises(EmbeddingsError, match=r"mine: its files have no weights encoder\.layer\.1"):
        Transformer(str(mine))


def test_states_that_are_no_numbers_are_not_kept(mine: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    kept = tmp_path / "states"
    weights = load_file(mine / "model.safetensors")
    weights["encoder.layer.1.output.dense.weight"][:] = float("nan")
    save_file(weights, mine / "model.safetensors", {"format": "pt"})
    with pytest.raises(EmbeddingsError, match="mine: its states are no finite numbers"):
        fit_encoder(mine, sentences(), folder=kept)
    assert not kept.exists()


def test_nobody_is_asked_whether_code_may_run(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = json.loads((mine / "config.json").read_text(encoding="utf-8"))
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.C", "AutoModel": "own.M"}}
    (mine / "config.json").write_text(json.dumps(config), encoding="utf-8")
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda text="": asked.append(text) or "n")
    with pytest.raises(EmbeddingsError, match="mine: cannot be loaded: "):
        Transformer(str(mine))
    assert not asked


def test_what_fails_in_use_is_said(mine: Path) -> None:
    with open(mine / "vocab.txt", "a", encoding="utf-8") as file:
        file.write("zebra\n")  # of which it has no vector
    threads = torch.get_num_threads()
    with pytest.raises(EmbeddingsError, match="mine: cannot be used: index out of range"):
        Transformer(str(mine)).states([["zebra"]])
    assert torch.get_num_threads() == threads


def test_states_too_large_for_16_bits_stay_finite() -> None:
    large = np.array([[1e6, -1e6, 1.0]], np.float32)
    assert _pooled(large, [0], 1).astype(np.float16).tolist() == [[65504.0, -65504.0, 1.0]]


def test_the_hub_is_asked_for_what_is_not_there_only(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    snapshot = tmp_path / "0123abc"
    asked = []

    def download(name: str, *, local_files_only: bool, **others: Any) -> str:
        asked.append(local_files_only)
        if local_files_only and not snapshot.exists():
            raise OSError("not there")
        if not snapshot.exists():
            shutil.copytree(folder, snapshot)
        return str(snapshot)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert Transformer("some/encoder").revision == "0123abc"
    assert asked == [True, True, False]
    asked.clear()
    assert Transformer("some/encoder").revision == "0123abc"
    assert asked == [True]


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(EmbeddingsError, match=r"pip install 'bbparse\[transformers\]'"):
        Transformer("xlm-roberta-base")


def test_damaged_arrays_of_a_model(folder: Path) -> None:
    arrays = fit_encoder(str(folder), sentences()).to_arrays()
    bad = json.dumps({**json.loads(arrays["embeddings_note"].item()), "dimension": 17})
    with pytest.raises(ModelError, match=r"a\.model: .*expected \(2, 17\)"):
        embeddings_from({**arrays, "embeddings_note": np.array(bad)}, "a.model")
    shift = arrays["embeddings_shift"].copy()
    shift[1, 0] = 0.0
    with pytest.raises(ModelError, match="not above 0"):
        embeddings_from({**arrays, "embeddings_shift": shift}, "a.model")
