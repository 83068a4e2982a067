"""Encoders like BERT and XLM-R, from files in the format of Hugging Face."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.embeddings.bert import Bert, shapes_of
from bbparse.neural.embeddings.pieces import ForeignEncoder, Pieces
from bbparse.neural.embeddings.unigram import UnigramPieces
from bbparse.neural.embeddings.wordpiece import WordPieces
from bbparse.runtime.arrays import Float32s
from bbparse.runtime.errors import EmbeddingsError, one_line

_FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert")
_PIECES: dict[str, type[WordPieces | UnigramPieces]] = {
    "WordPiece": WordPieces,
    "Unigram": UnigramPieces,
}
_NEEDED = ("config.json", "tokenizer.json", "model.safetensors")


def read_bert(folder: Path, layers: int | None = None) -> Bert:
    """Read an encoder from its folder, or its first layers; `ForeignEncoder` if of another kind."""
    try:
        with np.errstate(all="ignore"):  # weights that are not finite are refused
            return _read_bert(folder, layers)
    except EmbeddingsError as error:
        raise type(error)(f"encoder {folder}: {error}") from None
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise EmbeddingsError(f"encoder {folder}: cannot be read: {one_line(error)}") from None


def _read_bert(folder: Path, layers: int | None) -> Bert:
    for file in _NEEDED:
        if not (folder / file).is_file():
            raise ForeignEncoder(f"has no {file}")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    for name, known in (
        ("model_type", _FAMILIES),
        ("hidden_act", ("gelu",)),
        ("position_embedding_type", ("absolute", None)),
    ):
        if config.get(name) not in known:
            names = ", ".join(filter(None, known))
            raise ForeignEncoder(f"its {name} is {config.get(name)!r}, expected {names}")
    tokenizer = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    kind = tokenizer["model"].get("type", "WordPiece")
    if kind not in _PIECES:
        raise ForeignEncoder(f"its pieces are of the kind {kind}, expected {' or '.join(_PIECES)}")
    pieces: Pieces = _PIECES[kind].read(tokenizer)
    weights = read_safetensors(folder / "model.safetensors")
    depth = config["num_hidden_layers"]
    if layers is not None and not 1 <= layers <= depth:
        raise EmbeddingsError(f"has {depth} layers, expected {layers} or more")
    # the first position of RoBERTa and its relatives is the one after that of padding
    first = 0 if config["model_type"] == "bert" else config.get("pad_token_id", 1) + 1
    note = {
        "layers": layers or depth,
        "width": config["hidden_size"],
        "inner": config["intermediate_size"],
        "heads": config["num_attention_heads"],
        "positions": config["max_position_embeddings"] - first,
        "small": config["layer_norm_eps"],
        **pieces.settings,
    }
    last = "embeddings.LayerNorm.weight"
    prefix = next((name.removesuffix(last) for name in weights if name.endswith(last)), "")

    def get(name: str) -> Float32s:
        array = weights.get(prefix + name)
        if array is None:
            raise EmbeddingsError(f"weights {name} are missing")
        return array.astype(np.float32, copy=False)

    return _rounded(note, pieces, get, first)


def _rounded(note: dict[str, Any], pieces: Pieces, get: Any, first: int) -> Bert:
    """Round the weights of an encoder, whose positions begin with `first`."""
    vectors = get("embeddings.word_embeddings.weight")[: len(pieces.pieces)]
    units = np.maximum(vectors.max(axis=1), -vectors.min(axis=1)) / np.float32(127.0)
    units = np.maximum(units, np.float32(2.0**-100))
    positions = get("embeddings.position_embeddings.weight")[first:]
    segment = get("embeddings.token_type_embeddings.weight")[0]
    if positions.shape[1:] != segment.shape:  # their sum could be larger than the memory
        raise EmbeddingsError(f"positions have shape {positions.shape}, segments {segment.shape}")
    numbers: dict[str, Float32s] = {
        "positions": positions + segment,
        "gain": get("embeddings.LayerNorm.weight"),
        "shift": get("embeddings.LayerNorm.bias"),
    }
    matrices: dict[str, NDArray[np.int8]] = {}
    root = np.float32(math.sqrt(note["width"] // note["heads"]))

    def add(name: str, parts: Sequence[str]) -> None:
        matrix = np.concatenate([get(f"{part}.weight").T for part in parts], axis=1)
        bias = np.concatenate([get(f"{part}.bias") for part in parts])
        if len(parts) == 3:  # queries
            matrix[:, : note["width"]] /= root
            bias[: note["width"]] /= root
        unit = np.abs(matrix).max(axis=0) / np.float32(64.0)
        unit = np.maximum(unit, np.float32(2.0**-14)).astype(np.float16).astype(np.float32)
        matrices[name] = np.clip(np.rint(matrix / unit), -64, 64).astype(np.int8)
        numbers[f"{name}_units"], numbers[f"{name}_bias"] = unit, bias

    for i in range(note["layers"]):
        layer = f"encoder.layer.{i}"
        attention = f"{layer}.attention"
        add(f"{i}_qkv", [f"{attention}.self.{name}" for name in ("query", "key", "value")])
        add(f"{i}_out", [f"{attention}.output.dense"])
        add(f"{i}_up", [f"{layer}.intermediate.dense"])
        add(f"{i}_down", [f"{layer}.output.dense"])
        for name, where in (("", f"{attention}.output"), ("last_", f"{layer}.output")):
            numbers[f"{i}_{name}gain"] = get(f"{where}.LayerNorm.weight")
            numbers[f"{i}_{name}shift"] = get(f"{where}.LayerNorm.bias")
    shapes = shapes_of(note)
    found: dict[str, NDArray[Any]] = {**matrices, **numbers}
    for name, shape in {**shapes[0], **shapes[1]}.items():
        if found[name].shape != shape:
            raise EmbeddingsError(
                f"weights {name} have shape {found[name].shape}, expected {shape} as the"
                " configuration says"
            )
    fields: dict[str, Any] = {
        **pieces.fields,
        "encoder_vectors": np.rint(vectors / units[:, np.newaxis]).astype(np.int8),
        "encoder_units": units.astype(np.float32),
        "encoder_matrices": np.concatenate([matrices[name].reshape(-1) for name in shapes[0]]),
        "encoder_numbers": np.concatenate([numbers[name].reshape(-1) for name in shapes[1]]),
    }
    fields["encoder_numbers"] = fields["encoder_numbers"].astype(np.float16)
    return Bert(note, fields)


_DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64}
_MAX_HEADER = 1 << 26


def read_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of a safetensors file; those of bfloat16 as float32, others are left out."""
    data = np.memmap(path, np.uint8, "r")
    length = int(data[:8].view("<u8")[0]) if len(data) > 8 else -1
    if not 0 < length <= min(_MAX_HEADER, len(data) - 8):
        raise ValueError(f"{path.name} is not a safetensors file")
    arrays: dict[str, NDArray[Any]] = {}
    for name, entry in json.loads(data[8 : 8 + length].tobytes()).items():
        dtype = entry.get("dtype")
        if dtype not in _DTYPES and dtype != "BF16":
            continue
        low, high = entry["data_offsets"]
        size = 2 if dtype == "BF16" else np.dtype(_DTYPES[dtype]).itemsize
        if not 0 <= low <= high <= len(data) - 8 - length or (
            high - low != size * math.prod(entry["shape"])
        ):
            raise ValueError(f"{path.name}: {name} lies outside of the file")
        raw = np.asarray(data[8 + length + low : 8 + length + high])
        if dtype == "BF16":
            array = (raw.view("<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            array = raw.view(np.dtype(_DTYPES[dtype]).newbyteorder("<"))
        arrays[name] = array.reshape(entry["shape"])
    return arrays
