"""Candidate arcs of training sentences, and the guide's marks of them.

Both come from classifiers that did not see the sentence. A pruner would leave its own training
sentences far fewer rivals than it leaves new ones; a guide finds the heads of its own far too
easily, and a model that trusts it would be misled by new ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration import Configuration
from bbparse.errors import TreebankError
from bbparse.learning.checkpoint import Checkpoint
from bbparse.learning.data import TrainingData, folds_of
from bbparse.learning.network import train_network
from bbparse.learning.pruner import train_pruner
from bbparse.scoring.labeller import MAX_LABELS
from bbparse.scoring.marks import steps_of
from bbparse.scoring.network import NETWORK_ARRAYS, Network
from bbparse.scoring.pruner import Pruner, with_arcs_of
from bbparse.storage.archive import INTS, Rule
from bbparse.treebank.progress import watched

_NOTHING = Checkpoint()
_WEIGHTS: dict[str, Rule] = {"weights": (INTS, 1, None)}


def prune_all(
    data: TrainingData, config: Configuration, checkpoint: Checkpoint = _NOTHING
) -> Pruner:
    """Train the pruner, and give every training sentence candidates of one that did not see it."""
    everything = np.arange(len(data.sentences))

    def train(chosen: NDArray[np.int64], part: str) -> Pruner:
        arrays = checkpoint.once(
            part, config, _WEIGHTS, lambda: {"weights": train_pruner(config, data, chosen)}
        )
        return Pruner.of(config, arrays["weights"])

    pruner = train(everything, "pruner")
    data.arcs = [(np.empty(0, np.int32), np.empty(0, np.int32))] * len(everything)
    missing = 0
    folds = folds_of(len(everything), config.pruner.folds, config.learning.seed)
    for fold, (others, own) in enumerate(folds, start=1):
        judge = train(others, f"pruner fold {fold}") if len(folds) > 1 else pruner
        for i in watched(own, "candidates"):
            head, mod = judge.candidates(data.values[i])
            data.arcs[i] = with_arcs_of(head, mod, data.heads[i])
            missing += len(data.arcs[i][0]) - len(head)
    words = sum(len(heads) - 1 for heads in data.heads)
    data.recall = (words - missing) / max(1, words)
    return pruner


def guide_all(
    data: TrainingData, config: Configuration, checkpoint: Checkpoint = _NOTHING
) -> None:
    """Train the guide, and give every training sentence marks of a guide that did not see it.

    Candidate arcs below `guide.least` are dropped, but for those of the gold trees. Does nothing
    where the configuration has no guide. `TreebankError` if there are more labels than
    `MAX_LABELS`.
    """
    if not config.guide.epochs:
        return
    labels = tuple(sorted({label for s in data.sentences for label in s.deprels}))
    if len(labels) > MAX_LABELS:
        raise TreebankError(
            f"there are {len(labels)} different labels, expected at most {MAX_LABELS}"
        )
    everything = np.arange(len(data.sentences))

    def train(chosen: NDArray[np.int64], part: str) -> Network:
        arrays = checkpoint.once(
            part, config, NETWORK_ARRAYS,
            lambda: train_network(config, data, chosen, labels).to_arrays(),
        )  # fmt: skip
        return Network.from_arrays(arrays, part)

    data.guide = train(everything, "guide")
    data.marks = [np.zeros((1, 1), np.uint16)] * len(everything)
    kept = list(data.arcs)  # guides of other folds are trained on all candidates
    folds = folds_of(len(everything), config.guide.folds, [config.learning.seed, 1])
    for fold, (others, own) in enumerate(folds, start=1):
        judge = train(others, f"guide fold {fold}") if len(folds) > 1 else data.guide
        for i in own:
            head, mod = data.arcs[i]
            more = None if data.outside is None else data.outside([data.sentences[i]])[0]
            data.marks[i] = marks = judge.marks(data.values[i], head, mod, more)
            likely = steps_of(marks[head, mod]) >= config.guide.least
            likely |= data.heads[i][mod] == head
            kept[i] = head[likely], mod[likely]
    data.arcs = kept
