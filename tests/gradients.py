"""Gradients of a network that is being learned against differences of its loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bbparse.neural.learner import NetworkLearner


def assert_gradients(
    learner: NetworkLearner, loss: Callable[[], float], *steps: float, **near: float
) -> None:
    """See whether all gradients that a loss leaves are those of it: the median of some steps."""
    w = learner.weights
    cases = {name: (w.values[name], w.gradients[name]) for name in w.values}
    cases["vectors"] = learner.vectors.weights, learner.vectors.gradient
    for _, gradient in cases.values():
        gradient[...] = 0.0
    loss()
    left = {name: gradient.copy() for name, (_, gradient) in cases.items()}
    for name, gradient in left.items():
        weights, _ = cases[name]
        before = weights.copy()
        length = np.sqrt(np.square(gradient, dtype=np.float64).sum())
        assert length > 0.0
        found = []
        for step in steps:  # along the gradient, the derivative is its length
            losses = []
            for sign in (1.0, -1.0):
                weights[:] = before + np.float32(sign * step / length) * gradient
                losses.append(loss())
            found.append((losses[0] - losses[1]) / (2.0 * step))
        weights[:] = before
        assert np.median(found) == pytest.approx(length, **near), name
