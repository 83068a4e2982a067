"""Training the guide that is a neural network (`bbparse.scoring.network`), by Adam.

The loss is that of the heads among the candidates, and of the labels of the right arcs. Attributes
of words are left out at random, so that the network learns to do without them: values that are rare
in training have no vectors at all, and look like those that were never seen. Weights are averaged
over the last tenth of the steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from bbparse.configuration import Configuration
from bbparse.configuration.records import NetworkConfig
from bbparse.learning.data import TrainingData
from bbparse.learning.network_kernels import (
    Learned,
    adam,
    add_to_rows,
    norm_back,
    norms,
    sum_rows,
)
from bbparse.scoring.network import (
    KINDS,
    QUANTUM,
    TAG,
    WORD_COLUMNS,
    Network,
    known_rows,
    parameter_shapes,
    split,
)
from bbparse.scoring.network_kernels import REACH, arc_rows, dense
from bbparse.treebank.encode import PAD
from bbparse.treebank.progress import watched

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

# The first steps are small ones, while Adam's means are still those of a few sentences; so many,
# but no more than a tenth of all.
_WARM_UP = 200
_LAST_RATE = 0.02
_LONGEST_GRADIENT = 2.0
_AVERAGED = 0.15  # share of the steps at the end over which weights are averaged
_EVERY = 8  # steps between two that are part of the mean


class Batch:
    """Sentences one after the other, with padding between them.

    Attributes
    ----------
    rows : int64[rows, attributes]
        Vectors of each word and root; -1 in the padding, and for what is not known.
    mask : float32[rows]
        1 for words and roots, 0 for padding.
    head, mod : int64[A]
        Rows of both ends of the candidate arcs, sorted by modifier.
    known : int64[A, kinds + 1]
        Rows of the table of arcs.
    first, word : int64[W], int64[A]
        Where the arcs of each word begin, and the word of each arc.
    right, label : int64[W]
        The right arc of each word and its label; -1 where it is unknown.
    """

    def __init__(
        self,
        data: TrainingData,
        chosen: Sequence[int],
        rows: Mapping[int, Rows],
        labels: Mapping[int, Rows],
    ) -> None:
        padding = np.full((REACH, len(WORD_COLUMNS)), -1, np.int64)
        parts, masks = [padding], [np.zeros(REACH)]
        heads, mods, known, gold, names = [], [], [], [], []
        at = REACH
        for i in chosen:
            head, mod = data.arcs[i]
            order = np.lexsort((head, mod))
            head, mod = head[order], mod[order]
            heads.append(head.astype(np.int64) + at)
            mods.append(mod.astype(np.int64) + at)
            known.append(arc_rows(head, mod, data.values[i], PAD, TAG, KINDS))
            gold.append(data.heads[i][mod] == head)
            names.append(labels[i])
            parts += [rows[i], padding]
            masks += [np.ones(len(rows[i])), np.zeros(REACH)]
            at += len(rows[i]) + REACH
        extra = -at % 4  # what `dense` does at once
        parts.append(np.full((extra, len(WORD_COLUMNS)), -1, np.int64))
        masks.append(np.zeros(extra))
        self.rows = np.concatenate(parts)
        self.mask = np.concatenate(masks).astype(np.float32)
        self.head, self.mod = np.concatenate(heads), np.concatenate(mods)
        self.known = np.concatenate(known)
        new = np.concatenate([[True], self.mod[1:] != self.mod[:-1]])
        self.first = np.flatnonzero(new)
        self.word = np.cumsum(new) - 1
        self.right = np.flatnonzero(np.concatenate(gold))
        self.label = np.concatenate(names)


class NetworkLearner:
    """Weights of a network, their gradients, and Adam's means.

    Parameters
    ----------
    settings : NetworkConfig
    n_values, n_labels : int
        How many values of attributes have vectors, and how many labels there are.
    seed : int
    """

    def __init__(self, settings: NetworkConfig, n_values: int, n_labels: int, seed: int) -> None:
        self.settings = settings
        self.n_labels = n_labels
        self.random = np.random.default_rng([seed, 2])
        self.sizes = (
            settings.word, settings.width, settings.layers, settings.shared, settings.pairs
        )  # fmt: skip
        self.shapes = parameter_shapes(*self.sizes, n_labels)
        total = sum(int(np.prod(shape)) for shape in self.shapes.values())
        # all weights but the vectors of values, in one row
        self.dense = Learned.of(np.zeros((1, total), np.float32))
        self.p = split(self.dense.weights[0], self.shapes)
        self.g = split(self.dense.gradient[0], self.shapes)
        for name, fan in (
            ("first_w", self.shapes["first_w"][0]), ("deep_w", 3 * settings.width),
            ("end_w", settings.width), ("label_w", settings.shared), ("out_w", settings.shared),
        ):  # fmt: skip
            bound = 1.0 / np.sqrt(fan)
            self.p[name][:] = self.random.uniform(-bound, bound, self.shapes[name])
        self.p["label_w"][:, n_labels:] = 0.0
        self.p["gains"][:] = 1.0
        self.p["arc_table"][:] = 0.1 * self.random.standard_normal(self.shapes["arc_table"])
        vectors = 0.3 * self.random.standard_normal((n_values, settings.word))
        self.vectors = Learned.of(vectors.astype(np.float32))
        # a(h) is learned as if it were longer: sums of many products would start too large
        self._pair_share = np.float32(1.0 / np.sqrt(settings.pairs))
        self.clock = 0
        # Random numbers are made once; each step starts somewhere else in them.
        self._noise = self.random.random(1 << 21, np.float32)

    def _kept(self, shape: tuple[int, ...], dropped: float) -> Floats:
        """Factors of dropout: 0, or what makes up for those that are 0."""
        size = int(np.prod(shape))
        if size > len(self._noise):
            noise = self.random.random(size, np.float32)
        else:
            start = int(self.random.integers(len(self._noise) - size + 1))
            noise = self._noise[start : start + size]
        kept = (noise >= np.float32(dropped)).astype(np.float32)
        return (kept / np.float32(1.0 - dropped)).reshape(shape)

    def loss(self, batch: Batch, dropout: bool = True) -> float:
        """The loss of a batch for each of its words; adds its gradients to those there are."""
        settings, p, g = self.settings, self.p, self.g
        width, shared, pairs = settings.width, settings.shared, settings.pairs
        drop = settings.dropout if dropout else 0.0
        rows = batch.rows
        if dropout:
            rows = np.where(self._kept(rows.shape, settings.word_dropout) > 0.0, rows, -1)
        n_rows, inner = len(rows), len(rows) - 2 * REACH
        mask = batch.mask
        words = np.empty((n_rows, settings.word), np.float32)
        sum_rows(rows, self.vectors.weights, words)
        word_kept = self._kept(words.shape, drop / 2)
        words *= word_kept
        # up: each layer keeps what its gradients need
        below, kepts, actives, normed, scales = [], [], [], [], []
        state = np.zeros((n_rows, width), np.float32)
        for layer in range(settings.layers + 1):
            if layer:
                kept = self._kept(state.shape, drop)
                window = _windows(state * kept, 1)
                kepts.append(kept)
                new = _product(window, p["deep_w"][layer - 1], p["deep_b"][layer - 1])
            else:
                window = _windows(words, REACH)
                new = _product(window, p["first_w"], p["first_b"])
            below.append(window)
            actives.append(new > 0.0)
            np.maximum(new, 0.0, out=new)
            whole = state.copy() if layer else state
            whole[REACH : REACH + inner] += new
            scale = np.empty(n_rows, np.float32)
            state = np.empty_like(whole)
            norms(whole, mask, p["gains"][layer], p["shifts"][layer], state, scale)
            normed.append(whole)
            scales.append(scale)
        last_kept = self._kept(state.shape, drop)
        state = state * last_kept
        both = _product(state, p["end_w"], p["end_b"])
        head, mod = batch.head, batch.mod
        table = np.empty((len(head), shared), np.float32)
        sum_rows(batch.known, p["arc_table"], table)
        r = both[head, :shared] + both[mod, shared : 2 * shared] + table
        r_active = self._kept(r.shape, drop) * (r > 0.0)
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
        label_scores = _product(own, p["label_w"], p["label_b"])[:, : self.n_labels]
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
        d_r[gold_rows] += _back(own, p["label_w"], d_labels, g["label_w"], g["label_b"])
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
        d_state = _back(state, p["end_w"], d_both, g["end_w"], g["end_b"]) * last_kept
        for layer in reversed(range(settings.layers + 1)):
            d_whole = np.empty_like(d_state)
            norm_back(
                d_state, mask, normed[layer], p["gains"][layer], scales[layer], d_whole,
                g["gains"][layer], g["shifts"][layer],
            )  # fmt: skip
            d_new = d_whole[REACH : REACH + inner] * actives[layer]
            if layer:
                d_window = _back(
                    below[layer], p["deep_w"][layer - 1], d_new,
                    g["deep_w"][layer - 1], g["deep_b"][layer - 1],
                )  # fmt: skip
                d_state = d_whole + _unwindowed(d_window, n_rows, 1) * kepts[layer - 1]
            else:
                d_window = _back(below[0], p["first_w"], d_new, g["first_w"], g["first_b"])
                d_words = _unwindowed(d_window, n_rows, REACH) * word_kept
        add_to_rows(rows, d_words, self.vectors.gradient)
        self._touched = np.unique(rows[rows >= 0])
        return loss / float(n_words)

    def step(self, rate: float) -> None:
        """Take a step along the gradients, which are forgotten."""
        gradient = self.dense.gradient[0]
        length = float(np.sqrt(np.square(gradient, dtype=np.float64).sum()))
        if length > _LONGEST_GRADIENT:
            gradient *= np.float32(_LONGEST_GRADIENT / length)
        self.clock += 1
        adam(np.zeros(1, np.int64), self.dense, rate, self.clock)
        adam(self._touched, self.vectors, rate, self.clock)


def _windows(x: Floats, reach: int) -> Floats:
    """Rows of the words around each row from `REACH` to before the last `REACH`, side by side."""
    size = x.shape[1]
    inner = len(x) - 2 * REACH
    start = x[REACH - reach :]
    shape, strides = (inner, (2 * reach + 1) * size), (x.strides[0], x.strides[1])
    return np.ascontiguousarray(as_strided(start, shape, strides))


def _unwindowed(gradient: Floats, n_rows: int, reach: int) -> Floats:
    """Gradient of the rows, given that of their `_windows`."""
    inner = len(gradient)
    size = gradient.shape[1] // (2 * reach + 1)
    out = np.zeros((n_rows, size), np.float32)
    for k in range(2 * reach + 1):
        start = REACH - reach + k
        out[start : start + inner] += gradient[:, k * size : (k + 1) * size]
    return out


def _product(x: Floats, weights: Floats, bias: Floats | None = None) -> Floats:
    """``x @ weights + bias``.

    Not by numpy, whose sums depend on the number of threads: the same seed gives the same network.
    """
    rows, inputs = x.shape
    # as many as `dense` does at once
    if rows % 4 or inputs % 4:
        x = np.pad(x, ((0, -rows % 4), (0, -inputs % 4)))
        weights = np.pad(weights, ((0, -inputs % 4), (0, 0)))
    out = np.empty((len(x), weights.shape[1]), np.float32)
    zero = np.zeros(weights.shape[1], np.float32) if bias is None else bias
    flat, width = np.ascontiguousarray(x).reshape(-1), x.shape[1]
    dense(flat, 0, width, width, np.ascontiguousarray(weights), zero, out)
    return out[:rows]


def _back(x: Floats, weights: Floats, d_out: Floats, d_weights: Floats, d_bias: Floats) -> Floats:
    """Gradient of ``x`` of a `_product`; those of weights and bias are added to what is there."""
    d_weights += _product(x.T, d_out)
    d_bias += d_out.sum(axis=0)
    return _product(d_out, weights.T)


def vocabulary(
    values: Sequence[NDArray[np.uint64]], chosen: NDArray[np.int64], cutoff: int
) -> NDArray[np.uint64]:
    """Values of attributes of words and roots that are there at least ``cutoff`` times, sorted."""
    seen = np.concatenate(
        [values[i][PAD : len(values[i]) - PAD, WORD_COLUMNS].reshape(-1) for i in chosen]
    )
    keys, counts = np.unique(seen, return_counts=True)
    return keys[counts >= cutoff]


def train_network(
    config: Configuration, data: TrainingData, chosen: NDArray[np.int64], labels: tuple[str, ...]
) -> Network:
    """Train a network on some of the sentences.

    Parameters
    ----------
    config : Configuration
        Its ``guide``, ``network`` and ``learning.seed`` count.
    data : TrainingData
        With candidate arcs, the gold ones among them.
    chosen : int64[K]
        Which sentences to train on.
    labels : tuple of str
        All labels there are, sorted.
    """
    settings, seed = config.network, config.learning.seed
    number = {label: i for i, label in enumerate(labels)}
    keys = vocabulary(data.values, chosen, settings.cutoff)
    rows: dict[int, Rows] = {int(i): known_rows(data.values[i], keys) for i in chosen}
    names = {
        int(i): np.array([number.get(label, -1) for label in data.sentences[i].deprels], np.int64)
        for i in chosen
    }
    learner = NetworkLearner(settings, len(keys), len(labels), seed)
    random = np.random.default_rng(seed)
    size = settings.batch
    per_epoch = -(-len(chosen) // size)
    steps = config.guide.epochs * per_epoch
    warm_up = min(_WARM_UP, steps // 10 + 1)
    parts = (learner.dense, learner.vectors)
    totals, taken = [np.zeros_like(part.weights) for part in parts], 0
    for _ in range(config.guide.epochs):
        order = random.permutation(chosen)
        for start in watched(range(0, len(order), size), "guide"):
            at = learner.clock
            rate = config.guide.rate * min(1.0, (at + 1) / warm_up)
            rate *= 1.0 - (1.0 - _LAST_RATE) * at / steps
            learner.loss(Batch(data, order[start : start + size].tolist(), rows, names))
            learner.step(rate)
            last = steps - learner.clock
            if last <= _AVERAGED * steps and last % _EVERY == 0:
                for total, part in zip(totals, parts):
                    total += part.weights
                taken += 1
    limits = np.iinfo(np.int16)
    quanta = np.rint(totals[1] / np.float32(taken * QUANTUM))
    vectors = np.clip(quanta, limits.min, limits.max).astype(np.int16)
    parameters = split(totals[0][0] / np.float32(taken), learner.shapes)
    pairs = slice(2 * settings.shared, 2 * settings.shared + settings.pairs)
    parameters["end_w"][:, pairs] *= learner._pair_share
    parameters["end_b"][pairs] *= learner._pair_share
    return Network(labels, learner.sizes, keys, vectors, parameters)
