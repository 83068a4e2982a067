"""Networks that label sequences: scores, gradients, batches, settings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bbparse.embeddings import Embeddings, WordVectors
from bbparse.neural.labelling import LabelLearner, LabelSettings, train_labels
from bbparse.neural.sequence import QUANTUM
from bbparse.runtime.arrays import indices_among
from bbparse.runtime.errors import ModelError
from bbparse.text.columns import FormEncoder
from bbparse.text.tagger import TagNetwork
from bbparse.treebank.encode import attribute_hash
from bbparse.treebank.likely_tags import Likely
from tests import toy
from tests.gradients import assert_gradients


def values_of(count: int) -> list[np.ndarray]:
    encoder = FormEncoder({})
    return [encoder(sentence.forms) for sentence in toy.sentences()[:count]]


def labels_of(count: int) -> list[list[str]]:
    """UPOS, FEATS, and rules of lemmas, which the words of odd sentences do not have."""
    some = toy.sentences()[:count]
    return [
        sorted({tag for s in some for tag in s.upos}),
        sorted({feats for s in some for feats in s.feats}),
        ["a", "b", "c"],
    ]


def gold_of(count: int) -> list[np.ndarray]:
    upos, feats, _ = labels_of(count)
    return [
        np.array(
            [
                [upos.index(tag), feats.index(value), (j % 3 if i % 2 else -1)]
                for j, (tag, value) in enumerate(zip(s.upos, s.feats))
            ]
        )
        for i, s in enumerate(toy.sentences()[:count])
    ]


def doubted(kind: int, label: int) -> list[tuple[int, float]]:
    """Shares of labels: some tags are in doubt."""
    if kind == 0 and label > 1:
        return [(label, 0.7), (label - 2, 0.3)]
    return [(label, 1.0)] if label >= 0 else []


def targets_of(count: int) -> list[Likely]:
    found = []
    for gold in gold_of(count):
        rows = [doubted(i % 3, label) for i, label in enumerate(gold.reshape(-1).tolist())]
        ends = np.cumsum([0, *map(len, rows)])
        numbers, shares = zip(*(pair for row in rows for pair in row))
        found.append(Likely(ends, np.array(numbers), np.array(shares, np.float32)))
    return found


def letters(dimension: int = 6, seed: int = 3) -> WordVectors:
    """Vectors of the words of the toy treebank."""
    forms = {form for s in (*toy.sentences(), *toy.dev_sentences()) for form in s.forms}
    keys = np.array(sorted(attribute_hash("form", form) for form in forms), np.uint64)
    rows = np.random.default_rng(seed).integers(-99, 99, (len(keys), dimension + -dimension % 4))
    note = {"kind": "vectors", "name": "x", "hash": "y", "dimension": dimension}
    return WordVectors(note, keys, rows.astype(np.int8), np.full(len(keys), 0.02, np.float32))


def trained(
    count: int,
    settings: LabelSettings = toy.NETWORK,
    seed: int = 1,
    embeddings: Embeddings | None = None,
) -> TagNetwork:
    vectors = None
    if embeddings is not None:
        source = embeddings
        vectors = source.width, lambda some: source([toy.sentences()[i] for i in some])
    network = train_labels(
        TagNetwork, values_of(count), labels_of(count), targets_of(count), settings, seed, vectors
    )
    assert isinstance(network, TagNetwork)
    return network


def learner_of(keys: np.ndarray, count: int, embeddings: Embeddings | None = None) -> LabelLearner:
    rows = [indices_among(keys, some) for some in values_of(count)]
    counts = [len(names) for names in labels_of(count)]
    width = 0 if embeddings is None else embeddings.width
    return LabelLearner(
        TagNetwork, toy.NETWORK, rows, targets_of(count), counts, len(keys), 3, width
    )


@pytest.mark.parametrize("embeddings", [None, letters()])
def test_learning_and_labelling_have_the_same_scores(embeddings: Embeddings | None) -> None:
    network = trained(20, embeddings=embeddings)
    network.weights = network.weights._replace(matrices={})  # learning is in floats
    learner = learner_of(network.keys, 20, embeddings)
    for name, array in network.weights.values.items():
        learner.learner.weights.values[name][:] = array
    learner.learner.vectors.weights[:] = network.vectors * QUANTUM
    vectors = None if embeddings is None else embeddings(toy.sentences()[:20])
    _, loss = learner.loss(range(20), vectors, noisy=False)
    lost = words = 0.0
    for scores, gold in zip(network.scores(values_of(20), vectors), gold_of(20)):
        for kind, (own, right) in enumerate(zip(scores, gold.T)):
            odds = own.astype(np.float64)
            odds -= np.logaddexp.reduce(odds, axis=1)[:, np.newaxis]
            for word, label in enumerate(right.tolist()):
                for other, share in doubted(kind, label):
                    lost -= share * odds[word, other]
        words += len(gold)
    assert loss == pytest.approx(lost / words, rel=1e-5)


def test_gradients_are_those_of_the_loss() -> None:
    keys = np.unique(np.concatenate([v.reshape(-1) for v in values_of(6)]))
    embeddings = letters()
    learner = learner_of(keys[keys != 0], 6, embeddings)
    vectors = embeddings(toy.sentences()[:6])
    random = np.random.default_rng(2)
    for weights in learner.learner.weights.values.values():
        weights += 0.1 * random.standard_normal(weights.shape).astype(np.float32)

    def loss() -> float:
        return learner.loss(range(6), vectors, noisy=False)[1]

    assert_gradients(learner.learner, loss, 2e-3, rel=0.03, abs=2e-3)


def test_the_same_seed_learns_the_same() -> None:
    one, two, other = trained(12).to_fields(), trained(12).to_fields(), trained(12, seed=2)
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert not np.array_equal(one["tags_vectors"], other.to_fields()["tags_vectors"])


def test_an_ensemble_scores_the_means_of_its_members() -> None:
    ensemble = trained(12, replace(toy.NETWORK, epochs=2, members=2))
    apart = [trained(12, replace(toy.NETWORK, epochs=2), seed=seed) for seed in (1, 2)]
    again = TagNetwork.from_fields(ensemble.to_fields())
    assert len(again.members) == 2 and again.counts == ensemble.counts
    one, two = (network.scores(values_of(12)) for network in apart)
    for network in (ensemble, again):
        for scores, first, second in zip(network.scores(values_of(12)), one, two):
            for own, a, b in zip(scores, first, second):
                assert np.array_equal(own, (a + b) / np.float32(2.0))
    with pytest.raises(ModelError, match="networks to average differ in labels"):
        apart[0].with_others([trained(3)])


def test_kinds_of_label_that_only_help_to_learn() -> None:
    few = replace(toy.NETWORK, epochs=2)
    network = train_labels(
        TagNetwork, values_of(6), labels_of(6), targets_of(6), few, seed=1, n_kinds=2
    )
    assert network.counts == tuple(len(names) for names in labels_of(6)[:2])
    (scores, *_) = network.scores(values_of(6))
    assert [own.shape[1] for own in scores] == list(network.counts)
    whole = train_labels(TagNetwork, values_of(6), labels_of(6), targets_of(6), few, seed=1)
    for own, same in zip(scores, whole.scores(values_of(6))[0]):
        assert np.array_equal(own, same)
