"""Gradients of a network that is being learned against slopes of its loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bbparse.network.learner import NetworkLearner


def assert_gradients(learner: NetworkLearner, loss: Callable[[], float]) -> None:
    """See whether all gradients that a loss leaves are those of it, at weights moved at random."""
    random = np.random.default_rng(2)
    w = learner.weights
    for weights in w.values.values():
        weights += 0.1 * random.standard_normal(weights.shape).astype(np.float32)
    cases = {name: (w.values[name], w.gradients[name]) for name in w.values}
    cases["vectors"] = learner.vectors.weights, learner.vectors.gradient
    for _, gradient in cases.values():
        gradient[...] = 0.0
    loss()
    slopes = {name: gradient.copy() for name, (_, gradient) in cases.items()}
    for name, gradient in slopes.items():
        weights, _ = cases[name]
        before = weights.copy()
        length = np.sqrt(np.square(gradient, dtype=np.float64).sum())
        assert length > 0.0
        # along the gradient, the slope is its length
        step = 2e-3
        losses = []
        for sign in (1.0, -1.0):
            weights[:] = before + np.float32(sign * step / length) * gradient
            losses.append(loss())
        weights[:] = before
        slope = (losses[0] - losses[1]) / (2.0 * step)
        assert slope == pytest.approx(length, rel=0.03, abs=2e-3), name
