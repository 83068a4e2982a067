"""Training the network of a tagger (`bbparse.tagging.network`).

It learns UPOS, UPOS with XPOS, and FEATS at once, so that its vectors know more of a word than its
tag; but only tags are asked for afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbparse.network.encoder import known_rows
from bbparse.network.learning import Learner, Stack, product, product_back, vocabulary
from bbparse.outside import Outside
from bbparse.tagging.network import N_WHOLE, NETWORK_COLUMNS, TagNetwork
from bbparse.treebank import Sentence

#: Vectors are kept in steps of so many quanta, which makes files smaller.
COARSE = 32

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """How the network of a tagger is trained; for the sizes see `TagNetwork`."""

    word: int = 48
    width: int = 128
    layers: int = 2
    hidden: int = 96
    #: Shares of the numbers between layers, and of the attributes of words, that are left out.
    dropout: float = 0.2
    word_dropout: float = 0.3
    #: Share of the words that are learned from as if they had never been seen: by their parts.
    unknown: float = 0.1
    #: Values of attributes that are there less often have no vectors.
    cutoff: int = 1
    #: Treebanks with more sentences have no network, unless there are vectors from outside: their
    #: layer of tags knows as much by itself.
    largest: int = 5_000
    #: Most passes over the training data, and sentences that are learned from in all.
    epochs: int = 40
    lessons: int = 100_000
    #: Sentences for each step, and Adam's step.
    batch: int = 8
    rate: float = 0.004
    #: What its scores count beside those of the layer of tags.
    weight: float = 0.5


class TagLearner(Learner):
    """A learner of several kinds of labels for each word, ``counts`` of each kind; `outside` is the
    length of vectors from outside."""

    def __init__(
        self, settings: NetworkSettings, counts: Sequence[int], n_values: int, seed: int,
        outside: int = 0,
    ) -> None:  # fmt: skip
        self.settings = settings
        self.starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.sizes = (
            settings.word, settings.width, settings.layers, settings.hidden,
            *([outside] if outside else []),
        )  # fmt: skip
        shapes = TagNetwork.shapes(self.sizes, int(self.starts[-1]))
        fans = {"end_w": settings.width, "label_w": settings.hidden}
        super().__init__(settings, shapes, fans, (), n_values, seed)

    def loss(
        self, rows: Sequence[Rows], gold: Rows, dropout: bool = True,
        outside: Sequence[Floats] | None = None,
    ) -> float:  # fmt: skip
        """The loss of sentences for each of their words; adds its gradients to those there are.

        ``rows`` are those of each sentence, ``gold`` the labels of all words, int64[W, kinds],
        numbered within their kind; ``outside`` vectors of them, of each sentence.
        """
        p, g = self.p, self.g
        drop = self.settings.dropout if dropout else 0.0
        stack = Stack(rows, outside)
        if dropout:
            unknown = self.kept((len(stack.rows), 1), self.settings.unknown) == 0.0
            stack.rows[:, :N_WHOLE] = np.where(unknown, -1, stack.rows[:, :N_WHOLE])
        words = np.flatnonzero(stack.mask)
        state, tape = self.up(stack, dropout)
        kept = self.kept(state.shape, drop)
        own = np.ascontiguousarray((state * kept)[words])
        hidden = product(own, p["end_w"], p["end_b"])
        active = self.kept(hidden.shape, drop) * (hidden > 0.0)
        hidden *= active
        scores = product(hidden, p["label_w"], p["label_b"])
        d_scores = np.zeros_like(scores)
        loss, place = 0.0, np.arange(len(words))
        for kind, (start, stop) in enumerate(zip(self.starts[:-1], self.starts[1:])):
            chances = scores[:, start:stop] - scores[:, start:stop].max(axis=1, keepdims=True)
            np.exp(chances, out=chances)
            chances /= chances.sum(axis=1, keepdims=True)
            right = chances[place, gold[:, kind]]
            loss -= float(np.log(np.maximum(right, 1e-30)).sum())
            chances[place, gold[:, kind]] -= 1.0
            d_scores[:, start:stop] = chances
        d_scores /= np.float32(len(words))
        d_hidden = product_back(hidden, p["label_w"], d_scores, g["label_w"], g["label_b"])
        d_own = product_back(own, p["end_w"], d_hidden * active, g["end_w"], g["end_b"])
        d_state = np.zeros_like(state)
        d_state[words] = d_own
        self.down(d_state * kept, tape)
        return loss / len(words)


def train_tag_network(
    values: Sequence[NDArray[np.uint64]],
    columns: Sequence[Sequence[Sequence[str]]],
    labels: Sequence[str],
    settings: NetworkSettings,
    seed: int,
    sentences: Sequence[Sentence] = (),
    outside: Outside | None = None,
) -> TagNetwork:
    """Train a network on encoded sentences, and on columns of each: first the tags, which are all
    in ``labels``, then what else is to be learned. Vectors from outside are asked for sentence by
    sentence."""
    kinds = [
        {label: i for i, label in enumerate(known)}
        for known in (labels, *(sorted(set().union(*some)) for some in [*zip(*columns)][1:]))
    ]
    gold = [
        np.array([[kind[x] for x in column] for kind, column in zip(kinds, some)], np.int64).T
        for some in columns
    ]
    keys = vocabulary(values, NETWORK_COLUMNS, settings.cutoff)
    rows = [known_rows(some, keys, NETWORK_COLUMNS) for some in values]
    width = 0 if outside is None else outside.width
    learner = TagLearner(settings, [len(kind) for kind in kinds], len(keys), seed, width)

    def learn_from(some: list[int]) -> float:
        more = None if outside is None else outside([sentences[i] for i in some])
        right = np.concatenate([gold[i] for i in some])
        return learner.loss([rows[i] for i in some], right, outside=more)

    epochs = min(settings.epochs, -(-settings.lessons // len(rows)))
    exact, learned = learner.learn(
        np.arange(len(rows)), epochs, settings.batch, settings.rate, seed, learn_from, "network",
    )  # fmt: skip
    vectors = (np.rint(exact / COARSE) * COARSE).astype(np.int16)
    # what was learned beside the tags has served its purpose
    shapes = TagNetwork.shapes(learner.sizes, len(labels))
    for name in ("label_w", "label_b"):
        size = shapes[name][-1]
        part = np.zeros(shapes[name], np.float32)
        part[..., : len(labels)] = learned[name][..., : len(labels)] * np.float32(settings.weight)
        learned[name] = part[..., :size]
    return TagNetwork(labels, learner.sizes, keys, vectors, learned)
