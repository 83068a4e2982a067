"""`Encoder`: vectors of words that know their context, in 32-bit floats.

Words are sums of vectors of their attributes, and of what a matrix makes of a vector from outside
(`bbparse.outside`), where there is one. Convolutions over the words around (five words, then
three at a time, each layer added to the one below and normalised) make of them vectors that know
their context: additions and multiplications in a fixed order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ModelError
from bbparse.network.kernels import LANES, REACH, find_rows
from bbparse.storage.archive import INTS, TEXT, Rule
from bbparse.treebank.encode import PAD

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]

#: What a step of a word's vector is worth; 16 bits reach from -16 to 16.
QUANTUM = 2.0**-11

_BUCKET_BITS = 16
_NOTHING = np.zeros(0, np.float32)


def encoder_rules(name: str) -> dict[str, Rule]:
    """Arrays of a network in a file, as `bbparse.storage.archive.read_archive` checks them."""
    return {
        f"{name}_names": (TEXT, 1, None),
        f"{name}_sizes": (INTS, 1, None),
        f"{name}_keys": ("u", 1, None),
        f"{name}_vectors": ("i", 2, f"{name}_keys"),
        f"{name}_weights": ("f", 1, None),
    }


def encoder_shapes(
    word: int, width: int, layers: int, outside: int = 0
) -> dict[str, tuple[int, ...]]:
    """Shapes of the weights, in the order in which files have them.

    Parameters
    ----------
    word, width : int
        Length of the vectors of words by themselves and in their context.
    layers : int
        Convolutions after the first.
    outside : int
        Length of the vectors from outside, if there are any.
    """
    given = {"outside_w": (outside, word)} if outside else {}
    return {
        **given,
        "first_w": ((2 * REACH + 1) * word, width), "first_b": (width,),
        "gains": (layers + 1, width), "shifts": (layers + 1, width),
        "deep_w": (layers, 3 * width, width), "deep_b": (layers, width),
    }  # fmt: skip


class Encoder:
    """What networks over words have in common. Threads may share it.

    Parameters
    ----------
    columns : int64[A]
        Which attributes words are the sum of.
    sizes : tuple of int
        Word, width and layers of `encoder_shapes` first; see `checked_sizes`.
    keys : uint64[V]
        Hashes of the attributes' values that have vectors, sorted.
    vectors : int16[V, word]
        In steps of `QUANTUM`.
    shapes : mapping
        Of all parameters, those of `encoder_shapes` among them.
    parameters : mapping of float32 arrays

    Attributes
    ----------
    table : tuple
        What `bbparse.network.kernels.context` reads.
    outside_width : int
        Length of the vectors from outside that it takes; 0 for none.

    Raises
    ------
    ModelError
        If they do not fit each other.
    """

    def __init__(
        self,
        columns: NDArray[np.int64],
        sizes: tuple[int, ...],
        keys: NDArray[np.uint64],
        vectors: NDArray[np.int16],
        shapes: Mapping[str, tuple[int, ...]],
        parameters: Mapping[str, Floats],
    ) -> None:
        self.sizes = sizes
        if vectors.shape != (len(keys), sizes[0]) or vectors.dtype != np.int16:
            raise ModelError(
                f"vectors have shape {vectors.shape} and dtype {vectors.dtype},"
                f" expected {(len(keys), sizes[0])} and int16"
            )
        if len(keys) and not (keys[1:] > keys[:-1]).all():
            raise ModelError("keys are not sorted, or not each there once")
        self.keys = np.ascontiguousarray(keys, np.uint64)
        self.vectors = np.ascontiguousarray(vectors)
        self.parameters: dict[str, Floats] = {}
        for name, shape in shapes.items():
            array = parameters[name]
            if array.shape != shape or array.dtype != np.float32:
                raise ModelError(
                    f"{name} has shape {array.shape} and dtype {array.dtype},"
                    f" expected {shape} and float32"
                )
            if not np.isfinite(array).all():
                raise ModelError(f"{name} has elements that are no finite numbers")
            self.parameters[name] = np.ascontiguousarray(array)
        outside_w = self.parameters.get("outside_w", np.zeros((0, sizes[0]), np.float32))
        self.outside_width = len(outside_w)
        self.table = (
            (columns, self.keys, buckets(self.keys), 64 - _BUCKET_BITS), self.vectors, QUANTUM,
            tuple(self.parameters[name] for name in encoder_shapes(*sizes[:3])), outside_w,
        )  # fmt: skip

    def given(self, n: int, outside: Floats | None) -> Floats:
        """Vectors from outside of the last of n words, as `context` takes them.

        Those before them (a root) have zeros.

        Raises
        ------
        ModelError
            If there are none, and the network takes some, or they are not of its length.
        """
        width = 0 if outside is None else outside.shape[1]
        if width != self.outside_width:
            raise ModelError(
                f"vectors from outside have {width} numbers, expected {self.outside_width}"
            )
        if outside is None:
            return _NOTHING
        found = np.zeros((n + -n % 4, self.outside_width), np.float32)
        found[n - len(outside) : n] = outside
        return found.reshape(-1)

    def encoder_arrays(self, name: str, names: list[str]) -> dict[str, NDArray[Any]]:
        """The arrays of `encoder_rules`; ``names`` are those of what is told apart."""
        return {
            f"{name}_names": np.array(names),
            f"{name}_sizes": np.array(self.sizes, np.int32),
            f"{name}_keys": self.keys,
            f"{name}_vectors": self.vectors,
            f"{name}_weights": np.concatenate([p.reshape(-1) for p in self.parameters.values()]),
        }


def checked_arrays(name: str, arrays: Mapping[str, NDArray[Any]], where: str) -> None:
    """See whether the arrays of `encoder_rules` are there.

    Raises
    ------
    ModelError
        If one is missing, or there are keys of another type; ``where`` names the file.
    """
    for field in encoder_rules(name):
        if field not in arrays:
            raise ModelError(f"{where}: array {field} is missing")
    keys = arrays[f"{name}_keys"]
    if keys.dtype != np.uint64:
        raise ModelError(f"{where}: {name}_keys has dtype {keys.dtype}, expected uint64")


def checked_sizes(sizes: Any, names: str) -> tuple[int, ...]:
    """Sizes of a network, if there can be one of them; ``names`` says what they are.

    After them may be the length of vectors from outside.

    Raises
    ------
    ModelError
        If there are more or fewer, or one is out of range, or not a multiple of what is done at
        once.
    """
    found = tuple(int(size) for size in sizes)
    if (
        len(found) - 3 - len(names.split(",")) not in (0, 1)
        or any(size % 4 or not 4 <= size <= 4096 for i, size in enumerate(found) if i != 2)
        or found[1] % LANES
        or not 0 <= found[2] <= 16
    ):
        raise ModelError(
            f"sizes of the network are {found}, expected word, width, layers (0 to 16), {names}:"
            f" multiples of 4 up to 4096, and of {LANES} the width"
        )
    return found


def checked_weights(
    name: str, flat: Floats, shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, Floats]:
    """The weights that are in an array one after the other.

    Raises
    ------
    ModelError
        If there are more or fewer.
    """
    total = total_size(shapes)
    if flat.dtype != np.float32 or len(flat) != total:
        raise ModelError(
            f"{name}_weights has {len(flat)} elements of dtype {flat.dtype},"
            f" expected {total} of float32"
        )
    return split(flat, shapes)


def total_size(shapes: Mapping[str, tuple[int, ...]]) -> int:
    """How many weights there are."""
    return sum(int(np.prod(shape)) for shape in shapes.values())


def split(flat: Floats, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Floats]:
    """Views of one array, one after the other."""
    parts = {}
    at = 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        parts[name] = flat[at : at + size].reshape(shape)
        at += size
    return parts


def known_rows(
    values: NDArray[np.uint64], keys: NDArray[np.uint64], columns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Where the attributes of words are among sorted keys, -1 for those that are not."""
    return find_rows(values, PAD, columns, keys, buckets(keys), 64 - _BUCKET_BITS)


def buckets(keys: NDArray[np.uint64]) -> Ints:
    """Where keys with each value of the upper bits begin, int32[buckets + 1]."""
    upper = (keys >> np.uint64(64 - _BUCKET_BITS)).astype(np.int64)
    counts = np.bincount(upper, minlength=1 << _BUCKET_BITS)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
