"""`ArcNetwork`: from words and tags to scores of arcs, siblings, grandchildren and labels.

Word vectors in context (`bbparse.network.sequence`) represent the endpoints of arcs, parts and
labels. All arcs of a sentence are scored (`bbparse.scoring.pair_kernels`), and these scores prune
the heads that are unlikely beside the best one. Siblings and grandchildren of the remaining arcs
are scored by triples of words (`bbparse.scoring.part_kernels`), labels by pairs. The score of a
tree is the sum over its arcs, siblings and grandchildren, trained by the likelihood of whole trees.

A parser may have several networks, trained on the same sentences from different initial weights.
All scores are then the means over the networks (an ensemble).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ModelError
from bbparse.network.layers import Floats, Weights, linear, product
from bbparse.network.ragged import Ragged
from bbparse.network.sequence import (
    SequenceNetwork,
    in_sentence,
    network_rules,
    sums_of_words,
)
from bbparse.problem.parts import PART_NAMES
from bbparse.scoring.candidates import LONG, best_tree, parts_of_arcs, prune_arcs
from bbparse.scoring.labeller import Scored, by_root, checked_labels
from bbparse.scoring.pair_kernels import (
    ARC_VALUES,
    counts_before,
    far_scores,
    log_sums,
    pair_scores,
)
from bbparse.scoring.part_kernels import PART_VALUES, part_scores
from bbparse.storage.archive import INTS, Rule
from bbparse.treebank.encode import ATTRIBUTES, PAD
from bbparse.treebank.sections import SECTION_WORDS

Ints = NDArray[np.int32]
Values = NDArray[np.uint64]
F = TypeVar("F", bound=np.floating[Any])

#: Attributes whose vectors are summed for a word. The first ones describe the word rather than its
#: tags; training drops them together, so that it meets unknown words.
WORD_ATTRIBUTES = (
    "lower", "lemma", "suffix2", "suffix3", "prefix2", "prefix3", "shape",
    "upos", "xpos", "feats", "lexpos",
)  # fmt: skip
N_LEXICAL = 7

#: Arrays of a model file, with the rules by which `read_archive` checks them.
ARC_ARRAYS: dict[str, Rule] = {**network_rules("arcs"), "arcs_root": (INTS, 0, None)}

# Limit of the scores of a sentence: the scores of a sound network are far smaller.
_LARGEST = 1e12
#: Most candidate arcs of a long sentence, but two a word at least.
MOST_ARCS = 3000
#: Most networks in an ensemble.
MOST_MEMBERS = 16


class ArcNetwork(SequenceNetwork):
    """The network of a parser.

    Its labels are sorted and unique; there may be none. ``root`` is the index of the label that all
    arcs from the root have and no others, or -1 if there is none. Scores are means over its
    members: itself, and others with the same labels, layers, sizes and keys (`with_others`).
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
    KINDS: ClassVar = {"sib": (0, 1, 2), "gc": (1, 0, 2)}

    def __init__(
        self,
        labels: Sequence[str],
        kinds: str,
        sizes: Mapping[str, int],
        keys: Values,
        vectors: Floats,
        parameters: Mapping[str, Floats],
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
        self.pair_weights = p["arc_table"], p["arc_out"]
        self.part_weights = [(p[f"{k}_out"], p[f"{k}_table"], p["none"]) for k in self.KINDS]
        self.columns = self.columns_of(self.sizes)
        #: Members of the ensemble, itself first.
        self.members: tuple[ArcNetwork, ...] = (self,)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of `ARC_ARRAYS`, with vectors and weights of all members joined."""
        arrays = [super(ArcNetwork, member).to_arrays() for member in self.members]
        vectors, weights = "arcs_vectors", "arcs_weights"
        return {
            **arrays[0],
            vectors: np.concatenate([array_of[vectors] for array_of in arrays], axis=1),
            weights: np.concatenate([array_of[weights] for array_of in arrays]),
            "arcs_root": np.array(self.root, np.int32),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], where: str = "network") -> Self:
        for name in ARC_ARRAYS:
            if name not in arrays:
                raise ModelError(f"{where}: array {name} is missing")
        sizes, vectors, weights = (arrays[f"arcs_{x}"] for x in ("sizes", "vectors", "weights"))
        columns, word = vectors.shape[1], int(sizes[:1].max(initial=1))
        count = columns // word
        if not 1 <= count <= MOST_MEMBERS or columns % count or len(weights) % count:
            count = 1  # the arrays then do not fit, which raises the error
        first, *others = (
            super(ArcNetwork, cls).from_arrays(
                {**arrays, "arcs_vectors": own_vectors, "arcs_weights": own_weights}, where
            )
            for own_vectors, own_weights in zip(
                np.split(vectors, count, axis=1), np.split(weights, count)
            )
        )
        root = int(arrays["arcs_root"])
        if not -1 <= root < len(first.labels):
            raise ModelError(f"{where}: arcs_root is {root}, expected the number of a label or -1")
        first.root = root
        return first.with_others(others)

    def with_others(self, others: Sequence[ArcNetwork]) -> Self:
        """Return the ensemble of this network and others.

        Raises `ModelError` if their labels, layers, sizes or keys differ.
        """
        for other in others:
            same = (other.labels, other.kinds, other.sizes) == (self.labels, self.kinds, self.sizes)
            if not same or not np.array_equal(other.keys, self.keys):
                raise ModelError("networks of other labels, layers, sizes or keys have no mean")
        network = copy(self)
        network.members = (network, *others)
        return network

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

    def tree_scores(self, scored: Scored, heads: Ints) -> NDArray[np.float64]:
        """See `bbparse.scoring.labeller.Labelling`."""
        assert scored.scores is not None  # this network made them
        scores = scored.scores.tree_label_scores(heads)
        return by_root(scores.astype(np.float64), heads, self.root)

    def __call__(
        self, values: Sequence[Values], outside: Sequence[Floats | None] | None = None
    ) -> list[SentenceScores]:
        """Score all arcs of a batch of sentences.

        ``values`` are encoded sentences (`bbparse.treebank.encode.encode`). ``outside`` are the
        pretrained vectors of the words of each, if the network uses any.
        """
        return self._score(values, [self.rows(own) for own in values], outside)

    def without_words(
        self, values: Values, outside: Floats | None = None
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
                vectors.append(None if outside is None else outside.copy())
                if vectors[-1] is not None:
                    vectors[-1][word - 1] = 0.0
            yield from self._score([values] * len(rows), rows, vectors)

    def _score(
        self, values: Sequence[Values], known: Sequence[NDArray[np.int64]],
        outside: Sequence[Floats | None] | None,
    ) -> list[SentenceScores]:  # fmt: skip
        """Score all arcs of sentences, given the rows of the vectors of their words."""
        batch = Ragged.of([len(encoded) - 2 * PAD for encoded in values])
        rows = batch.rows_of(known, -1)
        before = batch.rows_of([counts_before(encoded) for encoded in values], 0)
        vectors = vectors_of(batch, outside)
        layout = batch.first, batch.size
        sizes = self.sizes["pairs"], self.sizes["shared"]
        ends, all_scores = [], []
        for member in self.members:
            words = sums_of_words(member.weights, rows, member.vectors, vectors)
            state, _ = in_sentence(member.weights, member.kinds, batch, words)
            ends.append(linear(member.weights, "end", state)[0])
            all_scores.append(pair_scores(ends[-1], sizes, layout, before, *member.pair_weights))
        scores = mean_of(all_scores)
        starts = np.cumsum(batch.size**2) - batch.size**2
        return [
            SentenceScores(self, ends, first, before, scores[at : at + n * n].reshape(n, n))
            for first, n, at in zip(batch.first.tolist(), batch.size.tolist(), starts.tolist())
        ]


def vectors_of(batch: Ragged, outside: Sequence[Floats | None] | None) -> Floats | None:
    """Join the pretrained vectors of a batch's words, float32[R, d]; the root has zeros."""
    known = [] if outside is None else [vectors for vectors in outside if vectors is not None]
    if not known:
        return None
    out = np.zeros((batch.n_rows, known[0].shape[1]), np.float32)
    for first, vectors in zip(batch.first.tolist(), known):
        out[first + 1 : first + 1 + len(vectors)] = vectors
    return out


class SentenceScores:
    """Scores of all arcs of a sentence, and the endpoint vectors that score parts and labels.

    `scores` is float32[n + 1, n + 1], head by modifier. It is -inf where there is no arc, and in
    long sentences for long arcs, which are unlikely.
    """

    def __init__(
        self, network: ArcNetwork, ends: Sequence[Floats], first: int,
        before: NDArray[np.int16], scores: Floats,
    ) -> None:  # fmt: skip
        self.network = network
        self._ends, self._first, self._before = ends, first, before
        self.scores = scores
        #: log Σ_h exp s(h, m) over all heads of each word, float64[n + 1].
        self.totals = log_sums(scores)
        #: Scores of the labels of candidate arcs, float32[A, L], once they are known.
        self.arc_labels: Floats | None = None
        self._arc_keys = np.zeros(0, np.int64)

    @property
    def ends(self) -> tuple[Sequence[Floats], int]:
        """Endpoint vectors of the whole batch by each member, and the row of the root."""
        return self._ends, self._first

    def candidates(self, k: int, margin: float, single_root: bool) -> tuple[Ints, Ints]:
        """Return the candidate arcs, int32[A] each, sorted by (head, mod).

        A word gets those of its k best heads (0: all heads) that score at least the best minus
        ``margin``, and its head in the best projective tree. Words of long sentences get fewer.
        """
        scores = self.scores.astype(np.float64)
        n = len(scores) - 1
        if k == 0:
            return prune_arcs(scores, 0, np.inf, np.full(n + 1, -1, np.int32))
        if n > LONG:  # otherwise their charts are too large for any limit on work
            k = min(k, max(2, MOST_ARCS // n))
        return prune_arcs(scores, k, float(margin), best_tree(scores, single_root))

    def fields(
        self, head: Ints, mod: Ints, projective: bool, single_root: bool, quantum: float
    ) -> dict[str, NDArray[Any]]:
        """Return the fields of a problem over candidate arcs, sorted by (head, mod).

        Scores of arcs are the log-probabilities among all arcs of their modifiers. Siblings and
        grandchildren are those that the arcs can form. All scores are multiples of ``quantum``.
        """
        network, n = self.network, len(self.scores) - 1
        want = np.array([True, True, False])
        (_, *sib), chains, _, top = parts_of_arcs(n, head, mod, projective, single_root, want)
        words_of = sib, [chains[role][top:] for role in (0, 1, 3)]
        arc_scores = self.scores[head, mod]
        members = list(zip(network.members, self._ends))
        far = np.flatnonzero(arc_scores == -np.inf)
        if len(far):  # long arcs that were requested or belong to the best tree
            sizes, row = (network.sizes["pairs"], network.sizes["shared"]), self._first
            arc_scores[far] = mean_of([
                far_scores(ends, sizes, row, self._before, *m.pair_weights, head[far], mod[far])
                for m, ends in members
            ])  # fmt: skip
        # Every tree has one head for each word, so this subtracts the same from all trees.
        scores = arc_scores - self.totals[mod]
        fields: dict[str, NDArray[Any]] = {"arc_score": np.rint(scores / quantum) * quantum}
        for i, ((kind, order), words) in enumerate(zip(network.KINDS.items(), words_of)):
            at = self._first, network.columns[i]
            ordered = [words[role] for role in order]
            scores = mean_of([
                part_scores(*ordered, ends, *at, m.part_weights[i]) for m, ends in members
            ])  # fmt: skip
            fields.update(zip(PART_NAMES[kind], (*words, np.rint(scores / quantum) * quantum)))
        kinds = ("arc", *network.KINDS)
        total = sum(float(np.abs(fields[f"{kind}_score"]).sum()) for kind in kinds)
        if not total < _LARGEST:
            raise ModelError("the network's scores are out of all proportion: train it anew")
        return fields

    def label_scores(self, head: Ints, mod: Ints) -> Floats:
        """Score the labels of arcs, float32[A, L]."""
        return labels_of_arcs([self], [(head, mod)])[0]

    def tree_label_scores(self, heads: Ints) -> Floats:
        """Score the labels of a tree's arcs, int32[n + 1] heads; one row for each word."""
        n = len(heads) - 1
        mods = np.arange(1, n + 1)
        if self.arc_labels is not None:
            keys = self._arc_keys
            tree_keys = heads[1:].astype(np.int64) * (n + 1) + mods
            places = np.minimum(np.searchsorted(keys, tree_keys), len(keys) - 1)
            if (keys[places] == tree_keys).all():
                return self.arc_labels[places]
        return self.label_scores(np.asarray(heads[1:], np.int32), mods.astype(np.int32))

    def keep_labels(self, head: Ints, mod: Ints, scores: Floats) -> None:
        """Store the scores of the labels of candidate arcs, sorted by (head, mod)."""
        self.arc_labels, self._arc_keys = scores, head.astype(np.int64) * len(self.scores) + mod

    def log_odds(self, head: Ints, mod: Ints) -> NDArray[np.float64]:
        """Return the log-probabilities of arcs among all arcs of their modifiers, float64[A]."""
        return self.scores[head, mod] - self.totals[mod]


def labels_of_arcs(
    batch: Sequence[SentenceScores], arcs: Sequence[tuple[Ints, Ints]]
) -> list[Floats]:
    """Score the labels of arcs of the sentences of a batch; float32[A, L] for each sentence."""
    if not batch:
        return []
    network = batch[0].network
    ends, _ = batch[0].ends
    firsts = [sentence.ends[1] for sentence in batch]
    head, mod = (
        np.concatenate([first + pair[side].astype(np.int64) for first, pair in zip(firsts, arcs)])
        for side in range(2)
    )
    begin, size = network.columns[2], network.sizes["naming"]
    scores = mean_of([
        label_scores(member.weights, vectors, head, mod, begin, size)[0]
        for member, vectors in zip(network.members, ends)
    ])  # fmt: skip
    stops = np.cumsum([len(heads) for heads, _ in arcs])[:-1]
    return np.split(scores[:, : len(network.labels)], stops)


def mean_of(arrays: Sequence[NDArray[F]]) -> NDArray[F]:
    """Return the mean of arrays of the same shape, summed in order; a single array as it is."""
    total, *others = arrays
    for array in others:
        total = total + array
    return total / total.dtype.type(len(arrays)) if others else total


def label_scores(
    w: Weights, ends: Floats, head: NDArray[np.int64], mod: NDArray[np.int64], begin: int, size: int
) -> tuple[Floats, Floats]:
    """Score the labels of arcs between rows of the endpoint vectors.

    Returns the scores, float32[A, L or more], and the hidden layer they are products of.
    """
    hidden = ends[head, begin : begin + size] + ends[mod, begin + size : begin + 2 * size]
    np.maximum(hidden, np.float32(0.0), out=hidden)
    return product(hidden, w.values["label_w"], w.values["label_b"]), hidden
