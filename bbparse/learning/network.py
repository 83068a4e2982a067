"""Training the guide, and the network that scores parts of trees (`bbparse.scoring.network`).

The loss is that of the heads among the candidates, and of the labels of the right arcs; for the
network that scores parts half of it, and that of the gold tree among all trees
(`bbparse.learning.chart_kernels`). See `bbparse.network.learning` for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration import Configuration
from bbparse.configuration.records import GuideConfig, NetworkConfig, TreesConfig
from bbparse.learning.chart_kernels import TreeChart, gold_parts, log_sum, tree_chart
from bbparse.learning.data import TrainingData
from bbparse.network.encoder import known_rows
from bbparse.network.learning import Learner, Stack, label_loss, product, product_back, vocabulary
from bbparse.network.learning_kernels import add_to_rows, sum_rows
from bbparse.scoring.network import WORD_COLUMNS, Network, PartNetwork
from bbparse.scoring.network_kernels import arc_rows
from bbparse.scoring.part_kernels import part_scores, part_scores_back
from bbparse.treebank import is_projective

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

N = TypeVar("N", bound=Network)


class Batch:
    """Candidate arcs of some sentences, sorted by modifier.

    `head` and `mod` (int64[A]) are rows of their ends in the `stack`, `known` those of the table of
    arcs. Arcs of word w begin at ``first[w]``, `word` is that of each arc; `right` (int64[W]) is
    the right arc of each word, `label` its label, -1 where it is unknown. `trees` has those of each
    sentence whose trees are learned from, the places of its arcs sorted by (head, mod), and the row
    of its root.
    """

    def __init__(
        self,
        data: TrainingData,
        chosen: Sequence[int],
        rows: Mapping[int, Rows],
        labels: Mapping[int, Rows],
        trees: Mapping[int, Trees] | None = None,
    ) -> None:
        outside = None
        if data.outside is not None:
            outside = data.outside([data.sentences[i] for i in chosen])
        self.stack = Stack((rows[i] for i in chosen), outside)
        heads, mods, known, gold, names = [], [], [], [], []
        self.trees: list[tuple[Trees, Rows, int]] = []
        n_arcs = 0
        for i, at in zip(chosen, self.stack.starts):
            head, mod = data.arcs[i]
            order = np.lexsort((head, mod))
            if trees is not None and i in trees:
                self.trees.append((trees[i], n_arcs + np.argsort(order), at))
            n_arcs += len(head)
            head, mod = head[order], mod[order]
            heads.append(head.astype(np.int64) + at)
            mods.append(mod.astype(np.int64) + at)
            known.append(arc_rows(head, mod, data.values[i]))
            gold.append(data.heads[i][mod] == head)
            names.append(labels[i])
        self.head, self.mod = np.concatenate(heads), np.concatenate(mods)
        self.known = np.concatenate(known)
        new = np.concatenate([[True], self.mod[1:] != self.mod[:-1]])
        self.first = np.flatnonzero(new)
        self.word = np.cumsum(new) - 1
        self.right = np.flatnonzero(np.concatenate(gold))
        self.label = np.concatenate(names)


# Share of the loss of single heads, where that of trees is learned from, too.
_SINGLE_HEADS = np.float32(0.5)


class Trees(NamedTuple):
    """Trees of a sentence: its chart, and which arcs and parts are those of the gold tree."""

    chart: TreeChart
    gold: tuple[NDArray[np.bool_], ...]

    @classmethod
    def of(cls, data: TrainingData, i: int, single_root: bool) -> Trees:
        """Those of a sentence of projective trees."""
        (head, mod), heads = data.arcs[i], data.heads[i]
        chart = TreeChart(*tree_chart(len(heads) - 1, head, mod, single_root))
        own = np.maximum(heads, 0)  # as kernels may read it
        return cls(chart, gold_parts(own, head, mod, chart.sib, chart.gc))


class NetworkLearner(Learner):
    """A learner of either network; `outside` is the length of vectors from outside."""

    def __init__(
        self, settings: NetworkConfig, n_values: int, n_labels: int, seed: int, outside: int = 0
    ) -> None:
        self.n_labels = n_labels
        parts = settings.parts if isinstance(settings, TreesConfig) else 0
        kind = PartNetwork if parts else Network
        fans = {"end_w": settings.width, "label_w": settings.shared, "out_w": settings.shared}
        if parts:
            fans |= {"sib_out": 100, "gc_out": 100, "none": 4}
        super().__init__(kind, settings, n_labels, fans, ("arc_table",), n_values, seed, outside)
        self.p["label_w"][:, n_labels:] = 0.0
        # a(h), and p(h) of parts, are learned as if they were longer: sums of many products would
        # start too large
        self._columns = PartNetwork.part_columns(self.sizes) if parts else []
        self.share = np.ones(self.shapes["end_b"], np.float32)
        self.share[2 * settings.shared :][: settings.pairs] /= np.sqrt(settings.pairs)
        for column in self._columns:
            self.share[column : column + parts] /= np.sqrt(parts)

    def loss(self, batch: Batch, dropout: bool = True) -> float:
        """The loss of a batch for each of its words; adds its gradients to those there are."""
        settings, p, g = self.settings, self.p, self.g
        shared, pairs = settings.shared, settings.pairs
        drop = settings.dropout if dropout else 0.0
        state, tape = self.up(batch.stack, dropout)
        n_rows = len(state)
        last_kept = self.kept(state.shape, drop)
        state = state * last_kept
        both = product(state, p["end_w"], p["end_b"]) * self.share
        head, mod = batch.head, batch.mod
        table = np.empty((len(head), shared), np.float32)
        sum_rows(batch.known, p["arc_table"], table)
        r = both[head, :shared] + both[mod, shared : 2 * shared] + table
        r_active = self.kept(r.shape, drop) * (r > 0.0)
        r *= r_active
        pair_h = both[head, 2 * shared : 2 * shared + pairs]
        pair_m = both[mod, 2 * shared + pairs : 2 * (shared + pairs)]
        scores = (r * p["out_w"]).sum(axis=1) + (pair_h * pair_m).sum(axis=1)
        # losses
        d_both = np.zeros_like(both)
        loss, d_trees = self._trees_loss(batch, both, scores, d_both)
        first, word, right = batch.first, batch.word, batch.right
        scores -= np.maximum.reduceat(scores, first)[word]
        np.exp(scores, out=scores)
        scores /= np.add.reduceat(scores, first)[word]
        n_words = np.float32(len(first))
        share = _SINGLE_HEADS if self._columns else np.float32(1.0)
        loss -= float(share * np.log(np.maximum(scores[right], 1e-30)).sum())
        known = batch.label >= 0
        gold_rows, gold = right[known], batch.label[known]
        own = np.ascontiguousarray(r[gold_rows])
        d_labels = product(own, p["label_w"], p["label_b"])
        loss += label_loss(d_labels[:, : self.n_labels], gold)
        # and down again
        d_labels[:, self.n_labels :] = 0.0
        d_labels /= n_words
        d_scores = scores
        d_scores[right] -= 1.0
        d_scores *= share
        d_scores += d_trees
        d_scores /= n_words
        g["out_w"] += (r * d_scores[:, np.newaxis]).sum(axis=0)
        d_r = d_scores[:, np.newaxis] * p["out_w"]
        d_r[gold_rows] += product_back(own, p["label_w"], d_labels, g["label_w"], g["label_b"])
        d_r *= r_active
        add_to_rows(batch.known, d_r, g["arc_table"])
        d_end = np.empty((len(head), shared + pairs), np.float32)
        d_end[:, :shared] = d_r
        for row, other, at in ((head, pair_m, 0), (mod, pair_h, 1)):
            np.multiply(d_scores[:, np.newaxis], other, out=d_end[:, shared:])
            found = np.zeros((n_rows, shared + pairs), np.float32)
            add_to_rows(row[:, np.newaxis], d_end, found)
            d_both[:, at * shared : (at + 1) * shared] = found[:, :shared]
            d_both[:, 2 * shared + at * pairs : 2 * shared + (at + 1) * pairs] = found[:, shared:]
        d_both *= self.share
        d_state = product_back(state, p["end_w"], d_both, g["end_w"], g["end_b"]) * last_kept
        self.down(d_state, tape)
        return loss / float(n_words)

    def _trees_loss(
        self, batch: Batch, both: Floats, scores: Floats, d_both: Floats
    ) -> tuple[float, Floats]:
        """The loss of trees, and its gradient by the scores of arcs.

        Divided by the number of words, its gradients by all else are added to those there are.
        """
        p, g = self.p, self.g
        loss, d_scores, n_words = 0.0, np.zeros_like(scores), len(batch.first)
        for (chart, gold), places, row in batch.trees:
            triples, own = [], [scores[places].astype(np.float64)]
            for (kind, order), column in zip(PartNetwork.KINDS.items(), self._columns):
                words = chart.sib if kind == "sib" else chart.gc
                weights = PartNetwork.part_weights(p, kind)
                triples.append((*(words[i] for i in order), both, row, column, weights))
                own.append(part_scores(*triples[-1]))
            slopes = [np.zeros_like(some) for some in own]
            loss += log_sum(tuple(chart), *own, *slopes)
            for some, slope, right in zip(own, slopes, gold):
                loss -= float(some[right].sum())
                slope[right] -= 1.0
            d_scores[places] += slopes[0].astype(np.float32)
            for triple, slope, kind in zip(triples, slopes[1:], PartNetwork.KINDS):
                part_scores_back(
                    *triple, slope / n_words, d_both, PartNetwork.part_weights(g, kind)
                )
        return loss, d_scores


def train_guide(
    config: Configuration, data: TrainingData, chosen: NDArray[np.int64], labels: tuple[str, ...]
) -> Network:
    """Train a guide on some of the sentences, whose candidate arcs have the gold ones among them.

    ``labels`` are all there are, sorted. The configuration's ``guide``, ``network`` and
    ``learning.seed`` count.
    """
    seed = config.learning.seed
    return _train(Network, config.network, config.guide, seed, data, chosen, labels)


def train_trees(config: Configuration, data: TrainingData, labels: tuple[str, ...]) -> PartNetwork:
    """Train a network that scores parts of trees on all sentences, as the configuration's
    ``trees`` and ``learning.seed`` say; else as `train_guide`.

    From the likelihood of the trees that are projective; of the others from their single heads.
    """
    everything, seed = np.arange(len(data.sentences)), config.learning.seed
    trees = {
        i: Trees.of(data, i, config.model.single_root)
        for i, heads in enumerate(data.heads) if is_projective(heads[1:].tolist())
    }  # fmt: skip
    return _train(PartNetwork, config.trees, config.trees, seed, data, everything, labels, trees)


def _train(
    kind: type[N],
    settings: NetworkConfig,
    pace: GuideConfig | TreesConfig,
    seed: int,
    data: TrainingData,
    chosen: NDArray[np.int64],
    labels: tuple[str, ...],
    trees: Mapping[int, Trees] | None = None,
) -> N:
    """Train a network of a kind and some settings, in so many epochs at such a rate."""
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
        chosen, pace.epochs, settings.batch, pace.rate, seed,
        lambda some: learner.loss(Batch(data, some, rows, names, trees)), settings.table,
    )  # fmt: skip
    parameters["end_w"] *= learner.share
    parameters["end_b"] *= learner.share
    return kind(labels, learner.sizes, keys, vectors, parameters)
