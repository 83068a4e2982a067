"""Kernels of learning a network: sums over rows, gradients, steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


@kernel
def sum_rows(rows: Rows, table: Floats, out: Floats) -> None:
    """``out[i]`` = the sum of ``table[rows[i, k]]`` over k; negative rows are left out."""
    size = np.uint64(table.shape[1])
    out[:] = np.float32(0.0)
    for i in range(np.uint64(rows.shape[0])):
        for k in range(np.uint64(rows.shape[1])):
            if rows[i, k] >= 0:
                row = np.uint64(rows[i, k])
                for j in range(size):
                    out[i, j] += table[row, j]


@kernel
def add_to_rows(rows: Rows, gradient: Floats, table: Floats) -> None:
    """Add ``gradient[i]`` to ``table[rows[i, k]]`` for all k; negative rows are left out."""
    size = np.uint64(table.shape[1])
    for i in range(np.uint64(rows.shape[0])):
        for k in range(np.uint64(rows.shape[1])):
            if rows[i, k] >= 0:
                row = np.uint64(rows[i, k])
                for j in range(size):
                    table[row, j] += gradient[i, j]


@kernel
def norms(x: Floats, mask: Floats, gain: Floats, bias: Floats, out: Floats, scale: Floats) -> None:
    """Layer normalisation of rows; ``x`` becomes the rows before gain and bias, ``scale`` 1/sd."""
    size = np.uint64(gain.shape[0])
    for r in range(np.uint64(x.shape[0])):
        total = np.float32(0.0)
        for j in range(size):
            total += x[r, j]
        mean = total / np.float32(size)
        total = np.float32(0.0)
        for j in range(size):
            x[r, j] -= mean
            total += x[r, j] * x[r, j]
        scale[r] = np.float32(1.0) / np.sqrt(total / np.float32(size) + np.float32(1e-5))
        for j in range(size):
            x[r, j] *= scale[r]
            out[r, j] = (x[r, j] * gain[j] + bias[j]) * mask[r]


@kernel
def norm_back(
    gradient: Floats, mask: Floats, x: Floats, gain: Floats, scale: Floats,
    out: Floats, gain_gradient: Floats, bias_gradient: Floats,
) -> None:  # fmt: skip
    """Gradients of `norms`, given that of its ``out``."""
    size = np.uint64(gain.shape[0])
    for r in range(np.uint64(x.shape[0])):
        if mask[r] == 0.0:
            for j in range(size):
                out[r, j] = np.float32(0.0)
            continue
        first = np.float32(0.0)
        second = np.float32(0.0)
        for j in range(size):
            gain_gradient[j] += gradient[r, j] * x[r, j]
            bias_gradient[j] += gradient[r, j]
            out[r, j] = gradient[r, j] * gain[j]
            first += out[r, j]
            second += out[r, j] * x[r, j]
        first /= np.float32(size)
        second /= np.float32(size)
        for j in range(size):
            out[r, j] = (out[r, j] - first - x[r, j] * second) * scale[r]


class Learned(NamedTuple):
    """Rows of weights, their gradients, and the running means of these and of their squares."""

    weights: Floats
    gradient: Floats
    mean: Floats
    square: Floats

    @classmethod
    def of(cls, weights: Floats) -> Learned:
        """Weights that nothing has been learned for."""
        return cls(weights, *(np.zeros_like(weights) for _ in range(3)))


@kernel
def adam(rows: Rows, learned: Learned, rate: float, clock: int) -> None:
    """A step of Adam (Kingma & Ba 2015) for some rows; their gradients are set to 0 afterwards."""
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
                step * mean[row, j] / (np.sqrt(square[row, j]) * share + np.float32(1e-8))
            )
            gradient[row, j] = np.float32(0.0)
