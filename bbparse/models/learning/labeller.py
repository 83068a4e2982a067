"""Training of the labeller: log-linear classification of arcs, with AdaGrad.

An arc gets label l with probability ∝ exp(score of l). A step is taken for one sentence at a time.
Weights are averaged from the second pass on: those of the first are far from the final ones.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.models.configuration import Configuration
from bbparse.models.learning.data import TrainingData, labels_of
from bbparse.models.scoring.compile import compile_templates
from bbparse.models.scoring.label_kernels import label_features
from bbparse.models.scoring.labeller import LABEL_QUANTUM, Labeller
from bbparse.runtime.arrays import Ints
from bbparse.runtime.jit import kernel, plain
from bbparse.treebank import Sentence
from bbparse.treebank.progress import watched

# Smaller gradients are not worth a step: next to nothing is left to gain.
_LEAST_GRADIENT = 1e-2
# AdaGrad's initial sum of squares. It is far above the pruner's: features that fired once or
# twice stay weak, which gains 0.1 % of the labels.
_START = 5.0
# Smaller weights are dropped: they are half of the non-zero ones and gain nothing.
_LEAST_WEIGHT = 0.03


@kernel
def _step(
    values: NDArray[np.uint64],
    heads: Ints,
    templates: tuple[Any, ...],
    gold: Ints,
    root: int,
    rate: float,
    clock: int,
    learned: tuple[Any, ...],
) -> float:
    """Take one gradient step on one sentence and return the log-loss before it.

    ``gold`` is int32[n+1], the label of each word, or -1 for words that are skipped. ``learned``
    holds the weights, their changes times the step numbers, and the sums of squared gradients.
    """
    weights, sums, squares = learned
    owner, indices = label_features(values, heads, templates)
    n = heads.shape[0] - 1
    n_labels = weights.shape[1]
    scores = np.zeros((n + 1, n_labels), np.float32)
    for f in range(indices.shape[0]):
        m = owner[f]
        if gold[m] >= 0:
            row = indices[f]
            for label in range(n_labels):
                scores[m, label] += weights[row, label]

    # Labels of each word whose gradients are worth a step.
    count = np.zeros(n + 1, np.int64)
    changed = np.empty((n + 1, n_labels), np.int32)
    gradients = np.empty((n + 1, n_labels), np.float32)
    loss = 0.0
    for m in range(1, n + 1):
        if gold[m] < 0:
            continue
        if root >= 0:
            scores[m, root] = -np.inf
        top = scores[m].max()
        total = 0.0
        for label in range(n_labels):
            total += np.exp(scores[m, label] - top)
        for label in range(n_labels):
            probability = np.exp(scores[m, label] - top) / total
            gradient = -probability
            if label == gold[m]:
                gradient += 1.0
                loss -= np.log(max(probability, 1e-300))
            if abs(gradient) >= _LEAST_GRADIENT:
                changed[m, count[m]] = label
                gradients[m, count[m]] = gradient
                count[m] += 1

    for f in range(indices.shape[0]):
        m = owner[f]
        row = indices[f]
        for j in range(count[m]):
            label = changed[m, j]
            gradient = gradients[m, j]
            squares[row, label] += gradient * gradient
            change = rate * gradient / np.sqrt(squares[row, label])
            weights[row, label] += change
            sums[row, label] += clock * change
    return loss


def train_labeller(config: Configuration, data: TrainingData) -> Labeller | None:
    """Train a labeller on the gold trees of a treebank, without projectivising them.

    Returns None if no word has a label or the configuration sets 0 epochs. Words with the label
    ``_`` are skipped. Raises `TreebankError` if there are more labels than `MAX_LABELS`.
    """
    sentences, values = data.sentences, data.values
    labels = [label for label in labels_of(sentences) if label != "_"]
    if not labels or not config.labels.epochs:
        return None
    root = root_label(sentences, labels)
    number = {label: i for i, label in enumerate(labels)}
    labeller = Labeller(config.label_templates, tuple(labels), root)
    examples = []
    for sentence in sentences:
        tree = np.array([0, *sentence.heads], np.int32)
        gold = np.array([-1] + [number.get(label, -1) for label in sentence.deprels], np.int32)
        if root >= 0:  # the rule decides, so there is nothing to learn
            gold[(tree == 0) | (gold == root)] = -1
        examples.append((tree, gold))
    compiled = plain(compile_templates(labeller.templates))
    shape = (len(labeller.weights), len(labels))
    weights, sums = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    learned = weights, sums, np.full(shape, _START, np.float32)
    random = np.random.default_rng(config.learning.seed)
    clock = 1
    for epoch in range(config.labels.epochs):
        if epoch == 1:
            sums[:] = 0.0
            clock = 1
        for i in watched(random.permutation(len(examples)), "labels"):
            tree, gold = examples[i]
            _step(
                values[i], tree, compiled, gold, root, config.labels.rate, clock, learned
            )  # fmt: skip
            clock += 1
    weights -= sums / np.float32(clock)
    weights[np.abs(weights) < _LEAST_WEIGHT] = 0.0
    limits = np.iinfo(np.int16)
    quanta = np.rint(weights / np.float32(LABEL_QUANTUM))
    labeller.weights[:, : len(labels)] = np.clip(quanta, limits.min, limits.max)
    return labeller


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
