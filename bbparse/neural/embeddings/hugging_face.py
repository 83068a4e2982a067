"""Encoders like BERT, XLM-R and MPNet, from files in the format of Hugging Face."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.embeddings.bert import FARTHEST, Bert, check_sizes, input_scales, shapes_of
from bbparse.neural.embeddings.pieces import ForeignEncoder, Pieces, json_value
from bbparse.neural.embeddings.unigram import UnigramPieces
from bbparse.neural.embeddings.wordpiece import WordPieces
from bbparse.runtime.archive import check_entry
from bbparse.runtime.arrays import Float32s
from bbparse.runtime.errors import EmbeddingsError, one_line
from bbparse.runtime.output import open_binary_output

_FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert", "mpnet")
#: Names of MPNet's weights where they differ from those of BERT.
_MPNET = {
    "attention.self.query": "attention.attn.q",
    "attention.self.key": "attention.attn.k",
    "attention.self.value": "attention.attn.v",
    "attention.output.dense": "attention.attn.o",
    "attention.output.LayerNorm": "attention.LayerNorm",
}
#: Names of the weights of normalisations in old files.
_OLD = {"gamma": "weight", "beta": "bias"}
#: Tables whose number of rows the configuration does not say, and how few they may have.
_FEWEST = {
    "embeddings.word_embeddings": 1,
    "embeddings.token_type_embeddings": 1,
    "encoder.relative_attention_bias": 4,
}
_PIECES: dict[str, type[WordPieces | UnigramPieces]] = {
    "WordPiece": WordPieces,
    "Unigram": UnigramPieces,
}
#: Numbers of a normal distribution take some N bits in units of 2^(2.05 - N) deviations.
_NORMAL_BITS = 2.05
#: The number of layers, or the lowest of the mean (None: the default) and the last; None for all.
Layers = int | tuple[int | None, int] | None
#: Sizes in the note, and their names in the configuration.
_SIZES = {
    "layers": "num_hidden_layers",
    "width": "hidden_size",
    "inner": "intermediate_size",
    "heads": "num_attention_heads",
    "positions": "max_position_embeddings",
}
_NEEDED = ("config.json", "tokenizer.json", "model.safetensors")


def read_bert(folder: Path, layers: Layers = None, bits: float | None = None) -> Bert:
    """Read an encoder from its folder; `ForeignEncoder` if it is of another kind.

    With ``bits``, weights are rounded so that a compressed file has some so many bits for each.
    """
    with _reading(folder):
        return _rounded(_source(folder, layers), bits)


def read_folder(folder: Path, layers: Layers) -> Source:
    """Read the files of an encoder's folder: see `read_bert`."""
    with _reading(folder):
        return _source(folder, layers)


@contextmanager
def _reading(folder: Path) -> Iterator[None]:
    """Name the folder of an encoder in errors."""
    try:
        with np.errstate(all="ignore"):  # weights that are not finite are refused
            yield
    except EmbeddingsError as error:
        raise type(error)(f"encoder {folder}: {error}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise EmbeddingsError(f"encoder {folder}: cannot be read: {one_line(error)}") from None


class Source(NamedTuple):
    """What an encoder's folder holds.

    `weights` returns an array by its name in BERT, and `name_of` its name in the file, which has
    these `arrays`. `positions` are float32[n, width], with the vector of the first segment,
    `relative` the bias of distances of MPNet.
    """

    note: dict[str, Any]
    pieces: Pieces
    arrays: dict[str, NDArray[Any]]
    weights: Callable[[str], Float32s]
    name_of: Callable[[str], str]
    positions: Float32s
    relative: Float32s | None


def _source(folder: Path, layers: Layers) -> Source:
    for file in _NEEDED:
        if not (folder / file).is_file():
            raise ForeignEncoder(f"has no {file}")
    config = _json(folder, "config.json")
    for name, known in (
        ("model_type", _FAMILIES),
        ("hidden_act", ("gelu",)),
        ("position_embedding_type", ("absolute", None)),
    ):
        if config.get(name) not in known:
            names = ", ".join(filter(None, known))
            raise ForeignEncoder(f"its {name} is {config.get(name)!r}, expected {names}")
    tokenizer = _json(folder, "tokenizer.json")
    kind = json_value("tokenizer.json", tokenizer, "model", dict).get("type", "WordPiece")
    if kind not in [*_PIECES]:
        raise ForeignEncoder(f"its pieces are of the kind {kind}, expected {' or '.join(_PIECES)}")
    pieces: Pieces = _PIECES[kind].read(tokenizer)
    weights = read_safetensors(folder / "model.safetensors")
    for name in [*weights]:
        module, _, kind = name.rpartition(".")
        if kind in _OLD:
            weights[f"{module}.{_OLD[kind]}"] = weights.pop(name)
    # the first position of RoBERTa and its relatives is the one after that of padding
    padding = json_value("config.json", {"pad_token_id": 1, **config}, "pad_token_id", int)
    first = 0 if config["model_type"] == "bert" else max(0, padding + 1)
    note = {**_sizes_of(config, layers, first), "scaled": True, **pieces.settings}
    check_sizes(note)
    is_mpnet = config["model_type"] == "mpnet"
    if is_mpnet:
        note["relative"] = True
    last = "embeddings.LayerNorm.weight"
    prefix = next((name.removesuffix(last) for name in weights if name.endswith(last)), "")

    renamed = _MPNET.items() if is_mpnet else ()

    def name_of(name: str) -> str:
        return prefix + next((name.replace(*both) for both in renamed if both[0] in name), name)

    def get(name: str) -> Float32s:
        array = weights.get(name_of(name))
        if array is None:
            raise EmbeddingsError(f"weights {name} are missing, or no floats")
        _check_shape(name, array, note, first)
        return array.astype(np.float32, copy=False)

    positions = get("embeddings.position_embeddings.weight")[first:]
    if is_mpnet:
        relative = _by_distance(get("encoder.relative_attention_bias.weight"))
        return Source(note, pieces, weights, get, name_of, positions, relative)
    segment = get("embeddings.token_type_embeddings.weight")[0]
    return Source(note, pieces, weights, get, name_of, positions + segment, None)


def _check_shape(name: str, array: NDArray[Any], note: dict[str, Any], first: int) -> None:
    """Check the shape of weights by their name in BERT; positions begin with `first`."""
    module, _, kind = name.rpartition(".")
    width = note["width"]
    outputs = note["inner"] if module.endswith("intermediate.dense") else width
    inputs = note["inner"] if re.search(r"layer\.\d+\.output\.dense$", module) else width
    shape: tuple[int, ...] = (outputs, inputs)
    if module in _FEWEST:
        rows = max(_FEWEST[module], *array.shape[:1], 0)
        shape = rows, note["heads"] if module.endswith("_bias") else width
    elif module == "embeddings.position_embeddings":
        shape = note["positions"] + first, width
    elif kind == "bias" or module.endswith("LayerNorm"):
        shape = (outputs,)
    if array.shape != shape:
        raise EmbeddingsError(
            f"weights {name} have shape {array.shape}, expected {shape} as the configuration says"
        )


def _sizes_of(config: dict[str, Any], layers: Layers, first: int) -> dict[str, Any]:
    """Return the sizes of an encoder with these layers, whose positions begin with `first`."""
    sizes = {size: json_value("config.json", config, name, int) for size, name in _SIZES.items()}
    depth = sizes["layers"]
    lowest, last = (None, layers) if isinstance(layers, int) else layers or (None, depth)
    if not 1 <= last <= depth:
        raise EmbeddingsError(f"has {depth} layers, expected {max(1, last)} or more")
    sizes |= {"layers": last, "positions": sizes["positions"] - first}
    sizes["small"] = json_value("config.json", config, "layer_norm_eps", float)
    return sizes if lowest is None else {**sizes, "lowest": lowest}


def _json(folder: Path, file: str) -> dict[str, Any]:
    """Read a file that holds an object of JSON."""
    try:
        found = json.loads((folder / file).read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise EmbeddingsError(f"{file}: cannot be read: {one_line(error)}") from None
    if not isinstance(found, dict):
        raise EmbeddingsError(f"{file}: found {found!r:.60}, expected an object of JSON")
    return found


def _rounded(source: Source, bits: float | None) -> Bert:
    """Round the weights of an encoder."""
    note, pieces, get = source.note, source.pieces, source.weights
    in_deviations = np.float32(0.0 if bits is None else 2.0 ** (_NORMAL_BITS - bits))

    def units_of(rows: Float32s, largest: float) -> Float32s:
        units = np.maximum(rows.max(axis=1), -rows.min(axis=1)) / np.float32(largest)
        squares = np.einsum("ij,ij->i", rows, rows) / np.float32(rows.shape[1])
        return np.maximum(units, np.sqrt(squares) * in_deviations)

    vectors = get("embeddings.word_embeddings.weight")[: len(pieces.pieces)]
    units = np.maximum(units_of(vectors, 127.0), np.float32(2.0**-100))
    numbers: dict[str, Float32s] = {
        "positions": source.positions,
        "gain": get("embeddings.LayerNorm.weight"),
        "shift": get("embeddings.LayerNorm.bias"),
    }
    if source.relative is not None:
        numbers["relative"] = source.relative
    matrices: dict[str, NDArray[np.int8]] = {}
    root = np.float32(math.sqrt(note["width"] // note["heads"]))

    def add(name: str, parts: Sequence[str], norm: str | None = None) -> None:
        matrix = np.concatenate([get(f"{part}.weight").T for part in parts], axis=1)
        bias = np.concatenate([get(f"{part}.bias") for part in parts])
        if len(parts) == 3:  # queries
            matrix[:, : note["width"]] /= root
            bias[: note["width"]] /= root
        if norm is not None:
            stored = (numbers[f"{norm}{name}"].astype(np.float16) for name in ("gain", "shift"))
            matrix *= input_scales(*(array.astype(np.float32) for array in stored))[:, np.newaxis]
        unit = np.maximum(units_of(matrix.T, 64.0), np.float32(2.0**-14))
        unit = unit.astype(np.float16).astype(np.float32)
        matrices[name] = np.clip(np.rint(matrix / unit), -64, 64).astype(np.int8)
        numbers[f"{name}_units"], numbers[f"{name}_bias"] = unit, bias

    for i in range(note["layers"]):
        layer = f"encoder.layer.{i}"
        attention = f"{layer}.attention"
        for name, where in (("", f"{attention}.output"), ("last_", f"{layer}.output")):
            numbers[f"{i}_{name}gain"] = get(f"{where}.LayerNorm.weight")
            numbers[f"{i}_{name}shift"] = get(f"{where}.LayerNorm.bias")
        parts = [f"{attention}.self.{name}" for name in ("query", "key", "value")]
        add(f"{i}_qkv", parts, f"{i - 1}_last_" if i else "")
        add(f"{i}_out", [f"{attention}.output.dense"])
        add(f"{i}_up", [f"{layer}.intermediate.dense"], f"{i}_")
        add(f"{i}_down", [f"{layer}.output.dense"])
    return _laid_out(note, pieces, (vectors, units), matrices, numbers)


def _laid_out(
    note: dict[str, Any],
    pieces: Pieces,
    of_pieces: tuple[Float32s, Float32s],
    matrices: dict[str, NDArray[np.int8]],
    numbers: dict[str, Float32s],
) -> Bert:
    """Return the encoder of rounded weights."""
    vectors, units = of_pieces
    shapes = shapes_of(note)
    fields: dict[str, Any] = {
        **pieces.fields,
        "encoder_vectors": np.rint(vectors / units[:, np.newaxis]).astype(np.int8),
        "encoder_units": units.astype(np.float32),
        "encoder_matrices": np.concatenate([matrices[name].reshape(-1) for name in shapes[0]]),
        "encoder_numbers": np.concatenate([numbers[name].reshape(-1) for name in shapes[1]]),
    }
    fields["encoder_numbers"] = fields["encoder_numbers"].astype(np.float16)
    return Bert(note, fields)


def _by_distance(buckets: Float32s) -> Float32s:
    """Return the bias of each distance from -`FARTHEST` on (Raffel et al. 2020).

    One half of the buckets is for pieces before, the other for those after; in each, one half is
    for the nearest distances, and the other for ranges that grow until 128.
    """
    half = len(buckets) // 2
    near = half // 2
    distances = np.arange(-FARTHEST, FARTHEST + 1)
    far = np.maximum(np.abs(distances), near)
    # 1e-9: logarithms of powers of two may be rounded down
    steps = np.log(far / near) / math.log((FARTHEST + 1) / near) * (half - near) + 1e-9
    far = np.minimum(near + steps.astype(np.int64), half - 1)
    places = np.where(np.abs(distances) < near, np.abs(distances), far)
    return buckets[places + half * (distances > 0)].T


_DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64}
_MAX_HEADER = 1 << 26


def read_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of a safetensors file; those of bfloat16 as float32, others are left out."""
    data = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.zeros(0, np.uint8)
    length = int(data[:8].view("<u8")[0]) if len(data) > 8 else -1
    if not 0 < length <= min(_MAX_HEADER, len(data) - 8):
        raise EmbeddingsError(f"{path.name} is not a safetensors file")
    arrays: dict[str, NDArray[Any]] = {}
    header = json.loads(data[8 : 8 + length].tobytes())
    check_entry(path.name, "the header", header, dict[str, dict], EmbeddingsError)
    for name, about in header.items():
        dtype = str(about.get("dtype"))
        if dtype not in _DTYPES and dtype != "BF16":
            continue
        shape = json_value(f"{path.name}: {name}", about, "shape", list[int])
        low, high = [*json_value(f"{path.name}: {name}", about, "data_offsets", list[int]), -1, -1][
            :2
        ]
        size = 2 if dtype == "BF16" else np.dtype(_DTYPES[dtype]).itemsize
        if not 0 <= low <= high <= len(data) - 8 - length or (
            min(shape, default=0) < 0 or high - low != size * math.prod(shape)
        ):
            raise EmbeddingsError(f"{path.name}: {name} lies outside of the file")
        raw = np.asarray(data[8 + length + low : 8 + length + high])
        if dtype == "BF16":
            array = (raw.view("<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            array = raw.view(np.dtype(_DTYPES[dtype]).newbyteorder("<"))
        arrays[name] = array.reshape(shape)
    return arrays


def write_safetensors(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write arrays, floats as 32 bits and integers as 64."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    kinds = {name: "I64" if array.dtype.kind == "i" else "F32" for name, array in arrays.items()}
    for name, array in arrays.items():
        start, end = end, end + array.size * np.dtype(_DTYPES[kinds[name]]).itemsize
        header[name] = {"dtype": kinds[name], "shape": array.shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open_binary_output(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, array in arrays.items():
            file.write(array.astype("<i8" if kinds[name] == "I64" else "<f4").tobytes())
