"""Training of a parser's network (`bbparse.models.scoring.arc_network`).

The loss has three parts: each word chooses its head among all words; the gold tree should be likely
among all trees over the candidate arcs, with sibling and grandchild factors
(`models.learning.trees_loss`); and each gold arc chooses its label. The network as it stands
selects the candidates, so the second part starts when heads are no longer chosen at random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bbparse.models.configuration import Configuration
from bbparse.models.learning.data import TrainingData, training_tree
from bbparse.models.learning.trees_loss import trees_loss
from bbparse.models.scoring.arc_network import N_LEXICAL, ArcNetwork, label_scores, vectors_of
from bbparse.models.scoring.candidates import LONG
from bbparse.models.scoring.pair_kernels import (
    counts_before,
    head_losses,
    pair_scores,
    pair_scores_back,
    row_sums,
)
from bbparse.neural.embeddings.protocol import LearningText
from bbparse.neural.layers import add_to_rows, linear
from bbparse.neural.learner import NetworkLearner, batch_of, label_loss, touched_rows
from bbparse.neural.mixture import passes, vocabulary
from bbparse.neural.packing import rounded
from bbparse.neural.ragged import Ragged
from bbparse.neural.sequence import dropout, in_sentence, sums_of_words
from bbparse.neural.targets import certain, joined, owners
from bbparse.runtime.arrays import Float32s, Hashes, Ints, Longs, indices_among
from bbparse.text.silver import is_sure, likely_in, shares_of
from bbparse.treebank import Sentence, is_projective
from bbparse.treebank.encode import NETWORK_ATTRIBUTES, PAD, encode
from bbparse.treebank.likely_tags import Likely

# Weight of the first part of the loss once the second counts, too, and the fraction of the run
# after which it counts.
_SINGLE_HEADS, _BEFORE_TREES = 0.5, 0.15
# Steps of a pass in a small treebank.
_STEPS = 40


class _Labels(NamedTuple):
    """Numbers of labels, and of the one that all arcs from the root have, or -1."""

    numbers: dict[str, int]
    root: int

    def number(self, label: str) -> int:
        """Return the number of a label; -1 if there is nothing to learn, since a rule decides."""
        number = self.numbers.get(label, -1)
        return -1 if number == self.root else number


class _Example:
    """A training sentence as arrays that stay the same during the run, some 60 bytes a word.

    Where a teacher was in doubt (``found``, see `bbparse.text.silver.likely_in`), `soft` has the
    targets of heads and labels, and whole trees count only if `is_whole`.
    """

    def __init__(
        self,
        sentence: Sentence,
        values: Hashes,
        heads: Ints,
        keys: Hashes,
        labels: _Labels,
        found: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        self.rows = indices_among(keys, _read(values)).astype(np.int32)
        self.heads, self.before = heads, counts_before([sentence])
        self.labels = np.array([-1, *map(labels.number, sentence.deprels)], np.int16)
        if labels.root >= 0:  # the rule decides, so there is nothing to learn
            self.labels[heads == 0] = -1
        self.is_whole = is_projective(heads[1:].tolist()) and len(heads) - 1 <= LONG
        self.soft: tuple[Likely, Likely] | None = None
        if found:
            learned = (self.labels[1:] >= 0).tolist()
            names = [row if is_learned else [] for row, is_learned in zip(found["labels"], learned)]
            # the first row is that of the root
            heads_of = shares_of([[], *found["heads"]], int)
            self.soft = heads_of, shares_of([[], *names], labels.number)
            self.is_whole &= is_sure(sentence)

    def targets(self) -> tuple[Likely, Likely]:
        """Return the targets of heads and labels."""
        return self.soft or (certain(self.heads), certain(self.labels))


def _read(values: Hashes) -> Hashes:
    """Return what the network reads of an encoded sentence: no padding, and not all attributes."""
    return values[PAD : len(values) - PAD, : len(NETWORK_ATTRIBUTES)]


class ArcLearner:
    """Gradients of the weights of an `ArcNetwork` on the training sentences `chosen`, int64[m].

    ``labels`` are all labels, sorted. ``root`` is the index of the label that all arcs from the
    root have and no others, or -1 if there is none.
    """

    def __init__(
        self,
        config: Configuration,
        data: TrainingData,
        chosen: Longs,
        labels: tuple[str, ...],
        root: int = -1,
    ) -> None:
        settings = config.network
        self.settings, self.labels, self.root = settings, labels, root
        self._seed = config.learning.seed
        self.single_root = config.model.single_root
        self._embeddings = data.embeddings
        silver = () if data.embeddings is None else data.silver
        self._text = LearningText([data.sentences[i] for i in chosen.tolist()], silver)
        self.keys = keys = vocabulary(
            (_read(data.values[i]) for i in chosen),
            settings.cutoff,
            map(_read, map(encode, data.silver)),
        )
        known = _Labels({label: i for i, label in enumerate(labels)}, root)
        self.examples = [
            _Example(data.sentences[i], data.values[i], data.heads[i], keys, known)
            for i in chosen.tolist()
        ]
        self.n_gold = len(self.examples)
        for sentence in data.silver:
            heads = training_tree(sentence, config.model)
            values, found = encode(sentence), likely_in(sentence)
            self.examples.append(_Example(sentence, values, heads, keys, known, found))
        sizes = {name: getattr(settings, name) for name in ArcNetwork.SIZES if name != "embeddings"}
        sizes["embeddings"] = 0 if data.embeddings is None else data.embeddings.width
        self.learner = NetworkLearner(
            ArcNetwork, settings.layers, sizes, len(labels), len(self.keys), config.learning.seed
        )
        self.learner.weights.values["label_w"][:, len(labels) :] = 0.0
        siblings, grandchildren, self._naming, width = ArcNetwork.columns_of(sizes)
        self._part_columns = siblings, grandchildren
        # The first vectors of products are scaled down and so learned as if they were longer:
        # sums of many products would start too large.
        self.share = np.ones(width, np.float32)
        self.share[: settings.biaffine_dim] = 2.0 / np.sqrt(settings.biaffine_dim)
        for column in self._part_columns:
            self.share[column : column + settings.part_dim] = 1.0 / np.sqrt(settings.part_dim)

    def learn(self, epochs: int, name: str = "network") -> ArcNetwork:
        """Return the network after `epochs` passes, fewer if they have more words than `words`."""
        settings = self.settings
        sizes = np.array([len(example.heads) for example in self.examples], np.int64)
        n_silver = int(sizes[self.n_gold :].sum())
        epochs = min(epochs, passes(int(sizes[: self.n_gold].sum()), n_silver, settings.words))
        batch = batch_of(settings.batch, int(sizes.sum()), _STEPS)
        vectors, parameters = self.learner.learn(
            sizes, epochs, batch, settings.rate, self._seed, self.step, name, self.n_gold
        )
        parameters["end_w"] *= self.share
        parameters["end_b"] *= self.share
        return ArcNetwork(
            self.labels,
            self.learner.kinds,
            self.learner.sizes,
            self.keys,
            vectors,
            rounded(parameters),
            self.root,
        )

    def step(self, chosen: list[int], done: float) -> Longs:
        """Add the gradients of a batch; return the rows of its vectors. ``done`` is a fraction."""
        rows, _ = self.loss(chosen, trees=done >= _BEFORE_TREES)
        return touched_rows(rows)

    def loss(self, chosen: Sequence[int], trees: bool, noisy: bool = True) -> tuple[Longs, float]:
        """Add the gradients of a batch; return the rows of its words and its loss per word."""
        settings, learner, w = self.settings, self.learner, self.learner.weights
        noise = learner.noise if noisy else None
        examples = [self.examples[i] for i in chosen]
        batch = Ragged.of([len(example.heads) for example in examples])
        rows = np.concatenate([example.rows for example in examples]).astype(np.int64)
        before = np.concatenate([example.before for example in examples])
        heads = np.concatenate([example.heads for example in examples])
        targets = [joined(parts) for parts in zip(*(example.targets() for example in examples))]
        vectors = None
        if self._embeddings is not None:
            vectors = vectors_of(batch, self._embeddings(self._text(chosen)))
        if noise is not None:
            rates = settings.attribute_dropout, settings.word_dropout
            noise.hide(rows, vectors, *rates, N_LEXICAL)
        words = sums_of_words(w, rows, learner.vectors.weights, vectors)
        state, back_state = in_sentence(w, learner.kinds, batch, words, noise, settings.dropout)
        state, back_dropout = dropout(state, noise, settings.dropout)
        endpoints, back_endpoints = linear(w, "end", state)
        endpoints *= self.share
        n_words = float(sum(len(example.heads) - 1 for example in examples))
        layout, sizes = (batch.first, batch.size), (settings.biaffine_dim, settings.arc_mlp_dim)
        arcs = w.values["arc_table"], w.values["arc_out"]
        scores = pair_scores(endpoints, sizes, layout, before, row_sums(arcs[0]), arcs[1])
        d_scores, d_endpoints = np.zeros_like(scores), np.zeros_like(endpoints)
        share = _SINGLE_HEADS if trees else 1.0
        scale = np.float32(share / n_words)
        loss = head_losses(scores, layout, targets[0], scale, d_scores) * share
        if trees:
            counts = [example.is_whole for example in examples]
            weights, gradients = map(ArcNetwork.part_weights_of, (w.values, w.gradients))
            loss += trees_loss(
                (*layout, np.array(counts)),
                heads,
                self.single_root,
                1.0 / n_words,
                (scores, endpoints, self._part_columns, weights),
                (d_scores, d_endpoints, gradients),
            )
        pair_scores_back(
            endpoints,
            sizes,
            layout,
            before,
            arcs,
            d_scores,
            d_endpoints,
            (w.gradients["arc_table"], w.gradients["arc_out"]),
        )
        if self.labels:
            loss += self._labels_loss(
                batch, endpoints, heads, targets[1], d_endpoints, 1.0 / n_words
            )
        d_state = back_dropout(back_endpoints(d_endpoints * self.share))
        # The same for all heads of a word, it changes no probability: what rounding leaves of its
        # gradient would let it grow, until scores have no digits left for what counts.
        w.gradients["end_b"][: settings.biaffine_dim] = 0.0
        learner.add_words(rows, back_state(d_state), vectors)
        return rows, loss / n_words

    def _labels_loss(
        self,
        batch: Ragged,
        endpoints: Float32s,
        heads: Ints,
        targets: Likely,
        d_endpoints: Float32s,
        unit: float,
    ) -> float:
        """Return the loss of the labels of the trees' arcs; add its gradients times ``unit``."""
        w, begin, size = self.learner.weights, self._naming, self.settings.label_dim
        mod, row = np.unique(owners(targets), return_inverse=True)
        if not len(mod):
            return 0.0
        head = np.repeat(batch.first, batch.size)[mod] + heads[mod]
        scores, back = label_scores(w, endpoints, head, mod, begin, size)
        known = scores[:, : len(self.labels)]
        loss = label_loss(known, row, targets.numbers, targets.probabilities)
        scores[:, len(self.labels) :] = 0.0
        scores *= np.float32(unit)
        d_hidden = back(scores)
        d_heads = np.zeros((len(endpoints), size), np.float32)
        add_to_rows(head[:, np.newaxis], d_hidden, d_heads)
        d_endpoints[:, begin : begin + size] += d_heads
        d_endpoints[mod, begin + size : begin + 2 * size] += d_hidden
        return loss
