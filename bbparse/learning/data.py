"""Training sentences as learning sees them: encoded, with their candidate arcs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration.records import ModelConfig
from bbparse.errors import TreebankError
from bbparse.oracle.projective.dense import eisner
from bbparse.outside import Outside
from bbparse.scoring.labeller import MAX_LABELS
from bbparse.treebank import Sentence, is_projective
from bbparse.treebank.encode import encode
from bbparse.treebank.progress import watched

Ints = NDArray[np.int32]


@dataclass(slots=True)
class TrainingData:
    """Encoded sentences with gold trees."""

    sentences: list[Sentence]
    #: As ``encode`` gives them.
    values: list[NDArray[np.uint64]]
    #: list of int32[n+1]: gold heads, made projective if the model's trees are; element 0 is -1.
    heads: list[Ints]
    #: How many trees were made projective.
    projectivised: int
    #: Candidate arcs, the gold ones among them.
    arcs: list[tuple[Ints, Ints]] = field(default_factory=list)
    #: Share of gold arcs that were candidates before they were added.
    recall: float = 1.0
    #: list of int32[A]: labels that a network that has not seen the sentence gives the candidate
    #: arcs, by number from 1; empty without one.
    arc_labels: list[Ints] = field(default_factory=list)
    #: Pretrained vectors that networks take besides.
    outside: Outside | None = None


def prepare(sentences: Sequence[Sentence], model: ModelConfig) -> TrainingData:
    """Encode sentences and, if the model's trees are, make their trees projective."""
    heads = []
    changed = 0
    for sentence in sentences:
        gold = np.array([-1, *sentence.heads], np.int32)
        if model.projective and not is_projective(sentence.heads):
            gold = closest_projective(gold, model.single_root)
            changed += 1
        heads.append(gold)
    values = [encode(sentence) for sentence in watched(sentences, "words")]
    return TrainingData(list(sentences), values, heads, changed)


def closest_projective(heads: Ints, single_root: bool = True) -> Ints:
    """The projective tree with the most arcs of a tree, int32[n + 1] heads.

    Among those, words prefer to hang from an ancestor of theirs, a near one at best, as lifting
    (Nivre & Nilsson 2005) would have it. By Eisner's algorithm over scores of 1 for arcs of the
    tree and less than 1/n for others.
    """
    n = len(heads) - 1
    scores = np.zeros((n + 1, n + 1))
    for m in range(1, n + 1):
        step = 0
        ancestor = int(heads[m])
        while ancestor > 0 and step < n:
            scores[ancestor, m] = 0.5 / (n + 1) / (1 + step)
            ancestor = int(heads[ancestor])
            step += 1
        scores[0, m] = 0.5 / (n + 1) / (1 + step)
        scores[heads[m], m] = 1.0
    np.fill_diagonal(scores, -np.inf)
    best, _ = eisner(scores, single_root)
    return best


def subset(data: TrainingData, chosen: Iterable[int]) -> TrainingData:
    """The training data of some sentences."""
    places = list(chosen)
    columns: dict[str, Any] = {
        name: [column[i] for i in places]
        for name in ("sentences", "values", "heads", "arcs", "arc_labels")
        if (column := getattr(data, name))
    }
    return replace(data, **columns)


def labels_of(sentences: Iterable[Sentence]) -> list[str]:
    """All labels, sorted; `TreebankError` if there are more than `MAX_LABELS`."""
    labels = sorted({label for sentence in sentences for label in sentence.deprels})
    if len(labels) > MAX_LABELS:
        raise TreebankError(
            f"there are {len(labels)} different labels, expected at most {MAX_LABELS}"
        )
    return labels


def folds_of(
    count: int, folds: int, seed: int | Sequence[int]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For each fold of so many sentences, those of the others and its own, ascending.

    There are no more folds than sentences; where there is but one, its others are its own.
    """
    folds = min(folds, count)
    fold_of = np.random.default_rng(seed).permutation(count) % folds
    return [
        (np.flatnonzero((fold_of != fold) | (folds == 1)), np.flatnonzero(fold_of == fold))
        for fold in range(folds)
    ]
