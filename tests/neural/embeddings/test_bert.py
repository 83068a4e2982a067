"""Encoders in our own kernels, against a forward pass in plain numpy."""

from __future__ import annotations

import json
import math
import shutil
import struct
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest

from bbparse.embeddings import fit_encoder
from bbparse.neural.embeddings import EMBEDDINGS_FIELDS, embeddings_from
from bbparse.neural.embeddings.bert import Bert
from bbparse.neural.embeddings.encoder import remove_states
from bbparse.neural.embeddings.hugging_face import read_bert, read_safetensors
from bbparse.neural.embeddings.pieces import ForeignEncoder
from bbparse.neural.embeddings.wordpiece import WordPieces
from bbparse.runtime.archive import read_archive, write_archive
from bbparse.runtime.errors import EmbeddingsError
from bbparse.treebank import Sentence
from tests.neural.embeddings.small import (
    HEADS,
    INNER,
    LAYERS,
    PIECES,
    POSITIONS,
    SPECIAL,
    WIDTH,
    WORDPIECE,
    make_mpnet,
    make_weights,
    mpnet_folder,
    plain_states,
    write_encoder,
)
from tests.neural.embeddings.test_unigram import PIECES as UNIGRAM
from tests.neural.embeddings.test_unigram import tokenizer


@pytest.fixture(scope="module")
def weights() -> dict[str, np.ndarray]:
    return make_weights()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, weights: dict[str, np.ndarray]) -> Path:
    return write_encoder(tmp_path_factory.mktemp("bert"), weights)


@pytest.fixture(scope="module")
def bert(folder: Path) -> Bert:
    return read_bert(folder)


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


WORDS = [["the", "seeing", "dog", "."], ["I"], ["see", "Zoë", "x" * 20]]


@pytest.mark.parametrize("layers", [(None, 1), (None, 2), (None, 3), (2, 3), (2, 2)])
def test_states_are_those_of_the_formula(
    folder: Path, weights: dict[str, np.ndarray], layers: tuple[int | None, int]
) -> None:
    bert = read_bert(folder, layers)
    span = range(layers[0] or 1, layers[1] + 1)
    for words, got in zip(WORDS[:2], bert.states(WORDS[:2])):
        pieces = [list(bert.pieces.of_word(word)) for word in words]
        ids = [2, *(i for word in pieces for i in word), 3]
        rows = plain_states(weights, ids, span)[1:-1]
        ends = np.cumsum([len(word) for word in pieces]).tolist()
        expected = [rows[a:b].mean(axis=0) for a, b in zip([0, *ends], ends)]
        assert cosines(got.astype(np.float64), np.array(expected)).min() > 0.995


def test_states_do_not_depend_on_the_batch(bert: Bert) -> None:
    many = WORDS * 60
    together = bert.states(many)
    for words, states in zip(WORDS, together):
        assert np.array_equal(states, bert.states([words])[0])
    assert bert.states([[], ["\u200b", "a"]])[0].shape == (0, WIDTH)
    assert not bert.states([["\u200b", "a"]])[0][0].any()


def test_long_sentences_are_read_in_windows(bert: Bert) -> None:
    words = [ascii_lowercase[i % 26] for i in range(60)]
    got = bert.states([words])[0]
    first = bert.states([words[: POSITIONS - 2]])[0]
    assert np.array_equal(got[:16], first[:16]) and got.any(axis=1).all()


@pytest.mark.parametrize("prefix", ["roberta.", ""])
def test_xlm_roberta_counts_positions_after_that_of_padding(
    tmp_path: Path, weights: dict[str, np.ndarray], prefix: str
) -> None:
    name = "embeddings.position_embeddings.weight"
    moved = {**weights, name: np.concatenate([np.full((2, WIDTH), 9.0, np.float32), weights[name]])}
    bert = read_bert(
        write_encoder(
            tmp_path,
            {prefix + key: array for key, array in moved.items()},
            tokenizer(),
            model_type="xlm-roberta",
            max_position_embeddings=POSITIONS + 2,
            pad_token_id=1,
        )
    )
    (got,) = bert.states([["the", "seen", "中"]])
    ids = [UNIGRAM.index(piece) for piece in ("<s>", "▁the", "▁se", "en", "▁", "<unk>", "</s>")]
    rows = plain_states(weights, ids)[1:-1]
    expected = np.array([rows[0], rows[1:3].mean(axis=0), rows[3:].mean(axis=0)])
    assert cosines(got.astype(np.float64), expected).min() > 0.995


@pytest.fixture(scope="module")
def mpnet(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return make_mpnet(weights)


def test_mpnet_adds_a_bias_for_distances(tmp_path: Path, mpnet: dict[str, np.ndarray]) -> None:
    """Its vocabulary has the ends of BERT, too, but texts are between <s> and </s>."""
    bert = read_bert(mpnet_folder(tmp_path, mpnet), (2, 3))
    words = [ascii_lowercase[(7 * i) % 26] for i in range(290)]
    plain = {**mpnet, "embeddings.token_type_embeddings.weight": np.zeros((1, WIDTH))}
    name = "embeddings.position_embeddings.weight"
    plain[name] = mpnet[name][2:]
    for text in (words, words[:1], words[:9]):
        ids = [0, *(bert.pieces.of_word(word)[0] for word in text), 4]
        expected = plain_states(plain, ids, range(2, 4))[1:-1]
        (got,) = bert.states([text])
        assert cosines(got.astype(np.float64), expected).min() > 0.99
    assert bert.hash != read_bert(tmp_path, (3, 3)).hash


def test_fewer_bits_take_less_space(folder: Path, tmp_path: Path) -> None:
    sizes, states = [], []
    sentences = [Sentence.from_words(words) for words in WORDS]
    for bits in (None, 5.0, 3.0):
        source = fit_encoder(folder, sentences, bits=bits)
        write_archive(tmp_path / "file", "kind", source.to_fields())
        sizes.append((tmp_path / "file").stat().st_size)
        states.append(np.concatenate(source.states(sentences)).astype(np.float64))
    assert sizes[0] > sizes[1] > sizes[2]
    means = [cosines(states[0], other).mean() for other in states]
    assert means[0] > means[1] > means[2] > 0.8


@pytest.mark.parametrize("scaled", [True, False])
def test_columns_that_are_large_after_a_normalisation(
    tmp_path: Path, weights: dict[str, np.ndarray], scaled: bool
) -> None:
    """Each row has the precision of its largest number: it must not be that of one column."""
    large = dict(weights)
    for name in weights:
        if "LayerNorm" in name:
            large[name] = weights[name].copy()
            large[name][3] *= 30.0
    for name in ("attention.self.query", "attention.self.key", "intermediate.dense"):
        for i in range(LAYERS):
            key = f"encoder.layer.{i}.{name}.weight"
            large[key] = weights[key].copy()
            large[key][:, 3] /= 30.0
    bert = read_bert(write_encoder(tmp_path, large))
    if not scaled:
        bert = Bert({**bert.note, "scaled": False}, bert.fields)
    (got,) = bert.states([["the", "dog"]])
    ids = [2, *bert.pieces.of_word("the"), *bert.pieces.of_word("dog"), 3]
    rows = plain_states(large, ids)[1:-1]
    expected = np.array([rows[0], rows[1:].mean(axis=0)])
    error = 1.0 - cosines(np.delete(got, 3, 1), np.delete(expected, 3, 1)).min()
    assert (error < 0.002) == scaled


def test_cut_unigram_pieces_give_the_same_states(
    tmp_path: Path, weights: dict[str, np.ndarray]
) -> None:
    folder = write_encoder(tmp_path, weights, tokenizer(), model_type="roberta")
    sentences = [Sentence.from_words(["the", "seen"]), Sentence.from_words(["sees", "中"])]
    whole, fewer = (fit_encoder(folder, sentences, pieces=n) for n in (None, 16))
    pieces = fewer.to_fields()["encoder_pieces"]
    assert pieces == ["<s>", "</s>", "<unk>", "▁", "e", "h", "n", "s", "t", "▁the", "▁se", "en"]
    for one, other in zip(whole.states(sentences), fewer.states(sentences)):
        assert np.array_equal(one, other)
    # states of words are the means of those of the pieces of their text, which is read in windows
    encoder = whole.held_encoder
    assert encoder is not None
    ids, _ = encoder.pieces.of_characters("the seen")
    rows, none, many = encoder.states_of_pieces([ids, [], ids * 30])
    (words,) = encoder.states([["the", "seen"]])
    assert np.allclose([rows[0], rows[1:].mean(axis=0)], words, atol=2e-3)
    assert len(none) == 0 and many.shape == (90, WIDTH) and not (many == 0.0).any()
    loaded = embeddings_from(fewer.to_fields())
    assert loaded is not None and loaded.note == fewer.note
    for one, other in zip(fewer(sentences), loaded(sentences)):
        assert np.array_equal(one, other)


def test_any_pieces_can_be_saved_and_loaded(tmp_path: Path, weights: dict[str, np.ndarray]) -> None:
    """JSON has numbers and halves of characters, and scores that are all integers."""
    odd = tokenizer()
    odd["model"]["vocab"] = [[piece, int(score)] for piece, score in odd["model"]["vocab"]]
    odd["model"]["vocab"][10:12] = [["\ud800", -3], [7, 0]]
    folder = write_encoder(tmp_path / "odd", weights, odd, model_type="roberta", pad_token_id=-1)
    source = fit_encoder(folder, [Sentence.from_words(["the", "7"])])
    write_archive(tmp_path / "file", "kind", source.to_fields())
    fields = read_archive(tmp_path / "file", "kind", EMBEDDINGS_FIELDS, set(EMBEDDINGS_FIELDS))
    loaded = embeddings_from(fields)
    assert loaded is not None and loaded.note == source.note
    assert fields["encoder_pieces"][10:12] == ["\ud800", "7"]


def test_pieces() -> None:
    pieces = WordPieces(PIECES, lower=True, strip=True)

    def of(word: str) -> list[str]:
        return [PIECES[i] for i in pieces.of_word(word)]

    assert of("Seeing") == ["see", "##ing"] and of("thé.") == ["the", "."]
    assert of("a\u00adb c") == ["a", "##b", "c"] and of("a中") == ["a", "[UNK]"]
    assert of("\u0000") == [] and of("a" * 101) == ["[UNK]"]

    text = " SE\u0301Eing\x01 the. \u00adx中가" + "a" * 101
    ids, places = pieces.of_characters(text)
    assert ids == [i for part in text.split() for i in pieces.of_word(part)]
    held = [
        "".join(c for c, (k, *_) in zip(text, places.tolist()) if k == i) for i in range(len(ids))
    ]
    assert held == ["SEE", "ing", "the", ".", "x", "中", text[-102:]]
    assert places[1:8].tolist() == [
        [0, 0, 3], [0, 1, 3], [-1] * 3, [0, 2, 3], [1, 0, 3], [1, 1, 3], [1, 2, 3]
    ]  # fmt: skip
    kept = [PIECES[i] for i in sorted({*pieces.necessary([]), PIECES.index("see")})]
    fewer = WordPieces(kept, lower=True, strip=True)
    assert [fewer.pieces[i] for i in fewer.of_word("seeing")] == ["see", "##i", "##n", "##g"]
    with pytest.raises(EmbeddingsError, match=r"have no \[UNK\]"):
        WordPieces(["a"], lower=True, strip=True)


def test_a_model_holds_its_encoder(folder: Path) -> None:
    sentences = [Sentence.from_words(words) for words in WORDS]
    source = fit_encoder(folder, sentences, layers=2, pieces=1)
    arrays = source.to_fields()
    assert len(arrays["encoder_pieces"]) == 3 + 26 * 2 + 1  # special pieces, characters
    loaded = embeddings_from(arrays)
    assert loaded is not None and loaded.note == source.note
    for one, other in zip(source(sentences), loaded(sentences)):
        assert one.dtype == np.float32 and np.array_equal(one, other)
    rows = np.concatenate(source(sentences))
    assert np.abs(rows.mean(axis=0)).max() < 0.01 and np.abs(rows.std(axis=0) - 1.0).max() < 0.01


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, n: n.update(layers=0), "layers is 0, expected 1 to 48"),
        (lambda a, n: n.update(heads=3), "have no kernels"),
        (lambda a, n: n.update(small=[]), r"small is \[\], expected a number between 0 and 1"),
        (lambda a, n: n.update(small=math.nan), "small is nan, expected a number between 0 and 1"),
        (lambda a, n: n.update(lowest=4), "lowest is 4, expected 1 to 3"),
        (lambda a, n: a.update(encoder_matrices=a["encoder_matrices"][1:]), "encoder_matrices has"),
        (lambda a, n: a.update(encoder_vectors=a["encoder_vectors"][1:]), "encoder_vectors has"),
        (lambda a, n: a["encoder_numbers"].fill(np.nan), "weights that are not finite"),
    ],
)
def test_damaged_arrays(
    bert: Bert, change: Callable[[dict[str, Any], dict[str, Any]], None], message: str
) -> None:
    arrays, note = {name: array.copy() for name, array in bert.fields.items()}, dict(bert.note)
    change(arrays, note)
    with pytest.raises(EmbeddingsError, match=message):
        Bert(note, arrays)


def test_files_that_are_refused(tmp_path: Path, weights: dict[str, np.ndarray]) -> None:
    fewer = {name: w for name, w in weights.items() if "layer.1.output.dense" not in name}
    with pytest.raises(EmbeddingsError, match=r"weights encoder.layer.1.output.dense"):
        read_bert(write_encoder(tmp_path / "fewer", fewer))
    with pytest.raises(EmbeddingsError, match="has 3 layers, expected 4 or more"):
        read_bert(write_encoder(tmp_path / "all", weights), (None, 4))
    with pytest.raises(
        EmbeddingsError, match=r"intermediate.dense.weight have .* expected \(52, 32\)"
    ):
        read_bert(write_encoder(tmp_path / "other", weights, intermediate_size=INNER + 4))
    query, key = (f"encoder.layer.0.attention.self.{name}.bias" for name in ("query", "key"))
    for wrong in (
        {"embeddings.position_embeddings.weight": np.zeros((POSITIONS * WIDTH, 1))},
        {"embeddings.position_embeddings.weight": np.zeros(())},
        {"embeddings.token_type_embeddings.weight": np.zeros((0, WIDTH))},
        {"embeddings.LayerNorm.weight": np.ones(5)},
        {query: np.zeros(WIDTH - 1), key: np.zeros(WIDTH + 1)},
    ):
        arrays = {name: array.astype(np.float32) for name, array in wrong.items()}
        message = f"weights {next(iter(wrong))} have shape .*, expected .* as the configuration"
        with pytest.raises(EmbeddingsError, match=message):
            read_bert(write_encoder(tmp_path / "wrong", {**weights, **arrays}))
    buckets = {"encoder.relative_attention_bias.weight": np.zeros((2, HEADS), np.float32)}
    with pytest.raises(EmbeddingsError, match=r"expected \(4, 2\)"):
        read_bert(mpnet_folder(tmp_path / "few", {**make_mpnet(weights), **buckets}))
    with pytest.raises(EmbeddingsError, match="heads is 0, expected 1 to 64"):
        read_bert(write_encoder(tmp_path / "none", weights, num_attention_heads=0))
    for file in ("tokenizer.json", "config.json"):
        (tmp_path / "none" / file).write_text("[" * 100_000)
        with pytest.raises(EmbeddingsError, match=f"none: {file}: cannot be read: .*recursion"):
            read_bert(tmp_path / "none")
    name = "encoder.layer.0.output.dense.weight"
    with warnings.catch_warnings(), pytest.raises(EmbeddingsError, match="that are not finite"):
        warnings.simplefilter("error")
        read_bert(write_encoder(tmp_path / "nan", {**weights, name: weights[name] * np.nan}))
    path = tmp_path / "all" / "model.safetensors"
    whole = path.read_bytes()
    for damaged in (b"", whole[:100], whole[:-8], b"\xff" * 50):
        path.write_bytes(damaged)
        with pytest.raises((ValueError, EmbeddingsError)):
            read_safetensors(path)
        with pytest.raises(EmbeddingsError, match=r"all: model\.safetensors"):
            read_bert(tmp_path / "all")


@pytest.mark.parametrize(
    ("file", "name", "value", "message"),
    [
        ("config", "hidden_size", None, "hidden_size is None, expected int"),
        ("config", "hidden_size", "32", "hidden_size is '32', expected int"),
        ("config", "layer_norm_eps", [], r"layer_norm_eps is \[\], expected float"),
        ("tokenizer", "model", 7, "model is 7, expected dict"),
        ("tokenizer", "normalizer", "NFC", "normalizer is 'NFC', expected dict"),
        ("tokenizer", "pre_tokenizer", [1], r"pre_tokenizer is \[1\], expected dict"),
        ("vocab", "the", "4", r"vocab is .*, expected dict\[str, int\]"),
        ("vocab", "the", 10**9, "0, 1, 2 and so on, each once: there is no"),
        ("vocab", "the", -1, "0, 1, 2 and so on, each once"),
        ("vocab", "the", 0, "0, 1, 2 and so on, each once"),
    ],
)
def test_a_file_with_a_wrong_value(
    tmp_path: Path, folder: Path, file: str, name: str, value: Any, message: str
) -> None:
    """Ids that are no rows would be silently wrong vectors."""
    mine = Path(shutil.copytree(folder, tmp_path / "mine"))
    path = mine / ("tokenizer.json" if file == "vocab" else f"{file}.json")
    whole = json.loads(path.read_text())
    (whole["model"]["vocab"] if file == "vocab" else whole)[name] = value
    path.write_text(json.dumps(whole))
    with pytest.raises(EmbeddingsError, match=f"mine: {path.name}: .*{message}"):
        read_bert(mine)


def test_pieces_have_the_ids_of_the_file(tmp_path: Path, folder: Path) -> None:
    """Whatever their order is; one may be among the added tokens only."""
    mine = Path(shutil.copytree(folder, tmp_path / "mine"))
    path = mine / "tokenizer.json"
    whole = json.loads(path.read_text())
    vocabulary = whole["model"]["vocab"]
    whole["model"]["vocab"] = dict(reversed(vocabulary.items()))
    number = whole["model"]["vocab"].pop("##z")
    whole["added_tokens"] = [{"id": number, "content": "##z"}, {"id": 10**9, "content": "x"}]
    path.write_text(json.dumps(whole))
    for one, other in zip(read_bert(mine).states([*WORDS]), read_bert(folder).states([*WORDS])):
        assert np.array_equal(one, other)


def test_why_an_encoder_is_not_ours_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without PyTorch nothing else can read it, but that is not what is wrong."""
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "empty").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, reason in (("no", "is no folder"), ("loop", "is no folder"), ("empty", "has no con")):
        with pytest.raises(EmbeddingsError, match=f"{name}: {reason}.*transformers.*torch"):
            fit_encoder(str(tmp_path / name), [])


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"model_type": "gpt"}, "WordPiece", "its model_type is 'gpt', expected bert, roberta"),
        ({"hidden_act": "relu"}, "WordPiece", "its hidden_act is 'relu', expected gelu"),
        ({"position_embedding_type": "relative_key"}, "WordPiece", "is 'relative_key', expected"),
        ({"num_attention_heads": 3}, "WordPiece", "have no kernels"),
        ({}, "BPE", "its pieces are of the kind BPE, expected WordPiece or Unigram"),
    ],
)
def test_other_encoders_need_transformers(
    tmp_path: Path,
    weights: dict[str, np.ndarray],
    settings: dict[str, Any],
    kind: str,
    message: str,
) -> None:
    other = {**WORDPIECE, "model": {**WORDPIECE["model"], "type": kind}}
    folder = write_encoder(tmp_path / "other", weights, other, **settings)
    with pytest.raises(ForeignEncoder, match=f"other: .*{message}"):
        read_bert(folder)
    with pytest.raises(EmbeddingsError, match=f"{message}.*, so layers, pieces and bits cannot"):
        fit_encoder(folder, [], layers=1)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ForeignEncoder, match=r"other: has no tokenizer\.json"):
        read_bert(folder)
    with pytest.raises(EmbeddingsError, match="nowhere: is no folder, so layers, pieces and bits"):
        fit_encoder("nowhere", [], pieces=1)


def test_all_that_changes_states_changes_the_hash(
    tmp_path: Path, weights: dict[str, np.ndarray]
) -> None:
    usual = read_bert(write_encoder(tmp_path / "a", weights)).hash
    cased = {**WORDPIECE, "normalizer": {**WORDPIECE["normalizer"], "lowercase": False}}
    accents = {**WORDPIECE, "normalizer": {**WORDPIECE["normalizer"], "strip_accents": False}}
    others = [
        write_encoder(tmp_path / "b", weights, layer_norm_eps=1e-5),
        write_encoder(tmp_path / "c", weights, cased),
        write_encoder(tmp_path / "d", weights, accents),
        write_encoder(tmp_path / "e", weights, num_attention_heads=2 * HEADS),
    ]
    assert len({usual, *(read_bert(folder).hash for folder in others)}) == 5


def test_old_names_of_weights(tmp_path: Path, weights: dict[str, np.ndarray]) -> None:
    def old(name: str) -> str:
        norm = name.replace("LayerNorm.weight", "LayerNorm.gamma")
        return "bert." + norm.replace("LayerNorm.bias", "LayerNorm.beta")

    of_old = write_encoder(tmp_path / "old", {old(name): w for name, w in weights.items()})
    assert read_bert(of_old).hash == read_bert(write_encoder(tmp_path / "new", weights)).hash


def test_the_mask_is_the_one_that_was_learned() -> None:
    assert WordPieces(SPECIAL, True, True).mask == SPECIAL.index("[MASK]")
    assert WordPieces([*SPECIAL, "<s>", "</s>", "<mask>"], True, True).mask == len(SPECIAL) + 2
    assert WordPieces([*SPECIAL, "<s>", "</s>"], True, True).mask is None


def test_weights_of_16_bits(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    numbers = np.array([1.5, -2.0, 0.0], np.float32)
    half, brain = numbers.astype(np.float16), (numbers.view(np.uint32) >> 16).astype(np.uint16)
    header = json.dumps(
        {
            "half": {"dtype": "F16", "shape": [3], "data_offsets": [0, 6]},
            "brain": {"dtype": "BF16", "shape": [3, 1], "data_offsets": [6, 12]},
            "flags": {"dtype": "BOOL", "shape": [0], "data_offsets": [12, 12]},
        }
    ).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + half.tobytes() + brain.tobytes())
    arrays = read_safetensors(path)
    assert arrays.keys() == {"half", "brain"} and np.array_equal(arrays["half"], numbers)
    assert np.array_equal(arrays["brain"], numbers[:, np.newaxis])


def test_only_stored_states_are_removed(folder: Path, tmp_path: Path) -> None:
    states = tmp_path / "a.model.states"
    fit_encoder(str(folder), [Sentence.from_words(["It", "saw"])], folder=states)
    (stored,) = states.rglob("*.npy")
    others = [states / "mine.npy", stored.with_name("mine.npy")]
    for other in others:
        other.touch()
    remove_states(states)
    assert sorted(states.rglob("*.npy")) == sorted(others)
    for other in others:
        other.unlink()
    for _ in range(2):
        remove_states(states)
        assert not states.exists()
