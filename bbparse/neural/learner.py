"""`NetworkLearner`: weights of a network, their gradients, and averaged steps of Adam."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.dense import product
from bbparse.neural.eight_bits import ByteMatrix
from bbparse.neural.layers import Weights, add_to_rows
from bbparse.neural.mixture import MEAN_GOLD, mixed_batches
from bbparse.neural.packing import split, total_size
from bbparse.neural.sequence import (
    QUANTUM,
    Dropout,
    SequenceNetwork,
    Shared,
    Vectors,
    byte_matrices,
    keep_freed_memory,
)
from bbparse.runtime.arrays import Float32s, Ints, Longs
from bbparse.runtime.jit import kernel
from bbparse.runtime.progress import watched

# Adam's means come from a few sentences at first, so the rate rises over these steps, or over a
# tenth of all steps if that is less.
_WARM_UP = 200
_LAST_RATE = 0.02
_LONGEST_GRADIENT = 2.0
# Vectors start short, so that those of rare values stay so, and files are a third smaller. Ten
# times as long, they give the same accuracy; zeros would never pass the cut-off of a convolution.
_START = 0.01
_SMALLEST_BATCH = 32  # elements
_AVERAGED = 0.15  # fraction of the steps, at the end, over which weights are averaged
_EVERY = 8  # one step in so many is part of the mean


class Learned(NamedTuple):
    """Rows of weights, their gradients, and the running means of gradients and their squares."""

    weights: Float32s
    gradient: Float32s
    mean: Float32s
    square: Float32s

    @classmethod
    def of(cls, weights: Float32s) -> Learned:
        """Return the state of untrained weights."""
        return cls(weights, *(np.zeros_like(weights) for _ in range(3)))


@kernel
def adam(rows: Longs, learned: Learned, rate: float, clock: int) -> None:
    """Take a step of Adam (Kingma & Ba 2015) for some rows, and set their gradients to 0."""
    weights, gradient, mean, square = learned
    decay, square_decay = 0.9, 0.98
    one = np.float32(1.0)
    step = np.float32(rate / (1.0 - decay**clock))
    share = np.float32(1.0 / np.sqrt(1.0 - square_decay**clock))
    d, s = np.float32(decay), np.float32(square_decay)
    for i in range(np.uint64(rows.shape[0])):
        row = np.uint64(rows[i])
        for j in range(np.uint64(weights.shape[1])):
            g = gradient[row, j]
            mean[row, j] = d * mean[row, j] + (one - d) * g
            square[row, j] = s * square[row, j] + (one - s) * g * g
            weights[row, j] -= (
                # not "/": Python's division by zero raises, and then no loop is vectorised
                np.divide(step * mean[row, j], np.sqrt(square[row, j]) * share + np.float32(1e-8))
            )
            gradient[row, j] = np.float32(0.0)


class NetworkLearner:
    """Weights of a network during training; ``n_values`` attribute values have vectors."""

    def __init__(
        self,
        network: type[SequenceNetwork],
        kinds: str,
        sizes: Mapping[str, int],
        n_labels: int,
        n_values: int,
        seed: int,
    ) -> None:
        keep_freed_memory()
        random = np.random.default_rng([seed, 2])
        self.kinds, self.sizes = kinds, dict(sizes)
        self.shapes = network.shapes(kinds, sizes, n_labels)
        # All weights except the vectors of values, as one row.
        self._dense = Learned.of(np.zeros((1, total_size(self.shapes)), np.float32))
        self._matrices: dict[str, ByteMatrix] = {}
        self.weights = Weights(
            split(self._dense.weights[0], self.shapes),
            split(self._dense.gradient[0], self.shapes),
            self._matrices,
        )
        network.start(self.shapes, self.weights.values, random)
        vectors = _START * random.standard_normal((n_values, sizes["word"]))
        self.vectors = Learned.of(vectors.astype(np.float32))
        self.noise = Dropout(random)
        self._clock = 0

    def add_words(self, rows: Longs, d_words: Float32s, embeddings: Vectors | None) -> None:
        """Add the gradients of the input of `bbparse.neural.sequence.sums_of_words`."""
        if isinstance(embeddings, Shared):
            d_rows = np.zeros((len(embeddings.rows), d_words.shape[1]), np.float32)
            add_to_rows(embeddings.row_of[:, np.newaxis], d_words, d_rows)
            self.weights.gradients["embeddings_w"][...] += product(embeddings.rows.T, d_rows)
        elif embeddings is not None:
            self.weights.gradients["embeddings_w"][...] += product(embeddings.T, d_words)
        add_to_rows(rows, d_words, self.vectors.gradient)

    def _step(self, rate: float, touched: Longs) -> None:
        """Take a step along the gradients and clear them; `touched` are rows of vectors to move."""
        gradient = self._dense.gradient[0]
        length = float(np.sqrt(np.square(gradient, dtype=np.float64).sum()))
        if length > _LONGEST_GRADIENT:
            gradient *= np.float32(_LONGEST_GRADIENT / length)
        self._clock += 1
        adam(np.zeros(1, np.int64), self._dense, rate, self._clock)
        adam(touched, self.vectors, rate, self._clock)

    def learn(
        self,
        sizes: Longs,
        epochs: int,
        batch: int,
        rate: float,
        seed: int,
        learn_from: Callable[[list[int], float], Longs],
        name: str,
        n_gold: int,
    ) -> tuple[NDArray[np.int8], dict[str, Float32s]]:
        """Train, and return the vectors, in steps of `QUANTUM`, and the weights; means at the end.

        ``learn_from`` gets the indices of a batch and the fraction of the run that is over, adds
        its gradients, and returns the rows of vectors that it touches. Rates fall from ``rate`` to
        `_LAST_RATE` of it along a cosine (Loshchilov & Hutter 2017). ``epochs`` are passes over the
        first ``n_gold`` examples, among silver ones (`bbparse.neural.mixture`).
        """
        random = np.random.default_rng(seed)
        batches: Iterable[list[int]]
        if n_gold == len(sizes):
            steps = epochs * sum(1 for _ in _batches(np.arange(len(sizes)), sizes, batch))
            batches = _epochs(random, sizes, epochs, batch, name)
        else:
            steps = max(1, round(epochs * int(sizes[:n_gold].sum()) / MEAN_GOLD / batch))
            batches = watched(mixed_batches(sizes, n_gold, batch, steps, random), name, " steps")
        warm_up = min(_WARM_UP, steps // 10 + 1)
        parts = (self._dense, self.vectors)
        totals, taken = [np.zeros_like(part.weights) for part in parts], 0
        for chosen in batches:
            done = min(1.0, self._clock / steps)
            self._matrices.update(byte_matrices(self.weights.values, ByteMatrix.nearest))
            touched = learn_from(chosen, done)
            fall = _LAST_RATE + (1.0 - _LAST_RATE) * 0.5 * (1.0 + np.cos(np.pi * done))
            self._step(rate * fall * min(1.0, (self._clock + 1) / warm_up), touched)
            left = steps - self._clock
            if left <= max(1, _AVERAGED * steps) and left % _EVERY == 0:
                for total, part in zip(totals, parts):
                    total += part.weights
                taken += 1
        if not taken:  # other batches made fewer steps than expected
            totals, taken = [part.weights for part in parts], 1
        limits = np.iinfo(np.int8)
        quanta = np.rint(totals[1] / np.float32(taken * QUANTUM))
        vectors = np.clip(quanta, limits.min, limits.max).astype(np.int8)
        return vectors, split(totals[0][0] / np.float32(taken), self.shapes)


def batch_of(most: int, n: int, steps: int) -> int:
    """Return the elements of a batch: a pass over a small treebank of n should have some steps."""
    return min(most, max(_SMALLEST_BATCH, n // steps))


def _epochs(
    random: np.random.Generator, sizes: Longs, epochs: int, batch: int, name: str
) -> Iterator[list[int]]:
    """Yield the batches of some passes over all examples, each in another order."""
    for _ in range(epochs):
        yield from watched(list(_batches(random.permutation(len(sizes)), sizes, batch)), name)


def _batches(order: Longs, sizes: Longs, batch: int) -> Iterator[list[int]]:
    """Yield batches of examples in a given order, each of at least ``batch`` words if possible."""
    chosen: list[int] = []
    words = 0
    for i in order.tolist():
        chosen.append(i)
        words += int(sizes[i])
        if words >= batch:
            yield chosen
            chosen, words = [], 0
    if chosen:
        yield chosen


def touched_rows(rows: Longs) -> Longs:
    """Return the rows of vectors that words use, each once."""
    return np.flatnonzero(np.bincount(rows.reshape(-1) + 1)[1:])


def label_loss(scores: Float32s, rows: Longs, labels: Ints, shares: Float32s) -> float:
    """Return the cross-entropy of labels; ``scores`` (rows of labels) become its gradient.

    ``shares`` are those of ``labels`` in ``rows``: they add up to 1 in each row.
    """
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    right = rows, labels
    loss = -float((shares * np.log(np.maximum(scores[right], 1e-30))).sum())
    scores[right] -= shares
    return loss
