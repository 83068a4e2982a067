"""`ArcNetwork`: from words and tags to scores of arcs, siblings, grandchildren and labels.

Word vectors in context (`bbparse.neural.sequence`) represent the endpoints of arcs, parts and
labels. All arcs of a sentence are scored (`models.scoring.pair_kernels`), and these scores prune
the heads that are unlikely beside the best one. Siblings and grandchildren of the remaining arcs
are scored by triples of words (`models.scoring.part_kernels`), labels by pairs. The score of a
tree is the sum over its arcs, siblings and grandchildren, trained by the likelihood of whole trees.

A parser may have several networks, trained on the same sentences from different initial weights.
All scores are then the means over the networks (an ensemble).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bbparse.models.scoring.labeller import Scored, Solved, by_root, checked_labels
from bbparse.models.scoring.network_scores import Batch, BatchScores, SentenceScores
from bbparse.models.scoring.pair_kernels import ARC_VALUES, counts_before, pair_scores, row_sums
from bbparse.models.scoring.part_kernels import PART_VALUES
from bbparse.models.scoring.soft_tags import SOFT, SoftTags, vectors_of_tags
from bbparse.neural.layers import linear
from bbparse.neural.ragged import Ragged
from bbparse.neural.sequence import (
    SequenceNetwork,
    in_sentence,
    mean_of,
    network_rules,
    sums_of_words,
)
from bbparse.runtime.archive import INTS, Rule
from bbparse.runtime.arrays import Float32s, Ints
from bbparse.runtime.errors import ModelError
from bbparse.treebank.encode import ATTRIBUTES, PAD
from bbparse.treebank.likely import LikelyTags, TagNames
from bbparse.treebank.sections import SECTION_WORDS

Values = NDArray[np.uint64]

#: Attributes whose vectors are summed for a word. The first ones describe the word rather than its
#: tags; training drops them together, so that it meets unknown words.
WORD_ATTRIBUTES = (
    "lower", "lemma", "suffix2", "suffix3", "prefix2", "prefix3", "shape",
    "upos", "xpos", "feats", "lexpos",
)  # fmt: skip
N_LEXICAL = 7
_SOFT_COLUMNS = np.array([WORD_ATTRIBUTES.index(name) for name in SOFT], np.int64)

#: Arrays of a model file, with the rules by which `read_archive` checks them.
ARC_ARRAYS: dict[str, Rule] = {**network_rules("arcs"), "arcs_root": (INTS, 0, None)}

class ArcNetwork(SequenceNetwork):
    """The network of a parser.

    Its labels are sorted and unique; there may be none. ``root`` is the index of the label that all
    arcs from the root have and no others, or -1 if there is none.
    """

    NAME = "arcs"
    COLUMNS = np.array([ATTRIBUTES.index(name) for name in WORD_ATTRIBUTES], np.int64)
    #: Lengths of the vectors of words as endpoints: for the products and the sums of arcs, for
    #: parts, and for labels.
    SIZES: ClassVar[tuple[str, ...]] = (
        *SequenceNetwork.SIZES, "pairs", "shared", "parts", "naming",
    )  # fmt: skip
    #: Fields of a problem: order of the words of each kind of part; grandchildren are (head, grand,
    #: mod).
    KINDS: ClassVar[Mapping[str, Sequence[int]]] = {"sib": (0, 1, 2), "gc": (1, 0, 2)}

    def __init__(
        self,
        labels: Sequence[str],
        kinds: str,
        sizes: Mapping[str, int],
        keys: Values,
        vectors: Float32s,
        parameters: Mapping[str, Float32s],
        root: int = -1,
    ) -> None:
        if labels:
            labels = checked_labels(tuple(labels))
        if not -1 <= root < len(labels):
            raise ModelError(f"root is {root}, expected -1 or the number of a label")
        self.root = root
        super().__init__(labels, kinds, sizes, keys, vectors, parameters)
        p = self.weights.values
        #: Weights for `pair_scores` and `part_scores`.
        self.pair_weights = row_sums(p["arc_table"]), p["arc_out"]
        self.part_weights = self.part_weights_of(p)
        self.columns = self.columns_of(self.sizes)
        self._tag_vectors: tuple[TagNames, tuple[Float32s, Float32s]] | None = None

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        return {**super().to_arrays(), "arcs_root": np.array(self.root, np.int32)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], where: str = "network") -> Self:
        if "arcs_root" not in arrays:
            raise ModelError(f"{where}: array arcs_root is missing")
        network = super().from_arrays(arrays, where)
        root = int(arrays["arcs_root"])
        if not -1 <= root < len(network.labels):
            raise ModelError(f"{where}: arcs_root is {root}, expected the number of a label or -1")
        network.root = root
        return network

    @classmethod
    def part_weights_of(
        cls, weights: Mapping[str, Float32s]
    ) -> tuple[tuple[Float32s, Float32s, Float32s], ...]:
        """Return the weights of siblings and those of grandchildren for `part_scores`."""
        return tuple(
            (weights[f"{kind}_out"], weights[f"{kind}_table"], weights["none"])
            for kind in cls.KINDS
        )

    @classmethod
    def columns_of(cls, sizes: Mapping[str, int]) -> tuple[int, int, int, int]:
        """Return the first endpoint columns of siblings, grandchildren and labels, and the end."""
        siblings = 2 * (sizes["pairs"] + sizes["shared"])
        grandchildren = siblings + 6 * sizes["parts"]
        labels = grandchildren + 6 * sizes["parts"]
        return siblings, grandchildren, labels, labels + 2 * sizes["naming"]

    @classmethod
    def shapes(
        cls, kinds: str, sizes: Mapping[str, int], n_labels: int
    ) -> dict[str, tuple[int, ...]]:
        columns = cls.columns_of(sizes)[-1]
        shared, parts, naming = sizes["shared"], sizes["parts"], sizes["naming"]
        n_columns = -(-n_labels // 16) * 16
        return {
            **super().shapes(kinds, sizes, n_labels),
            "end_w": (sizes["width"], columns), "end_b": (columns,),
            "arc_table": (ARC_VALUES, shared), "arc_out": (shared,),
            **{f"{kind}_{name}": shape for kind in cls.KINDS for name, shape in
               (("out", (parts,)), ("table", (PART_VALUES, parts)))},
            "none": (2 * parts,),
            "label_w": (naming, n_columns), "label_b": (n_columns,),
        }  # fmt: skip

    def tree_scores(
        self, scored: Scored, heads: Ints, arcs: Ints | None = None
    ) -> NDArray[np.float64]:
        """See `bbparse.models.scoring.labeller.Labelling`."""
        assert scored.scores is not None  # this network made them
        known = None if arcs is None else scored.scores.labels_over(scored.problem.arc_head)
        scores = scored.scores.tree_label_scores(heads) if known is None else known[arcs]
        return by_root(scores.astype(np.float64), heads, self.root)

    def scores_of_trees(
        self, scored: Sequence[Scored], solved: Sequence[Solved]
    ) -> NDArray[np.float64]:
        """See `bbparse.models.scoring.labeller.Labelling`."""
        rows, heads = [], [np.full(1, -1, np.int32)]
        for sentence, one in zip(scored, solved):
            assert sentence.scores is not None  # this network made them
            known = sentence.scores.labels_over(sentence.problem.arc_head)
            tree = one.heads[0]
            rows.append(
                sentence.scores.tree_label_scores(tree) if known is None else known[one.arcs[0]]
            )
            heads.append(tree[1:])
        scores = np.concatenate(rows).astype(np.float64)
        return by_root(scores, np.concatenate(heads), self.root)

    def __call__(
        self,
        values: Sequence[Values],
        embeddings: Sequence[Float32s | None] | None = None,
        likely_tags: Sequence[LikelyTags | None] = (),
    ) -> BatchScores:
        """Score all arcs of a batch of sentences.

        ``values`` are encoded sentences (`bbparse.treebank.encode.encode`). ``embeddings`` are the
        pretrained vectors of the words of each, if the network uses any. ``likely_tags`` are those
        of each sentence, if a tagger chose its tags (`bbparse.models.scoring.soft_tags`).
        """
        return self._score(values, self.all_rows(values), embeddings, likely_tags)

    def without_words(
        self,
        values: Values,
        embeddings: Float32s | None = None,
        likely_tags: LikelyTags | None = None,
    ) -> Iterator[SentenceScores]:
        """Score a sentence once for each of its words, with that word unknown."""
        n = len(values) - 2 * PAD - 1
        whole = self.rows(values)
        together = max(1, SECTION_WORDS // n)  # many long sentences would fill the memory
        for first in range(1, n + 1, together):
            rows, vectors = [], []
            for word in range(first, min(first + together, n + 1)):
                rows.append(whole.copy())
                rows[-1][word] = -1
                vectors.append(None if embeddings is None else embeddings.copy())
                if vectors[-1] is not None:
                    vectors[-1][word - 1] = 0.0
            count = len(rows)
            scored = self._score([values] * count, rows, vectors, [likely_tags] * count)
            yield from scored.sentences()

    def tag_vectors(self, names: TagNames) -> tuple[Float32s, Float32s]:
        """Return the vectors of the tags and of the FEATS of a tagger; the last ones are kept."""
        kept = self._tag_vectors
        if kept is None or not (kept[0] is names or kept[0] == names):
            self._tag_vectors = kept = names, vectors_of_tags(self.keys, self.vectors, names)
        return kept[1]

    def _score(
        self, values: Sequence[Values], known: Sequence[NDArray[np.int64]],
        embeddings: Sequence[Float32s | None] | None, likely_tags: Sequence[LikelyTags | None],
    ) -> BatchScores:  # fmt: skip
        """Score all arcs of sentences, given the rows of the vectors of their words."""
        batch = Ragged.of([len(encoded) - 2 * PAD for encoded in values])
        rows = batch.rows_of(known, -1)
        before = batch.rows_of([counts_before(encoded) for encoded in values], 0)
        vectors = vectors_of(batch, embeddings)
        tags = SoftTags(batch, rows, _SOFT_COLUMNS, likely_tags)
        layout = batch.first, batch.size
        sizes = self.sizes["pairs"], self.sizes["shared"]
        ends, all_scores = [], []
        for member in self.members:
            words = sums_of_words(member.weights, rows, member.vectors, vectors)
            tags.add_to(words, member)
            state, _ = in_sentence(member.weights, member.kinds, batch, words)
            ends.append(linear(member.weights, "end", state)[0])
            all_scores.append(pair_scores(ends[-1], sizes, layout, before, *member.pair_weights))
        return BatchScores(self, Batch(ends, before, *layout, mean_of(all_scores)))


def vectors_of(batch: Ragged, embeddings: Sequence[Float32s | None] | None) -> Float32s | None:
    """Join the pretrained vectors of a batch's words, float32[R, d]; the root has zeros."""
    known = [] if embeddings is None else [vectors for vectors in embeddings if vectors is not None]
    if not known:
        return None
    out = np.zeros((batch.n_rows, known[0].shape[1]), np.float32)
    for first, vectors in zip(batch.first.tolist(), known):
        out[first + 1 : first + 1 + len(vectors)] = vectors
    return out
