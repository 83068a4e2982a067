"""`Network`: the guide, a small neural network that sees one arc at a time.

Words are sums of vectors of their attributes. Convolutions over the words around (five words, then
three at a time, each layer added to the one below and normalised) make of them vectors that know
their context. From those of head and modifier come the score of an arc,

    s(h, m) = v · r + a(h) · b(m),    r = max(0, c(h) + d(m) + e),

where e is the sum of what is known of the arc besides (its distance, how many verbs, nouns,
conjunctions and marks of punctuation lie between, each by direction), and the scores of its labels,
W r. Heads are chosen among the candidates of a word, p(h | m) ∝ exp s(h, m), labels for each arc by
itself. There are no vectors but those learned from the training sentences.

Such scores of pairs of words are those of Dozat & Manning (2017), the sums of both ends those of
Kiperwasser & Goldberg (2016); convolutions in place of their recurrent networks need no more than
additions and multiplications in a fixed order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ModelError
from bbparse.scoring.labeller import checked_labels
from bbparse.scoring.marks import marks_of
from bbparse.scoring.network_kernels import (
    ARC_VALUES,
    LANES,
    REACH,
    find_rows,
    network_scores,
)
from bbparse.storage.archive import INTS, TEXT, Rule
from bbparse.treebank.encode import ATTRIBUTES, PAD, attribute_hash

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]

#: The attributes whose vectors a word is the sum of.
WORD_ATTRIBUTES = (
    "lower", "lemma", "upos", "xpos", "feats", "suffix2", "suffix3", "prefix2", "prefix3", "shape",
    "lexpos",
)  # fmt: skip
WORD_COLUMNS = np.array([ATTRIBUTES.index(name) for name in WORD_ATTRIBUTES], np.int64)
TAG = ATTRIBUTES.index("upos")

# Words of these kinds are counted between head and modifier.
_KINDS = (("VERB", "AUX"), ("PUNCT",), ("CCONJ", "SCONJ", "CONJ"), ("NOUN", "PROPN", "PRON"))
#: Hashes of their tags, uint64[kinds, 3]; the last of a kind is repeated.
KINDS = np.array(
    [[attribute_hash("upos", (*kind, *kind[-1:] * 2)[i]) for i in range(3)] for kind in _KINDS],
    np.uint64,
)

#: What a step of a word's vector is worth; 16 bits reach from -16 to 16.
QUANTUM = 2.0**-11

_BUCKET_BITS = 16

#: Parameters besides the vectors of attributes, in the order in which files have them.
NAMES = (
    "first_w", "first_b", "gains", "shifts", "deep_w", "deep_b", "end_w", "end_b", "arc_table",
    "out_w", "label_w", "label_b",
)  # fmt: skip

#: Arrays of a model file, with the rules that `read_archive` checks them by.
NETWORK_ARRAYS: dict[str, Rule] = {
    "network_names": (TEXT, 1, None),
    "network_sizes": (INTS, 1, None),
    "network_keys": ("u", 1, None),
    "network_vectors": ("i", 2, "network_keys"),
    "network_weights": ("f", 1, None),
}


def parameter_shapes(
    word: int, width: int, layers: int, shared: int, pairs: int, n_labels: int
) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of `NAMES`.

    Parameters
    ----------
    word, width : int
        Length of the vectors of words by themselves and in their context.
    layers : int
        Convolutions after the first.
    shared, pairs : int
        Length of the vectors r, and of a(h) and b(m).
    n_labels : int
    """
    columns = -(-n_labels // 16) * 16
    return {
        "first_w": ((2 * REACH + 1) * word, width), "first_b": (width,),
        "gains": (layers + 1, width), "shifts": (layers + 1, width),
        "deep_w": (layers, 3 * width, width), "deep_b": (layers, width),
        "end_w": (width, 2 * (shared + pairs)), "end_b": (2 * (shared + pairs),),
        "arc_table": (ARC_VALUES, shared), "out_w": (shared,),
        "label_w": (shared, columns), "label_b": (columns,),
    }  # fmt: skip


class Network:
    """Marks of arcs. Nothing changes while they are given, so threads may share a network.

    Parameters
    ----------
    labels : tuple of str
        Sorted; each once.
    sizes : tuple of int
        Word, width, layers, shared and pairs of `parameter_shapes`; see `checked_sizes`.
    keys : uint64[V]
        Hashes of the attributes' values that have vectors, sorted.
    vectors : int16[V, word]
        In steps of `QUANTUM`.
    parameters : mapping of float32 arrays
        Of the shapes of `parameter_shapes`.

    Raises
    ------
    ModelError
        If they do not fit each other.
    """

    def __init__(
        self,
        labels: tuple[str, ...],
        sizes: tuple[int, ...],
        keys: NDArray[np.uint64],
        vectors: NDArray[np.int16],
        parameters: Mapping[str, Floats],
    ) -> None:
        self.labels = checked_labels(tuple(labels))
        self.sizes = checked_sizes(sizes)
        if vectors.shape != (len(keys), self.sizes[0]) or vectors.dtype != np.int16:
            raise ModelError(
                f"vectors have shape {vectors.shape} and dtype {vectors.dtype},"
                f" expected {(len(keys), self.sizes[0])} and int16"
            )
        if len(keys) and not (keys[1:] > keys[:-1]).all():
            raise ModelError("keys are not sorted, or not each there once")
        self.keys = np.ascontiguousarray(keys, np.uint64)
        self.vectors = np.ascontiguousarray(vectors)
        shapes = parameter_shapes(*self.sizes, len(self.labels))
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
        p = self.parameters
        self._tables = (
            (WORD_COLUMNS, self.keys, buckets(self.keys), 64 - _BUCKET_BITS, TAG, KINDS),
            self.vectors, QUANTUM,
            (p["first_w"], p["first_b"], p["gains"], p["shifts"], p["deep_w"], p["deep_b"]),
            (p["end_w"], p["end_b"], p["arc_table"], p["out_w"], p["label_w"], p["label_b"],
             self.sizes[3], self.sizes[4]),
        )  # fmt: skip

    def scores(
        self, values: NDArray[np.uint64], arc_head: Ints, arc_mod: Ints
    ) -> tuple[NDArray[np.float64], Floats]:
        """Scores of arcs, float64[A], and of their labels, float32[A or some more, L or more]."""
        return network_scores(values, PAD, arc_head, arc_mod, *self._tables)

    def marks(
        self, values: NDArray[np.uint64], arc_head: Ints, arc_mod: Ints
    ) -> NDArray[np.uint16]:
        """What the templates of a model see of the guide's opinion.

        Parameters
        ----------
        values : uint64[n_words + 1 + 2 * PAD, len(ATTRIBUTES)]
            The sentence, as `encode` gives it.
        arc_head, arc_mod : int32[A]
            Its candidate arcs.

        Returns
        -------
        uint16[n_words + 1, n_words + 1]
            marks[h, m]; see `bbparse.scoring.marks.marks_of`.
        """
        scores, labels = self.scores(values, arc_head, arc_mod)
        n = len(values) - 2 * PAD - 1
        return marks_of(n, arc_head, arc_mod, scores, labels, len(self.labels))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What `from_arrays` reads: the arrays of `NETWORK_ARRAYS`."""
        return {
            "network_names": np.array(self.labels),
            "network_sizes": np.array(self.sizes, np.int32),
            "network_keys": self.keys,
            "network_vectors": self.vectors,
            "network_weights": np.concatenate([self.parameters[n].reshape(-1) for n in NAMES]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], where: str = "network") -> Network:
        """A network from the arrays of `to_arrays`.

        Raises
        ------
        ModelError
            If an array is missing or does not fit the others; ``where`` names the file.
        """
        for name in NETWORK_ARRAYS:
            if name not in arrays:
                raise ModelError(f"{where}: array {name} is missing")
        names = tuple(arrays["network_names"].tolist())
        flat = arrays["network_weights"]
        try:
            sizes = checked_sizes(arrays["network_sizes"].tolist())
            shapes = parameter_shapes(*sizes, len(checked_labels(names)))
            total = sum(int(np.prod(shape)) for shape in shapes.values())
            if flat.dtype != np.float32 or len(flat) != total:
                raise ModelError(
                    f"network_weights has {len(flat)} elements of dtype {flat.dtype},"
                    f" expected {total} of float32"
                )
            keys = arrays["network_keys"]
            if keys.dtype != np.uint64:
                raise ModelError(f"network_keys has dtype {keys.dtype}, expected uint64")
            parts = split(flat, shapes)
            return cls(names, sizes, keys, arrays["network_vectors"], parts)
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from None


def split(flat: Floats, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Floats]:
    """Views of one array, one after the other."""
    parts = {}
    at = 0
    for name in NAMES:
        size = int(np.prod(shapes[name]))
        parts[name] = flat[at : at + size].reshape(shapes[name])
        at += size
    return parts


def checked_sizes(sizes: Any) -> tuple[int, int, int, int, int]:
    """Sizes of a network, if there can be one of them.

    Raises
    ------
    ModelError
        If there are not five, or one is out of range, or not a multiple of what is done at once.
    """
    found = tuple(int(size) for size in sizes)
    if (
        len(found) != 5
        or any(size % 4 or not 4 <= size <= 4096 for i, size in enumerate(found) if i != 2)
        or found[1] % LANES
        or not 0 <= found[2] <= 16
    ):
        raise ModelError(
            f"sizes of the network are {found}, expected word, width, layers (0 to 16), shared"
            f" and pairs, multiples of 4 up to 4096, and of {LANES} the width"
        )
    return found


def known_rows(values: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Where the attributes of words and root are among sorted keys, -1 for those that are not."""
    return find_rows(values, PAD, WORD_COLUMNS, keys, buckets(keys), 64 - _BUCKET_BITS)


def buckets(keys: NDArray[np.uint64]) -> Ints:
    """Where keys with each value of the upper bits begin, int32[buckets + 1]."""
    upper = (keys >> np.uint64(64 - _BUCKET_BITS)).astype(np.int64)
    counts = np.bincount(upper, minlength=1 << _BUCKET_BITS)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
