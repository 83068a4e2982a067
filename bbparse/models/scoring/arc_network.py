"""`ArcNetwork`: from words and tags to scores of arcs, siblings, grandchildren and labels.

Word vectors in context (`bbparse.neural.sequence`) represent the endpoints of arcs, parts and
labels. All arcs of a sentence are scored (`models.scoring.pair_kernels`), and these scores prune
the heads that are unlikely beside the best one. Siblings and grandchildren of the remaining arcs
are scored by triples of words (`models.scoring.part_kernels`), labels by pairs. The score of a
tree is the sum over its arcs, siblings and grandchildren, trained by the likelihood of whole trees.

The sentences of a batch follow each other in flat arrays, so that each step is one call, however
short the sentences are. A parser may have several networks, trained on the same sentences from
different initial weights. All scores are then the means over the networks (an ensemble).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Problem
from bbparse.core.parts import ANY, PART_NAMES
from bbparse.inference.search.linear import KindOfParts
from bbparse.models.configuration import FORMER_KEYS
from bbparse.models.scoring.batch_kernels import QUANTUM, candidate_arcs, part_words
from bbparse.models.scoring.candidates import Pairs
from bbparse.models.scoring.labels import best_labels, best_numbers, by_root, check_labels
from bbparse.models.scoring.pair_kernels import (
    ARC_VALUES,
    counts_before,
    far_scores,
    log_sums,
    pair_scores,
    row_sums,
)
from bbparse.models.scoring.part_kernels import PART_VALUES, part_scores
from bbparse.models.scoring.soft_tags import SOFT, SoftTags, vectors_of_tags
from bbparse.neural.layers import Backward, Weights, linear
from bbparse.neural.packing import Shapes
from bbparse.neural.ragged import Ragged
from bbparse.neural.sequence import SequenceNetwork, in_sentence, mean_of, sums_of_words
from bbparse.runtime.archive import Fields, reading_part
from bbparse.runtime.arrays import Float32s, Float64s, Hashes, Ints, Longs, indices_among
from bbparse.runtime.errors import ModelError
from bbparse.treebank import Sentence
from bbparse.treebank.encode import MOST_WORDS, NETWORK_ATTRIBUTES, ROOT, hashes_of, network_values
from bbparse.treebank.likely_tags import LikelyTags, TagNames
from bbparse.treebank.sections import SECTION_WORDS
from bbparse.treebank.sentence import Word

#: The first attributes describe a word rather than its tags; training drops them together, so that
#: it meets unknown words.
N_LEXICAL = 7
_SOFT_COLUMNS = np.array([NETWORK_ATTRIBUTES.index(name) for name in SOFT], np.int64)
# Limit of the scores of a batch: those of a sound network are far smaller.
_LARGEST = 1e12


class ArcNetwork(SequenceNetwork):
    """The network of a parser.

    Its labels are sorted and unique; there may be none. ``root`` is the index of the label that all
    arcs from the root have and no others, or -1 if there is none.
    """

    NAME = "arcs"
    #: Lengths of the vectors of words as endpoints: for the products and the sums of arcs, for
    #: parts, and for labels.
    SIZES: ClassVar[tuple[str, ...]] = (
        *SequenceNetwork.SIZES,
        "biaffine_dim",
        "arc_mlp_dim",
        "part_dim",
        "label_dim",
    )
    FORMER_SIZES: ClassVar[Mapping[str, str]] = {new: old for old, new in FORMER_KEYS.items()}
    #: Fields of a problem: order of the words of each kind of part; grandchildren are (head, grand,
    #: mod).
    KINDS: ClassVar[Mapping[str, Sequence[int]]] = {"sib": (0, 1, 2), "gc": (1, 0, 2)}

    def __init__(
        self,
        labels: Sequence[str],
        kinds: str,
        sizes: Mapping[str, int],
        keys: Hashes,
        vectors: NDArray[np.int8],
        parameters: Mapping[str, Float32s],
        root: int = -1,
    ) -> None:
        check_labels(labels, root)
        self.root = root
        super().__init__(labels, kinds, sizes, keys, vectors, parameters)
        p = self.weights.values
        #: Weights for `pair_scores` and `part_scores`.
        self.pair_weights = row_sums(p["arc_table"]), p["arc_out"]
        self.part_weights = self.part_weights_of(p)
        self.columns = self.columns_of(self.sizes)
        self._tag_vectors: tuple[TagNames, tuple[Float32s, Float32s]] | None = None
        self._rows: dict[Word | str, bytes] = {}  # of words

    def to_fields(self) -> Fields:
        fields = super().to_fields()
        fields[self.NAME]["root"] = self.root
        return fields

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any], where: str = "network") -> Self:
        network = super().from_fields(fields, where)
        with reading_part(cls.NAME, fields, where, {"root": int}) as given:
            network.root = given[cls.NAME]["root"]
            if not -1 <= network.root < len(network.labels):
                raise ModelError(f"root is {network.root}, expected the number of a label or -1")
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
        siblings = 2 * (sizes["biaffine_dim"] + sizes["arc_mlp_dim"])
        grandchildren = siblings + 6 * sizes["part_dim"]
        labels = grandchildren + 6 * sizes["part_dim"]
        return siblings, grandchildren, labels, labels + 2 * sizes["label_dim"]

    @classmethod
    def shapes(cls, kinds: str, sizes: Mapping[str, int], n_labels: int) -> Shapes:
        columns = cls.columns_of(sizes)[-1]
        shared, parts, labels = sizes["arc_mlp_dim"], sizes["part_dim"], sizes["label_dim"]
        n_columns = -(-n_labels // 16) * 16
        return {
            **super().shapes(kinds, sizes, n_labels),
            "end_w": (sizes["width"], columns),
            "end_b": (columns,),
            "arc_table": (ARC_VALUES, shared),
            "arc_out": (shared,),
            **{
                f"{kind}_{name}": shape
                for kind in cls.KINDS
                for name, shape in (("out", (parts,)), ("table", (PART_VALUES, parts)))
            },
            "none": (2 * parts,),
            "label_w": (labels, n_columns),
            "label_b": (n_columns,),
        }

    def tree_scores(self, scored: Scored, heads: Ints) -> Float64s:
        """Score all labels of the arcs of a tree, see `Labeller.tree_scores`."""
        mods = np.arange(1, len(heads), dtype=np.int32)
        return self.scores_around(scored, heads, np.asarray(heads[1:], np.int32), mods)

    def scores_around(self, scored: Scored, tree: Ints, heads: Ints, mods: Ints) -> Float64s:
        """Score all labels of some arcs, see `Labeller.scores_around`; the tree does not matter."""
        scores = cast(NetworkScores, scored.scores).label_scores(heads, mods)
        return by_root(scores.astype(np.float64), heads, self.root)

    def __call__(
        self,
        sentences: Sequence[Sentence],
        embeddings: Sequence[Float32s | None] | None = None,
        likely_tags: Sequence[LikelyTags | None] = (),
    ) -> BatchScores:
        """Score all arcs of a batch of sentences, with vectors and likely tags, if any."""
        return self._score(sentences, self.rows(sentences), embeddings, likely_tags)

    def without_words(
        self,
        sentence: Sentence,
        embeddings: Float32s | None = None,
        likely_tags: LikelyTags | None = None,
    ) -> Iterator[NetworkScores]:
        """Score a sentence once for each of its words, with that word unknown."""
        n = sentence.n_words
        whole = self.rows([sentence])
        together = max(1, SECTION_WORDS // n)  # many long sentences would fill the memory
        for first in range(1, n + 1, together):
            rows, vectors = [], []
            for word in range(first, min(first + together, n + 1)):
                rows.append(whole.copy())
                rows[-1][word] = -1
                vectors.append(None if embeddings is None else embeddings.copy())
                if vectors[-1] is not None:
                    vectors[-1][word - 1] = 0.0
            n_copies = len(rows)
            scored = self._score(
                [sentence] * n_copies, np.concatenate(rows), vectors, [likely_tags] * n_copies
            )
            yield from scored.sentences()

    def rows(self, sentences: Sequence[Sentence]) -> Longs:
        """Return the rows of the vectors of all words, int64[R, attributes]; -1 for unknown values.

        Words are known by their columns; attributes are hashed once for each.
        """
        words: list[Word | str] = []
        for sentence in sentences:
            words.append(ROOT)
            words += sentence.words
        known = self._rows = self._rows if len(self._rows) < MOST_WORDS else {}
        new = [word for word in {*words} if word not in known]
        hashes = np.array([hashes_of(word, network_values) for word in new], np.uint64)
        known.update(zip(new, map(np.ndarray.tobytes, indices_among(self.keys, hashes))))
        rows = bytearray().join([known[word] for word in words])  # an array on it is writable
        return np.frombuffer(rows, np.int64).reshape(len(words), -1)

    def tag_vectors(self, names: TagNames) -> tuple[Float32s, Float32s]:
        """Return the vectors of the tags and of the FEATS of a tagger; the last ones are cached."""
        cached = self._tag_vectors
        if cached is None or not (cached[0] is names or cached[0] == names):
            self._tag_vectors = cached = names, vectors_of_tags(self, names)
        return cached[1]

    def _score(
        self,
        sentences: Sequence[Sentence],
        rows: Longs,
        embeddings: Sequence[Float32s | None] | None,
        likely_tags: Sequence[LikelyTags | None],
    ) -> BatchScores:
        """Score all arcs of sentences, given the rows of the vectors of their words."""
        batch = Ragged.of([1 + len(sentence.forms) for sentence in sentences])
        before = counts_before(sentences)
        vectors = vectors_of(batch, embeddings)
        tags = SoftTags(batch, rows, _SOFT_COLUMNS, likely_tags)
        sizes = self.sizes["biaffine_dim"], self.sizes["arc_mlp_dim"]
        endpoints, scores = [], []
        for member in self.members:
            words = sums_of_words(member.weights, rows, member.vectors, vectors)
            tags.add_to(words, member.tag_vectors)
            state, _ = in_sentence(member.weights, member.kinds, batch, words)
            endpoints.append(linear(member.weights, "end", state)[0])
            layout = batch.first, batch.size
            scores.append(pair_scores(endpoints[-1], sizes, layout, before, *member.pair_weights))
        mean = mean_of(scores)
        totals = log_sums(mean, batch.size)
        return BatchScores(self, endpoints, before, batch.first, batch.size, mean, totals)


#: Fields of a model file, with the rules by which `read_archive` checks them.
ARC_FIELDS = ArcNetwork.rules()


def vectors_of(batch: Ragged, embeddings: Sequence[Float32s | None] | None) -> Float32s | None:
    """Join the pretrained vectors of a batch's words, float32[R, d]; the root has zeros."""
    known = [] if embeddings is None else [vectors for vectors in embeddings if vectors is not None]
    if not known:
        return None
    out = np.zeros((batch.size.sum(), known[0].shape[1]), np.float32)
    for first, vectors in zip(batch.first.tolist(), known):
        out[first + 1 : first + 1 + len(vectors)] = vectors
    return out


class BatchArcs(NamedTuple):
    """Arcs of a batch: those of sentence s are ``ptr[s] : ptr[s + 1]``."""

    ptr: Longs  # [S + 1]
    head: Ints  # [A]
    mod: Ints  # [A]

    @classmethod
    def of(cls, arcs: Sequence[Pairs]) -> BatchArcs:
        """Join the arcs of sentences."""
        ptr = np.zeros(len(arcs) + 1, np.int64)
        np.cumsum([len(head) for head, _ in arcs], out=ptr[1:])
        head, mod = (np.concatenate([pair[side] for pair in arcs]) for side in range(2))
        return cls(ptr, head, mod)

    def of_sentence(self, i: int) -> Pairs:
        """Return the arcs of a sentence."""
        here = slice(self.ptr[i], self.ptr[i + 1])
        return self.head[here], self.mod[here]


def fields_of(arc_score: Float64s, parts: Sequence[KindOfParts], i: int) -> dict[str, Any]:
    """Return the fields of a sentence's problem, and their `part_table`: see `BatchScores.scored`.

    ``arc_score`` are the scores of its arcs, ``parts`` those of a batch, of which it is sentence i.
    """
    siblings, grandchildren = (kind.of_sentence(i) for kind in parts)
    n, scores = len(siblings[1]), np.concatenate([siblings[1], grandchildren[1]])
    words = np.full((4, len(scores)), ANY, np.int32)
    words[1:, :n], words[[0, 1, 3], n:] = siblings[0], grandchildren[0]
    grand, head, inner, mod = words
    return {
        "arc_score": arc_score,
        **dict(zip(PART_NAMES["sib"], (head[:n], inner[:n], mod[:n], scores[:n]))),
        **dict(zip(PART_NAMES["gc"], (grand[n:], head[n:], mod[n:], scores[n:]))),
        "part_table": (words, scores, np.array([0, n, *[len(scores)] * 3])),
    }


@dataclass(eq=False)
class BatchScores:
    """Scores of all arcs of a batch, and of parts and labels on demand."""

    network: ArcNetwork
    #: Endpoint vectors of all words, float32[R, columns], by each member of the network.
    endpoints: Sequence[Float32s]
    before: Ints  #: [R, kinds], words of some kinds before each word (`counts_before`).
    first: Longs  #: [S], row of the root of each sentence.
    size: Longs  #: [S], number of words, root included.
    #: [Σ size²], scores of all arcs, head by modifier: -inf where there is no arc, and in long
    #: sentences for long arcs, which are unlikely.
    scores: Float32s
    totals: Float64s  #: [Σ size], log Σ_h exp s(h, m) over all heads of each word.

    @cached_property
    def starts(self) -> tuple[Longs, Longs]:
        """First elements of the sentences in ``scores`` and in ``totals``."""
        return np.cumsum(self.size**2) - self.size**2, np.cumsum(self.size) - self.size

    def of_sentence(self, i: int) -> NetworkScores:
        """Return the scores of a sentence."""
        (arc, word), n = (int(starts[i]) for starts in self.starts), int(self.size[i])
        scores, totals = self.scores[arc : arc + n * n], self.totals[word : word + n]
        first, size = self.first[i : i + 1], self.size[i : i + 1]
        alone = BatchScores(self.network, self.endpoints, self.before, first, size, scores, totals)
        return NetworkScores(alone)

    def sentences(self) -> list[NetworkScores]:
        """Return the scores of each sentence."""
        return [self.of_sentence(i) for i in range(len(self.size))]

    def candidates(self, k: int, margin: float, single_root: bool) -> BatchArcs:
        """Return the candidate arcs of the sentences.

        A word gets those of its k best heads (0: all heads) that score at least the best minus
        ``margin``, and its head in the best projective tree. Words of long sentences get fewer.
        """
        return BatchArcs(*candidate_arcs(self.scores, self.size, k, margin, single_root))

    def scored(
        self, arcs: BatchArcs, projective: bool, single_root: bool
    ) -> tuple[Float64s, list[KindOfParts]]:
        """Return the scores of sorted candidate arcs, and their siblings and grandchildren.

        Scores of arcs are the log-probabilities among all arcs of their modifiers; all scores are
        multiples of `QUANTUM`.
        """
        network = self.network
        ptr, head, mod = arcs

        def rounded(scores: Float64s) -> Float64s:
            out = np.rint(scores / QUANTUM) * QUANTUM
            if not np.abs(out).sum() < _LARGEST:
                raise ModelError("the network's scores overflow: retrain the model")
            return out

        # Every tree has one head for each word, so this subtracts the same from all trees.
        rows = np.repeat(self.starts[1], np.diff(ptr)) + mod
        arc_scores = rounded(self._of_arcs(arcs) - self.totals[rows])
        parts = []
        kinds = part_words(ptr, head, mod, self.size, self.first, projective, single_root)
        for i, ((begin, words), order) in enumerate(zip(kinds, network.KINDS.values())):
            triples = tuple([words[3 + role] for role in order])
            of_members = [
                part_scores(triples, endpoints, 0, network.columns[i], member.part_weights[i])
                for member, endpoints in zip(network.members, self.endpoints)
            ]
            parts.append(KindOfParts(begin, words, rounded(mean_of(of_members))))
        return arc_scores, parts

    def label_scores(self, arcs: BatchArcs) -> Float32s:
        """Score the labels of arcs, float32[A, L]."""
        network, first = self.network, np.repeat(self.first, np.diff(arcs.ptr))
        begin, size = network.columns[2], network.sizes["label_dim"]
        of_members = [
            label_scores(
                member.weights, endpoints, first + arcs.head, first + arcs.mod, begin, size
            )[0]
            for member, endpoints in zip(network.members, self.endpoints)
        ]
        return mean_of(of_members)[:, : len(network.labels)]

    def label_numbers(self, arcs: BatchArcs) -> Ints:
        """Return the best label of each arc as a number from 1, int32[A]; any for the root."""
        return 1 + best_numbers(self.label_scores(arcs))

    def best_labels(self, arcs: BatchArcs) -> list[str]:
        """Return the best label of each arc that the rule about the root allows."""
        names = self.network.labels
        return best_labels(names, by_root(self.label_scores(arcs), arcs.head, self.network.root))

    def _of_arcs(self, arcs: BatchArcs) -> Float32s:
        """Return the scores of arcs, long ones of long sentences included."""
        network, (ptr, head, mod) = self.network, arcs
        counts = np.diff(ptr)
        rows = np.repeat(self.starts[0], counts) + np.repeat(self.size, counts) * head + mod
        scores = self.scores[rows]
        far = np.flatnonzero(scores == -np.inf)
        if len(far):  # long arcs that were requested or belong to the best tree
            sizes = network.sizes["biaffine_dim"], network.sizes["arc_mlp_dim"]
            first = np.repeat(self.first, counts)[far].astype(np.int32)
            rows_of_arcs = first + head[far], first + mod[far]
            scores[far] = mean_of(
                [
                    far_scores(endpoints, sizes, 0, self.before, *m.pair_weights, *rows_of_arcs)
                    for m, endpoints in zip(network.members, self.endpoints)
                ]
            )
        return scores


class NetworkScores:
    """A network's scores of one sentence.

    Attributes
    ----------
    scores : float32[n + 1, n + 1]
        Scores of all arcs, head by modifier; see `BatchScores`.
    totals : float64[n + 1]
        log Σ_h exp s(h, m) over all heads of each word.
    """

    def __init__(self, alone: BatchScores) -> None:
        self._alone, self.totals = alone, alone.totals
        self.scores = alone.scores.reshape(len(self.totals), -1)

    def fields(
        self, head: Ints, mod: Ints, projective: bool, single_root: bool
    ) -> dict[str, NDArray[Any]]:
        """Return the fields of a problem over sorted candidate arcs."""
        arcs = BatchArcs.of([(head, mod)])
        return fields_of(*self._alone.scored(arcs, projective, single_root), 0)

    def label_scores(self, head: Ints, mod: Ints) -> Float32s:
        """Score the labels of arcs, float32[A, L]."""
        return self._alone.label_scores(BatchArcs.of([(head, mod)]))

    def label_numbers(self, head: Ints, mod: Ints) -> Ints:
        """Return the best label of each arc, see `BatchScores.label_numbers`."""
        return self._alone.label_numbers(BatchArcs.of([(head, mod)]))

    def log_probabilities(self, head: Ints, mod: Ints) -> Float64s:
        """Return the log-probabilities of arcs among all arcs of their modifiers, float64[A]."""
        found: Float64s = self.scores[head, mod] - self.totals[mod]
        return found


@dataclass(slots=True, eq=False)
class Scored:
    """A sentence and its problem."""

    sentence: Sentence
    #: uint64[...]: the encoded sentence; None if a network alone scores it.
    values: Hashes | None
    problem: Problem
    #: The network's scores of the sentence; None with templates.
    scores: NetworkScores | None = None


def label_scores(
    w: Weights, endpoints: Float32s, head: Longs, mod: Longs, begin: int, size: int
) -> tuple[Float32s, Backward]:
    """Score the labels of arcs, float32[A, L or more]; return also the way back for gradients."""
    hidden = endpoints[head, begin : begin + size] + endpoints[mod, begin + size : begin + 2 * size]
    np.maximum(hidden, np.float32(0.0), out=hidden)
    scores, back = linear(w, "label", hidden)
    return scores, lambda d_scores: back(d_scores) * (hidden > 0.0)
