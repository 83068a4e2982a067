"""The network beside the layers of tags and FEATS: scores, gradients, files, refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.embeddings import Embeddings, WordVectors
from bbparse.errors import ModelError
from bbparse.model.file import TAGGER_KIND, load_tagger, save_tagger
from bbparse.network.sequence import known_rows
from bbparse.storage.archive import write_archive
from bbparse.tagging import Tagger, TaggerSettings, accuracy, train_tagger
from bbparse.tagging.encode import FormEncoder
from bbparse.tagging.layer import LAYER_QUANTUM
from bbparse.tagging.network import (
    NETWORK_COLUMNS,
    NetworkSettings,
    TagLearner,
    TagNetwork,
    train_tag_network,
)
from bbparse.tagging.tagger import tagger_arrays, tagger_from
from bbparse.treebank.encode import attribute_hash
from tests import toy
from tests.slopes import assert_gradients

assert toy.TAGGER.network is not None
SMALL = replace(toy.TAGGER.network, weight=1.0)


def values_of(count: int) -> list[np.ndarray]:
    encoder = FormEncoder({}, {})
    return [encoder(sentence.forms) for sentence in toy.sentences()[:count]]


def columns_of(count: int) -> list[tuple[list[str], ...]]:
    return [(s.upos, s.feats, s.upos) for s in toy.sentences()[:count]]


def labels_of(count: int) -> tuple[list[str], list[str]]:
    some = toy.sentences()[:count]
    return sorted({x for s in some for x in s.upos}), sorted({x for s in some for x in s.feats})


def trained(
    count: int, settings: NetworkSettings = SMALL, seed: int = 1, outside: Embeddings | None = None
) -> TagNetwork:
    return train_tag_network(
        values_of(count), columns_of(count), labels_of(count), settings, seed, toy.sentences(),
        outside,
    )  # fmt: skip


def letters(dimension: int = 6, seed: int = 3) -> WordVectors:
    """Vectors of the words of the toy treebank."""
    forms = {form for s in (*toy.sentences(), *toy.dev_sentences()) for form in s.forms}
    keys = np.array(sorted(attribute_hash("form", form) for form in forms), np.uint64)
    rows = np.random.default_rng(seed).integers(-99, 99, (len(keys), dimension + -dimension % 4))
    note = {"kind": "vectors", "name": "x", "hash": "y", "dimension": dimension}
    return WordVectors(note, keys, rows.astype(np.int8), np.full(len(keys), 0.02, np.float32))


def learner_of(
    keys: np.ndarray, count: int, labels: list[list[str]], outside: Embeddings | None = None
) -> TagLearner:
    """A learner of the first sentences and some kinds of labels."""
    rows = [known_rows(some, keys, NETWORK_COLUMNS) for some in values_of(count)]
    gold = [
        np.array([[kind.index(x) for x in column] for kind, column in zip(labels, some)]).T
        for some in columns_of(count)
    ]
    counts = [len(kind) for kind in labels]
    width = 0 if outside is None else outside.width
    return TagLearner(SMALL, rows, gold, counts, len(keys), 3, width)


@pytest.mark.parametrize("outside", [None, letters()])
def test_learning_and_tagging_have_the_same_scores(outside: Embeddings | None) -> None:
    network = trained(20, outside=outside)
    labels = [list(some) for some in labels_of(20)]
    learner = learner_of(network.keys, 20, labels, outside)
    for name, array in network.weights.values.items():
        learner.learner.weights.values[name][:] = array
    learner.learner.vectors.weights[:] = network.vectors
    given = None if outside is None else outside(toy.sentences()[:20])
    _, loss = learner.loss(range(20), given, dropout=False)
    lost = words = 0.0
    for i, values in enumerate(values_of(20)):
        for scores, gold in zip(
            network.scores(values, given and given[i]), learner.gold[i].T[:2]
        ):
            chances = scores * LAYER_QUANTUM
            chances = chances - np.logaddexp.reduce(chances, axis=1)[:, np.newaxis]
            lost -= chances[np.arange(len(gold)), gold].sum()
        words += len(gold)
    assert loss == pytest.approx(lost / words, rel=0.01, abs=2 * LAYER_QUANTUM)


def test_gradients_are_those_of_the_loss() -> None:
    values, labels = values_of(6), labels_of(6)
    keys = np.unique(np.concatenate([v[3:-3, NETWORK_COLUMNS].reshape(-1) for v in values]))
    outside = letters()
    learner = learner_of(keys, 6, [*labels, labels[0]], outside)
    given = outside(toy.sentences()[:6])
    assert_gradients(learner.learner, lambda: learner.loss(range(6), given, dropout=False)[1])


def test_it_learns_its_training_sentences() -> None:
    settings = replace(SMALL, epochs=60, rate=0.02)
    network = trained(20, settings)
    right = total = 0
    for values, (tags, _, _) in zip(values_of(20), columns_of(20)):
        found = network.scores(values)[0].argmax(axis=1)
        right += sum(network.labels[i] == tag for i, tag in zip(found, tags))
        total += len(tags)
    assert right > 0.9 * total


def test_the_same_seed_learns_the_same() -> None:
    one, two, other = trained(12).to_arrays(), trained(12).to_arrays(), trained(12, seed=2)
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert not np.array_equal(one["tags_vectors"], other.to_arrays()["tags_vectors"])


def test_a_tagger_has_it_beside_its_layers() -> None:
    alone = replace(TaggerSettings(), network=None)
    sentences = toy.sentences()
    old = train_tagger(sentences, alone)
    assert old.network is None and toy.tagger().network is not None
    assert accuracy(toy.tagger(), sentences)["UPOS"] > 0.97
    assert toy.tagger().tags.labels == old.tags.labels
    again = Tagger(
        old.encode.known, old.encode.habits, old.tags, old.feats, old.lemmas, old.lexicon,
        old.notes, toy.tagger().network,
    )  # fmt: skip
    for sentence in toy.dev_sentences():
        assert again.columns(sentence.forms) == toy.tagger().columns(sentence.forms)


@pytest.mark.parametrize("with_network", [True, False])
def test_a_file_says_the_same(tmp_path: Path, with_network: bool) -> None:
    path = tmp_path / "toy.tagger"
    own = toy.tagger()
    network = own.network if with_network else None
    some = Tagger(
        own.encode.known, own.encode.habits, own.tags, own.feats, own.lemmas, own.lexicon,
        own.notes, network,
    )  # fmt: skip
    save_tagger(path, some)
    again, _ = load_tagger(path)
    assert (again.network is None) is not with_network
    for sentence in toy.dev_sentences():
        assert again.columns(sentence.forms) == some.columns(sentence.forms)


def test_a_tagger_with_embeddings(tmp_path: Path) -> None:
    source, path = letters(), tmp_path / "with.tagger"
    own = train_tagger(toy.sentences(), toy.TAGGER, outside=source)
    assert own.outside is source and own.network is not None and own.network.sizes["outside"] == 8
    assert np.abs(own.network.weights.values["outside_w"][:6]).min() > 0.0
    save_tagger(path, own)
    again, _ = load_tagger(path)
    assert isinstance(again.outside, WordVectors) and again.outside.note == source.note
    for sentence in toy.dev_sentences():
        assert again(sentence).lines == own(sentence).lines
    for wrong in (None, letters(dimension=12)):
        with pytest.raises(ModelError, match="some: its tagger needs pretrained vectors of 8"):
            tagger_from(tagger_arrays(own), "some", wrong)
    assert tagger_from(tagger_arrays(toy.tagger()), "some", source).outside is None


def test_passes_over_a_treebank() -> None:
    few = TaggerSettings().with_epochs(3)
    assert few.tags.epochs == few.lemmas.epochs == 3
    assert few.network is not None and few.network.epochs == 3
    assert replace(TaggerSettings(), network=None).with_epochs(3).network is None
    words = sum(len(s.forms) for s in toy.sentences()[:20])
    one, same = (
        trained(20, replace(SMALL, epochs=e, words=n * words)) for e, n in ((2, 99), (9, 2))
    )
    assert np.array_equal(one.vectors, same.vectors)


def changed(field: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def apply(arrays: dict[str, Any]) -> None:
        arrays[f"tags_{field}"] = change(arrays[f"tags_{field}"])

    return apply


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays.pop("tags_keys"), "tags_keys"),
        (changed("labels", lambda a: a[1:]), "are not the tags and FEATS|expected .* of float16"),
        (changed("labels", lambda a: a[::-1]), "are not the tags and FEATS"),
        (changed("count", lambda a: a + 1), "are not the tags and FEATS"),
        (changed("count", lambda a: a + 9999), "tags_count is"),
        (changed("sizes", lambda a: a[1:]), "tags_sizes has"),
        (changed("sizes", lambda a: a + 1), "expected"),
        (changed("sizes", lambda a: a * 1000), "expected at most 4096"),
        (changed("layers", lambda a: np.array("rx")), "expected"),
        (changed("layers", lambda a: np.array("r" * 99)), "letters"),
        (changed("keys", lambda a: a[::-1]), "keys are not sorted"),
        (changed("keys", lambda a: a.astype(np.uint32)), "dtype uint32"),
        (changed("vectors", lambda a: a[:, 1:]), "vectors have shape"),
        (changed("weights", lambda a: a[1:]), "expected .* of float16"),
        (changed("weights", lambda a: a * np.float16(np.nan)), "no finite numbers"),
    ],
)
def test_damaged_files(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    arrays = tagger_arrays(toy.tagger())
    change(arrays)
    path = tmp_path / "damaged.tagger"
    write_archive(path, TAGGER_KIND, 1, arrays)
    with pytest.raises(ModelError, match=message) as caught:
        load_tagger(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
