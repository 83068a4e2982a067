"""Training the guide that is a neural network (`bbparse.scoring.network`).

The loss is that of the heads among the candidates, and of the labels of the right arcs; see
`bbparse.network.learning` for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration import Configuration
from bbparse.configuration.records import NetworkConfig
from bbparse.learning.data import TrainingData
from bbparse.network.encoder import known_rows
from bbparse.network.learning import Learner, Stack, product, product_back, vocabulary
from bbparse.network.learning_kernels import add_to_rows, sum_rows
from bbparse.scoring.network import KINDS, TAG, WORD_COLUMNS, Network
from bbparse.scoring.network_kernels import arc_rows
from bbparse.treebank.encode import PAD

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


class Batch:
    """Candidate arcs of some sentences, sorted by modifier.

    `head` and `mod` (int64[A]) are rows of their ends in the `stack`, `known` those of the table of
    arcs. Arcs of word w begin at ``first[w]``, `word` is that of each arc; `right` (int64[W]) is
    the right arc of each word, `label` its label, -1 where it is unknown.
    """

    def __init__(
        self,
        data: TrainingData,
        chosen: Sequence[int],
        rows: Mapping[int, Rows],
        labels: Mapping[int, Rows],
    ) -> None:
        outside = None
        if data.outside is not None:
            outside = data.outside([data.sentences[i] for i in chosen])
        self.stack = Stack((rows[i] for i in chosen), outside)
        heads, mods, known, gold, names = [], [], [], [], []
        for i, at in zip(chosen, self.stack.starts):
            head, mod = data.arcs[i]
            order = np.lexsort((head, mod))
            head, mod = head[order], mod[order]
            heads.append(head.astype(np.int64) + at)
            mods.append(mod.astype(np.int64) + at)
            known.append(arc_rows(head, mod, data.values[i], PAD, TAG, KINDS))
            gold.append(data.heads[i][mod] == head)
            names.append(labels[i])
        self.head, self.mod = np.concatenate(heads), np.concatenate(mods)
        self.known = np.concatenate(known)
        new = np.concatenate([[True], self.mod[1:] != self.mod[:-1]])
        self.first = np.flatnonzero(new)
        self.word = np.cumsum(new) - 1
        self.right = np.flatnonzero(np.concatenate(gold))
        self.label = np.concatenate(names)


class NetworkLearner(Learner):
    """A learner of the guide; `outside` is the length of vectors from outside."""

    def __init__(
        self, settings: NetworkConfig, n_values: int, n_labels: int, seed: int, outside: int = 0
    ) -> None:
        self.settings = settings
        self.n_labels = n_labels
        self.sizes = (
            settings.word, settings.width, settings.layers, settings.shared, settings.pairs,
            *([outside] if outside else []),
        )  # fmt: skip
        fans = {"end_w": settings.width, "label_w": settings.shared, "out_w": settings.shared}
        super().__init__(
            settings, Network.shapes(self.sizes, n_labels), fans, ("arc_table",), n_values, seed
        )
        self.p["label_w"][:, n_labels:] = 0.0
        # a(h) is learned as if it were longer: sums of many products would start too large
        self._pair_share = np.float32(1.0 / np.sqrt(settings.pairs))

    def loss(self, batch: Batch, dropout: bool = True) -> float:
        """The loss of a batch for each of its words; adds its gradients to those there are."""
        settings, p, g = self.settings, self.p, self.g
        shared, pairs = settings.shared, settings.pairs
        drop = settings.dropout if dropout else 0.0
        state, tape = self.up(batch.stack, dropout)
        n_rows = len(state)
        last_kept = self.kept(state.shape, drop)
        state = state * last_kept
        both = product(state, p["end_w"], p["end_b"])
        head, mod = batch.head, batch.mod
        table = np.empty((len(head), shared), np.float32)
        sum_rows(batch.known, p["arc_table"], table)
        r = both[head, :shared] + both[mod, shared : 2 * shared] + table
        r_active = self.kept(r.shape, drop) * (r > 0.0)
        r *= r_active
        pair_h = both[head, 2 * shared : 2 * shared + pairs]
        pair_m = both[mod, 2 * shared + pairs :]
        scores = (r * p["out_w"]).sum(axis=1) + self._pair_share * (pair_h * pair_m).sum(axis=1)
        # losses
        first, word, right = batch.first, batch.word, batch.right
        scores -= np.maximum.reduceat(scores, first)[word]
        np.exp(scores, out=scores)
        scores /= np.add.reduceat(scores, first)[word]
        n_words = np.float32(len(first))
        loss = -float(np.log(np.maximum(scores[right], 1e-30)).sum())
        known = batch.label >= 0
        gold_rows, gold = right[known], batch.label[known]
        own = np.ascontiguousarray(r[gold_rows])
        label_scores = product(own, p["label_w"], p["label_b"])[:, : self.n_labels]
        label_scores -= label_scores.max(axis=1, keepdims=True)
        np.exp(label_scores, out=label_scores)
        label_scores /= label_scores.sum(axis=1, keepdims=True)
        place = np.arange(len(gold))
        loss -= float(np.log(np.maximum(label_scores[place, gold], 1e-30)).sum())
        # and down again
        d_labels = np.zeros((len(gold), p["label_w"].shape[1]), np.float32)
        d_labels[:, : self.n_labels] = label_scores
        d_labels[place, gold] -= 1.0
        d_labels /= n_words
        d_scores = scores
        d_scores[right] -= 1.0
        d_scores /= n_words
        g["out_w"] += (r * d_scores[:, np.newaxis]).sum(axis=0)
        d_r = d_scores[:, np.newaxis] * p["out_w"]
        d_r[gold_rows] += product_back(own, p["label_w"], d_labels, g["label_w"], g["label_b"])
        d_r *= r_active
        add_to_rows(batch.known, d_r, g["arc_table"])
        d_both = np.zeros_like(both)
        d_end = np.empty((len(head), shared + pairs), np.float32)
        d_end[:, :shared] = d_r
        for row, other, at in ((head, pair_m, 0), (mod, pair_h, 1)):
            np.multiply(self._pair_share * d_scores[:, np.newaxis], other, out=d_end[:, shared:])
            found = np.zeros((n_rows, shared + pairs), np.float32)
            add_to_rows(row[:, np.newaxis], d_end, found)
            d_both[:, at * shared : (at + 1) * shared] = found[:, :shared]
            d_both[:, 2 * shared + at * pairs : 2 * shared + (at + 1) * pairs] = found[:, shared:]
        d_state = product_back(state, p["end_w"], d_both, g["end_w"], g["end_b"]) * last_kept
        self.down(d_state, tape)
        return loss / float(n_words)


def train_network(
    config: Configuration, data: TrainingData, chosen: NDArray[np.int64], labels: tuple[str, ...]
) -> Network:
    """Train a network on some of the sentences, whose candidate arcs have the gold ones among them.

    ``labels`` are all there are, sorted. The configuration's ``guide``, ``network`` and
    ``learning.seed`` count.
    """
    settings, seed = config.network, config.learning.seed
    number = {label: i for i, label in enumerate(labels)}
    keys = vocabulary((data.values[i] for i in chosen), WORD_COLUMNS, settings.cutoff)
    rows: dict[int, Rows] = {int(i): known_rows(data.values[i], keys, WORD_COLUMNS) for i in chosen}
    names = {
        int(i): np.array([number.get(label, -1) for label in data.sentences[i].deprels], np.int64)
        for i in chosen
    }
    outside = 0 if data.outside is None else data.outside.width
    learner = NetworkLearner(settings, len(keys), len(labels), seed, outside)
    vectors, parameters = learner.learn(
        chosen, config.guide.epochs, settings.batch, config.guide.rate, seed,
        lambda some: learner.loss(Batch(data, some, rows, names)), "guide",
    )  # fmt: skip
    pairs = slice(2 * settings.shared, 2 * settings.shared + settings.pairs)
    parameters["end_w"][:, pairs] *= learner._pair_share
    parameters["end_b"][pairs] *= learner._pair_share
    return Network(labels, learner.sizes, keys, vectors, parameters)
