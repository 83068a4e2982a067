"""`TagNetwork`: what a recurrent network thinks of the tags and features of words.

It sees of words what can be said without tags (`NETWORK_ATTRIBUTES`), and the whole sentence
(`bbparse.network.sequence`). Its scores of tags and of FEATS are added to those of the layers, in
the same steps, so that the best sequence is found by sums of whole numbers. It learns UPOS besides,
so that its vectors know more of a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bbparse.embeddings import Embeddings
from bbparse.errors import ModelError
from bbparse.network.layers import Backward, Floats, Weights, linear
from bbparse.network.learner import NetworkLearner, label_loss, touched_rows, vocabulary
from bbparse.network.ragged import PADDING, Ragged
from bbparse.network.sequence import (
    Dropout,
    SequenceNetwork,
    in_sentence,
    known_rows,
    network_rules,
    sums_of_words,
)
from bbparse.storage.archive import INTS, Rule
from bbparse.tagging.encode import COLUMNS, PAD
from bbparse.tagging.layer import LAYER_QUANTUM
from bbparse.treebank import Sentence

Ints = NDArray[np.int32]
Rows = NDArray[np.int64]
Values = NDArray[np.uint64]

#: The attributes whose vectors a word is the sum of.
NETWORK_ATTRIBUTES = (
    "form", "lower", "prefix1", "prefix2", "prefix3", "prefix4",
    "suffix1", "suffix2", "suffix3", "suffix4", "suffix5", "shape", "kinds", "habit", "style",
)  # fmt: skip
#: The first of them that are the whole word.
N_WHOLE = 2
NETWORK_COLUMNS = np.array([COLUMNS.index(name) for name in NETWORK_ATTRIBUTES], np.int64)

#: Arrays of a network, with the rules that `read_archive` checks them by.
TAG_NETWORK_ARRAYS: dict[str, Rule] = {**network_rules("tags"), "tags_count": (INTS, 0, None)}


class TagNetwork(SequenceNetwork):
    """Scores of tags and FEATS: its labels are those of the layers, first ``n_tags`` tags."""

    NAME = "tags"
    COLUMNS = NETWORK_COLUMNS
    #: With the length of the vectors that labels are told by.
    SIZES: ClassVar[tuple[str, ...]] = (*SequenceNetwork.SIZES, "hidden")

    def __init__(
        self,
        labels: Sequence[str],
        kinds: str,
        sizes: Mapping[str, int],
        keys: Values,
        vectors: Floats,
        parameters: Mapping[str, Floats],
        n_tags: int = 0,
    ) -> None:
        super().__init__(labels, kinds, sizes, keys, vectors, parameters)
        self.n_tags = n_tags

    @classmethod
    def shapes(
        cls, kinds: str, sizes: Mapping[str, int], n_labels: int
    ) -> dict[str, tuple[int, ...]]:
        hidden, columns = sizes["hidden"], -(-n_labels // 16) * 16
        return {
            **super().shapes(kinds, sizes, n_labels),
            "end_w": (sizes["width"], hidden), "end_b": (hidden,),
            "label_w": (hidden, columns), "label_b": (columns,),
        }  # fmt: skip

    def scores(self, values: Values, outside: Floats | None = None) -> tuple[Ints, Ints]:
        """Scores of the tags and of the FEATS of encoded words, int32[n, L] each, in steps of
        `LAYER_QUANTUM`.

        A network that was trained with pretrained vectors takes those of the words, float32[n, d].
        """
        n = len(values) - 2 * PAD
        batch = Ragged.of([n])
        rows = batch.rows_of([self.rows(values)], -1)
        vectors = None if outside is None else batch.rows_of([outside], 0.0)
        words = sums_of_words(self.weights, rows, self.vectors, vectors)
        scores, _ = _label_scores(self.weights, self.kinds, batch, words)
        first = int(batch.first[0])
        quanta = np.rint(scores[first : first + n] * np.float32(1.0 / LAYER_QUANTUM))
        steps = quanta.astype(np.int32)
        end = len(self.labels)
        return (
            np.ascontiguousarray(steps[:, : self.n_tags]),
            np.ascontiguousarray(steps[:, self.n_tags : end]),
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        return {**super().to_arrays(), "tags_count": np.array(self.n_tags, np.int32)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], where: str = "network") -> Self:
        network = super().from_arrays(arrays, where)
        network.n_tags = int(arrays["tags_count"]) if "tags_count" in arrays else -1
        if not 0 <= network.n_tags <= len(network.labels):
            raise ModelError(
                f"{where}: tags_count is {network.n_tags}, expected 0 to {len(network.labels)}"
            )
        return network

    @classmethod
    def of_labels(
        cls, tags: Sequence[str], feats: Sequence[str], arrays: Mapping[str, NDArray[Any]],
        where: str,
    ) -> TagNetwork:  # fmt: skip
        """As `from_arrays`; `ModelError` if it is for other labels than those of the layers."""
        network = cls.from_arrays(arrays, where)
        if network.labels != (*tags, *feats) or network.n_tags != len(tags):
            raise ModelError(f"{where}: tags_labels are not the tags and FEATS of the tagger")
        return network


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Settings of the training of a tagger's network; for the sizes see `TagNetwork`."""

    layers: str = "rcr"
    word: int = 64
    width: int = 192
    hidden: int = 96
    #: Fractions of the numbers between layers, and of the attributes of words, that are left out.
    dropout: float = 0.25
    attribute_dropout: float = 0.08
    #: Fraction of the words that are learned from as if they had never been seen: by their parts.
    unknown: float = 0.15
    #: Values of attributes that are there less often have no vectors.
    cutoff: int = 2
    #: Most passes over the training data, and words that are learned from in all.
    epochs: int = 30
    words: int = 2_400_000
    #: Words for each step, and the largest step of Adam.
    batch: int = 512
    rate: float = 0.003
    #: What its scores count beside those of the layers.
    weight: float = 0.5


def _label_scores(
    w: Weights, kinds: str, batch: Ragged, words: Floats, noise: Dropout | None = None,
    rate: float = 0.0,
) -> tuple[Floats, Backward]:  # fmt: skip
    """Scores of all labels of the words of a batch, float32[R, L or more]."""
    state, back_state = in_sentence(w, kinds, batch, words, noise, rate)
    kept = None if noise is None else noise.mask(state.shape, rate)
    hidden, back_hidden = linear(w, "end", state if kept is None else state * kept)
    np.maximum(hidden, np.float32(0.0), out=hidden)
    scores, back_labels = linear(w, "label", hidden)

    def backward(d_scores: Floats) -> Floats:
        d_state = back_hidden(back_labels(d_scores) * (hidden > 0.0))
        return back_state(d_state if kept is None else d_state * kept)

    return scores, backward


class TagLearner:
    """Gradients of the weights of a `TagNetwork`, given training sentences.

    ``rows`` are those of the vectors of the words of each sentence, ``gold`` the numbers of their
    labels of each kind, int64[n, kinds], ``counts`` how many labels each kind has.
    """

    def __init__(
        self, settings: NetworkSettings, rows: Sequence[Rows], gold: Sequence[Rows],
        counts: Sequence[int], n_values: int, seed: int, outside: int = 0,
    ) -> None:  # fmt: skip
        self.settings, self.rows, self.gold = settings, rows, gold
        self.ends = np.cumsum(counts).tolist()
        sizes = {name: getattr(settings, name) for name in ("word", "width", "hidden")}
        self.learner = NetworkLearner(
            TagNetwork, settings.layers, {**sizes, "outside": outside}, self.ends[-1], n_values,
            seed,
        )  # fmt: skip

    def loss(
        self, chosen: Sequence[int], vectors: Sequence[Floats] | None = None, dropout: bool = True
    ) -> tuple[Rows, float]:
        """Rows of words, and the loss of some sentences for each of their words, whose gradients
        are added to those there are; ``vectors`` are pretrained ones of each sentence."""
        settings, learner = self.settings, self.learner
        w, noise = learner.weights, learner.noise if dropout else None
        batch = Ragged.of([len(self.rows[i]) for i in chosen], PADDING)
        rows = batch.rows_of([self.rows[i] for i in chosen], -1)
        gold = batch.rows_of([self.gold[i] for i in chosen], -1)
        given = None if vectors is None else batch.rows_of(vectors, 0.0)
        if noise is not None:
            noise.hide(rows, given, settings.attribute_dropout, settings.unknown, N_WHOLE)
        words = sums_of_words(w, rows, learner.vectors.weights, given)
        scores, backward = _label_scores(
            w, learner.kinds, batch, words, noise, settings.dropout
        )
        there = batch.mask > 0.0
        n_words = int(there.sum())
        d_scores = np.zeros_like(scores)
        loss, begin = 0.0, 0
        for kind, end in enumerate(self.ends):
            own = scores[there, begin:end]
            loss += label_loss(own, gold[there, kind])
            d_scores[there, begin:end] = own / np.float32(n_words)
            begin = end
        d_words = backward(d_scores)
        learner.add_words(rows, d_words, given)
        return rows, loss / n_words


def train_tag_network(
    values: Sequence[Values],
    columns: Sequence[Sequence[Sequence[str]]],
    labels: Sequence[Sequence[str]],
    settings: NetworkSettings,
    seed: int,
    sentences: Sequence[Sentence] = (),
    outside: Embeddings | None = None,
) -> TagNetwork:
    """Train a network on encoded sentences, and on columns of each: tags, FEATS, and UPOS.

    ``labels`` are those of tags and FEATS, in the order of the layers; pretrained vectors are asked
    for sentence by sentence.
    """
    upos = sorted({tag for some in columns for tag in some[2]})
    kinds = [{label: i for i, label in enumerate(some)} for some in (*labels, upos)]
    gold = [
        np.array([[kind[x] for x in column] for kind, column in zip(kinds, some)], np.int64).T
        for some in columns
    ]
    keys = vocabulary(values, NETWORK_COLUMNS, settings.cutoff)
    rows = [known_rows(some, keys, NETWORK_COLUMNS) for some in values]
    learner = TagLearner(
        settings, rows, gold, [len(kind) for kind in kinds], len(keys), seed,
        0 if outside is None else outside.width,
    )  # fmt: skip

    def learn_from(chosen: list[int], done: float) -> Rows:
        given = None if outside is None else outside([sentences[i] for i in chosen])
        return touched_rows(learner.loss(chosen, given)[0])

    sizes = np.array([len(own) for own in rows], np.int64)
    epochs = max(1, min(settings.epochs, round(settings.words / int(sizes.sum()))))
    vectors, parameters = learner.learner.learn(
        sizes, epochs, settings.batch, settings.rate, seed, learn_from, "network"
    )
    n_tags, n_labels = len(labels[0]), len(labels[0]) + len(labels[1])
    shapes = TagNetwork.shapes(settings.layers, learner.learner.sizes, n_labels)
    for name in ("label_w", "label_b"):  # UPOS has served its purpose
        kept = np.zeros(shapes[name], np.float32)
        kept[..., :n_labels] = parameters[name][..., :n_labels] * np.float32(settings.weight)
        parameters[name] = kept
    return TagNetwork(
        [*labels[0], *labels[1]], settings.layers, learner.learner.sizes, keys, vectors,
        parameters, n_tags,
    )  # fmt: skip
