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
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.learning.averaging import AveragedWeights
from bbparse.problem.quantum import QUANTUM


@kernel
def _adagrad(
    weights: NDArray[np.int32],
    sums: NDArray[np.int64],
    squares: NDArray[np.float32],
    indices: NDArray[np.int64],
    counts: NDArray[np.int64],
    rate: float,
    clock: int,
) -> None:
    for j in range(indices.shape[0]):
        i = indices[j]
        squares[i] += counts[j] * counts[j]
        change = np.int64(np.rint(rate * counts[j] / np.sqrt(squares[i])))
        weights[i] += change
        sums[i] += clock * change


class Learner:
    """Weights that learn by one of the rules.

    Parameters
    ----------
    weights : int32[F]
        In quanta; changed in place.
    method : {"adagrad", "passive-aggressive", "perceptron"}
    rate : float
        See the rules.
    start : float
        Where AdaGrad's sums of squares start: the more, the shorter are first steps, so that
        features met a few times stay weak.
    """

    def __init__(
        self, weights: NDArray[np.int32], method: str, rate: float, start: float = 1.0
    ) -> None:
        self.average = AveragedWeights(weights)
        self.method = method
        self.rate = rate
        self.squares = np.full(weights.shape[0] if method == "adagrad" else 0, start, np.float32)

    def step(
        self, indices: NDArray[np.int64], counts: NDArray[np.int64], loss: float, norm: float
    ) -> None:
        """Move the weights towards the gold tree.

        Parameters
        ----------
        indices, counts : int64[D]
            Gold minus predicted features, none twice.
        loss : float
            Score of the predicted tree and its cost, minus the score of the gold tree; >= 0.
        norm : float
            Squared length of the whole difference (other weight vectors included).
        """
        average = self.average
        if self.method == "adagrad":
            _adagrad(
                average.weights, average.sums, self.squares, indices, counts,
                self.rate / QUANTUM, average.clock,
            )  # fmt: skip
            return
        length = 1.0
        if self.method == "passive-aggressive":
            length = min(self.rate, loss / max(norm, 1.0))
        average.add(indices, counts, round(length / QUANTUM))

    def tick(self) -> None:
        """Count one training example."""
        self.average.clock += 1

    def state(self) -> dict[str, NDArray]:
        """Arrays from which :meth:`restore` goes on."""
        return {
            "weights": self.average.weights,
            "sums": self.average.sums,
            "squares": self.squares,
            "clock": np.array(self.average.clock, np.int64),
        }

    def restore(self, state: dict[str, NDArray]) -> None:
        """Go on from a state."""
        self.average.weights[:] = state["weights"]
        self.average.sums[:] = state["sums"]
        self.squares[:] = state["squares"]
        self.average.clock = int(state["clock"])
