"""Training labels: what is learned, and what is left alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.models.configuration import Configuration
from bbparse.models.learning.data import prepare
from bbparse.models.learning.linear import train_labeller
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
        ["she", "saw", "it", "there"][:n],
        upos=["PRON", "VERB", "PRON", "ADV"][:n],
        heads=list(heads)[:n],
        deprels=deprels,
    )


@pytest.fixture(scope="module")
def training() -> list[Sentence]:
    return list(read_conllu(DATA / "small-train.conllu"))


@pytest.fixture(scope="module")
def dev() -> list[Sentence]:
    return list(read_conllu(DATA / "small-dev.conllu"))


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
