"""`LabelNetwork`: scores of labels, of one or more kinds, for each element of a sequence.

A tagger labels words (tags, features, rules for lemmas), a tokenizer characters (ends of tokens and
of sentences). Elements are rows of hashed attributes, as in all networks
(`bbparse.neural.sequence`); one hidden layer over the encoder serves all kinds of label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.layers import Backward, Weights, linear
from bbparse.neural.learner import NetworkLearner, batch_of, label_loss, touched_rows
from bbparse.neural.mixture import passes, vocabulary
from bbparse.neural.packing import Shapes, rounded
from bbparse.neural.ragged import Ragged
from bbparse.neural.sequence import (
    Dropout,
    SequenceNetwork,
    Vectors,
    dropout,
    in_sentence,
    joined_vectors,
    mean_of,
    sums_of_words,
)
from bbparse.neural.targets import joined, owners
from bbparse.runtime.archive import Fields, reading_part
from bbparse.runtime.arrays import Float32s, Hashes, Longs, indices_among
from bbparse.runtime.errors import ModelError
from bbparse.treebank.likely_tags import Likely

# Steps of a pass in a small treebank.
_STEPS = 80


@dataclass(frozen=True, slots=True)
class LabelSettings:
    """Training settings of a `LabelNetwork`."""

    #: Layers after the first convolution (see `bbparse.neural.sequence`), and lengths of vectors:
    #: of an element alone, in context, and of the hidden layer below the labels.
    layers: str = "rcr"
    word: int = 64
    width: int = 192
    hidden: int = 192
    #: Fractions of the numbers between layers, and of the attributes, that are dropped.
    dropout: float = 0.2
    attribute_dropout: float = 0.08
    #: Fraction of the elements that lose the attributes that name them, as unknown words do.
    unknown: float = 0.15
    #: Hashes of attributes that occur less often have no vectors.
    cutoff: int = 5
    #: Maximum number of passes over the training data, and of elements to learn from in all.
    epochs: int = 60
    elements: int = 5_000_000
    #: Elements of each step, and the largest step of Adam.
    batch: int = 512
    rate: float = 0.003
    #: Number of networks with different initial weights; their scores are averaged.
    members: int = 2


class LabelNetwork(SequenceNetwork):
    """Scores of the labels of each element; a subclass names the attributes that it sees."""

    SIZES: ClassVar[tuple[str, ...]] = (*SequenceNetwork.SIZES, "hidden")
    #: Number of the first attributes that name an element.
    N_LEXICAL: ClassVar[int]
    counts: tuple[int, ...] = ()

    @classmethod
    def shapes(cls, kinds: str, sizes: Mapping[str, int], n_labels: int) -> Shapes:
        hidden, columns = sizes["hidden"], -(-n_labels // 16) * 16
        return {
            **super().shapes(kinds, sizes, n_labels),
            "end_w": (sizes["width"], hidden),
            "end_b": (hidden,),
            "label_w": (hidden, columns),
            "label_b": (columns,),
        }

    def labels_of(self, kind: int) -> tuple[str, ...]:
        """Return the labels of a kind."""
        begin = sum(self.counts[:kind])
        return self.labels[begin : begin + self.counts[kind]]

    def scores(
        self, values: Sequence[Hashes], vectors: Sequence[Vectors] | None = None
    ) -> list[list[Float32s]]:
        """Score a batch of encoded sequences: for each a float32[n, labels] for each kind.

        Differences of the scores of a kind are logarithms of odds.
        """
        if not values:
            return []
        batch = Ragged.of([*map(len, values)])
        joined = None if vectors is None else joined_vectors(vectors)
        rows = indices_among(self.keys, np.concatenate(values))
        all_scores = []
        for member in self.members:
            words = sums_of_words(member.weights, rows, member.vectors, joined)
            all_scores.append(_label_scores(member.weights, self.kinds, batch, words)[0])
        scores = mean_of(all_scores)
        bounds = list(pairwise(accumulate(self.counts, initial=0)))
        return [
            [scores[first : first + size, begin:end] for begin, end in bounds]
            for first, size in zip(batch.first.tolist(), batch.size.tolist())
        ]

    def to_fields(self) -> Fields:
        fields = super().to_fields()
        fields[self.NAME]["counts"] = list(self.counts)
        return fields

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any], where: str = "network") -> Self:
        network = super().from_fields(fields, where)
        with reading_part(cls.NAME, fields, where, {"counts": list[int]}) as given:
            network.counts = tuple(given[cls.NAME]["counts"])
            if min(network.counts, default=0) < 0 or sum(network.counts) != len(network.labels):
                raise ModelError(f"counts are {network.counts}, not {len(network.labels)} in all")
        return network


def _label_scores(
    w: Weights,
    kinds: str,
    batch: Ragged,
    words: Float32s,
    noise: Dropout | None = None,
    rate: float = 0.0,
) -> tuple[Float32s, Backward]:
    """Return the scores of all labels of the elements of a batch, float32[R, L or more]."""
    state, back_state = in_sentence(w, kinds, batch, words, noise, rate)
    state, back_dropout = dropout(state, noise, rate)
    hidden, back_hidden = linear(w, "end", state)
    np.maximum(hidden, np.float32(0.0), out=hidden)
    scores, back_labels = linear(w, "label", hidden)

    def backward(d_scores: Float32s) -> Float32s:
        d_hidden = back_labels(d_scores) * (hidden > 0.0)
        return back_state(back_dropout(back_hidden(d_hidden)))

    return scores, backward


class LabelLearner:
    """Gradients of the weights of a `LabelNetwork` on training sequences.

    ``rows`` are those of the vectors of the elements of each sequence; ``gold`` the targets of each
    kind of each element (`bbparse.neural.targets.interleaved`); ``counts`` the numbers of labels of
    each kind.
    """

    def __init__(
        self,
        network: type[LabelNetwork],
        settings: LabelSettings,
        rows: Sequence[NDArray[Any]],
        gold: Sequence[Likely],
        counts: Sequence[int],
        n_values: int,
        seed: int,
        width: int = 0,
    ) -> None:
        self.network, self.settings, self.seed = network, settings, seed
        self.rows, self.gold = rows, gold
        self.bounds = list(pairwise(accumulate(counts, initial=0)))
        sizes = {name: getattr(settings, name) for name in ("word", "width", "hidden")}
        self.learner = NetworkLearner(
            network, settings.layers, {**sizes, "embeddings": width}, sum(counts), n_values, seed
        )

    def loss(
        self, chosen: Sequence[int], vectors: Sequence[Vectors] | None = None, noisy: bool = True
    ) -> tuple[Longs, float]:
        """Add the gradients of a batch; return the rows of its elements and its mean loss."""
        settings, learner = self.settings, self.learner
        w, noise = learner.weights, learner.noise if noisy else None
        batch = Ragged.of([len(self.rows[i]) for i in chosen])
        rows = np.concatenate([self.rows[i] for i in chosen]).astype(np.int64)
        gold = joined([self.gold[i] for i in chosen])
        element, kind_of = np.divmod(owners(gold), len(self.bounds))
        states = None if vectors is None else joined_vectors(vectors)
        if noise is not None:
            rates = settings.attribute_dropout, settings.unknown
            noise.hide(rows, states, *rates, self.network.N_LEXICAL)
        words = sums_of_words(w, rows, learner.vectors.weights, states)
        scores, backward = _label_scores(w, learner.kinds, batch, words, noise, settings.dropout)
        d_scores = np.zeros_like(scores)
        loss = 0.0
        for kind, (begin, end) in enumerate(self.bounds):
            own = np.flatnonzero(kind_of == kind)
            if not len(own):
                continue
            labelled, row = np.unique(element[own], return_inverse=True)
            gradient = scores[labelled, begin:end]
            loss += label_loss(gradient, row, gold.numbers[own], gold.probabilities[own])
            d_scores[labelled, begin:end] = gradient / np.float32(len(rows))
        learner.add_words(rows, backward(d_scores), states)
        return rows, loss / len(rows)

    def learn(
        self,
        keys: Hashes,
        names: Sequence[str],
        vectors: tuple[int, Callable[[Sequence[int]], Sequence[Vectors]]] | None,
        n_gold: int,
    ) -> LabelNetwork:
        """Train on sequences, of which the first are gold, and keep the labels with these names."""

        def learn_from(chosen: list[int], done: float) -> Longs:
            known = None if vectors is None else vectors[1](chosen)
            return touched_rows(self.loss(chosen, known)[0])

        settings, network = self.settings, self.network
        sizes = np.array([len(rows) for rows in self.rows], np.int64)
        n, n_silver = int(sizes[:n_gold].sum()), int(sizes[n_gold:].sum())
        epochs = min(settings.epochs, passes(n, n_silver, settings.elements))
        batch = batch_of(settings.batch, n, _STEPS)
        table, parameters = self.learner.learn(
            sizes, epochs, batch, settings.rate, self.seed, learn_from, network.NAME, n_gold
        )
        shapes = network.shapes(settings.layers, self.learner.sizes, len(names))
        for name in ("label_w", "label_b"):
            parameters[name] = parameters[name][..., : shapes[name][-1]].copy()
            parameters[name][..., len(names) :] = 0.0
        return network(names, settings.layers, self.learner.sizes, keys, table, rounded(parameters))


N = TypeVar("N", bound=LabelNetwork)


def train_labels(  # noqa: PLR0913 – data of two kinds
    network: type[N],
    values: Sequence[Hashes],
    labels: Sequence[Sequence[str]],
    gold: Sequence[Likely],
    settings: LabelSettings,
    seed: int,
    vectors: tuple[int, Callable[[Sequence[int]], Sequence[Vectors]]] | None = None,
    n_kinds: int | None = None,
    silver: Callable[[], Iterable[tuple[Hashes, Likely]]] = tuple,
) -> N:
    """Train a network on encoded sequences.

    ``labels`` are those of each kind, and ``gold`` the targets of each kind of each element
    (`bbparse.neural.targets.interleaved`), as numbers of labels. ``vectors`` are the length of
    pretrained vectors, and a function that returns those of chosen sequences. The network keeps the
    first ``n_kinds`` kinds of label; the others only help to train its encoder (Caruana 1997).
    ``silver`` returns further sequences with their targets, by a teacher; it is called twice.
    """
    keys = vocabulary(values, settings.cutoff, (encoded for encoded, _ in silver()))
    keys = keys[keys != 0]  # hashes of attributes that an element does not have
    rows = [indices_among(keys, encoded).astype(np.int32) for encoded in values]
    targets = list(gold)
    for encoded, of_teacher in silver():
        rows.append(indices_among(keys, encoded).astype(np.int32))
        targets.append(of_teacher)
    counts = [len(names) for names in labels]
    width = 0 if vectors is None else vectors[0]
    names = [name for names in labels[:n_kinds] for name in names]
    members = []
    for start in range(seed, seed + settings.members):
        learner = LabelLearner(network, settings, rows, targets, counts, len(keys), start, width)
        members.append(learner.learn(keys, names, vectors, len(values)))
    first, *others = members
    ensemble = first.with_others(others)
    ensemble.counts = tuple(counts[:n_kinds])
    return cast(N, ensemble)
