"""`Encoder`: vectors of words that know their context, in 32-bit floats.

Words are sums of vectors of their attributes, and of what a matrix makes of a vector from outside
(`bbparse.outside`), where there is one. Convolutions over the words around (five words, then
three at a time, each layer added to the one below and normalised) make of them vectors that know
their context: additions and multiplications in a fixed order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ModelError
from bbparse.network.kernels import LANES, REACH, find_rows
from bbparse.outside import Outside
from bbparse.storage.archive import INTS, TEXT, Rule

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


class Encoder:
    """What networks over words have in common: labels to tell apart, sizes, and weights.

    ``keys`` are hashes of the attributes' values that have vectors, sorted; their ``vectors``, in
    steps of `QUANTUM`, are int16[V, word]. `ModelError` if parts do not fit each other. Nothing
    changes while it is asked, so threads may share it.
    """

    NAME: ClassVar[str]  #: What the names of its arrays in a file begin with.
    COLUMNS: ClassVar[NDArray[np.int64]]  #: The attributes that words are the sum of.
    #: Its sizes after `word` (the length of the vectors of words by themselves), `width` (in their
    #: context) and `layers` (convolutions after the first); then may come that of vectors from
    #: outside.
    SIZES: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        labels: Sequence[str],
        sizes: tuple[int, ...],
        keys: NDArray[np.uint64],
        vectors: NDArray[np.int16],
        parameters: Mapping[str, Floats],
    ) -> None:
        self.labels = tuple(labels)
        self.sizes = self._checked(sizes)
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
        for name, shape in self.shapes(self.sizes, len(self.labels)).items():
            array = parameters[name]
            if array.shape != shape or array.dtype != np.float32:
                raise ModelError(
                    f"{name} has shape {array.shape} and dtype {array.dtype},"
                    f" expected {shape} and float32"
                )
            if not np.isfinite(array).all():
                raise ModelError(f"{name} has elements that are no finite numbers")
            self.parameters[name] = np.ascontiguousarray(array)
        p = self.parameters
        outside_w = p.get("outside_w", np.zeros((0, sizes[0]), np.float32))
        #: Length of the vectors from outside that it takes; 0 for none.
        self.outside_width = len(outside_w)
        of_words = ("first_w", "first_b", "gains", "shifts", "deep_w", "deep_b")
        #: What `bbparse.network.kernels.context` reads.
        self.table = (
            (self.COLUMNS, self.keys, buckets(self.keys), 64 - _BUCKET_BITS), self.vectors, QUANTUM,
            tuple(p[name] for name in of_words), outside_w,
        )  # fmt: skip
        #: The others, in their order.
        self.ends = tuple(p[name] for name in p if name not in ("outside_w", *of_words))

    @classmethod
    def shapes(cls, sizes: Sequence[int], n_labels: int) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights, in the order in which files have them."""
        (word, width, layers), outside = sizes[:3], sizes[3 + len(cls.SIZES) :]
        return {
            **({"outside_w": (outside[0], word)} if outside else {}),
            "first_w": ((2 * REACH + 1) * word, width), "first_b": (width,),
            "gains": (layers + 1, width), "shifts": (layers + 1, width),
            "deep_w": (layers, 3 * width, width), "deep_b": (layers, width),
        }  # fmt: skip

    @classmethod
    def _checked(cls, sizes: Sequence[Any]) -> tuple[int, ...]:
        found = tuple(int(size) for size in sizes)
        if (
            len(found) - 3 - len(cls.SIZES) not in (0, 1)
            or any(size % 4 or not 4 <= size <= 4096 for i, size in enumerate(found) if i != 2)
            or found[1] % LANES
            or not 0 <= found[2] <= 16
        ):
            raise ModelError(
                f"sizes of the network are {found}, expected word, width, layers (0 to 16),"
                f" {', '.join(cls.SIZES)}: multiples of 4 up to 4096, and of {LANES} the width"
            )
        return found

    def taken(self, outside: Outside | None, whose: str) -> Outside | None:
        """Some vectors, None if it takes none; `ModelError` if it takes others."""
        if self.outside_width not in (0, 0 if outside is None else outside.width):
            raise ModelError(
                f"{whose} takes vectors of {self.outside_width} numbers from outside, and they are"
                " not there"
            )
        return outside if self.outside_width else None

    def given(self, n: int, outside: Floats | None) -> Floats:
        """Vectors from outside of the last of n words (not of a root), as `context` takes them;
        `ModelError` if the network takes others, or none."""
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

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What `from_arrays` reads: the arrays of `encoder_rules`."""
        return {
            f"{self.NAME}_names": np.array(self.labels),
            f"{self.NAME}_sizes": np.array(self.sizes, np.int32),
            f"{self.NAME}_keys": self.keys,
            f"{self.NAME}_vectors": self.vectors,
            f"{self.NAME}_weights": np.concatenate(
                [p.reshape(-1) for p in self.parameters.values()]
            ),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], where: str = "network") -> Self:
        """A network from the arrays of `to_arrays`; `ModelError`, with the file's name ``where``,
        if one is missing or does not fit the others."""
        for field in encoder_rules(cls.NAME):
            if field not in arrays:
                raise ModelError(f"{where}: array {field} is missing")
        names, sizes, keys, vectors, flat = (arrays[field] for field in encoder_rules(cls.NAME))
        if keys.dtype != np.uint64:
            raise ModelError(f"{where}: {cls.NAME}_keys has dtype {keys.dtype}, expected uint64")
        try:
            labels = names.tolist()
            shapes = cls.shapes(cls._checked(sizes.tolist()), len(labels))
            total = total_size(shapes)
            if flat.dtype != np.float32 or len(flat) != total:
                raise ModelError(
                    f"{cls.NAME}_weights has {len(flat)} elements of dtype {flat.dtype},"
                    f" expected {total} of float32"
                )
            return cls(labels, tuple(sizes.tolist()), keys, vectors, split(flat, shapes))
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from None


def total_size(shapes: Mapping[str, tuple[int, ...]]) -> int:
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
    return find_rows(values, columns, keys, buckets(keys), 64 - _BUCKET_BITS)


def buckets(keys: NDArray[np.uint64]) -> Ints:
    """Where keys with each value of the upper bits begin, int32[buckets + 1]."""
    upper = (keys >> np.uint64(64 - _BUCKET_BITS)).astype(np.int64)
    counts = np.bincount(upper, minlength=1 << _BUCKET_BITS)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
