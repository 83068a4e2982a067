"""Steps of learning: perceptron, passive-aggressive, AdaGrad, all in whole quanta.

A step gets the difference of two feature vectors, gold minus predicted, and by how much the
predicted tree outscored the gold tree (with the cost of its errors). The three rules differ in the
length of the step only:

* perceptron: 1 for every feature (Collins 2002);
* passive-aggressive: just enough to make up for the loss, at most ``rate`` (PA-I, Crammer et al.
  2006);
* AdaGrad: ``rate / sqrt(sum of squared gradients so far)`` for each feature (Duchi et al. 2011).

Steps are rounded to whole quanta, so that weights, and the scores of all trees, stay integer
multiples of the quantum whichever rule is used.

The mean over steps 1..T of a weight w is w - (Σ_t t·δ_t)/T for changes δ_t made at step t (a lazy
form of the averaged perceptron, Collins 2002), so that a step costs only the features it changes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.problem.quantum import QUANTUM


class Learner:
    """Weights int32[F] in quanta that learn, in place, by one of the rules, and their mean over all
    steps.

    `start` is where AdaGrad's sums of squares start: the more, the shorter are first steps, so that
    features met a few times stay weak. `best` is for the mean that was worth keeping.
    """

    def __init__(
        self, weights: NDArray[np.int32], method: str, rate: float, start: float = 1.0
    ) -> None:
        self.weights = weights
        self.best = weights.copy()
        self.method = method
        self.rate = rate
        self.sums = np.zeros(weights.shape[0], np.int64)
        self.squares = np.full(weights.shape[0] if method == "adagrad" else 0, start, np.float32)
        self.clock = 1

    def step(
        self, indices: NDArray[np.int64], counts: NDArray[np.int64], loss: float, norm: float
    ) -> None:
        """Move the weights towards the gold tree.

        Given are gold minus predicted features, none twice; by how much the predicted tree and its
        cost outscore the gold tree, >= 0; and the squared length of the whole difference, other
        weight vectors included.
        """
        rate = self.rate / QUANTUM
        if self.method == "perceptron":
            rate = float(round(1.0 / QUANTUM))
        elif self.method == "passive-aggressive":
            rate = float(round(min(self.rate, loss / max(norm, 1.0)) / QUANTUM))
        lengths = rate * counts
        if self.method == "adagrad":
            self.squares[indices] += counts * counts
            lengths /= np.sqrt(self.squares[indices])
        changes = np.rint(lengths).astype(np.int64)
        self.weights[indices] += changes
        self.sums[indices] += self.clock * changes

    def tick(self) -> None:
        """Count one training example."""
        self.clock += 1

    def restart(self) -> None:
        """Forget earlier weights: the mean is over what follows."""
        self.sums[:] = 0
        self.clock = 1

    def average(self) -> NDArray[np.int32]:
        """The mean weights, rounded to whole quanta."""
        out = self.weights.copy()
        used = np.flatnonzero(self.sums)
        out[used] = np.rint(out[used] - self.sums[used] / self.clock)
        return out

    def state(self) -> dict[str, NDArray]:
        """Arrays from which :meth:`restore` goes on."""
        clock = np.array([self.clock], np.int64)
        return {"weights": self.weights, "sums": self.sums, "squares": self.squares,
                "best": self.best, "clock": clock}  # fmt: skip

    def restore(self, state: dict[str, NDArray]) -> None:
        """Go on from a state."""
        for name in ("weights", "sums", "squares", "best"):
            getattr(self, name)[:] = state[name]
        self.clock = int(state["clock"][0])
