"""Learn linear weights: structured updates towards gold trees, and log-linear choices.

`Learner` moves integer weights by the difference between the features of a gold tree and those of
the tree that was predicted. `LogLinear` learns to choose one of several classes, with probability
∝ exp(score): the pruner chooses the head of each word, the labeller the label of each arc. Both
average their weights over all steps (Collins 2002). The mean over steps 1..T of a weight w is
w - (Σ_t t·δ_t)/T for changes δ_t made at step t, so a step costs only the features it changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bbparse.core.quantum import QUANTUM
from bbparse.models.configuration import Configuration
from bbparse.models.learning.checkpoint import Checkpoint, key_of
from bbparse.models.learning.data import TrainingData, folds_of, labels_of
from bbparse.models.scoring.candidates import all_arcs
from bbparse.models.scoring.labeller import LABEL_QUANTUM, Labeller
from bbparse.models.scoring.linear import ARC, Features
from bbparse.models.scoring.problem_maker import Pruner, with_arcs_of
from bbparse.runtime.archive import INTS, Rule
from bbparse.runtime.arrays import Float32s, Ints, Longs
from bbparse.runtime.jit import kernel
from bbparse.treebank import Sentence
from bbparse.treebank.progress import watched

# Gradients below the first number are not worth a step of the pruner or the labeller; the second is
# AdaGrad's initial sum of squares. The labeller's keeps features that fired once or twice weak,
# which gains 0.1 % of the labels.
_PRUNER = (1e-3, 0.01)
_LABELLER = (1e-2, 5.0)
# Smaller weights of labels are dropped: they are half of the non-zero ones and gain nothing.
_LEAST_WEIGHT = 0.03
_NOTHING = Checkpoint()
_WEIGHTS: dict[str, Rule] = {"weights": (INTS, 1, None)}


class Learner:
    """Weights int32[F] in quanta, updated in place by one of the rules, and their mean over steps.

    A rule determines the length of a step:

    * perceptron: 1 for every feature (Collins 2002);
    * passive-aggressive: just enough to make up for the loss, at most ``rate`` (PA-I, Crammer et
      al. 2006);
    * AdaGrad: ``rate / sqrt(sum of squared gradients)`` for each feature (Duchi et al. 2011).

    Steps are rounded to whole quanta, so that weights and the scores of all trees stay integer
    multiples of the quantum under every rule. The weights form consecutive blocks of lengths
    `sizes`, each with its own rate. `starts` are the initial sums of squares of AdaGrad: larger
    ones shorten the first steps, so that features met only a few times stay weak.
    """

    def __init__(
        self, sizes: Sequence[int], method: str, rates: Sequence[float], starts: Sequence[float]
    ) -> None:
        self.weights = np.zeros(sum(sizes), np.int32)
        self.method = method
        self.sums = np.zeros(len(self.weights), np.int64)
        self.squares = np.zeros(0, np.float32)
        if method == "adagrad":
            self.squares = np.repeat(np.array(starts, np.float32), sizes)
        self.clock = np.ones(1, np.int64)
        self._ends, self._rates = np.cumsum(sizes), np.array(rates)

    def step(self, indices: Longs, counts: Longs, loss: float) -> None:
        """Move the weights towards the gold tree.

        `indices` and `counts` are the gold minus the predicted features, each at most once. `loss`,
        >= 0, is by how much the predicted tree, with its cost, outscores the gold tree.
        """
        rates = self._rates[np.searchsorted(self._ends, indices, side="right")]
        if self.method == "perceptron":
            rates[:] = 1.0
        elif self.method == "passive-aggressive":
            np.minimum(rates, loss / max(float((counts * counts).sum()), 1.0), out=rates)
        lengths = rates / QUANTUM
        if self.method == "adagrad":
            self.squares[indices] += counts * counts
            lengths *= counts
            lengths /= np.sqrt(self.squares[indices])
        else:
            lengths = np.rint(lengths) * counts
        changes = np.rint(lengths).astype(np.int64)
        self.weights[indices] += changes
        self.sums[indices] += self.clock * changes

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
        used = np.flatnonzero(self.sums)
        out[used] = np.rint(out[used] - self.sums[used] / self.clock)
        return out

    def state(self) -> dict[str, NDArray]:
        """Return the arrays of the state; writing to them restores another state."""
        return {"weights": self.weights, "sums": self.sums, "squares": self.squares,
                "clock": self.clock}


class LogLinear:
    """Weights float32[rows, classes] of a log-linear choice, learned with AdaGrad.

    A feature is a row. Gradients below `least` are skipped; `start` is the initial sum of squares.
    """

    def __init__(self, rows: int, classes: int, rate: float, least: float, start: float) -> None:
        self.weights = np.zeros((rows, classes), np.float32)
        self.sums = np.zeros_like(self.weights)
        self.squares = np.full_like(self.weights, start)
        self.rate, self.least, self.clock = rate, least, 1

    def step(
        self, owner: Longs, rows: Longs, group: Longs, gold: Ints, forbidden: int = -1
    ) -> float:
        """Take one gradient step on one sentence and return the log-loss before it.

        Feature i fires for the option ``owner[i]``. All options of a group and all classes exclude
        each other; ``gold`` is the right class of the right option of a group, -1 for the others.
        Groups without a right option teach nothing. No option has the class ``forbidden``.
        """
        loss: float = _log_linear_step(
            (owner, rows), group, gold, forbidden, self.rate, self.least, self.clock,
            (self.weights, self.sums, self.squares),
        )
        self.clock += 1
        return loss

    def restart(self) -> None:
        """Restart the mean: earlier weights no longer count."""
        self.sums[:] = 0.0
        self.clock = 1

    def average(self) -> Float32s:
        """Return the mean weights."""
        return self.weights - self.sums / np.float32(self.clock)


@kernel
def _log_linear_step(
    features: tuple[Longs, Longs], group: Longs, gold: Ints, forbidden: int, rate: float,
    least: float, clock: int, learned: tuple[Float32s, Float32s, Float32s],
) -> float:
    """Take the step of `LogLinear.step`."""
    (owner, rows), (weights, sums, squares) = features, learned
    n_options, n_classes = gold.shape[0], weights.shape[1]
    gradients = np.zeros((n_options, n_classes))  # scores at first
    for f in range(rows.shape[0]):
        for c in range(n_classes):
            gradients[owner[f], c] += weights[rows[f], c]
    n_groups = group.max() + 1
    top, total = np.full(n_groups, -np.inf), np.zeros(n_groups)
    taught = np.zeros(n_groups, np.bool_)
    for o in range(n_options):
        taught[group[o]] |= gold[o] >= 0
        if forbidden >= 0:
            gradients[o, forbidden] = -np.inf
        top[group[o]] = max(top[group[o]], gradients[o].max())
    for o in range(n_options):
        for c in range(n_classes):
            gradients[o, c] = np.exp(gradients[o, c] - top[group[o]])
            total[group[o]] += gradients[o, c]
    loss = 0.0
    for o in range(n_options):
        for c in range(n_classes):
            probability = gradients[o, c] / total[group[o]]
            gradients[o, c] = -probability if taught[group[o]] else 0.0
            if c == gold[o]:
                gradients[o, c] += 1.0
                loss -= np.log(max(probability, 1e-300))
    for f in range(rows.shape[0]):
        for c in range(n_classes):
            gradient = gradients[owner[f], c]
            if abs(gradient) >= least:
                squares[rows[f], c] += gradient * gradient
                change = rate * gradient / np.sqrt(squares[rows[f], c])
                weights[rows[f], c] += change
                sums[rows[f], c] += clock * change
    return loss


def train_pruner(config: Configuration, data: TrainingData, chosen: Longs) -> NDArray[np.int32]:
    """Train a pruner on the sentences `chosen` (ascending) and return its weights in quanta.

    Each word chooses its head among all others.
    """
    features = Features(config.pruner_templates)
    model = LogLinear(1 << features.templates.bits, 1, config.pruner.rate, *_PRUNER)
    random = np.random.default_rng(config.learning.seed)
    none = np.zeros(0, np.int32)
    for _ in range(config.pruner.epochs):
        for i in watched(random.permutation(chosen), "pruner"):
            n = len(data.heads[i]) - 1
            head, mod = all_arcs(n, n)
            owner, rows = features.of_parts(data.values[i], (none, head, none, mod), ARC)
            gold = np.where(data.heads[i][mod] == head, 0, -1).astype(np.int32)
            model.step(owner, rows, mod.astype(np.int64), gold)
    return np.rint(model.average()[:, 0] / QUANTUM).astype(np.int32)


def prune_all(
    data: TrainingData, config: Configuration, checkpoint: Checkpoint = _NOTHING
) -> Pruner:
    """Train the pruner; find the candidates of each sentence by one that was not trained on it.

    A pruner would leave its own training sentences far fewer rivals than it leaves new ones.
    """
    everything = np.arange(len(data.sentences))

    def train(chosen: NDArray[np.int64], part: str) -> Pruner:
        arrays = checkpoint.once(
            part, key_of(config), _WEIGHTS,
            lambda: {"weights": train_pruner(config, data, chosen)},
        )
        return Pruner.of(config, arrays["weights"].astype(np.int32))

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


def train_labeller(config: Configuration, data: TrainingData) -> Labeller | None:
    """Train a labeller on the gold trees of a treebank, without projectivising them.

    Weights are averaged from the second pass on: those of the first are far from the final ones.
    Returns None if no word has a label or the configuration sets 0 epochs. Words with the label
    ``_`` are skipped. Raises `TreebankError` if there are more labels than `MAX_LABELS`.
    """
    sentences = data.sentences
    labels = [label for label in labels_of(sentences) if label != "_"]
    if not labels or not config.labels.epochs:
        return None
    root = root_label(sentences, labels)
    number = {label: i for i, label in enumerate(labels)}
    labeller = Labeller(config.label_templates, tuple(labels), root)
    model = LogLinear(*labeller.weights.shape, config.labels.rate, *_LABELLER)
    random = np.random.default_rng(config.learning.seed)
    for epoch in range(config.labels.epochs):
        if epoch == 1:
            model.restart()
        for i in watched(random.permutation(len(sentences)), "labels"):
            tree = np.array([0, *sentences[i].heads], np.int32)
            gold = np.array([-1, *(number.get(x, -1) for x in sentences[i].deprels)], np.int32)
            if root >= 0:  # the rule decides, so there is nothing to learn
                gold[(tree == 0) | (gold == root)] = -1
            features = labeller.features(data.values[i], tree)
            model.step(*features, np.arange(len(tree)), gold, root)
    weights = model.average()
    weights[np.abs(weights) < _LEAST_WEIGHT] = 0.0
    limit = np.iinfo(np.int16).max
    quanta = np.rint(weights / np.float32(LABEL_QUANTUM))
    labeller.weights[:] = np.clip(quanta, -limit, limit)
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
