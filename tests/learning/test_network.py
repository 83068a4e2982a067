"""Training the network guide: gradients against differences, marks, and a parser that has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest

from bbparse.configuration import Configuration
from bbparse.learning.candidates import guide_all, prune_all
from bbparse.learning.data import TrainingData, prepare
from bbparse.learning.network import Batch, NetworkLearner, train_guide
from bbparse.network.encoder import known_rows
from bbparse.network.learning import vocabulary
from bbparse.scoring.network import WORD_COLUMNS, Network
from bbparse.treebank import Sentence
from bbparse.treebank.encode import PAD
from tests import toy
from tests.scoring.test_network import log_probabilities
from tests.slopes import assert_gradients


def data_of(config: Configuration, count: int) -> TrainingData:
    data = prepare(toy.sentences()[:count], config.model)
    prune_all(data, config)
    return data


def labels_of(data: TrainingData) -> tuple[str, ...]:
    return tuple(sorted({label for s in data.sentences for label in s.deprels}))


def batch_of(data: TrainingData, labels: tuple[str, ...]) -> tuple[Batch, np.ndarray]:
    chosen = np.arange(len(data.sentences))
    keys = vocabulary(data.values, WORD_COLUMNS, 2)
    rows = {i: known_rows(data.values[i], keys, WORD_COLUMNS) for i in range(len(chosen))}
    names = {
        i: np.array([labels.index(x) for x in s.deprels], np.int64)
        for i, s in enumerate(data.sentences)
    }
    names[0][0] = -1  # a label that nothing can be learned from
    return Batch(data, chosen.tolist(), rows, names), keys


class FromOutside:
    """Vectors of words that say nothing; some have none."""

    width = 12
    note: ClassVar = {"name": "numbers"}

    def __call__(self, sentences: Sequence[Sentence]) -> list[np.ndarray]:
        found = []
        for sentence in sentences:
            rng = np.random.default_rng(sum(map(len, sentence.forms)))
            own = rng.standard_normal((sentence.n_words, self.width)).astype(np.float32)
            own[::5] = 0.0
            found.append(own)
        return found

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {}


@pytest.mark.parametrize("outside", [None, FromOutside()])
def test_gradients_are_those_of_the_loss(outside: FromOutside | None) -> None:
    data = data_of(toy.guided_configuration(), 6)
    data.outside = outside
    labels = labels_of(data)
    batch, keys = batch_of(data, labels)
    settings = toy.guided_configuration().network
    width = 0 if outside is None else outside.width
    learner = NetworkLearner(settings, len(keys), len(labels), 3, width)
    assert_gradients(learner, lambda: learner.loss(batch, dropout=False))


@pytest.mark.parametrize("outside", [None, FromOutside()])
def test_learning_and_parsing_have_the_same_scores(outside: FromOutside | None) -> None:
    config = toy.guided_configuration()
    data = data_of(config, 8)
    data.outside = outside
    labels = labels_of(data)
    network = train_guide(config, data, np.arange(8), labels)
    keys = vocabulary(data.values, WORD_COLUMNS, config.network.cutoff)
    assert np.array_equal(keys, network.keys)
    batch, _ = batch_of(data, labels)
    learner = NetworkLearner(config.network, len(keys), len(labels), 1, network.outside_width)
    for name, array in network.parameters.items():
        learner.p[name][:] = array
    learner.share[:] = 1.0  # it is part of the network's weights
    learner.vectors.weights[:] = network.vectors * 2.0**-11
    total = words = 0.0
    for i, sentence in enumerate(data.sentences):
        more = [] if outside is None else outside([sentence])
        found = log_probabilities(network, data.values[i], *data.arcs[i], *more)
        for (h, m), row in zip(zip(*data.arcs[i]), found):
            if data.heads[i][m] == h:
                unknown = i == 0 and m == 1
                label = labels.index(sentence.deprels[m - 1])
                total -= np.logaddexp.reduce(row) if unknown else row[label]
                words += 1
    assert learner.loss(batch, dropout=False) == pytest.approx(total / words, rel=1e-3)


def test_the_same_seed_learns_the_same() -> None:
    config = toy.guided_configuration(epochs=2)
    data = data_of(config, 12)
    one, two = (train_guide(config, data, np.arange(12), labels_of(data)) for _ in range(2))
    for name, array in one.to_arrays().items():
        assert np.array_equal(array, two.to_arrays()[name])
    other = config.with_("learning", seed=5)
    three = train_guide(other, data, np.arange(12), labels_of(data))
    assert not np.array_equal(one.vectors, three.vectors)


def test_it_learns_its_training_sentences() -> None:
    config = toy.guided_configuration(epochs=60)
    data = data_of(config, 20)
    network = train_guide(config, data, np.arange(20), labels_of(data))
    right = total = 0
    for i in range(20):
        head, mod = data.arcs[i]
        chances = np.logaddexp.reduce(log_probabilities(network, data.values[i], head, mod), axis=1)
        for m in range(1, len(data.heads[i])):
            own = np.flatnonzero(mod == m)
            right += head[own[chances[own].argmax()]] == data.heads[i][m]
            total += 1
    assert right > 0.9 * total


def test_training_sentences_get_marks_of_networks_that_did_not_see_them() -> None:
    config = toy.guided_configuration(epochs=2)
    data = data_of(config, 30)
    guide_all(data, config)
    guide = data.guide
    assert isinstance(guide, Network) and guide.labels == labels_of(data)
    everything = np.arange(30)
    fold_of = np.random.default_rng([config.learning.seed, 1]).permutation(everything) % 3
    judge = train_guide(config, data, everything[fold_of != 1], guide.labels)
    for i in everything[fold_of == 1]:
        assert np.array_equal(judge.marks(data.values[i], *data.arcs[i]), data.marks[i])


def test_rare_values_have_no_vectors() -> None:
    data = data_of(toy.guided_configuration(), 10)
    keys = vocabulary(data.values, WORD_COLUMNS, 3)
    seen = np.concatenate([v[PAD:-PAD, WORD_COLUMNS].reshape(-1) for v in data.values])
    values, counts = np.unique(seen, return_counts=True)
    assert np.array_equal(keys, values[counts >= 3])
    rows = known_rows(data.values[0], keys, WORD_COLUMNS)
    own = data.values[0][PAD:-PAD, WORD_COLUMNS]
    assert np.array_equal(rows >= 0, np.isin(own, keys))
    assert np.array_equal(keys[rows[rows >= 0]], own[rows >= 0])
    assert (known_rows(data.values[0], keys[:0], WORD_COLUMNS) == -1).all()
