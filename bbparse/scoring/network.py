"""`Network`: the guide, a small neural network that sees one arc at a time.

From the vectors of head and modifier in their context (`bbparse.network.encoder`) come the score of
an arc,

    s(h, m) = v · r + a(h) · b(m),    r = max(0, c(h) + d(m) + e),

where e is the sum of what is known of the arc besides (its distance, how many verbs, nouns,
conjunctions and marks of punctuation lie between, each by direction), and the scores of its labels,
W r. Heads are chosen among the candidates of a word, p(h | m) ∝ exp s(h, m), labels for each arc by
itself.

Such scores of pairs of words are those of Dozat & Manning (2017), the sums of both ends those of
Kiperwasser & Goldberg (2016); convolutions in place of their recurrent networks need no more than
additions and multiplications in a fixed order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ModelError
from bbparse.network.encoder import (
    Encoder,
    checked_arrays,
    checked_sizes,
    checked_weights,
    encoder_rules,
    encoder_shapes,
)
from bbparse.scoring.labeller import checked_labels
from bbparse.scoring.marks import marks_of
from bbparse.scoring.network_kernels import ARC_VALUES, network_scores
from bbparse.storage.archive import Rule
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

_SIZES = "shared, pairs"

#: Arrays of a model file, with the rules that `read_archive` checks them by.
NETWORK_ARRAYS: dict[str, Rule] = encoder_rules("network")


def parameter_shapes(sizes: Sequence[int], n_labels: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the weights, in the order in which files have them.

    Parameters
    ----------
    sizes : sequence of int
        Word, width and layers of `encoder_shapes`, and the lengths of the vectors r, and of a(h)
        and b(m); then that of vectors from outside, if there are any.
    n_labels : int
    """
    word, width, layers, shared, pairs, *outside = sizes
    columns = -(-n_labels // 16) * 16
    return {
        **encoder_shapes(word, width, layers, *outside),
        "end_w": (width, 2 * (shared + pairs)), "end_b": (2 * (shared + pairs),),
        "arc_table": (ARC_VALUES, shared), "out_w": (shared,),
        "label_w": (shared, columns), "label_b": (columns,),
    }  # fmt: skip


class Network(Encoder):
    """Marks of arcs. Nothing changes while they are given, so threads may share a network.

    Parameters
    ----------
    labels : tuple of str
        Sorted; each once.
    sizes : tuple of int
        Word, width, layers, shared and pairs of `parameter_shapes`; see
        `bbparse.network.encoder.checked_sizes`.
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
        checked = checked_sizes(sizes, _SIZES)
        shapes = parameter_shapes(checked, len(self.labels))
        super().__init__(WORD_COLUMNS, checked, keys, vectors, shapes, parameters)
        p = self.parameters
        self._ends = (
            p["end_w"], p["end_b"], p["arc_table"], p["out_w"], p["label_w"], p["label_b"],
            *checked[3:5],
        )  # fmt: skip

    def scores(
        self,
        values: NDArray[np.uint64],
        arc_head: Ints,
        arc_mod: Ints,
        outside: Floats | None = None,
    ) -> tuple[NDArray[np.float64], Floats]:
        """Scores of arcs, float64[A], and of their labels, float32[A or some more, L or more]."""
        given = self.given(len(values) - 2 * PAD, outside)
        return network_scores(
            values, PAD, arc_head, arc_mod, self.table, given, (TAG, KINDS), self._ends
        )

    def marks(
        self,
        values: NDArray[np.uint64],
        arc_head: Ints,
        arc_mod: Ints,
        outside: Floats | None = None,
    ) -> NDArray[np.uint16]:
        """What the templates of a model see of the guide's opinion.

        Parameters
        ----------
        values : uint64[n_words + 1 + 2 * PAD, len(ATTRIBUTES)]
            The sentence, as `encode` gives it.
        arc_head, arc_mod : int32[A]
            Its candidate arcs.
        outside : float32[n_words, d], optional
            Vectors from outside of its words, which a network takes that was trained with them.

        Returns
        -------
        uint16[n_words + 1, n_words + 1]
            marks[h, m]; see `bbparse.scoring.marks.marks_of`.
        """
        scores, labels = self.scores(values, arc_head, arc_mod, outside)
        n = len(values) - 2 * PAD - 1
        return marks_of(n, arc_head, arc_mod, scores, labels, len(self.labels))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What `from_arrays` reads: the arrays of `NETWORK_ARRAYS`."""
        return self.encoder_arrays("network", list(self.labels))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], where: str = "network") -> Network:
        """A network from the arrays of `to_arrays`.

        Raises
        ------
        ModelError
            If an array is missing or does not fit the others; ``where`` names the file.
        """
        checked_arrays("network", arrays, where)
        names = tuple(arrays["network_names"].tolist())
        try:
            sizes = checked_sizes(arrays["network_sizes"].tolist(), _SIZES)
            shapes = parameter_shapes(sizes, len(checked_labels(names)))
            parts = checked_weights("network", arrays["network_weights"], shapes)
            return cls(names, sizes, arrays["network_keys"], arrays["network_vectors"], parts)
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from None
