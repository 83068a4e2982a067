"""The guide of a training run, and the marks of its sentences.

The marks of training sentences come from guides that did not see them: a guide finds the heads of
its own training sentences far too easily, and a model that trusts it would be misled by new ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration import Configuration
from bbparse.errors import TreebankError
from bbparse.learning.data import TrainingData
from bbparse.learning.network import train_network
from bbparse.scoring.label_rows import MAX_LABELS
from bbparse.scoring.marks import steps_of

Ints = NDArray[np.int32]


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
    data.guide = guide = train_network(config, data, everything, labels)
    folds = min(config.guide.folds, len(everything))
    fold_of = np.random.default_rng([config.learning.seed, 1]).permutation(everything) % folds
    data.marks = [np.zeros((1, 1), np.uint16)] * len(everything)
    kept = list(data.arcs)  # guides of other folds are trained on all candidates
    for fold in range(folds):
        judge = guide
        if folds > 1:
            judge = train_network(config, data, everything[fold_of != fold], labels)
        for i in everything[fold_of == fold]:
            values = data.values[i]
            data.marks[i] = marks = judge.marks(values, *data.arcs[i])
            kept[i] = _likely(data.arcs[i], data.heads[i], marks, config.guide.least)
    data.arcs = kept
