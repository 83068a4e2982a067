"""Candidate arcs of training sentences, by a pruner that was not trained on them.

A pruner would leave its own training sentences far fewer rivals than it leaves new ones.

The pruner is log-linear head selection, learned with AdaGrad: each word chooses its head among all
others with probability ∝ exp(score). The gradient of the log-likelihood touches every arc of the
sentence, so the step is one jitted call.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.core.quantum import QUANTUM
from bbparse.models.configuration import Configuration
from bbparse.models.learning.checkpoint import Checkpoint, key_of
from bbparse.models.learning.data import TrainingData, folds_of
from bbparse.models.scoring.problem_maker import Pruner, with_arcs_of
from bbparse.models.scoring.scorer import PartScorer
from bbparse.runtime.archive import INTS, Rule
from bbparse.runtime.jit import kernel
from bbparse.treebank.progress import watched

# Smaller gradients are not worth a step: the head is as good as certain.
_LEAST_GRADIENT = 1e-3
# AdaGrad's initial sum of squares: it keeps the first steps small.
_START = 0.01
_NOTHING = Checkpoint()
_WEIGHTS: dict[str, Rule] = {"weights": (INTS, 1, None)}


@kernel
def _step(
    n: int,
    arcs: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]],
    heads: NDArray[np.int32],
    rate: float,
    clock: int,
    learned: tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float32]],
) -> float:
    """Take one gradient step on one sentence and return the log-loss before it.

    ``arcs`` are heads, modifiers, and the features of each arc, int64[A, F]; ``heads``,
    int32[n+1], is the gold tree. Weights, their sums over time and the sums of squared gradients
    are ``learned``.
    """
    (head, mod, indices), (weights, sums, squares) = arcs, learned
    n_arcs, n_features = indices.shape
    scores = np.empty(n_arcs)
    top = np.full(n + 1, -np.inf)
    total = np.zeros(n + 1)
    for a in range(n_arcs):
        score = 0.0
        for f in range(n_features):
            score += weights[indices[a, f]]
        scores[a] = score
        top[mod[a]] = max(top[mod[a]], score)
    for a in range(n_arcs):
        scores[a] = np.exp(scores[a] - top[mod[a]])
        total[mod[a]] += scores[a]
    loss = 0.0
    for a in range(n_arcs):
        probability = scores[a] / total[mod[a]]
        gradient = -probability
        if heads[mod[a]] == head[a]:
            gradient += 1.0
            loss -= np.log(max(probability, 1e-300))
        if abs(gradient) < _LEAST_GRADIENT:
            continue
        for f in range(n_features):
            i = indices[a, f]
            squares[i] += gradient * gradient
            change = rate * gradient / np.sqrt(squares[i])
            weights[i] += change
            sums[i] += clock * change
    return loss


def train_pruner(
    config: Configuration, data: TrainingData, chosen: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Train a pruner on the sentences `chosen` (ascending) and return its weights in quanta."""
    settings = config.pruner
    scorer = PartScorer(config.pruner_templates)
    size = scorer.weights.shape[0]
    weights = np.zeros(size, np.float32)
    sums = np.zeros(size, np.float64)
    squares = np.full(size, _START, np.float32)
    random = np.random.default_rng(config.learning.seed)
    clock = 1
    for _ in range(settings.epochs):
        for i in watched(random.permutation(chosen), "pruner"):
            head, mod, indices = scorer.features_of_all_arcs(data.values[i])
            heads = data.heads[i]
            learned = weights, sums, squares
            _step(len(heads) - 1, (head, mod, indices), heads, settings.rate, clock, learned)
            clock += 1
    return np.rint((weights - sums / clock) / QUANTUM).astype(np.int32)


def prune_all(
    data: TrainingData, config: Configuration, checkpoint: Checkpoint = _NOTHING
) -> Pruner:
    """Train the pruner; find the candidates of each sentence by one that was not trained on it."""
    everything = np.arange(len(data.sentences))

    def train(chosen: NDArray[np.int64], part: str) -> Pruner:
        arrays = checkpoint.once(
            part, key_of(config), _WEIGHTS,
            lambda: {"weights": train_pruner(config, data, chosen)},
        )  # fmt: skip
        return Pruner.of(config, arrays["weights"])

    pruner = train(everything, "pruner")
    data.arcs = [(np.empty(0, np.int32), np.empty(0, np.int32))] * len(everything)
    missing = 0
    folds = folds_of(len(everything), config.pruner.folds, config.learning.seed)
    for fold, (others, held_out) in enumerate(folds, start=1):
        fold_pruner = train(others, f"pruner fold {fold}") if len(folds) > 1 else pruner
        for i in watched(held_out, "candidates"):
            head, mod = fold_pruner.candidates(data.values[i])
            data.arcs[i] = with_arcs_of(head, mod, data.heads[i])
            missing += len(data.arcs[i][0]) - len(head)
    words = sum(len(heads) - 1 for heads in data.heads)
    data.recall = (words - missing) / max(1, words)
    return pruner
