"""The network beside the layer of tags: scores by their definition, gradients, files, refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.errors import ModelError
from bbparse.model.file import TAGGER_KIND, load_tagger, save_tagger
from bbparse.network.encoder import QUANTUM, known_rows
from bbparse.outside import Outside, WordVectors
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
    return [(s.upos, s.feats) for s in toy.sentences()[:count]]


def labels_of(count: int) -> list[str]:
    return sorted({tag for s in toy.sentences()[:count] for tag in s.upos})


def trained(
    count: int, settings: NetworkSettings = SMALL, seed: int = 1, outside: Outside | None = None
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


@cache
def tagger() -> Tagger:
    return train_tagger(toy.sentences(), toy.TAGGER)


def learner_like(network: TagNetwork, settings: NetworkSettings) -> TagLearner:
    """A learner with the weights of a network that has no labels but the tags."""
    counts = [len(network.labels)]
    learner = TagLearner(settings, counts, len(network.keys), 1, network.outside_width)
    for name, array in network.parameters.items():
        learner.p[name][:] = array
    learner.vectors.weights[:] = network.vectors * QUANTUM
    return learner


@pytest.mark.parametrize("outside", [None, letters()])
def test_learning_and_tagging_have_the_same_scores(outside: Outside | None) -> None:
    network = trained(20, outside=outside)
    learner = learner_like(network, SMALL)
    number = {label: i for i, label in enumerate(network.labels)}
    for sentence, values, (tags, _) in zip(toy.sentences(), values_of(20), columns_of(20)):
        given = None if outside is None else outside([sentence])
        scores = network.scores(values, given and given[0]) * LAYER_QUANTUM
        gold = np.array([[number[tag]] for tag in tags])
        chances = scores - np.logaddexp.reduce(scores, axis=1)[:, np.newaxis]
        expected = -chances[np.arange(len(gold)), gold[:, 0]].mean()
        rows = known_rows(values, network.keys, NETWORK_COLUMNS)
        loss = learner.loss([rows], gold, dropout=False, outside=given)
        assert loss == pytest.approx(expected, rel=0.01, abs=LAYER_QUANTUM)


def test_gradients_are_those_of_the_loss() -> None:
    values, columns = values_of(6), columns_of(6)
    keys = np.unique(np.concatenate([v[3:-3, NETWORK_COLUMNS].reshape(-1) for v in values]))
    rows = [known_rows(some, keys, NETWORK_COLUMNS) for some in values]
    kinds = [sorted(set().union(*some)) for some in zip(*columns)]
    gold = np.concatenate(
        [np.array([[k.index(x) for x in c] for k, c in zip(kinds, some)]).T for some in columns]
    )
    learner = TagLearner(SMALL, [len(kind) for kind in kinds], len(keys), 3)
    assert_gradients(learner, lambda: learner.loss(rows, gold, dropout=False))


def test_it_learns_its_training_sentences() -> None:
    settings = replace(SMALL, epochs=60, rate=0.02)
    network = trained(20, settings)
    right = total = 0
    for values, (tags, _) in zip(values_of(20), columns_of(20)):
        found = network.scores(values).argmax(axis=1)
        right += sum(network.labels[i] == tag for i, tag in zip(found, tags))
        total += len(tags)
    assert right > 0.9 * total


def test_the_same_seed_learns_the_same() -> None:
    one, two, other = trained(12).to_arrays(), trained(12).to_arrays(), trained(12, seed=2)
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert not np.array_equal(one["tagger_network_vectors"], other.vectors)


def test_words_are_scored_alike_in_any_sentence_that_is_long_enough() -> None:
    """Seven words to either side are all that is seen."""
    network = trained(20)
    some = np.concatenate([v[3:-3] for v in values_of(8)])
    pad = np.zeros((3, some.shape[1]), np.uint64)
    whole = network.scores(np.concatenate([pad, some, pad]))
    part = network.scores(np.concatenate([pad, some[4:24], pad]))
    assert np.array_equal(whole[11:17], part[7:13])


def test_a_tagger_has_it_beside_its_layers() -> None:
    alone = replace(TaggerSettings(), network=None)
    sentences = toy.sentences()
    old = train_tagger(sentences, alone)
    assert old.network is None and tagger().network is not None
    assert accuracy(tagger(), sentences)["UPOS"] > 0.97
    assert tagger().tags.labels == old.tags.labels
    again = Tagger(
        old.encode.known, old.encode.habits, old.tags, old.feats, old.lemmas, old.lexicon,
        old.notes, tagger().network,
    )  # fmt: skip
    for sentence in toy.dev_sentences():
        assert again.columns(sentence.forms) == tagger().columns(sentence.forms)


@pytest.mark.parametrize("with_network", [True, False])
def test_a_file_says_the_same(tmp_path: Path, with_network: bool) -> None:
    path = tmp_path / "toy.tagger"
    own = tagger()
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


def test_a_tagger_with_vectors_from_outside(tmp_path: Path) -> None:
    source, path = letters(), tmp_path / "with.tagger"
    own = train_tagger(toy.sentences(), toy.TAGGER, outside=source)
    assert own.outside is source and own.network is not None and own.network.outside_width == 8
    assert np.abs(own.network.parameters["outside_w"][:6]).min() > 0.0
    save_tagger(path, own)
    again, _ = load_tagger(path)
    assert isinstance(again.outside, WordVectors) and again.outside.note == source.note
    for sentence in toy.dev_sentences():
        assert again(sentence).lines == own(sentence).lines
    for wrong in (None, letters(dimension=12)):
        with pytest.raises(ModelError, match="some: its tagger takes vectors of 8 numbers"):
            tagger_from(tagger_arrays(own), "some", wrong)
    assert tagger_from(tagger_arrays(tagger()), "some", source).outside is None


def test_large_treebanks_have_none() -> None:
    few = toy.sentences()[:11]
    settings = replace(TaggerSettings(), network=replace(SMALL, largest=10)).with_epochs(1)
    assert train_tagger(few, settings).network is None
    assert train_tagger(few, settings, outside=letters()).network is not None
    assert train_tagger(few[:10], settings).network is not None


def test_passes_over_a_treebank() -> None:
    few = TaggerSettings().with_epochs(3)
    assert few.tags.epochs == few.lemmas.epochs == 3
    assert few.network is not None and few.network.epochs == 3
    assert replace(TaggerSettings(), network=None).with_epochs(3).network is None
    one, same = (trained(20, replace(SMALL, epochs=e, lessons=n)) for e, n in ((2, 99), (9, 40)))
    assert np.array_equal(one.vectors, same.vectors)


def changed(field: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def apply(arrays: dict[str, Any]) -> None:
        arrays[f"tagger_network_{field}"] = change(arrays[f"tagger_network_{field}"])

    return apply


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays.pop("tagger_network_keys"), "tagger_network_keys"),
        (changed("names", lambda a: a[1:]), "are not the tags of the tagger"),
        (changed("sizes", lambda a: a[1:]), "sizes of the network"),
        (changed("sizes", lambda a: a + 1), "sizes of the network"),
        (changed("sizes", lambda a: np.append(a, 8)), "expected .* of float32"),
        (changed("keys", lambda a: a[::-1]), "keys are not sorted"),
        (changed("keys", lambda a: a.astype(np.uint32)), "dtype uint32"),
        (changed("vectors", lambda a: a[:, 1:]), "vectors have shape"),
        (changed("weights", lambda a: a[1:]), "expected .* of float32"),
        (changed("weights", lambda a: a * np.float32(np.nan)), "no finite numbers"),
    ],
)
def test_damaged_files(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    arrays = tagger_arrays(tagger())
    change(arrays)
    path = tmp_path / "damaged.tagger"
    write_archive(path, TAGGER_KIND, 1, arrays)
    with pytest.raises(ModelError, match=message) as caught:
        load_tagger(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
