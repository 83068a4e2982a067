"""Training labels: the step against an oracle, what is learned, and what is left alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.models.configuration import Configuration
from bbparse.models.learning.data import prepare
from bbparse.models.learning.linear import LogLinear, train_labeller
from bbparse.models.scoring.labeller import LABEL_QUANTUM, Labeller
from bbparse.runtime.errors import TreebankError
from bbparse.treebank import Sentence, read_conllu
from bbparse.treebank.encode import encode
from tests.models.scoring.reference import labels_by

DATA = Path(__file__).parents[2] / "data"
PLAIN: dict[str, Any] = {
    "templates": {"bits": 8, "arc": ["h.upos m.upos"]},
    "pruner": {"templates": {"bits": 8, "arc": ["h.upos m.upos"]}},
}
SMALL: dict[str, Any] = {
    "bits": 12,
    "arc": ["h.upos m.upos @dir", "m.form"],
    "grandchild": ["h.upos m.upos @dir"],
}


def configuration(**labels: Any) -> Configuration:
    return Configuration.from_table({**PLAIN, "labels": labels})


def gold_heads(sentences: Sequence[Sentence]) -> list[np.ndarray]:
    return [np.array([-1, *s.heads], np.int32) for s in sentences]


def train(sentences: Sequence[Sentence], seed: int = 1, **labels: Any) -> Labeller | None:
    config = configuration(**{"templates": SMALL, **labels}).with_("learning", seed=seed)
    return train_labeller(config, prepare(sentences, config.model))


def trained(sentences: Sequence[Sentence], **options: Any) -> Labeller:
    labeller = train(sentences, **options)
    assert labeller is not None
    return labeller


def accuracy(labeller: Labeller, sentences: Sequence[Sentence]) -> float:
    right = words = 0
    for sentence, heads in zip(sentences, gold_heads(sentences)):
        found = labels_by(labeller, encode(sentence), heads)
        right += sum(a == b for a, b in zip(found, sentence.deprels))
        words += sentence.n_words
    return right / words


def tiny(deprels: Sequence[str], heads: Sequence[int] = (2, 0, 2)) -> Sentence:
    n = len(deprels)
    return Sentence.from_words(
        ["she", "saw", "it", "there"][:n], upos=["PRON", "VERB", "PRON", "ADV"][:n],
        heads=list(heads)[:n], deprels=deprels,
    )


@pytest.fixture(scope="module")
def training() -> list[Sentence]:
    return list(read_conllu(DATA / "small-train.conllu"))


@pytest.fixture(scope="module")
def dev() -> list[Sentence]:
    return list(read_conllu(DATA / "small-dev.conllu"))


@pytest.mark.parametrize("alone", [True, False])
def test_a_step_is_adagrad_on_the_log_loss(alone: bool) -> None:
    """Options that each choose a class, as words do a label, or exclude each other, as heads."""
    n, classes, forbidden, rate, least, start = 6, 5, 2, 0.3, 0.01, 5.0
    rng = np.random.default_rng(4)
    model = LogLinear(40, classes, rate, least, start)
    model.weights[:] = rng.normal(0, 0.3, model.weights.shape)
    model.clock = 7
    owner, rows = rng.integers(0, n, 30), rng.integers(0, 40, 30)
    group = np.arange(n) if alone else np.array([0, 0, 1, 1, 2, 2])
    gold = np.array([3, -1, -1, 0, -1, -1], np.int32)

    before = model.weights.astype(float)
    scores = np.zeros((n, classes))
    np.add.at(scores, owner, before[rows])
    scores[:, forbidden] = -np.inf
    gradients, loss = np.zeros((n, classes)), 0.0
    for number in np.unique(group):
        members = np.flatnonzero(group == number)
        if (gold[members] < 0).all():
            continue
        chances = np.exp(scores[members] - np.logaddexp.reduce(scores[members], axis=None))
        gradients[members] = -chances
        for place, option in enumerate(members):
            if gold[option] >= 0:
                gradients[option, gold[option]] += 1.0
                loss -= np.log(chances[place, gold[option]])
    gradients[np.abs(gradients) < least] = 0.0
    expected, squares = before.copy(), np.full_like(before, start)
    for option, row in zip(owner, rows):  # a feature that fires twice takes two steps
        squares[row] += gradients[option] ** 2
        expected[row] += rate * gradients[option] / np.sqrt(squares[row])

    assert model.step(owner, rows, group, gold, forbidden) == pytest.approx(loss, rel=1e-5)
    assert np.allclose(model.weights, expected, atol=1e-5)
    assert np.allclose(model.squares, squares, atol=1e-5)
    assert np.allclose(model.sums, 7 * (expected - before), atol=1e-4)
    assert model.clock == 8


def test_labels_are_learned(training: list[Sentence], dev: list[Sentence]) -> None:
    config = Configuration.from_table(PLAIN)
    labeller = train_labeller(config, prepare(training, config.model))
    assert labeller is not None
    assert labeller.labels == tuple(sorted(labeller.labels))
    assert labeller.labels[labeller.root] == "root"
    assert accuracy(labeller, training) > 0.97
    assert accuracy(labeller, dev) > 0.8
    assert np.abs(labeller.weights).max() * LABEL_QUANTUM < 8


def test_words_without_a_label_teach_nothing() -> None:
    full = [tiny(["nsubj", "root", "obj"])] * 20
    holes = [tiny(["nsubj", "root", "_"])] * 20
    assert trained(full + holes).labels == ("nsubj", "obj", "root")
    labeller = trained(holes)
    assert labeller.labels == ("nsubj", "root")
    assert labels_by(labeller, encode(holes[0]), gold_heads(holes)[0]) == ["nsubj", "root", "nsubj"]


@pytest.mark.parametrize(
    ("deprels", "heads", "root"),
    [
        (["nsubj", "root", "obj"], (2, 0, 2), "root"),
        (["SBJ", "ROOT", "OBJ"], (2, 0, 2), "ROOT"),
        (["nsubj", "root", "root"], (2, 0, 2), None),
        (["nsubj", "root", "other"], (2, 0, 0), None),
        (["nsubj", "root", "_"], (2, 0, 0), "root"),
        (["nsubj", "_", "obj"], (2, 0, 2), None),
        (["dep", "dep", "dep"], (2, 0, 2), None),
    ],
)
def test_the_root_has_a_label_of_its_own_where_the_data_say_so(
    deprels: list[str], heads: tuple[int, ...], root: str | None
) -> None:
    labeller = trained([tiny(deprels, heads)] * 5)
    assert (labeller.labels[labeller.root] if labeller.root >= 0 else None) == root


def test_too_many_labels_are_refused() -> None:
    sentences = [tiny([f"a{k}", "root", f"b{k}"]) for k in range(256)]
    with pytest.raises(TreebankError, match="513 different labels, expected at most 512"):
        train(sentences)
