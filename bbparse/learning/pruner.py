"""Training the pre-pruner: log-linear head selection with AdaGrad.

Each word chooses its head among all others with probability ∝ exp(score); the gradient of the
log-likelihood touches every arc of the sentence, so the step is one jitted call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration.records import PrunerConfig
from bbparse.configuration.templates import TemplateSet
from bbparse.jit import kernel
from bbparse.problem.quantum import QUANTUM
from bbparse.scoring.pruner import Pruner
from bbparse.scoring.scorer import PartScorer
from bbparse.treebank.progress import watched

# Gradients below this are not worth a step: the head is as good as certain.
_LEAST_GRADIENT = 1e-3
# AdaGrad's starting sum of squares; keeps the first steps small.
_START = 0.01


@kernel
def _step(
    n: int,
    head: NDArray[np.int32],
    mod: NDArray[np.int32],
    indices: NDArray[np.int64],
    heads: NDArray[np.int32],
    rate: float,
    clock: int,
    weights: NDArray[np.float32],
    sums: NDArray[np.float64],
    squares: NDArray[np.float32],
) -> float:
    """One gradient step on one sentence; returns the log-loss before it.

    ``indices`` is int64[A, F], the features of each arc; ``heads`` int32[n+1] the gold tree.
    """
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
    templates: TemplateSet,
    values: Sequence[NDArray[np.uint64]],
    heads: Sequence[NDArray[np.int32]],
    chosen: Iterable[int],
    config: PrunerConfig,
    seed: int,
    single_root: bool = True,
) -> Pruner:
    """Train a pruner on some of the sentences.

    Parameters
    ----------
    templates : TemplateSet
        Arc templates, none of them over the words between (``b.``): every arc must have the same
        number of features.
    values, heads : sequences
        Encoded sentences, and their gold heads int32[n+1].
    chosen : iterable of int
        Which of them to train on.
    config : PrunerConfig
    seed : int
        Of the order of sentences.
    single_root : bool
    """
    scorer = PartScorer(templates, quantum=QUANTUM)
    size = scorer.weights.shape[0]
    weights = np.zeros(size, np.float32)
    sums = np.zeros(size, np.float64)
    squares = np.full(size, _START, np.float32)
    order = np.array(sorted(chosen), np.int64)
    random = np.random.default_rng(seed)
    clock = 1
    for _ in range(config.epochs):
        for i in watched(random.permutation(order), "pruner"):
            head, mod, indices = scorer.features_of_all_arcs(values[i])
            _step(
                len(heads[i]) - 1, head, mod, indices, heads[i], config.rate, clock,
                weights, sums, squares,
            )  # fmt: skip
            clock += 1
    average = weights - sums / clock
    scorer.weights[:] = np.rint(average / QUANTUM).astype(np.int32)
    return Pruner(scorer, config.k, config.margin, single_root)
