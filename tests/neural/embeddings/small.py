"""Small encoders with random weights, in the files of Hugging Face, and their formula."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np

WIDTH, INNER, HEADS, LAYERS, POSITIONS = 32, 48, 2, 3, 24
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [
    *SPECIAL,
    *ascii_lowercase,
    *(f"##{c}" for c in ascii_lowercase),
    ".",
    "the",
    "##ing",
    "see",
]


def write_safetensors(path: Path, arrays: dict[str, np.ndarray]) -> None:
    header, at = {}, 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": "F32",
            "shape": array.shape,
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header).encode()
    data = b"".join(array.tobytes() for array in arrays.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def make_weights(positions: int = POSITIONS) -> dict[str, np.ndarray]:
    """Return weights of an encoder like BERT, by their names."""
    rng = np.random.default_rng(3)

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(0.0, 0.3, shape).astype(np.float32)

    found = {
        "embeddings.word_embeddings.weight": normal(len(PIECES), WIDTH),
        "embeddings.position_embeddings.weight": normal(positions, WIDTH),
        "embeddings.token_type_embeddings.weight": normal(2, WIDTH),
    }
    norms = ["embeddings.LayerNorm"]
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}"
        for name, inputs, outputs in (
            ("attention.self.query", WIDTH, WIDTH),
            ("attention.self.key", WIDTH, WIDTH),
            ("attention.self.value", WIDTH, WIDTH),
            ("attention.output.dense", WIDTH, WIDTH),
            ("intermediate.dense", WIDTH, INNER),
            ("output.dense", INNER, WIDTH),
        ):
            found[f"{layer}.{name}.weight"] = normal(outputs, inputs)
            found[f"{layer}.{name}.bias"] = normal(outputs)
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    for name in norms:
        found[f"{name}.weight"] = 1.0 + normal(WIDTH)
        found[f"{name}.bias"] = normal(WIDTH)
    return found


WORDPIECE = {
    "model": {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "vocab": {piece: i for i, piece in enumerate(PIECES)},
    },
    "normalizer": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
}


def write_encoder(
    folder: Path,
    weights: dict[str, np.ndarray],
    tokenizer: dict[str, Any] = WORDPIECE,
    **settings: Any,
) -> Path:
    folder.mkdir(exist_ok=True)
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "num_hidden_layers": LAYERS,
        "hidden_size": WIDTH,
        "intermediate_size": INNER,
        "num_attention_heads": HEADS,
        "max_position_embeddings": POSITIONS,
        "layer_norm_eps": 1e-12,
        **settings,
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    write_safetensors(folder / "model.safetensors", weights)
    return folder


def plain_states(
    w: dict[str, np.ndarray], ids: list[int], layers: range = range(1, LAYERS + 1)
) -> np.ndarray:
    """Mean of the states of layers, in float64; weights of MPNet have a bias for distances."""
    buckets = w.get("encoder.relative_attention_bias.weight")
    places = [[0] * len(ids)] * len(ids)
    if buckets is not None:
        places = [[bucket_of(i - j) for j in range(len(ids))] for i in range(len(ids))]

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(axis=1, keepdims=True)
        x = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f"{name}.weight"].T.astype(np.float64) + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    x = x + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    found, size = [], WIDTH // HEADS
    for i in range(layers.stop - 1):
        layer = f"encoder.layer.{i}"
        q, k, v = (linear(x, f"{layer}.attention.self.{n}") for n in ("query", "key", "value"))
        mixed = []
        for h in range(HEADS):
            part = slice(h * size, (h + 1) * size)
            scores = q[:, part] @ k[:, part].T / math.sqrt(size)
            scores = np.exp(scores + (0.0 if buckets is None else buckets[places, h]))
            mixed.append(scores / scores.sum(axis=1, keepdims=True) @ v[:, part])
        joined = linear(np.concatenate(mixed, axis=1), f"{layer}.attention.output.dense")
        x = norm(x + joined, f"{layer}.attention.output.LayerNorm")
        inner = linear(x, f"{layer}.intermediate.dense")
        inner *= 0.5 * (1.0 + np.vectorize(math.erf)(inner / math.sqrt(2.0)))
        x = norm(x + linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        found.append(x)
    return np.mean(found[layers.start - 1 :], axis=0)


def bucket_of(distance: int) -> int:
    """Bucket of T5 for a piece so far to the left, with 32 buckets and distances up to 128."""
    far = abs(distance)
    ends = (12, 16, 23, 32, 46, 64, 91)  # 8 · 16^(k / 8), rounded up
    place = far if far < 8 else 8 + sum(far >= end for end in ends)
    return place + 16 * (distance < 0)


def make_mpnet(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Weights by the names of BERT, and the bias; positions begin with 2."""
    name = "embeddings.position_embeddings.weight"
    rng = np.random.default_rng(5)
    return {
        **{key: array for key, array in weights.items() if "token_type" not in key},
        name: rng.normal(0.0, 0.3, (302, WIDTH)).astype(np.float32),
        "encoder.relative_attention_bias.weight": rng.normal(0.0, 2.0, (32, HEADS)),
    }


def mpnet_folder(folder: Path, mpnet: dict[str, np.ndarray]) -> Path:
    new = {"self.query": "attn.q", "self.key": "attn.k", "self.value": "attn.v"}
    new |= {"attention.output.dense": "attention.attn.o"}
    new |= {"attention.output.LayerNorm": "attention.LayerNorm"}
    renamed = {}
    for name, array in mpnet.items():
        for old in new:
            name = name.replace(old, new[old])
        renamed[name] = array.astype(np.float32)
    ends = {"[PAD]": "<s>", "[MASK]": "</s>"}
    vocab = {ends.get(piece, piece): i for i, piece in enumerate(PIECES)}
    tokenizer = {**WORDPIECE, "model": {**WORDPIECE["model"], "vocab": vocab}}
    return write_encoder(
        folder,
        renamed,
        tokenizer,
        model_type="mpnet",
        max_position_embeddings=302,
        pad_token_id=1,
        layer_norm_eps=1e-12,
    )
