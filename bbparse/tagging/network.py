"""`TagNetwork`: what a small neural network thinks of the tags of words.

It sees of words what can be said without tags (`NETWORK_ATTRIBUTES`), and their context as the
parser's guide does (`bbparse.network.encoder`). Its scores are added to those of the layer of tags,
in the same steps, so that the best sequence is found by sums of whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ModelError
from bbparse.jit import kernel
from bbparse.network.dense import dense
from bbparse.network.encoder import Encoder, encoder_rules
from bbparse.network.kernels import context
from bbparse.storage.archive import Rule
from bbparse.tagging.encode import COLUMNS, PAD
from bbparse.tagging.layer import LAYER_QUANTUM

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

#: The attributes whose vectors a word is the sum of.
NETWORK_ATTRIBUTES = (
    "form", "lower", "prefix1", "prefix2", "prefix3", "prefix4",
    "suffix1", "suffix2", "suffix3", "suffix4", "suffix5", "shape", "kinds", "habit", "style",
)  # fmt: skip
#: The first of them that are the whole word.
N_WHOLE = 2
NETWORK_COLUMNS = np.array([COLUMNS.index(name) for name in NETWORK_ATTRIBUTES], np.int64)

#: Arrays of a network, with the rules that `read_archive` checks them by.
TAG_NETWORK_ARRAYS: dict[str, Rule] = encoder_rules("tagger_network")


@kernel
def tag_scores(
    values: NDArray[np.uint64],
    pad: int,
    encoder: tuple[Any, ...],
    ends: tuple[Any, ...],
    n_labels: int,
    steps: float,
    outside: Floats,
) -> Ints:
    """Scores of the labels of words in whole steps, int32[n, n_labels]; `steps` make 1."""
    end_w, end_b, label_w, label_b = ends
    state = context(values, pad, encoder, outside)
    n = values.shape[0] - 2 * pad
    fours = (n + 3) & -4  # what `dense` does at once
    width, size = end_w.shape
    hidden = np.empty((fours, size), np.float32)
    dense(state, width, width, width, end_w, end_b, hidden)
    flat = np.empty(fours * size, np.float32)
    for i in range(fours):
        for j in range(size):
            flat[i * size + j] = max(hidden[i, j], np.float32(0.0))
    labels = np.empty((fours, label_w.shape[1]), np.float32)
    dense(flat, 0, size, size, label_w, label_b, labels)
    out = np.empty((n, n_labels), np.int32)
    for i in range(n):
        for k in range(n_labels):
            out[i, k] = np.int32(np.rint(labels[i, k] * np.float32(steps)))
    return out


class TagNetwork(Encoder):
    """Scores of tags, which are those of the layer of tags."""

    NAME = "tagger_network"
    COLUMNS = NETWORK_COLUMNS
    SIZES = ("hidden",)  # length of the vectors that labels are told by

    @classmethod
    def shapes(cls, sizes: Sequence[int], n_labels: int) -> dict[str, tuple[int, ...]]:
        width, hidden = sizes[1], sizes[3]
        columns = -(-n_labels // 16) * 16
        return {
            **super().shapes(sizes, n_labels),
            "end_w": (width, hidden), "end_b": (hidden,),
            "label_w": (hidden, columns), "label_b": (columns,),
        }  # fmt: skip

    def scores(self, values: NDArray[np.uint64], outside: Floats | None = None) -> Ints:
        """Scores of the tags of encoded words, int32[n, L], in steps of `LAYER_QUANTUM`.

        A network that was trained with vectors from outside takes those of the words,
        float32[n, d].
        """
        given = self.given(len(values) - 2 * PAD, outside)
        return tag_scores(
            values, PAD, self.table, self.ends, len(self.labels), 1.0 / LAYER_QUANTUM, given
        )

    @classmethod
    def of_tags(
        cls, tags: Sequence[str], arrays: Mapping[str, NDArray[Any]], where: str
    ) -> TagNetwork:
        """As `from_arrays`; `ModelError` if it is for other tags."""
        found = cls.from_arrays(arrays, where)
        if found.labels != tuple(tags):
            raise ModelError(f"{where}: {cls.NAME}_names are not the tags of the tagger")
        return found
