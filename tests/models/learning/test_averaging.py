"""The lazy average against the mean of all weight vectors, and the three rules of learning."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.core.quantum import QUANTUM
from bbparse.models.learning.linear import Learner

ONE = round(1 / QUANTUM)

# One training example: the features it changes, by how much each; none where it was right.
CHANGES = st.dictionaries(st.integers(0, 5), st.integers(-3, 3).filter(bool), max_size=4)


def arrays(change: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Indices and counts, ascending, as the trainer gives them."""
    indices = sorted(change)
    return np.array(indices, np.int64), np.array([change[i] for i in indices], np.int64)


def learner_of(size: int, method: str, rate: float) -> Learner:
    return Learner([size], method, [rate], [1.0])


def check_average(learner: Learner, vectors: list[list[int]]) -> None:
    """The average is the mean of the vectors, rounded to whole quanta."""
    for i, value in enumerate(learner.average().tolist()):
        mean = Fraction(sum(vector[i] for vector in vectors), len(vectors))
        assert abs(Fraction(value) - mean) <= Fraction(1, 2) + Fraction(1, 10**6)


@given(st.lists(CHANGES, max_size=30), st.sampled_from(["perceptron", "adagrad"]))
def test_a_learner_averages_what_it_learned(examples: list[dict[int, int]], method: str) -> None:
    learner = learner_of(6, method, 0.7)
    vectors = [[0] * 6]
    for change in examples:
        learner.step(*arrays(change), 1.0)
        learner.tick()
        vectors.append(learner.weights.tolist())
        check_average(learner, vectors)


@pytest.mark.parametrize(
    ("rate", "loss", "length"),
    [(1.0, 2.0, 0.4), (0.1, 2.0, 0.1), (1.0, 0.0, 0.0), (10.0, 15.0, 3.0)],
)
def test_passive_aggressive_steps_make_up_for_the_loss(
    rate: float, loss: float, length: float
) -> None:
    """PA-I: min(C, loss / |Δf|²); below C the gold tree then scores as much as the other one."""
    learner = learner_of(3, "passive-aggressive", rate)
    counts = np.array([2, -1])
    learner.step(np.array([0, 2]), counts, loss)
    expected = [round(length / QUANTUM) * c for c in (2, 0, -1)]
    assert learner.weights.tolist() == expected
    if length < rate:
        gained = float((learner.weights[[0, 2]] * counts).sum()) * QUANTUM
        assert gained == pytest.approx(loss, abs=5 * QUANTUM)


def test_adagrad_steps_shrink_with_the_gradients_seen() -> None:
    rate = 0.5
    learner = learner_of(3, "adagrad", rate)
    squares, weights = [1.0, 1.0, 1.0], [0, 0, 0]
    for change in ({0: 1, 1: -2}, {0: 1}, {0: -3, 2: 1}, {0: 1}):
        learner.step(*arrays(change), 99.0)
        learner.tick()
        for i, count in change.items():
            squares[i] += count * count
            weights[i] += round(rate * count / math.sqrt(squares[i]) / QUANTUM)
    assert learner.weights.tolist() == weights
    assert learner.squares.tolist() == squares
