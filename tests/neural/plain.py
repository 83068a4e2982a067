"""Layers of networks in plain numpy and double precision, one sentence at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

Arrays = Mapping[str, np.ndarray]


def sigmoid(x: np.ndarray) -> np.ndarray:
    """About 1 / (1 + e^-x), by the power that networks have in place of e."""
    return 1.0 / (1.0 + (1.0 + np.clip(-x, -40.0, 40.0) / 64.0) ** 64)


def linear(p: Arrays, name: str, x: np.ndarray) -> np.ndarray:
    return x @ p[f"{name}_w"] + p[f"{name}_b"]


def convolution(p: Arrays, name: str, x: np.ndarray) -> np.ndarray:
    reach = len(p[f"{name}_w"]) // x.shape[1] // 2
    around = np.pad(x, ((reach, reach), (0, 0)))
    windows = np.array([around[i : i + 2 * reach + 1].reshape(-1) for i in range(len(x))])
    return np.maximum(linear(p, name, windows), 0.0)


def recurrence(p: Arrays, name: str, x: np.ndarray) -> np.ndarray:
    parts = np.split(linear(p, f"{name}_in", x), 4, axis=1)
    joined = []
    for z, c, order in ((*parts[:2], 1), (*parts[2:], -1)):
        z, c = sigmoid(z), 2.0 * sigmoid(2.0 * c) - 1.0
        state, states = np.zeros(z.shape[1]), np.zeros_like(z)
        for i in range(len(x))[::order]:
            state = (1.0 - z[i]) * state + z[i] * c[i]
            states[i] = state
        joined.append(states)
    return np.concatenate(joined, axis=1)


def normalisation(p: Arrays, name: str, x: np.ndarray) -> np.ndarray:
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * p[f"{name}_gain"] + p[f"{name}_shift"]


def in_sentence(
    p: Arrays,
    kinds: str,
    words: np.ndarray,
    rounded: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> np.ndarray:
    """Vectors of words in their sentence, made of their sums; layers see ``rounded`` numbers."""
    state = normalisation(p, "n0", convolution(p, "c0", rounded(words)))
    for i, kind in enumerate(kinds, start=1):
        layer = recurrence if kind == "r" else convolution
        state = normalisation(p, f"n{i}", state + layer(p, f"{kind}{i}", rounded(state)))
    return state


def derivative(loss: Callable[[], float], array: np.ndarray, place: tuple[int, ...]) -> float:
    """The derivative of a loss in double precision by an element of an array, in place."""
    before, step = array[place], 1e-6
    array[place] = before + step
    above = loss()
    array[place] = before - step
    below = loss()
    array[place] = before
    return (above - below) / (2.0 * step)


def assert_derivatives(
    loss: Callable[[], float],
    arrays: Arrays,
    gradients: Arrays,
    rng: np.random.Generator,
    count: int = 40,
) -> None:
    """See whether some elements of gradients are derivatives of a loss by those of arrays."""
    for name, array in arrays.items():
        assert gradients[name].shape == array.shape and np.abs(gradients[name]).max() > 0.0, name
        size = 1e-3 * float(np.abs(gradients[name]).max())
        for flat in rng.integers(0, array.size, count):
            place = tuple(map(int, np.unravel_index(flat, array.shape)))
            expected = derivative(loss, array, place)
            found = gradients[name][place]
            close = abs(found - expected) <= 1e-3 * abs(expected) + size
            assert close, (name, place, found, expected)
