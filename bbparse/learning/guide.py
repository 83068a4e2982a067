"""Training the guide: log-linear choice of head and label together, with AdaGrad.

Steps are taken for one sentence at a time, and weights are averaged from the second pass on. The
marks of training sentences come from guides that did not see them: a guide finds the heads of its
own training sentences far too easily, and a model that trusts it would be misled by new ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration import Configuration
from bbparse.errors import TreebankError
from bbparse.jit import kernel
from bbparse.learning.data import TrainingData
from bbparse.learning.network import train_network
from bbparse.problem.quantum import QUANTUM
from bbparse.progress import watched
from bbparse.scoring.arc_labels import ArcLabels
from bbparse.scoring.compile import compile_templates
from bbparse.scoring.encode import PAD
from bbparse.scoring.guide import Guide, steps_of
from bbparse.scoring.guide_kernels import arc_features
from bbparse.scoring.label_rows import MAX_LABELS, in_quanta

Ints = NDArray[np.int32]

# Gradients below this are not worth a step: what is left to gain is next to nothing.
_LEAST_GRADIENT = 1e-2


@kernel
def _step(
    values: NDArray[np.uint64],
    pad: int,
    head: Ints,
    mod: Ints,
    for_tables: tuple[Any, ...],
    for_parts: tuple[Any, ...],
    gold: Ints,
    label_of: Ints,
    rate: float,
    least: float,
    clock: int,
    weights: NDArray[np.float32],
    sums: NDArray[np.float32],
    squares: NDArray[np.float32],
) -> float:
    """One gradient step on one sentence; returns the log-loss before it.

    ``gold`` and ``label_of`` are int32[n+1], head and label of each word; there is nothing to learn
    from words with label -1.
    """
    features = arc_features(values, pad, head, mod, for_tables, for_parts)
    n_arcs = head.shape[0]
    n_labels = weights.shape[1]
    each = features.shape[0] // max(n_arcs, 1)
    scores = np.zeros((n_arcs, n_labels), np.float32)
    top = np.full(gold.shape[0], np.float32(-np.inf))
    total = np.zeros(gold.shape[0])
    for arc in range(n_arcs):
        for f in range(arc * each, (arc + 1) * each):
            row = features[f]
            for label in range(n_labels):
                scores[arc, label] += weights[row, label]
        top[mod[arc]] = max(top[mod[arc]], scores[arc].max())
    for arc in range(n_arcs):
        for label in range(n_labels):
            scores[arc, label] = np.exp(scores[arc, label] - top[mod[arc]])
            total[mod[arc]] += scores[arc, label]
    loss = 0.0
    for arc in range(n_arcs):
        m = mod[arc]
        if label_of[m] < 0:
            continue
        for label in range(n_labels):
            probability = scores[arc, label] / total[m]
            gradient = -probability
            if gold[m] == head[arc] and label == label_of[m]:
                gradient += 1.0
                loss -= np.log(max(probability, 1e-300))
            if abs(gradient) < least:
                continue
            for f in range(arc * each, (arc + 1) * each):
                row = features[f]
                squares[row, label] += gradient * gradient
                change = rate * gradient / np.sqrt(squares[row, label])
                weights[row, label] += change
                sums[row, label] += clock * change
    return loss


def train_guide(
    config: Configuration, data: TrainingData, chosen: NDArray[np.int64], labels: tuple[str, ...]
) -> Guide:
    """Train a guide on some of the sentences.

    Parameters
    ----------
    config : Configuration
        Its ``guide``, ``guide_templates`` and ``learning.seed`` count.
    data : TrainingData
        With candidate arcs, the gold ones among them.
    chosen : int64[K]
        Which sentences to train on.
    labels : tuple of str
        All labels there are, sorted.
    """
    settings = config.guide
    guide = Guide(config.guide_templates, labels)
    number = {label: i for i, label in enumerate(labels)}
    compiled = compile_templates(config.guide_templates)
    shape = (1 << config.guide_templates.bits, len(labels))
    weights = np.zeros(shape, np.float32)
    sums = np.zeros(shape, np.float32)
    squares = np.full(shape, settings.start, np.float32)
    random = np.random.default_rng(config.learning.seed)
    clock = 1
    for epoch in range(settings.epochs):
        if epoch == 1:
            sums[:] = 0.0
            clock = 1
        for i in watched(random.permutation(chosen), "guide"):
            found = [number.get(label, -1) for label in data.sentences[i].deprels]
            _step(
                data.values[i], PAD, *data.arcs[i], compiled.for_tables, compiled.for_parts,
                data.heads[i], np.array([-1, *found], np.int32), settings.rate, _LEAST_GRADIENT,
                clock, weights, sums, squares,
            )  # fmt: skip
            clock += 1
    sums /= np.float32(clock)
    weights -= sums
    guide.weights[:, : len(labels)] = in_quanta(weights)
    return guide


def _right_labels(
    data: TrainingData, i: int, arcs: tuple[Ints, Ints], labels: tuple[str, ...]
) -> Ints:
    """The label of each of the arcs that is in the gold tree, -1 for the others."""
    head, mod = arcs
    label_of = np.array([-1, *map(labels.index, data.sentences[i].deprels)], np.int32)
    return np.where(data.heads[i][mod] == head, label_of[mod], np.int32(-1))


def _likely(
    arcs: tuple[Ints, Ints], gold: Ints, marks: NDArray[np.uint16], least: int
) -> tuple[Ints, Ints]:
    """The arcs that parsing would keep, and those of the gold tree."""
    head, mod = arcs
    kept = (steps_of(marks[head, mod]) >= least) | (gold[mod] == head)
    return head[kept], mod[kept]


def guide_all(data: TrainingData, config: Configuration) -> None:
    """Train the guide, and give every training sentence marks of a guide that did not see it.

    Candidate arcs below `guide.least` are dropped, but for those of the gold trees.
    Does nothing where the configuration has no guide.

    Raises
    ------
    TreebankError
        If there are more labels than `MAX_LABELS`.
    """
    if not config.guide.epochs:
        return
    labels = tuple(sorted({label for s in data.sentences for label in s.deprels}))
    if len(labels) > MAX_LABELS:
        raise TreebankError(
            f"there are {len(labels)} different labels, expected at most {MAX_LABELS}"
        )
    everything = np.arange(len(data.sentences))
    train = train_network if config.guide.kind == "network" else train_guide
    data.guide = guide = train(config, data, everything, labels)
    folds = min(config.guide.folds, len(everything))
    fold_of = np.random.default_rng([config.learning.seed, 1]).permutation(everything) % folds
    wanted = config.labels
    if wanted.mode == "arcs":
        empty = np.zeros(0)
        none = ArcLabels(np.zeros(1, np.int64), empty.astype(np.int32), empty)
        data.arc_labels = [none] * len(everything)
    data.marks = [np.zeros((1, 1), np.uint16)] * len(everything)
    kept = list(data.arcs)  # guides of other folds are trained on all candidates
    for fold in range(folds):
        judge = guide
        if folds > 1:
            judge = train(config, data, everything[fold_of != fold], labels)
        for i in everything[fold_of == fold]:
            values = data.values[i]
            data.marks[i] = marks = judge.marks(values, *data.arcs[i])
            kept[i] = arcs = _likely(data.arcs[i], data.heads[i], marks, config.guide.least)
            if data.arc_labels:
                data.arc_labels[i] = ArcLabels.best(
                    judge.log_probabilities(values, *arcs), wanted.per_arc, wanted.weight, QUANTUM,
                    _right_labels(data, i, arcs, labels),
                )  # fmt: skip
    data.arcs = kept
