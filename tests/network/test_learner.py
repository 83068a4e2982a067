"""Steps of Adam by definition, batches, and weights averaged over the last steps."""

from __future__ import annotations

import numpy as np
import pytest

from bbparse.network.learner import Learned, NetworkLearner, adam
from bbparse.network.sequence import QUANTUM, SequenceNetwork


def test_steps_are_those_of_adam() -> None:
    rng = np.random.default_rng(1)
    learned = Learned.of(rng.normal(size=(5, 7)).astype(np.float32))
    weights, mean, square = learned.weights.astype(float), np.zeros((5, 7)), np.zeros((5, 7))
    for clock in range(1, 9):
        rows = np.flatnonzero(rng.random(5) < 0.6)
        gradient = rng.normal(size=(5, 7))
        learned.gradient[:] = gradient
        adam(rows, learned, 0.01, clock)
        mean[rows] = 0.9 * mean[rows] + 0.1 * gradient[rows]
        square[rows] = 0.98 * square[rows] + 0.02 * gradient[rows] ** 2
        step = 0.01 * mean[rows] / (1.0 - 0.9**clock)
        weights[rows] -= step / (np.sqrt(square[rows] / (1.0 - 0.98**clock)) + 1e-8)
        assert np.allclose(learned.weights, weights, atol=1e-5)
        assert not learned.gradient[rows].any()  # that of others is left


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_every_example_is_there_once_in_each_pass(batch: int) -> None:
    passes = 9  # so many that several steps are averaged where batches are small
    sizes = np.array([3, 1, 4, 1, 5, 9, 2])
    shape = {"word": 16, "width": 16, "embeddings": 0}
    learner = NetworkLearner(SequenceNetwork, "r", shape, 0, 20, 1)
    seen: list[list[int]] = []
    shares: list[float] = []
    weights: list[np.ndarray] = []
    random = np.random.default_rng(2)

    def learn(chosen: list[int], done: float) -> np.ndarray:
        if seen:
            weights.append(learner.vectors.weights.copy())
        seen.append(chosen)
        shares.append(done)
        rows = np.arange(20)
        learner.vectors.gradient[:] = random.normal(size=(20, 16))
        return rows

    vectors, parameters = learner.learn(sizes, passes, batch, 0.01, 4, learn, "test")
    order = [i for chosen in seen for i in chosen]
    assert all(sorted(order[k : k + 7]) == list(range(7)) for k in range(0, 63, 7))
    assert order[:7] != order[7:14] or batch == 1000
    assert all(sizes[chosen[:-1]].sum() < batch for chosen in seen)
    assert shares[0] == 0.0 and shares == sorted(shares) and shares[-1] < 1.0
    # the mean of the weights after the last steps, each eighth, in whole quanta
    after = [*weights, learner.vectors.weights]
    chosen = [w for left, w in enumerate(after[::-1]) if left % 8 == 0 and left <= 0.15 * len(seen)]
    expected = np.mean(chosen, axis=0) / QUANTUM
    assert np.abs(vectors / QUANTUM - expected).max() <= 0.5001
    assert (np.rint(vectors / QUANTUM) * QUANTUM == vectors).all()
    assert parameters.keys() == SequenceNetwork.shapes("r", shape, 0).keys()
    assert all(np.isfinite(array).all() for array in parameters.values())
