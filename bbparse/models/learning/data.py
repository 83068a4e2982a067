"""Training sentences: encoded, with gold trees and candidate arcs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bbparse.inference.oracles.projective.dense import eisner
from bbparse.models.configuration import ModelConfig
from bbparse.models.scoring.labels import MAX_LABELS
from bbparse.neural.embeddings import Embeddings
from bbparse.runtime.arrays import Ints
from bbparse.runtime.errors import TreebankError
from bbparse.runtime.progress import watched
from bbparse.treebank import Sentence, is_projective
from bbparse.treebank.encode import encode


@dataclass(slots=True)
class TrainingData:
    """Encoded sentences with gold trees."""

    sentences: list[Sentence]
    #: The result of ``encode`` for each sentence.
    values: list[NDArray[np.uint64]]
    #: list of int32[n+1]: gold heads, made projective if the model's trees are; element 0 is -1.
    heads: list[Ints]
    #: Number of trees that were made projective.
    projectivised: int
    #: Candidate arcs, which include the gold arcs.
    arcs: list[tuple[Ints, Ints]] = field(default_factory=list)
    #: Number of gold arcs that were no candidates before they were added.
    missing: int = 0
    #: list of int32[A]: predicted label of each candidate arc, counted from 1, by a network that
    #: was not trained on the sentence; empty without a network.
    arc_labels: list[Ints] = field(default_factory=list)
    #: Pretrained vectors as further input of the networks.
    embeddings: Embeddings | None = None
    #: Further sentences, with a teacher's trees; read twice for each network.
    silver: Iterable[Sentence] = ()

    @property
    def recall(self) -> float:
        """Fraction of gold arcs that were candidates before they were added."""
        return 1.0 - self.missing / sum(sentence.n_words for sentence in self.sentences)

    @property
    def per_word(self) -> float:
        """Number of candidate heads per word."""
        n_words = sum(sentence.n_words for sentence in self.sentences)
        return sum(len(head) for head, _ in self.arcs) / n_words

    @property
    def summary(self) -> str:
        """The same in words."""
        return (
            f"{self.per_word:.2f} candidate heads per word,"
            f" {100 * self.recall:.2f} % of gold heads among them"
        )


def prepare(sentences: Sequence[Sentence], model: ModelConfig) -> TrainingData:
    """Encode sentences, and make their trees projective if the model's trees are."""
    heads = [training_tree(sentence, model) for sentence in sentences]
    changed = sum(not is_projective(sentence.heads) for sentence in sentences)
    changed *= bool(model.projective)
    values = [encode(sentence) for sentence in watched(sentences, "words")]
    return TrainingData(list(sentences), values, heads, changed)


def training_tree(sentence: Sentence, model: ModelConfig) -> Ints:
    """Return the heads of a sentence, int32[n + 1], projective if the model's trees are."""
    heads = np.array([-1, *sentence.heads], np.int32)
    if model.projective and not is_projective(sentence.heads):
        return closest_projective(heads, model.single_root)
    return heads


def closest_projective(heads: Ints, single_root: bool = True) -> Ints:
    """Return the projective tree that shares the most arcs with a tree, int32[n + 1] heads.

    Among several, words attach to one of their ancestors, preferably a near one, as in lifting
    (Nivre & Nilsson 2005). Uses Eisner's algorithm with scores of 1 for arcs of the tree and less
    than 1/n for others.
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


def labels_of(sentences: Iterable[Sentence]) -> list[str]:
    """Return all labels, sorted; raises `TreebankError` if there are more than `MAX_LABELS`."""
    labels = sorted({label for sentence in sentences for label in sentence.deprels})
    if len(labels) > MAX_LABELS:
        raise TreebankError(
            f"there are {len(labels)} different labels, expected at most {MAX_LABELS}"
        )
    return labels


def root_label(sentences: Sequence[Sentence], labels: Sequence[str]) -> int:
    """Return the index of the label that all arcs from the root have and no others, or -1."""
    of_root: set[str] = set()
    of_others: set[str] = set()
    for sentence in sentences:
        for head, label in zip(sentence.heads, sentence.deprels):
            (of_others if head else of_root).add(label)
    of_root.discard("_")
    if len(of_root) != 1 or of_root & of_others or len(labels) == 1:
        return -1
    return labels.index(of_root.pop())


def folds_of(
    count: int, folds: int, seed: int | Sequence[int]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the training and held-out indices of each fold; a single fold trains on its own."""
    folds = min(folds, count)
    fold_of = np.random.default_rng(seed).permutation(count) % folds
    return [
        (np.flatnonzero((fold_of != fold) | (folds == 1)), np.flatnonzero(fold_of == fold))
        for fold in range(folds)
    ]
