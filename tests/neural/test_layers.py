"""Layers, products of matrices and steps against plain numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from bbparse.neural import layers
from bbparse.neural.layers import Weights
from bbparse.neural.learner import Learned, adam
from bbparse.neural.ragged import Ragged
from tests.neural import plain

SIZES = ([1], [3, 1, 6], [2, 2, 2, 2], [0, 70, 5])
LAYERS: dict[str, tuple[Any, Any, dict[str, tuple[int, ...]]]] = {
    "linear": (
        lambda w, name, x, _: layers.linear(w, name, x),
        plain.linear,
        {"l_w": (32, 48), "l_b": (48,)},
    ),
    "five words": (layers.convolution, plain.convolution, {"l_w": (160, 16), "l_b": (16,)}),
    "three words": (layers.convolution, plain.convolution, {"l_w": (96, 48), "l_b": (48,)}),
    "narrow": (layers.convolution, plain.convolution, {"l_w": (96, 10), "l_b": (10,)}),
    "recurrence": (layers.recurrence, plain.recurrence, {"l_in_w": (32, 64), "l_in_b": (64,)}),
    "normalisation": (
        lambda w, name, x, _: layers.normalisation(w, name, x),
        plain.normalisation,
        {"l_gain": (32,), "l_shift": (32,)},
    ),
}


def random_weights(
    rng: np.random.Generator, shapes: dict[str, tuple[int, ...]]
) -> tuple[Weights, dict[str, np.ndarray]]:
    """Weights with gradients of 1, which are there before, and the same in double precision."""
    values = {
        name: rng.normal(0.0, 1.0 / np.sqrt(shape[0]), shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    before = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    return Weights(values, before), {name: array.astype(float) for name, array in values.items()}


def random_batch(
    rng: np.random.Generator, sizes: Sequence[int], width: int, scale: float = 1.0
) -> tuple[Ragged, np.ndarray, list[np.ndarray]]:
    batch = Ragged.of(sizes)
    parts = [(scale * rng.normal(size=(n, width))).astype(np.float32) for n in sizes]
    return batch, np.concatenate(parts), [part.astype(float) for part in parts]


def words_of(batch: Ragged, x: np.ndarray) -> list[np.ndarray]:
    return [x[a : a + n] for a, n in zip(batch.first.tolist(), batch.size.tolist())]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", LAYERS)
def test_layers_give_what_plain_ones_give(name: str, sizes: list[int]) -> None:
    layer, reference, shapes = LAYERS[name]
    rng = np.random.default_rng(len(sizes))
    for scale in (1.0, 30.0):  # gates go up to where they are cut off
        w, p = random_weights(rng, shapes)
        batch, x, parts = random_batch(rng, sizes, 32, scale)
        out, _ = layer(w, "l", x.copy(), batch)
        assert out.dtype == np.float32 and len(out) == sum(sizes)
        for found, part in zip(words_of(batch, out), parts):
            if len(part):
                expected = reference(p, "l", part)
                assert np.allclose(found, expected, rtol=1e-4, atol=1e-4 * scale)
        # alone, each has the same numbers to the last bit
        for k, n in enumerate(sizes):
            one = Ragged.of([n])
            alone, _ = layer(w, "l", words_of(batch, x)[k].copy(), one)
            assert np.array_equal(words_of(one, alone)[0], words_of(batch, out)[k])


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", LAYERS)
def test_gradients_are_derivatives(name: str, sizes: list[int]) -> None:
    layer, reference, shapes = LAYERS[name]
    rng = np.random.default_rng(7 + len(sizes))
    for scale in (1.0, 30.0):
        w, p = random_weights(rng, shapes)
        batch, x, parts = random_batch(rng, sizes, 32, scale)
        out, backward = layer(w, "l", x.copy(), batch)
        wanted = rng.normal(size=out.shape).astype(np.float32)
        d_x = backward(wanted)

        pairs = [(part, d) for part, d in zip(parts, words_of(batch, wanted)) if len(part)]

        def loss(p: dict[str, np.ndarray] = p, pairs: Any = pairs) -> float:
            return sum(float((reference(p, "l", x) * goal).sum()) for x, goal in pairs)

        own = {name: gradient - 1.0 for name, gradient in w.gradients.items()}
        plain.assert_derivatives(loss, p, own, rng, 15)
        some = [(part, d) for part, d in zip(parts, words_of(batch, d_x)) if len(part)]
        for part, d_part in some:
            plain.assert_derivatives(loss, {"x": part}, {"x": d_part}, rng, 15)


def test_rows_of_vectors_are_summed_and_get_their_gradients() -> None:
    rng = np.random.default_rng(5)
    rows = rng.integers(-1, 6, (8, 4))
    table = rng.normal(size=(6, 16)).astype(np.float32)
    out = np.full((8, 16), np.nan, np.float32)
    layers.sum_rows(rows, table, np.float32(0.5), out)
    counts = np.array([[(row == k).sum() for k in range(6)] for row in rows])
    assert np.allclose(out, 0.5 * counts @ table, atol=1e-5)
    gradient, found = rng.normal(size=(8, 16)).astype(np.float32), np.ones((6, 16), np.float32)
    layers.add_to_rows(rows, gradient, found)
    assert np.allclose(found, 1.0 + counts.T @ gradient, atol=1e-5)


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
