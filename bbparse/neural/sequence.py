"""`SequenceNetwork`: word vectors in their sentence.

A word is the sum of the vectors of its attributes and, with pretrained embeddings
(`bbparse.embeddings`), of a linear function of its own. The first layer is a convolution over five
words. Each further layer is added to its input, and the sum is normalised: recurrences over the
whole sentence in both directions, and convolutions over three words. Subclasses add the output for
their task (arcs, tags, tokens).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from bbparse.neural import layers, packing
from bbparse.neural.dense import product
from bbparse.neural.eight_bits import STEPS, ByteMatrix
from bbparse.neural.embeddings import Embeddings
from bbparse.neural.layers import Backward, Weights
from bbparse.neural.packing import Shapes
from bbparse.neural.ragged import Ragged
from bbparse.neural.tiles import LANES
from bbparse.runtime.archive import Fields, Rule, reading_part
from bbparse.runtime.arrays import Float32s, Hashes, Longs
from bbparse.runtime.errors import ModelError

F = TypeVar("F", bound=np.floating[Any])

#: Step of the vectors in a file: 8 bits reach from -4 to 4.
QUANTUM = 2.0**-5
#: Words that the first convolution sees.
FIRST = 5
#: Kinds of layers after the first, by the letters of the setting `layers`.
KINDS = {"r": "recurrence", "c": "convolution"}
MAX_LAYERS = 8
#: Most networks of an ensemble.
MAX_MEMBERS = 16

_KEPT = (1 << 25) - (1 << 13)  # glibc takes blocks of up to 32 MiB, with their header, into account


def keep_freed_memory() -> None:
    """Let the C library keep some tens of MB of freed memory for the next batch.

    Otherwise the arrays of every batch, of a MB each, come from the operating system anew, page by
    page, which takes a quarter of the time of parsing. glibc returns memory only beyond twice the
    largest block of up to 32 MiB that was ever freed (mallopt(3), M_MMAP_THRESHOLD); nothing is
    written to this one, so it costs nothing. Other C libraries are not affected.
    """
    np.empty(_KEPT, np.uint8)


class Shared(NamedTuple):
    """Pretrained vectors that elements share: rows, and the row of each element.

    The last row is 0, for elements without a vector, which have row -1.
    """

    rows: Float32s
    row_of: Longs


#: Pretrained vectors of elements: a row for each, or rows that some share.
Vectors = Float32s | Shared


def joined_vectors(parts: Sequence[Vectors]) -> Vectors:
    """Join the pretrained vectors of the sequences of a batch."""
    shared = [part for part in parts if isinstance(part, Shared)]
    if not shared:
        return np.concatenate([part for part in parts if not isinstance(part, Shared)])
    first = accumulate((len(part.rows) for part in shared), initial=0)
    row_of = [np.where(part.row_of < 0, -1, part.row_of + at) for part, at in zip(shared, first)]
    return Shared(np.concatenate([part.rows for part in shared]), np.concatenate(row_of))


class Dropout:
    """Dropout masks from random numbers that are drawn once; each mask starts at another offset."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self._noise = random.random(1 << 22, np.float32)

    def mask(self, shape: tuple[int, ...], rate: float) -> Float32s:
        """Return the factors of dropout: 0, or 1 / (1 - rate) to preserve the mean."""
        return self.kept(shape, rate).astype(np.float32) / np.float32(1.0 - rate)

    def kept(self, shape: tuple[int, ...], rate: float) -> NDArray[np.bool_]:
        """Return an array that is True with probability ``1 - rate``."""
        size = int(np.prod(shape))
        if size > len(self._noise):
            noise = self.random.random(size, np.float32)
        else:
            start = int(self.random.integers(len(self._noise) - size + 1))
            noise = self._noise[start : start + size]
        return (noise >= np.float32(rate)).reshape(shape)

    def hide(
        self,
        rows: Longs,
        vectors: Vectors | None,
        attribute_rate: float,
        word_rate: float,
        n_lexical: int,
    ) -> None:
        """Hide attributes and words in place, so that a network learns to do without them.

        Words lose their first ``n_lexical`` attributes and their vectors together, as if unknown.
        """
        rows[~self.kept(rows.shape, attribute_rate)] = -1
        unknown = ~self.kept((len(rows),), word_rate)
        rows[unknown, :n_lexical] = -1
        if isinstance(vectors, Shared):
            vectors.row_of[unknown] = -1
        elif vectors is not None:
            vectors[unknown] = 0.0


def dropout(x: Float32s, noise: Dropout | None, rate: float) -> tuple[Float32s, Backward]:
    """Set a fraction of the numbers to 0, and scale the others; without `noise`, change nothing."""
    if noise is None:
        return x, lambda d_out: d_out
    factors = noise.mask(x.shape, rate)
    return x * factors, lambda d_out: d_out * factors


class SequenceNetwork:
    """Vectors of attributes and weights of layers.

    ``keys`` (uint64[V], sorted) are the hashes of the attribute values that have vectors, and
    ``vectors`` (int8[V, word]) those vectors, in steps of `QUANTUM`. ``sizes`` maps the names of
    `SIZES` to numbers; ``embeddings`` is the length of pretrained vectors, 0 for none. ``kinds``
    has a letter of `KINDS` for each layer after the first. Using a network changes nothing in it,
    so threads may share it.

    A network may be an ensemble (`with_others`): its scores are the means over its members.
    """

    NAME: ClassVar[str]  #: Prefix of the names of its arrays in a file.
    #: Names of its sizes; the first two are the lengths of word vectors, alone and in context.
    SIZES: ClassVar[tuple[str, ...]] = ("word", "width", "embeddings")
    FORMER_SIZES: ClassVar[Mapping[str, str]] = {}  #: Names of sizes in older files.

    def __init__(
        self,
        labels: Sequence[str],
        kinds: str,
        sizes: Mapping[str, int],
        keys: Hashes,
        vectors: NDArray[np.int8],
        parameters: Mapping[str, Float32s],
    ) -> None:
        keep_freed_memory()
        self.labels = tuple(labels)
        self.kinds = kinds
        self.sizes = {name: int(sizes[name]) for name in self.SIZES}
        _check_sizes(kinds, self.sizes)
        if len(keys) and not (keys[1:] > keys[:-1]).all():
            raise ModelError("keys are not strictly ascending")
        self.keys = np.ascontiguousarray(keys, np.uint64)
        self.vectors = np.ascontiguousarray(vectors)
        if self.vectors.dtype != np.int8:
            raise ModelError(f"vectors have dtype {self.vectors.dtype}, expected int8")
        # Files hold at most 16 bits of each weight, which is all that a network needs.
        rounded = {name: packing.in_16_bits(array) for name, array in parameters.items()}
        for name, array in rounded.items():
            if not np.isfinite(array).all():
                raise ModelError(f"{name} has elements that are not finite")
        self.weights = Weights(rounded, {}, byte_matrices(rounded, ByteMatrix.of))
        self._others: tuple[Self, ...] = ()

    @classmethod
    def rules(cls) -> dict[str, Rule]:
        """Return the fields in a file, with the rules by which `read_archive` checks them."""
        keys = f"{cls.NAME}_keys"
        return {
            cls.NAME: dict,
            keys: ("u", 1, None),
            f"{cls.NAME}_vectors": ("i", 2, keys),
            f"{cls.NAME}_weights": ("i", 1, None),
        }

    @property
    def members(self) -> tuple[Self, ...]:
        """Members of the ensemble, itself first."""
        # Not an attribute: a cycle would keep the arrays until the garbage collector runs.
        return (self, *self._others)

    @classmethod
    def shapes(cls, kinds: str, sizes: Mapping[str, int], n_labels: int) -> Shapes:
        """Return the shapes of the weights, in the order of files."""
        word, width = sizes["word"], sizes["width"]
        shapes: Shapes = {}
        if sizes["embeddings"]:
            shapes["embeddings_w"] = (sizes["embeddings"], word)
        shapes |= {"c0_w": (FIRST * word, width), "c0_b": (width,)}
        for i, kind in enumerate(kinds, start=1):
            if kind == "c":
                shapes |= {f"c{i}_w": (3 * width, width), f"c{i}_b": (width,)}
            else:
                shapes |= {f"r{i}_in_w": (width, 2 * width), f"r{i}_in_b": (2 * width,)}
        for i in range(len(kinds) + 1):
            shapes |= {f"n{i}_gain": (width,), f"n{i}_shift": (width,)}
        return shapes

    @classmethod
    def start(cls, shapes: Shapes, p: Mapping[str, Float32s], random: np.random.Generator) -> None:
        """Fill weights of zeros with their initial values."""
        for name, shape in shapes.items():
            if name.endswith("_w"):
                p[name][:] = random.standard_normal(shape) / np.sqrt(shape[0])
            elif name.endswith("_gain"):
                p[name][:] = 1.0
            elif name.endswith("_in_b"):  # at first, gates keep more than they take
                p[name].reshape(4, -1)[[0, 2]] = -1.0
            elif not name.endswith(("_b", "_shift")):
                p[name][:] = 0.1 * random.standard_normal(shape)

    def used_embeddings(self, embeddings: Embeddings | None, whose: str) -> Embeddings | None:
        """Return `embeddings` if this network uses pretrained vectors, else None."""
        width = self.sizes["embeddings"]
        if width not in (0, 0 if embeddings is None else embeddings.width):
            raise ModelError(
                f"{whose} needs pretrained vectors of {width} dimensions, which are missing"
            )
        return embeddings if width else None

    def with_others(self, others: Sequence[Self]) -> Self:
        """Return the ensemble of this network and others that are built alike."""
        for other in others:
            same = (other.labels, other.kinds, other.sizes) == (self.labels, self.kinds, self.sizes)
            if not same or not np.array_equal(other.keys, self.keys):
                raise ModelError("networks to average differ in labels, layers, sizes or keys")
        network = copy(self)
        network._others = tuple(others)
        return network

    def to_fields(self) -> Fields:
        """Return the fields of `rules`, with vectors and weights of all members joined."""
        shapes = self.shapes(self.kinds, self.sizes, len(self.labels))
        weights = [{name: one.weights.values[name] for name in shapes} for one in self.members]
        return {
            self.NAME: {"labels": list(self.labels), "layers": self.kinds, "sizes": self.sizes},
            f"{self.NAME}_keys": self.keys,
            f"{self.NAME}_vectors": np.concatenate([one.vectors for one in self.members], axis=1),
            f"{self.NAME}_weights": packing.packed(weights),
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any], where: str = "network") -> Self:
        """Build a network from the fields of `to_fields`; ``where`` names the file in errors."""
        expected = {"labels": list[str], "layers": str, "sizes": dict[str, int]}
        with reading_part(cls.NAME, fields, where, expected) as given:
            arrays = [given[f"{cls.NAME}_{name}"] for name in ("keys", "vectors", "weights")]
            first, *others = cls._members(given[cls.NAME], *arrays)
            return first.with_others(others)

    @classmethod
    def _members(
        cls, entry: dict[str, Any], keys: Hashes, vectors: NDArray[Any], weights: NDArray[Any]
    ) -> list[Self]:
        """Build the members of an ensemble from the fields of a file; raises `ModelError`."""
        labels, kinds = entry["labels"], entry["layers"]
        given, former = entry["sizes"], cls.FORMER_SIZES
        names = {name: name if name in given else former.get(name, name) for name in cls.SIZES}
        missing = [name for name in names.values() if name not in given]
        if missing:
            raise ModelError(f"{cls.NAME}: {missing[0]!r} is missing")
        sizes = {name: given[names[name]] for name in cls.SIZES}
        if keys.dtype != np.uint64:
            raise ModelError(f"{cls.NAME}_keys has dtype {keys.dtype}, expected uint64")
        _check_sizes(kinds, sizes)
        shapes = cls.shapes(kinds, sizes, len(labels))
        count = vectors.shape[1] // sizes["word"]
        size = packing.packed_size(shapes)
        if not 1 <= count <= MAX_MEMBERS or vectors.shape[1] % sizes["word"]:
            raise ModelError(
                f"vectors have shape {vectors.shape}, expected 1 to {MAX_MEMBERS} times"
                f" {sizes['word']} columns"
            )
        if weights.dtype != np.int8 or len(weights) != count * size:
            raise ModelError(
                f"{cls.NAME}_weights has {len(weights)} elements of dtype {weights.dtype}, expected"
                f" {count * size} of int8"
            )
        return [
            cls(labels, kinds, sizes, keys, part, packing.unpacked(flat, shapes))
            for part, flat in zip(np.split(vectors, count, axis=1), np.split(weights, count))
        ]


def _check_sizes(kinds: str, sizes: Mapping[str, int]) -> None:
    """Check the letters of layers, and the lengths of vectors."""
    if not set(kinds) <= set(KINDS) or len(kinds) > MAX_LAYERS:
        raise ModelError(f"layers are {kinds!r}, expected at most {MAX_LAYERS} of r, c")
    for name, size in sizes.items():
        least = 0 if name == "embeddings" else LANES
        if (size % LANES and name != "embeddings") or not least <= size <= 4096:
            raise ModelError(f"{name} is {size}, expected a multiple of {LANES} up to 4096")


def in_sentence(
    w: Weights,
    kinds: str,
    batch: Ragged,
    words: Float32s,
    noise: Dropout | None = None,
    rate: float = 0.0,
) -> tuple[Float32s, Backward]:
    """Return the vectors of words in context, float32[R, width], from their sums ``words``."""
    words, back_words = dropout(words, noise, rate)
    new, back_new = layers.convolution(w, "c0", words, batch)
    state, back_norm = layers.normalisation(w, "n0", new)
    steps: list[tuple[Backward, Backward, Backward]] = []
    for i, kind in enumerate(kinds, start=1):
        layer = layers.recurrence if kind == "r" else layers.convolution
        new, back_layer = layer(w, f"{kind}{i}", state, batch)
        new, back_dropout = dropout(new, noise, rate)
        state, back = layers.normalisation(w, f"n{i}", state + new)
        steps.append((back, back_dropout, back_layer))

    def backward(d_state: Float32s) -> Float32s:
        for back, back_dropout, back_layer in reversed(steps):
            d_state = back(d_state)
            d_state = d_state + back_layer(back_dropout(d_state))
        return back_words(back_new(back_norm(d_state)))

    return state, backward


def sums_of_words(
    w: Weights, rows: Longs, vectors: NDArray[Any], embeddings: Vectors | None
) -> Float32s:
    """Sum the vectors of words, int8 (in steps of `QUANTUM`) or float32, and pretrained ones."""
    words = np.empty((len(rows), vectors.shape[1]), np.float32)
    unit = np.float32(QUANTUM if vectors.dtype == np.int8 else 1.0)
    layers.sum_rows(rows, vectors, unit, words)
    if isinstance(embeddings, Shared):
        words += product(embeddings.rows, w.values["embeddings_w"])[embeddings.row_of]
    elif embeddings is not None:
        words += product(embeddings, w.values["embeddings_w"])
    return words


def byte_matrices(
    weights: Mapping[str, Float32s], laid_out: Callable[[Float32s, int], ByteMatrix | None]
) -> dict[str, ByteMatrix]:
    """Lay out those matrices for bytes that have inputs of a known size."""
    names = {name for name in weights if name.endswith("_w")}
    if "embeddings_w" in names:
        names -= {"embeddings_w", "c0_w"}  # pretrained vectors may be of any size
    steps = {"c0_w": round(1 / QUANTUM)}  # its inputs are sums of vectors
    matrices = {name: laid_out(weights[name], steps.get(name, STEPS)) for name in names}
    return {name: matrix for name, matrix in matrices.items() if matrix is not None}


def mean_of(arrays: Sequence[NDArray[F]]) -> NDArray[F]:
    """Return the mean of arrays of the same shape, summed in order; a single array as it is."""
    total, *others = arrays
    for array in others:
        total = total + array
    return total / total.dtype.type(len(arrays)) if others else total
