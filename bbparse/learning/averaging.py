"""Integer weights and their running average."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel


@kernel
def _add(
    weights: NDArray[np.int32],
    sums: NDArray[np.int64],
    indices: NDArray[np.int64],
    counts: NDArray[np.int64],
    step: int,
    clock: int,
) -> None:
    for i in range(indices.shape[0]):
        change = step * counts[i]
        weights[indices[i]] += change
        sums[indices[i]] += clock * change


@kernel
def _average(
    weights: NDArray[np.int32],
    sums: NDArray[np.int64],
    clock: int,
    out: NDArray[np.int32],
) -> None:
    for i in range(weights.shape[0]):
        if sums[i] == 0:
            out[i] = weights[i]
        else:
            out[i] = np.int32(np.rint(weights[i] - sums[i] / clock))


class AveragedWeights:
    """Weights w in whole quanta, with what is needed for the mean of w over all steps.

    The mean over steps 1..T of w is w - (Σ_t t·δ_t)/T for changes δ_t made at step t (a lazy form
    of the averaged perceptron, Collins 2002), so a step costs only the features it changes.

    Parameters
    ----------
    weights : int32[F]
        Changed in place.
    """

    def __init__(self, weights: NDArray[np.int32]) -> None:
        self.weights = weights
        self.sums = np.zeros(weights.shape[0], np.int64)
        self.clock = 1

    def add(self, indices: NDArray[np.int64], counts: NDArray[np.int64], step: int) -> None:
        """w[indices] += step · counts, at the present step of the clock."""
        _add(self.weights, self.sums, indices, counts, step, self.clock)

    def restart(self) -> None:
        """Forget earlier weights: the mean is over what follows."""
        self.sums[:] = 0
        self.clock = 1

    def average(self, out: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """The mean weights, rounded to whole quanta."""
        if out is None:
            out = np.empty_like(self.weights)
        _average(self.weights, self.sums, self.clock, out)
        return out


def keep_largest(weights: NDArray[np.int32], share: float) -> NDArray[np.int32]:
    """Weights without the smallest of them.

    Most weights of a model come from features met once or twice: they are small, many, and about
    the training text only. Without them a model is a fraction of its size and parses as well.

    Parameters
    ----------
    weights : int32[F]
    share : float
        Of the weights that are not zero, how many to keep: those of largest magnitude, and all
        that tie with the smallest of these.

    Returns
    -------
    int32[F]
        A copy.
    """
    kept = weights.copy()
    sizes = np.abs(weights[weights != 0])
    count = int(np.ceil(share * len(sizes)))
    if 0 < count < len(sizes):
        least = np.partition(sizes, len(sizes) - count)[len(sizes) - count]
        kept[np.abs(kept) < least] = 0
    return kept


def rounded_to(weights: NDArray[np.int32], bits: int) -> NDArray[np.int32]:
    """Weights as multiples of a power of two, so that so many bits hold all of their factors.

    Parameters
    ----------
    weights : int32[F]
    bits : int
        Of each weight, its sign included; at least 2.

    Returns
    -------
    int32[F]
        A copy; no weight changes by more than half of the power of two, which is the smallest
        that is large enough.
    """
    most = (1 << (bits - 1)) - 1
    largest = max(int(weights.max(initial=0)), -int(weights.min(initial=0)))
    step = 1
    while (largest + step // 2) // step > most:
        step *= 2
    # The largest 32-bit number is no multiple of the step: rounded up, it would not fit.
    highest = np.iinfo(np.int32).max // step
    return np.clip(np.rint(weights / step), -highest, highest).astype(np.int32) * np.int32(step)
