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
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bbparse.network.encoder import Encoder, encoder_rules
from bbparse.problem.parts import PART_NAMES
from bbparse.scoring.candidates import parts_of_arcs
from bbparse.scoring.labeller import checked_labels
from bbparse.scoring.marks import log_shares, marks_of
from bbparse.scoring.network_kernels import ARC_VALUES, arc_label_scores, network_scores
from bbparse.scoring.part_kernels import PART_VALUES, part_scores
from bbparse.storage.archive import Rule
from bbparse.treebank.encode import ATTRIBUTES, PAD

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]

#: The attributes whose vectors a word is the sum of.
WORD_ATTRIBUTES = (
    "lower", "lemma", "upos", "xpos", "feats", "suffix2", "suffix3", "prefix2", "prefix3", "shape",
    "lexpos",
)  # fmt: skip
WORD_COLUMNS = np.array([ATTRIBUTES.index(name) for name in WORD_ATTRIBUTES], np.int64)

#: Arrays of a model file, with the rules that `read_archive` checks them by.
NETWORK_ARRAYS: dict[str, Rule] = encoder_rules("network")
TREES_ARRAYS: dict[str, Rule] = encoder_rules("trees")


class Network(Encoder):
    """Marks of arcs. Its labels are sorted, each once."""

    NAME = "network"
    COLUMNS = WORD_COLUMNS
    #: Lengths of the vectors r, and of a(h) and b(m).
    SIZES: ClassVar[tuple[str, ...]] = ("shared", "pairs")

    def __init__(
        self,
        labels: Sequence[str],
        sizes: tuple[int, ...],
        keys: NDArray[np.uint64],
        vectors: NDArray[np.int16],
        parameters: Mapping[str, Floats],
    ) -> None:
        super().__init__(checked_labels(tuple(labels)), sizes, keys, vectors, parameters)

    @classmethod
    def shapes(cls, sizes: Sequence[int], n_labels: int) -> dict[str, tuple[int, ...]]:
        width, shared, pairs = sizes[1], *sizes[3:5]
        columns = -(-n_labels // 16) * 16
        return {
            **super().shapes(sizes, n_labels),
            "end_w": (width, 2 * (shared + pairs)), "end_b": (2 * (shared + pairs),),
            "arc_table": (ARC_VALUES, shared), "out_w": (shared,),
            "label_w": (shared, columns), "label_b": (columns,),
        }  # fmt: skip

    def scores(
        self,
        values: NDArray[np.uint64],
        arc_head: Ints,
        arc_mod: Ints,
        outside: Floats | None = None,
    ) -> tuple[NDArray[np.float64], Floats, Floats]:
        """Scores of arcs, float64[A], what `label_scores` takes, and what parts are made of."""
        given = self.given(len(values) - 2 * PAD, outside)
        ends = (*self.ends[:4], *self.sizes[3:5])
        return network_scores(values, arc_head, arc_mod, self.table, given, ends)

    def label_scores(self, shared: Floats) -> Floats:
        """Scores of the labels of arcs, float32[A or some more, L or more], after `scores`."""
        return arc_label_scores(shared, *self.ends[4:6])

    def certainty(
        self,
        values: NDArray[np.uint64],
        arc_head: Ints,
        arc_mod: Ints,
        outside: Floats | None = None,
    ) -> float:
        """How sure the network is of its opinion: Σ over words of the largest log-probability of
        a head and a label. Given as for `marks`."""
        n = len(values) - 2 * PAD - 1
        scores, shared, _ = self.scores(values, arc_head, arc_mod, outside)
        labels = self.label_scores(shared)[: len(arc_mod), : len(self.labels)]
        labels = labels - labels.max(axis=1, keepdims=True)
        both = log_shares(arc_mod, scores, n) - np.log(np.exp(labels).sum(axis=1))
        best = np.full(n + 1, -np.inf)
        np.maximum.at(best, arc_mod, both)
        return float(best[1:].sum())

    def marks(
        self,
        values: NDArray[np.uint64],
        arc_head: Ints,
        arc_mod: Ints,
        outside: Floats | None = None,
    ) -> NDArray[np.uint16]:
        """The guide's opinion on candidate arcs, uint16[n + 1, n + 1]: see `marks_of`.

        ``values`` are the sentence, as `encode` gives it, and ``outside`` float32[n_words, d]
        vectors from outside of its words, which a network takes that was trained with them.
        """
        scores, shared, _ = self.scores(values, arc_head, arc_mod, outside)
        labels = self.label_scores(shared)
        n = len(values) - 2 * PAD - 1
        return marks_of(n, arc_head, arc_mod, scores, labels, len(self.labels))


class PartNetwork(Network):
    """A network that scores siblings and grandchildren, too (`bbparse.scoring.part_kernels`).

    What it is learned from are whole trees: `bbparse.learning.network`.
    """

    NAME = "trees"
    SIZES = ("shared", "pairs", "parts")
    #: Fields of a problem: words of each kind of part, grandchildren as (head, grand, mod).
    KINDS: ClassVar = {"sib": (0, 1, 2), "gc": (1, 0, 2)}

    @classmethod
    def shapes(cls, sizes: Sequence[int], n_labels: int) -> dict[str, tuple[int, ...]]:
        base, parts = super().shapes(sizes, n_labels), sizes[5]
        columns = base["end_b"][0] + 12 * parts
        return {
            **base, "end_w": (sizes[1], columns), "end_b": (columns,),
            **{f"{kind}_{name}": shape for kind in cls.KINDS for name, shape in
               (("out", (parts,)), ("table", (PART_VALUES, parts)))},
            "none": (2 * parts,),
        }  # fmt: skip

    @staticmethod
    def part_weights(parameters: Mapping[str, Floats], kind: str) -> tuple[Floats, ...]:
        """What `part_scores` takes besides the vectors of words."""
        return parameters[f"{kind}_out"], parameters[f"{kind}_table"], parameters["none"]

    @classmethod
    def part_columns(cls, sizes: Sequence[int]) -> list[int]:
        """Where the six vectors of each kind of part begin."""
        first = 2 * (sizes[3] + sizes[4])
        return [first, first + 6 * sizes[5]]

    def part_fields(
        self,
        values: NDArray[np.uint64],
        arc_head: Ints,
        arc_mod: Ints,
        projective: bool,
        single_root: bool,
        outside: Floats | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Fields of a problem: scores of candidate arcs, sorted by (head, mod), of siblings and of
        grandchildren that they can form."""
        n = len(values) - 2 * PAD - 1
        want = np.array([True, True, False])
        (_, *sib), (grand, head, _, mod), _, top = parts_of_arcs(
            n, arc_head, arc_mod, projective, single_root, want
        )
        found = sib, (grand[top:], head[top:], mod[top:])
        scores, _, ends = self.scores(values, arc_head, arc_mod, outside)
        fields: dict[str, NDArray[Any]] = {"arc_score": scores}
        columns = self.part_columns(self.sizes)
        for (kind, order), words, column in zip(self.KINDS.items(), found, columns):
            weights = self.part_weights(self.parameters, kind)
            scores = part_scores(*(words[i] for i in order), ends, 0, column, weights)
            fields.update(zip(PART_NAMES[kind], (*words, scores)))
        return fields
