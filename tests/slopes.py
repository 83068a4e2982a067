"""Gradients of a network's learner against slopes of its loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bbparse.network.learning import Learner


def assert_gradients(learner: Learner, loss: Callable[[], float]) -> None:
    """See whether all gradients that a loss leaves are those of it, at weights moved at random."""
    random = np.random.default_rng(2)
    weights = learner.dense.weights
    weights += 0.1 * random.standard_normal(weights.shape).astype(np.float32)
    loss()
    cases = [(learner.p[name], learner.g[name].copy()) for name in learner.p]
    cases.append((learner.vectors.weights, learner.vectors.gradient.copy()))
    for weights, gradient in cases:
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
        assert slope == pytest.approx(length, rel=0.03, abs=2e-3)
