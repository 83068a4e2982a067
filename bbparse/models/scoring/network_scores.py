"""Scores that a network gives the arcs, parts and labels of a batch of sentences.

Every step works on the whole batch: its sentences follow each other in flat arrays, so that a step
is one call however short the sentences are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bbparse.core.parts import PART_NAMES
from bbparse.models.scoring.batch_kernels import candidate_arcs, part_words
from bbparse.models.scoring.pair_kernels import far_scores, log_sums
from bbparse.models.scoring.part_kernels import part_scores
from bbparse.neural.layers import Backward, Weights, linear
from bbparse.neural.sequence import mean_of
from bbparse.runtime.arrays import Float32s, Ints, Longs
from bbparse.runtime.errors import ModelError

Pairs = tuple[Ints, Ints]

# Limit of the scores of a batch: the scores of a sound network are far smaller.
_LARGEST = 1e12


class Network(Protocol):
    """The members, sizes and weights that `models.scoring.arc_network.ArcNetwork` scores with."""

    KINDS: ClassVar[Mapping[str, Sequence[int]]]
    labels: tuple[str, ...]
    sizes: dict[str, int]
    columns: tuple[int, int, int, int]
    weights: Weights
    pair_weights: tuple[Float32s, Float32s]
    part_weights: tuple[tuple[Float32s, Float32s, Float32s], ...]

    @property
    def members(self) -> Sequence[Network]: ...


class Batch(NamedTuple):
    """What a network makes of a batch of sentences.

    Attributes
    ----------
    ends : list of float32[R, columns]
        Endpoint vectors of all words, by each member of the network.
    before : int16[R, kinds]
        Numbers of words of some kinds before each word (`counts_before`).
    first, size : int64[S]
        Row of the root of each sentence, and its number of words, root included.
    scores : float32[Σ size²]
        Scores of all arcs, head by modifier: -inf where there is no arc, and in long sentences for
        long arcs, which are unlikely.
    """

    ends: Sequence[Float32s]
    before: NDArray[np.int16]
    first: Longs
    size: Longs
    scores: Float32s


class BatchScores:
    """Scores of all arcs of a batch, and what follows from the vectors of its words."""

    def __init__(self, network: Network, batch: Batch) -> None:
        self.network, self.batch = network, batch
        #: log Σ_h exp s(h, m) over all heads of each word, float64[Σ size].
        self.totals = log_sums(batch.scores, batch.size)

    def __len__(self) -> int:
        return len(self.batch.size)

    @cached_property
    def _starts(self) -> tuple[Longs, Longs]:
        """First elements of the sentences in the scores of arcs, and in the totals."""
        size = self.batch.size
        return np.cumsum(size**2) - size**2, np.cumsum(size) - size

    def sentences(self) -> list[SentenceScores]:
        """Return the scores of each sentence."""
        return [SentenceScores(self, i) for i in range(len(self))]

    def only(self, i: int) -> BatchScores:
        """Return the scores of one sentence as a batch."""
        if len(self) == 1:
            return self
        batch, (square, row) = self.batch, (starts[i] for starts in self._starts)
        n = batch.size[i]
        alone = object.__new__(BatchScores)
        alone.network = self.network
        alone.batch = batch._replace(
            first=batch.first[i : i + 1], size=batch.size[i : i + 1],
            scores=batch.scores[square : square + n * n],
        )  # fmt: skip
        alone.totals = self.totals[row : row + n]
        return alone

    def candidates(
        self, k: int, margin: float, single_root: bool, in_trees: bool = False
    ) -> list[Pairs]:
        """Return the candidate arcs of each sentence, int32[A] each, sorted by (head, mod).

        A word gets those of its k best heads (0: all heads) that score at least the best minus
        ``margin``, and its head in the best projective tree. Words of long sentences get fewer.
        With ``in_trees`` those that belong to no projective tree are left out.
        """
        ptr, head, mod = candidate_arcs(
            self.batch.scores, self.batch.size, k, float(margin), single_root, in_trees
        )
        bounds = ptr.tolist()
        return [(head[a:b], mod[a:b]) for a, b in pairwise(bounds)]

    def fields(
        self, arcs: Sequence[Pairs], projective: bool, single_root: bool, quantum: float
    ) -> list[dict[str, NDArray[Any]]]:
        """Return the fields of a problem for each sentence, over its candidate arcs.

        Scores of arcs, which are sorted by (head, mod), are the log-probabilities among all arcs of
        their modifiers. Siblings and grandchildren are those that the arcs can form. All scores are
        multiples of ``quantum``.
        """
        network, batch = self.network, self.batch
        ptr, head, mod = joined(arcs)
        members = list(zip(network.members, batch.ends))
        # Every tree has one head for each word, so this subtracts the same from all trees.
        scores = self._of_arcs(ptr, head, mod) - self.totals[self._rows(ptr, 1, mod)]
        columns: dict[str, NDArray[Any]] = {"arc_score": np.rint(scores / quantum) * quantum}
        bounds: dict[str, list[int]] = {"arc_score": ptr.tolist()}
        found = part_words(ptr, head, mod, batch.size, batch.first, projective, single_root)
        for i, ((kind, order), (part_ptr, words, rows)) in enumerate(
            zip(network.KINDS.items(), found)
        ):
            triples = tuple([rows[role] for role in order])
            scores = mean_of([
                part_scores(triples, ends, 0, network.columns[i], m.part_weights[i])
                for m, ends in members
            ])  # fmt: skip
            names = PART_NAMES[kind]
            columns.update(zip(names, (*words, np.rint(scores / quantum) * quantum)))
            bounds.update(dict.fromkeys(names, part_ptr.tolist()))
        total = sum(float(np.abs(columns[f"{kind}_score"]).sum()) for kind in _KINDS)
        if not total < _LARGEST:
            raise ModelError("the network's scores are out of all proportion: train it anew")
        slices = {name: [*map(slice, at, at[1:])] for name, at in bounds.items()}
        return [
            {name: column[slices[name][i]] for name, column in columns.items()}
            for i in range(len(arcs))
        ]

    def label_scores(self, arcs: Sequence[Pairs]) -> list[Float32s]:
        """Score the labels of arcs, float32[A, L] for each sentence."""
        network = self.network
        ptr, head, mod = joined(arcs)
        first = np.repeat(self.batch.first, np.diff(ptr))
        begin, size = network.columns[2], network.sizes["naming"]
        scores = mean_of([
            label_scores(member.weights, ends, first + head, first + mod, begin, size)[0]
            for member, ends in zip(network.members, self.batch.ends)
        ])[:, : len(network.labels)]  # fmt: skip
        bounds = ptr.tolist()
        return [scores[a:b] for a, b in pairwise(bounds)]

    def _rows(self, ptr: Longs, of: int, words: Ints) -> Longs:
        """Return the places of words of each sentence after the sentence's first element."""
        rows: Longs = np.repeat(self._starts[of], np.diff(ptr)) + words
        return rows

    def _of_arcs(self, ptr: Longs, head: Ints, mod: Ints) -> Float32s:
        """Return the scores of arcs, long ones of long sentences included."""
        network, batch = self.network, self.batch
        counts = np.diff(ptr)
        scores = batch.scores[self._rows(ptr, 0, mod) + np.repeat(batch.size, counts) * head]
        far = np.flatnonzero(scores == -np.inf)
        if len(far):  # long arcs that were requested or belong to the best tree
            sizes = network.sizes["pairs"], network.sizes["shared"]
            first = np.repeat(batch.first, counts)[far].astype(np.int32)
            ends_of_arcs = first + head[far], first + mod[far]
            scores[far] = mean_of([
                far_scores(ends, sizes, 0, batch.before, *m.pair_weights, *ends_of_arcs)
                for m, ends in zip(network.members, batch.ends)
            ])  # fmt: skip
        return scores


_KINDS = ("arc", "sib", "gc")


class SentenceScores:
    """Scores of all arcs of one sentence of a batch."""

    def __init__(self, batch: BatchScores, i: int) -> None:
        self._batch, self._i = batch, i
        #: Candidate arcs and the scores of their labels, float32[A, L], once they are known.
        self.arc_labels: Float32s | None = None
        self._arcs: Pairs | None = None

    @cached_property
    def _alone(self) -> BatchScores:
        return self._batch.only(self._i)

    @property
    def network(self) -> Network:
        """The network that scores the sentence."""
        return self._batch.network

    @property
    def scores(self) -> Float32s:
        """Scores of all arcs, float32[n + 1, n + 1]; see `Batch`."""
        alone = self._alone.batch
        n = int(alone.size[0])
        return alone.scores.reshape(n, n)

    @property
    def totals(self) -> NDArray[np.float64]:
        """log Σ_h exp s(h, m) over all heads of each word, float64[n + 1]."""
        return self._alone.totals

    def candidates(self, k: int, margin: float, single_root: bool) -> Pairs:
        """Return the candidate arcs; see `BatchScores.candidates`."""
        return self._alone.candidates(k, margin, single_root)[0]

    def fields(
        self, head: Ints, mod: Ints, projective: bool, single_root: bool, quantum: float
    ) -> dict[str, NDArray[Any]]:
        """Return the fields of a problem over candidate arcs; see `BatchScores.fields`."""
        return self._alone.fields([(head, mod)], projective, single_root, quantum)[0]

    def label_scores(self, head: Ints, mod: Ints) -> Float32s:
        """Score the labels of arcs, float32[A, L]."""
        return self._alone.label_scores([(head, mod)])[0]

    def keep_labels(self, head: Ints, mod: Ints, scores: Float32s) -> None:
        """Store the scores of the labels of candidate arcs, sorted by (head, mod)."""
        self.arc_labels, self._arcs = scores, (head, mod)

    def labels_over(self, arc_head: Ints) -> Float32s | None:
        """Return the stored scores of labels if they are those of a problem with these heads."""
        same = self._arcs is not None and self._arcs[0] is arc_head
        return self.arc_labels if same else None

    def tree_label_scores(self, heads: Ints) -> Float32s:
        """Score the labels of a tree's arcs, int32[n + 1] heads; one row for each word."""
        n = len(heads) - 1
        mods = np.arange(1, n + 1, dtype=np.int32)
        if self.arc_labels is not None and self._arcs is not None:
            head, mod = self._arcs
            keys = head.astype(np.int64) * (n + 1) + mod
            tree_keys = heads[1:].astype(np.int64) * (n + 1) + mods
            places = np.minimum(np.searchsorted(keys, tree_keys), len(keys) - 1)
            if (keys[places] == tree_keys).all():
                return self.arc_labels[places]
        return self.label_scores(np.asarray(heads[1:], np.int32), mods)

    def log_odds(self, head: Ints, mod: Ints) -> NDArray[np.float64]:
        """Return the log-probabilities of arcs among all arcs of their modifiers, float64[A]."""
        odds: NDArray[np.float64] = self.scores[head, mod] - self.totals[mod]
        return odds


def joined(arcs: Sequence[Pairs]) -> tuple[Longs, Ints, Ints]:
    """Join the arcs of sentences: int64[S + 1] where those of each begin, heads and modifiers."""
    ptr = np.zeros(len(arcs) + 1, np.int64)
    np.cumsum([len(head) for head, _ in arcs], out=ptr[1:])
    head, mod = (np.concatenate([pair[side] for pair in arcs]) for side in range(2))
    return ptr, head, mod


def label_scores(
    w: Weights, ends: Float32s, head: Longs, mod: Longs, begin: int, size: int
) -> tuple[Float32s, Backward]:
    """Score the labels of arcs between rows of the endpoint vectors.

    Returns the scores, float32[A, L or more], and the function from their gradient to that of the
    sums of endpoint vectors.
    """
    hidden = ends[head, begin : begin + size] + ends[mod, begin + size : begin + 2 * size]
    np.maximum(hidden, np.float32(0.0), out=hidden)
    scores, back = linear(w, "label", hidden)
    return scores, lambda d_scores: back(d_scores) * (hidden > 0.0)
