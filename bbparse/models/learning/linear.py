"""Learn the weights of templates: averaged perceptron or AdaGrad, of trees or of single choices.

A structured step moves the weights by the difference between the features of a gold tree and those
of the tree that was predicted. A log-linear step raises the probability, ∝ exp(score), of a right
choice: the pruner chooses the head of each word, the labeller the label of each arc.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.models.configuration import Configuration
from bbparse.models.learning.checkpoint import Checkpoint, key_of
from bbparse.models.learning.data import TrainingData, folds_of, labels_of, root_label
from bbparse.models.scoring.candidates import all_arcs
from bbparse.models.scoring.features import Features, as_parts
from bbparse.models.scoring.labeller import LABEL_QUANTUM, Labeller, add_rows
from bbparse.models.scoring.linear import QUANTUM, LinearScorer
from bbparse.models.scoring.problem_maker import with_arcs_of
from bbparse.runtime.archive import INTS, Rule
from bbparse.runtime.arrays import Flags, Float64s, Longs
from bbparse.runtime.progress import watched

# Initial sums of squares of AdaGrad. The labeller's keeps features that fired once or twice weak,
# which gains 0.1 % of the labels.
_PRUNER_START, _LABELLER_START = 0.01, 5.0
# Smaller weights of labels are dropped: they are half of the non-zero ones and gain nothing.
_MIN_WEIGHT = 0.03
_WEIGHTS: dict[str, Rule] = {"weights": (INTS, 1, None)}


class Learner:
    """Weights in quanta, int32[features, classes], and their mean over all steps.

    A step is the gradient itself (perceptron, Collins 2002), or the gradient times
    ``rate / sqrt(sum of squared gradients)`` (AdaGrad, Duchi et al. 2011). It is rounded to whole
    quanta, so that the scores of all trees stay multiples of the quantum. ``start`` is the initial
    sum of squares: a larger one shortens the first steps, so that rare features stay weak.

    The mean over steps 1..T of a weight w is w - (Σ_t t·δ_t)/T for changes δ_t made at step t, so a
    step costs only the features it changes.
    """

    def __init__(self, shape: tuple[int, int], method: str, rate: float, start: float) -> None:
        self.weights = np.zeros(shape, np.int32)
        self.sums = np.zeros(shape, np.int64)
        self.squares = np.full(shape if method == "adagrad" else (0, 0), start, np.float32)
        self.clock = np.ones(1, np.int64)
        self._rate = rate if method == "adagrad" else 1.0

    def scores(self, owner: Longs, features: Longs, count: int) -> Float64s:
        """Score `count` options, float64[count, classes]; option owner[i] has features[i]."""
        quanta = np.zeros((count, self.weights.shape[1]), np.int64)
        add_rows(owner, features, self.weights, quanta)
        return quanta * np.float64(QUANTUM)

    def step(self, owner: Longs, features: Longs, gradient: Float64s) -> None:
        """Move the weights along the gradient of the scores of options, as in `scores`."""
        rows, which = np.unique(features, return_inverse=True)
        total = np.zeros((len(rows), gradient.shape[1]))
        add_rows(which, owner, gradient, total)
        lengths = self._rate / QUANTUM * total
        if len(self.squares):
            self.squares[rows] += total * total
            lengths /= np.sqrt(self.squares[rows])
        changes = np.rint(lengths).astype(np.int64)
        self.weights[rows] += changes
        self.sums[rows] += self.clock * changes

    def tick(self) -> None:
        """Count one training example."""
        self.clock += 1

    def restart(self) -> None:
        """Restart the mean: earlier weights no longer count."""
        self.sums[:] = 0
        self.clock[:] = 1

    def average(self) -> NDArray[np.int32]:
        """Return the mean weights, rounded to whole quanta."""
        out = self.weights.copy()
        used = np.nonzero(self.sums)
        out[used] = np.rint(out[used] - self.sums[used] / self.clock)
        return out

    def state(self) -> dict[str, NDArray]:
        """Return the arrays of the state; writing to them restores another state."""
        return {name: getattr(self, name) for name in ("weights", "sums", "squares", "clock")}


def choice_gradient(scores: Float64s, gold: Flags, axis: int) -> Float64s:
    """Return the gradient of the log-likelihood of gold choices among the scores along an axis."""
    probabilities = np.exp(scores - scores.max(axis, keepdims=True))
    probabilities /= probabilities.sum(axis, keepdims=True)
    return np.where(gold.any(axis, keepdims=True), gold - probabilities, 0.0)


def train_pruner(config: Configuration, data: TrainingData, chosen: Longs) -> NDArray[np.int32]:
    """Train a pruner, by which each word chooses its head; return its weights in quanta."""
    features = Features(config.pruner_templates)
    shape = 1 << features.templates.bits, 1
    learner = Learner(shape, "adagrad", config.pruner.rate, _PRUNER_START)
    random = np.random.default_rng(config.learning.seed)
    for _ in range(config.pruner.epochs):
        for i in watched(random.permutation(chosen), "pruner"):
            n = len(data.heads[i]) - 1
            head, mod = all_arcs(n, n)
            fired = features.of_parts(data.values[i], as_parts(head, mod), "arc")
            scores = np.full((n + 1, n + 1), -np.inf)
            scores[:, 0] = 0.0
            scores[head, mod] = learner.scores(*fired, len(head))[:, 0]
            gold = data.heads[i] == np.arange(n + 1)[:, np.newaxis]
            learner.step(*fired, choice_gradient(scores, gold, 0)[head, mod][:, np.newaxis])
            learner.tick()
    return learner.average()[:, 0]


def prune_all(data: TrainingData, config: Configuration, checkpoint: Checkpoint) -> LinearScorer:
    """Train the pruner; find the candidates of each sentence by one that was not trained on it."""
    everything = np.arange(len(data.sentences))
    options = config.pruner.k, config.pruner.margin, config.model.single_root

    def train(chosen: NDArray[np.int64], part: str) -> LinearScorer:
        arrays = checkpoint.once(
            part, key_of(config), _WEIGHTS, lambda: {"weights": train_pruner(config, data, chosen)}
        )
        return LinearScorer(config.pruner_templates, arrays["weights"].astype(np.int32))

    pruner = train(everything, "pruner")
    data.arcs = [(np.empty(0, np.int32), np.empty(0, np.int32))] * len(everything)
    folds = folds_of(len(everything), config.pruner.folds, config.learning.seed)
    for fold, (others, held_out) in enumerate(folds, start=1):
        fold_pruner = train(others, f"pruner fold {fold}") if len(folds) > 1 else pruner
        for i in watched(held_out, "candidates"):
            head, mod = fold_pruner.candidates(data.values[i], *options)
            data.arcs[i] = with_arcs_of(head, mod, data.heads[i])
            data.missing += len(data.arcs[i][0]) - len(head)
    return pruner


def train_labeller(config: Configuration, data: TrainingData) -> Labeller | None:
    """Train a labeller on gold trees, not projectivised; None if there is nothing to learn.

    Weights are averaged from the second pass on: those of the first are far from the final ones.
    """
    sentences = data.sentences
    labels = [label for label in labels_of(sentences) if label != "_"]
    if not labels or not config.labels.epochs:
        return None
    root = root_label(sentences, labels)
    labeller = Labeller(config.label_templates, tuple(labels), root)
    shape = labeller.weights.shape
    learner = Learner(shape, "adagrad", config.labels.rate, _LABELLER_START)
    random = np.random.default_rng(config.learning.seed)
    for epoch in range(config.labels.epochs):
        if epoch == 1:
            learner.restart()
        for i in watched(random.permutation(len(sentences)), "labels"):
            tree = np.array([0, *sentences[i].heads], np.int32)
            gold = np.array(["_", *sentences[i].deprels])[:, np.newaxis] == labels
            fired = labeller.features(data.values[i], tree)
            scores = learner.scores(*fired, len(tree))
            if root >= 0:  # the rule decides, so there is nothing to learn
                gold[(tree == 0) | gold[:, root]] = False
                scores[:, root] = -np.inf
            learner.step(*fired, choice_gradient(scores, gold, 1))
            learner.tick()
    weights = learner.average() * QUANTUM
    weights[np.abs(weights) < _MIN_WEIGHT] = 0.0
    limit = np.iinfo(np.int16).max
    labeller.weights[:] = np.clip(np.rint(weights / LABEL_QUANTUM), -limit, limit)
    return labeller
