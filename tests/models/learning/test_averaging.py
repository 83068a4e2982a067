"""The lazy average against the mean of all weight vectors, steps, and choices."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bbparse.models.learning.linear import Learner, choice_gradient
from bbparse.models.scoring.linear import QUANTUM
from tests.neural.plain import assert_derivatives

# One training example: the features it changes, by how much each; none where it was right.
CHANGES = st.dictionaries(st.integers(0, 5), st.integers(-3, 3).filter(bool), max_size=4)


def take_step(learner: Learner, change: dict[int, int]) -> None:
    """Move towards a gold tree that has these features more often than the other one."""
    rows = [(int(count < 0), i) for i, count in change.items() for _ in range(abs(count))]
    owner, features = np.array(rows, np.int64).reshape(-1, 2).T
    learner.step(owner, features, np.array([[1.0], [-1.0]]))


def check_average(learner: Learner, vectors: list[list[int]]) -> None:
    """The average is the mean of the vectors, rounded to whole quanta."""
    for i, value in enumerate(learner.average()[:, 0].tolist()):
        mean = Fraction(sum(vector[i] for vector in vectors), len(vectors))
        assert abs(Fraction(value) - mean) <= Fraction(1, 2) + Fraction(1, 10**6)


@given(st.lists(CHANGES, max_size=30), st.sampled_from(["perceptron", "adagrad"]))
def test_a_learner_averages_what_it_learned(examples: list[dict[int, int]], method: str) -> None:
    learner = Learner((6, 1), method, 0.7, 1.0)
    vectors = [[0] * 6]
    for change in examples:
        take_step(learner, change)
        learner.tick()
        vectors.append(learner.weights[:, 0].tolist())
        check_average(learner, vectors)


def test_adagrad_steps_shrink_with_the_gradients_seen() -> None:
    rate = 0.5
    learner = Learner((3, 1), "adagrad", rate, 1.0)
    squares, weights = [1.0, 1.0, 1.0], [0, 0, 0]
    for change in ({0: 1, 1: -2}, {0: 1}, {0: -3, 2: 1}, {0: 1}):
        take_step(learner, change)
        for i, count in change.items():
            squares[i] += count * count
            weights[i] += round(rate * count / math.sqrt(squares[i]) / QUANTUM)
    assert learner.weights[:, 0].tolist() == weights
    assert learner.squares[:, 0].tolist() == squares


@given(st.integers(0, 10**6), st.integers(0, 1))
def test_choices_are_learned_along_the_gradient_of_their_likelihood(seed: int, axis: int) -> None:
    rng = np.random.default_rng(seed)
    scores, gold = rng.normal(size=(4, 5)), np.zeros((4, 5), bool)
    for i in range(3):  # the last one teaches nothing
        gold[(i, rng.integers(5)) if axis else (rng.integers(4), i)] = True

    def likelihood() -> float:
        sums = np.logaddexp.reduce(scores, axis, keepdims=True)
        return float((scores - sums)[gold].sum())

    gradients = {"x": choice_gradient(scores, gold, axis)}
    assert_derivatives(likelihood, {"x": scores}, gradients, rng, 10)
