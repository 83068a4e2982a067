"""`Bert`: encoders like BERT, XLM-R and MPNet, computed by int8 kernels of our own.

The forward pass is that of Devlin et al. (2019): x = LN(E[piece] + P[position] + T[0]); in each
layer x = LN(x + W_o · concat_h softmax(q_h k_hᵀ / √d) v_h) and x = LN(x + W₂ · gelu(W₁ x)). MPNet
(Song et al. 2020) adds a bias for the distance of two pieces to the scores in the softmax. The
state of a piece is the mean over some layers, that of a word the mean of its pieces.

Weights are quantized once, when an encoder is read: matrices to 7 bits with a unit for each column,
vectors of pieces to 8 bits with a unit for each piece, all else to 16 bits. Units may be larger, so
that files, which are compressed, are smaller. Activations are quantized to 8 bits of the largest
number in their row; columns that are large after a normalisation are scaled down before, and the
rows of the matrix up (Xiao et al. 2023). Integer sums are exact, and floats meet only + × ÷ and
sqrt, in a fixed order: states are the same to the last bit on every machine, in every batch, in
training and in parsing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.eight_bits import Panels, rows_to_bytes
from bbparse.neural.embeddings.attention import SPARE, attend, exponentials
from bbparse.neural.embeddings.pieces import ForeignEncoder, Pieces
from bbparse.neural.embeddings.protocol import EMBEDDINGS_FIELDS, checked
from bbparse.neural.embeddings.unigram import UnigramPieces
from bbparse.neural.embeddings.windows import LAYERS, word_states
from bbparse.neural.embeddings.wordpiece import WordPieces
from bbparse.neural.layers import norm
from bbparse.neural.packing import split, total_size
from bbparse.neural.ragged import grouped
from bbparse.neural.tiles import LANES
from bbparse.runtime.arrays import Float32s, Ints
from bbparse.runtime.errors import EmbeddingsError
from bbparse.runtime.jit import kernel

Int8s = NDArray[np.int8]

#: Names of the fields of an encoder in a model file.
BERT_FIELDS = tuple(name for name in EMBEDDINGS_FIELDS if name.startswith("encoder_"))
#: Rows that go through all layers together: their numbers stay in the cache.
_ROWS = 256
#: Pieces of running text that are read at once.
_WINDOW = 62
#: The bias of MPNet is the same for all distances from this one on.
FARTHEST = 127
_MOST = {"layers": 48, "width": 4096, "inner": 16384, "heads": 64, "positions": 4096}
# erf by Abramowitz & Stegun (1964), 7.1.26
_ERF = tuple(map(np.float32, (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)))
_ERF_P = np.float32(0.3275911 / math.sqrt(2.0))


@kernel
def _gelu(x: Float32s) -> None:
    """Replace numbers by x Φ(x), the Gaussian error linear unit, in place."""
    columns = np.uint64(x.shape[1])
    negative, powers = np.empty(x.shape[1], np.float32), np.empty(x.shape[1], np.float32)
    bits = powers.view(np.int32)
    half, one, zero = np.float32(0.5), np.float32(1.0), np.float32(0.0)
    for r in range(np.uint64(x.shape[0])):
        for j in range(columns):
            negative[j] = -half * x[r, j] * x[r, j]
        exponentials(negative, bits, powers)
        for j in range(columns):
            value = x[r, j]
            t = np.divide(one, one + _ERF_P * abs(value))
            y = _ERF[3] + t * _ERF[4]
            y = _ERF[2] + t * y
            y = _ERF[1] + t * y
            y = _ERF[0] + t * y
            tail = half * t * y * negative[j]  # Φ(-|x|)
            x[r, j] = value * (tail if value < zero else one - tail)


@kernel
def _embed(
    ids: Ints, places: Ints, vectors: Int8s, units: Float32s, positions: Float32s, out: Float32s
) -> None:
    """Add the vectors of pieces and of their positions."""
    for r in range(np.uint64(ids.shape[0])):
        piece, place, unit = ids[r], places[r], units[ids[r]]
        for j in range(np.uint64(out.shape[1])):
            out[r, j] = np.float32(vectors[piece, j]) * unit + positions[place, j]


class Linear(NamedTuple):
    """An int8 matrix, factors of the inputs, units of the columns, and a bias."""

    inputs: Float32s
    panels: Panels
    units: Float32s
    bias: Float32s

    def __call__(self, x: Float32s) -> Float32s:
        """Return float32[rows, columns]."""
        rows, units = np.empty(x.shape, np.uint8), np.empty(len(x), np.float32)
        rows_to_bytes(x, self.inputs, rows, units)
        return self.panels.multiply(rows, self.units, units, self.bias[np.newaxis])


class Layer(NamedTuple):
    """The four matrices of a layer, and gain and shift of its two normalisations."""

    qkv: Linear
    out: Linear
    up: Linear
    down: Linear
    norm: tuple[Float32s, Float32s]
    last_norm: tuple[Float32s, Float32s]


class Bert:
    """An encoder from the fields of `BERT_FIELDS` and the facts of its note."""

    device = "cpu"

    def __init__(self, note: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
        self._lowest = check_sizes(note)
        width, heads = note["width"], note["heads"]
        self.note = dict(note)
        self.fields = {name: fields[name] for name in BERT_FIELDS if name in fields}
        self.dimension: int = width
        pieces = fields["encoder_pieces"]
        self.pieces: Pieces
        if "encoder_scores" in fields:
            self.pieces = UnigramPieces(
                pieces, fields["encoder_scores"], fields["encoder_charsmap"]
            )
        else:
            self.pieces = WordPieces(pieces, note["lower"], note["strip"])
        count = len(self.pieces.pieces)
        self._vectors = checked(fields, "encoder_vectors", np.int8, (count, width))
        self._units = checked(fields, "encoder_units", np.float32, (count,))
        self._heads, self._small = heads, np.float32(note["small"])
        matrices, numbers = shapes_of(note)
        size = (total_size(matrices),)
        whole = split(checked(fields, "encoder_matrices", np.int8, size), matrices)
        size = (total_size(numbers),)
        floats = checked(fields, "encoder_numbers", np.float16, size).astype(np.float32)
        if not (np.isfinite(floats).all() and np.isfinite(self._units).all()):
            raise EmbeddingsError("the encoder has weights that are not finite")
        part = split(floats, numbers)
        self._positions = part["positions"]
        self._norm = part["gain"], part["shift"]
        self._relative = part.get("relative", np.zeros((heads, 2 * FARTHEST + 1), np.float32))

        def linear(name: str, norm: str | None = None) -> Linear:
            inputs = np.ones(len(whole[name]), np.float32)
            if norm is not None and note.get("scaled"):
                inputs /= input_scales(part[f"{norm}gain"], part[f"{norm}shift"])
            panels = Panels.of(whole[name])
            return Linear(inputs, panels, part[f"{name}_units"], part[f"{name}_bias"])

        self._layers = [
            Layer(
                linear(f"{i}_qkv", f"{i - 1}_last_" if i else ""),
                linear(f"{i}_out"),
                linear(f"{i}_up", f"{i}_"),
                linear(f"{i}_down"),
                (part[f"{i}_gain"], part[f"{i}_shift"]),
                (part[f"{i}_last_gain"], part[f"{i}_last_shift"]),
            )
            for i in range(note["layers"])
        ]

    @cached_property
    def hash(self) -> str:
        """Hash of the fields and of what else changes states, in hexadecimal."""
        usual = {
            "small": 1e-5 if self.note.get("relative") else 1e-12,
            "lower": True,
            "strip": True,
        }
        settings = str(self.note.get("lowest", ""))
        for key, value in usual.items():  # without them, as in the hashes that models have
            if self.note.get(key, value) != value:
                settings += f" {key} {self.note[key]}"
        digest = blake2b(settings.encode(), digest_size=16)
        for name, value in self.fields.items():
            if isinstance(value, list):  # vocabularies may have parts of characters
                data = "\0".join(value).encode("utf-8", "surrogatepass")
            else:
                data = value.tobytes()
            digest.update(name.encode() + b"\0" + data)
        return digest.hexdigest()

    def states(self, sentences: Sequence[Sequence[str]]) -> list[NDArray[np.float16]]:
        """Return the states of words, float16[n_words, dimension] a sentence; 0 without pieces."""
        pieces = [[self.pieces.of_word(word) for word in words] for words in sentences]
        return word_states(pieces, len(self._positions) - 2, self.dimension, self._read_all)

    def states_of_pieces(self, texts: Sequence[Sequence[int]]) -> list[Float32s]:
        """Return the states of pieces, float32[n, dimension] a text, given their ids.

        Windows are shorter than the encoder could read, as attention takes time by their square.
        """
        room = min(_WINDOW, len(self._positions) - 2)
        margin, step = room // 8, room - 2 * (room // 8)
        starts = [range(0, len(ids), step) for ids in texts]
        windows = [
            ids[max(0, at - margin) : at + step + margin]
            for ids, places in zip(texts, starts)
            for at in places
        ]
        read, none = iter(self._read_all(windows)), np.empty((0, self.dimension), np.float32)
        return [
            np.concatenate([none, *(next(read)[min(at, margin) :][:step] for at in places)])
            for places in starts
        ]

    def _read_all(self, windows: Sequence[Sequence[int]]) -> list[Float32s]:
        """Return the states of the pieces of windows, float32[pieces, dimension] each."""
        batches = grouped(windows, lambda ids: len(ids) + 2, _ROWS)
        return [states for batch in batches for states in self._read(batch)]

    def _read(self, windows: Sequence[Sequence[int]]) -> list[Float32s]:
        """Return the states of the pieces of windows, float32[pieces, dimension] each."""
        start, end = self.pieces.start, self.pieces.end
        ids = np.array([i for row in windows for i in (start, *row, end)], np.int32)
        size = np.array([len(row) + 2 for row in windows])
        first = np.cumsum(size) - size
        places = (np.arange(len(ids)) - np.repeat(first, size)).astype(np.int32)
        x = np.empty((len(ids), self.dimension), np.float32)
        _embed(ids, places, self._vectors, self._units, self._positions, x)
        scratch = np.empty(len(x), np.float32)
        beyond = size.max() + SPARE
        far = np.arange(1 - beyond, beyond).clip(-FARTHEST, FARTHEST) + FARTHEST
        biases = np.ascontiguousarray(self._relative[:, far])

        def normalise(x: Float32s, gain: Float32s, shift: Float32s) -> None:
            norm(x, gain, shift, x, scratch, self._small)

        normalise(x, *self._norm)
        total = np.zeros_like(x)
        for i, layer in enumerate(self._layers):
            mixed = np.empty_like(x)
            attend(layer.qkv(x), first, size, self._heads, biases, mixed)
            x = x + layer.out(mixed)
            normalise(x, *layer.norm)
            inner = layer.up(x)
            _gelu(inner)
            x = x + layer.down(inner)
            normalise(x, *layer.last_norm)
            if i + 1 >= self._lowest:
                total += x
        total *= np.float32(1.0 / (len(self._layers) - self._lowest + 1))
        return [total[at + 1 : at + n - 1] for at, n in zip(first.tolist(), size.tolist())]

    def with_frequent(self, words: Iterable[str], count: int) -> Bert:
        """Return the encoder with its `count` most frequent pieces in some words.

        Pieces without which words would lose characters stay in any case. Of pieces that the words
        do not have, the first ones count as more frequent, as they are in SentencePiece's order.
        """
        counts = Counter(words)
        seen: Counter[int] = Counter()
        for word, times in counts.items():
            for i in self.pieces.of_word(word):
                seen[i] += times
        necessary = self.pieces.necessary(counts)
        frequent = sorted(range(len(self.pieces.pieces)), key=lambda i: (-seen[i], i))
        kept = sorted(dict.fromkeys([*necessary, *frequent][: max(count, len(necessary))]))
        fields = dict(self.fields)
        for name in ("encoder_scores", "encoder_vectors", "encoder_units"):
            if name in fields:
                fields[name] = fields[name][kept]
        fields["encoder_pieces"] = [self.pieces.pieces[i] for i in kept]
        return Bert(self.note, fields)


def input_scales(gain: Float32s, shift: Float32s) -> Float32s:
    """Return powers of two by which columns are larger than others after a normalisation."""
    sizes = np.abs(gain) + np.abs(shift)
    median = np.maximum(np.median(sizes), np.float32(2.0**-24))
    fractions, exponents = np.frexp(sizes / median)
    nearest = exponents - (fractions < math.sqrt(0.5))
    return np.ldexp(np.float32(1.0), np.maximum(nearest, 0)).astype(np.float32)


def check_sizes(note: Mapping[str, Any]) -> int:
    """Check the numbers of a note, and return the lowest layer of the mean.

    Raises `EmbeddingsError`, or `ForeignEncoder` if there are no kernels.
    """
    sizes = {name: note.get(name) for name in _MOST}
    for name, size in sizes.items():
        if type(size) is not int or not 1 <= size <= _MOST[name]:
            raise EmbeddingsError(f"{name} is {size!r:.20}, expected 1 to {_MOST[name]}")
    small = note.get("small")
    if type(small) is not float or not 0.0 < small < 1.0:
        raise EmbeddingsError(f"small is {small!r:.20}, expected a number between 0 and 1")
    lowest = note.get("lowest", max(1, note["layers"] - LAYERS + 1))
    if type(lowest) is not int or not 1 <= lowest <= note["layers"]:
        raise EmbeddingsError(f"lowest is {lowest!r:.20}, expected 1 to {note['layers']}")
    width, heads = note["width"], note["heads"]
    if width % LANES or note["inner"] % 4 or width % (4 * heads) or note["positions"] < 6:
        raise ForeignEncoder(f"sizes {sizes} have no kernels")
    return lowest


def shapes_of(
    note: Mapping[str, Any],
) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]:
    """Return the shapes of the matrices, and of all other numbers, in the order of files."""
    width, inner = note["width"], note["inner"]
    matrices: dict[str, tuple[int, ...]] = {}
    numbers: dict[str, tuple[int, ...]] = {
        "positions": (note["positions"], width),
        "gain": (width,),
        "shift": (width,),
    }
    if note.get("relative"):
        numbers["relative"] = (note["heads"], 2 * FARTHEST + 1)
    for i in range(note["layers"]):
        layer = {
            f"{i}_qkv": (width, 3 * width),
            f"{i}_out": (width, width),
            f"{i}_up": (width, inner),
            f"{i}_down": (inner, width),
        }
        matrices |= layer
        for name, shape in layer.items():
            numbers |= {f"{name}_units": shape[1:], f"{name}_bias": shape[1:]}
        norms = ("gain", "shift", "last_gain", "last_shift")
        numbers |= {f"{i}_{name}": (width,) for name in norms}
    return matrices, numbers
