"""Layers of a network over a batch of sentences, forward and backward side by side.

A layer is a function. It takes its weights (`Weights`) and a float32 matrix with a row for each
word of a batch (`bbparse.neural.ragged`). It returns the output matrix and a backward function,
which maps the gradient of the output to the gradient of the input, and adds the gradients of the
weights to the existing ones.

Matrix products are of bytes where there are matrices of bytes (`bbparse.neural.eight_bits`), else
of floats. The code fixes the order of all sums of floats
(`bbparse.neural.dense`), and the gates of the recurrence use only multiplications and divisions.
So a network has the same scores on every machine, with any number of threads and in any batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.dense import product
from bbparse.neural.eight_bits import ZERO, ByteMatrix
from bbparse.neural.ragged import Ragged
from bbparse.neural.tiles import lane_sum
from bbparse.runtime.arrays import Float32s, Longs
from bbparse.runtime.jit import kernel

#: Function from the gradient of a layer's output to the gradient of its input.
Backward = Callable[[Float32s], Float32s]

_LARGEST = np.float32(40.0)
_POWER = np.float32(1.0 / 64.0)


class Weights(NamedTuple):
    """Weights of layers by name, and their gradients; ``matrices`` are multiplied in 8 bits."""

    values: Mapping[str, Float32s]
    gradients: Mapping[str, Float32s]
    matrices: Mapping[str, ByteMatrix] = {}

    def product(self, name: str, x: NDArray[Any]) -> Float32s:
        """Return ``x @ NAME_w + NAME_b``; ``x`` are bytes if the matrix has those."""
        bias = self.values[f"{name}_b"]
        if f"{name}_w" in self.matrices:
            return self.matrices[f"{name}_w"].product(x, bias)
        return product(x, self.values[f"{name}_w"], bias)

    def input(self, name: str, x: Float32s) -> NDArray[Any]:
        """Return ``x`` as `product` takes it: unchanged, or quantized."""
        return self.matrices[f"{name}_w"].input(x) if f"{name}_w" in self.matrices else x

    def back(self, name: str, x: NDArray[Any], d_out: Float32s) -> Float32s:
        """Return the gradient of the `input` of a product, and add those of its weights."""
        self.gradients[f"{name}_b"][...] += d_out.sum(axis=0)
        gradient = self.gradients[f"{name}_w"]
        if f"{name}_w" in self.matrices:
            return self.matrices[f"{name}_w"].back(x, d_out, gradient)
        gradient += product(x.T, d_out)
        return product(d_out, self.values[f"{name}_w"].T)


def linear(w: Weights, name: str, x: Float32s) -> tuple[Float32s, Backward]:
    """Return ``x @ NAME_w + NAME_b`` and its backward function."""
    x = w.input(name, x)
    return w.product(name, x), lambda d_out: w.back(name, x, d_out)


@kernel
def _windows(
    x: NDArray[Any], first: Longs, size: Longs, reach: int, zero: Any, out: NDArray[Any]
) -> None:
    """Write the ``2 * reach + 1`` rows around each word side by side, 0 beyond its sentence."""
    width = x.shape[1]
    for s in range(first.shape[0]):
        begin, end = first[s], first[s] + size[s]
        for r in range(begin, end):
            for tap in range(2 * reach + 1):
                row, at = r + tap - reach, np.uint64(tap * width)
                there = begin <= row < end
                source = np.uint64(row if there else r)
                for j in range(np.uint64(width)):
                    out[r, at + j] = x[source, j] if there else zero


@kernel
def _windows_back(
    d_windows: Float32s, first: Longs, size: Longs, reach: int, d_x: Float32s
) -> None:
    """Add the gradients of `_windows` to those of the rows it was given."""
    width = d_x.shape[1]
    for s in range(first.shape[0]):
        begin, end = first[s], first[s] + size[s]
        for r in range(begin, end):
            for tap in range(2 * reach + 1):
                row, at = r + tap - reach, np.uint64(tap * width)
                if begin <= row < end:
                    to = np.uint64(row)
                    for j in range(np.uint64(width)):
                        d_x[to, j] += d_windows[r, at + j]


def convolution(w: Weights, name: str, x: Float32s, batch: Ragged) -> tuple[Float32s, Backward]:
    """Convolve the words around each word, as many as the weights cover, with max(0, ·) on top."""
    width = x.shape[1]
    taps = w.values[f"{name}_w"].shape[0] // width
    rows = np.ascontiguousarray(w.input(name, x))
    windows = np.empty((len(x), taps * width), rows.dtype)
    zero = windows.dtype.type(ZERO if windows.dtype == np.uint8 else 0)
    _windows(rows, batch.first, batch.size, taps // 2, zero, windows)
    out = w.product(name, windows)
    np.maximum(out, np.float32(0.0), out=out)
    active = out > 0.0  # the output may be overwritten

    def backward(d_out: Float32s) -> Float32s:
        d_x = np.zeros((len(x), width), np.float32)
        d_windows = w.back(name, windows, d_out * active)
        _windows_back(d_windows, batch.first, batch.size, taps // 2, d_x)
        return d_x

    return out, backward


@kernel(inline=True)
def fast_exp(x: np.float32) -> np.float32:
    """Approximate e^x by (1 + x / 64)^64, only with multiplications; needs 0 < 1 + x / 64."""
    y = np.float32(1.0) + x * _POWER
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    return y


@kernel
def _gates(x: Float32s) -> None:
    """Turn rows (z, c, z, c) of four equal parts into gates σ(z) and values tanh(c), in place."""
    width = np.uint64(x.shape[1] // 4)
    one = np.float32(1.0)
    for r in range(np.uint64(x.shape[0])):
        for part in range(np.uint64(4)):
            at = part * width
            twice = np.float32(1.0) if part % np.uint64(2) == np.uint64(0) else np.float32(2.0)
            less = np.float32(0.0) if part % np.uint64(2) == np.uint64(0) else np.float32(1.0)
            for j in range(at, at + width):
                value = min(max(-twice * x[r, j], -_LARGEST), _LARGEST)
                x[r, j] = np.divide(twice, one + fast_exp(value)) - less


@kernel
def _gates_back(x: Float32s, gates: Float32s, d_gates: Float32s) -> None:
    """Turn gradients of the result of `_gates` into gradients of its input, in place."""
    width = np.uint64(x.shape[1] // 4)
    one = np.float32(1.0)
    for r in range(np.uint64(x.shape[0])):
        for part in range(np.uint64(4)):
            at = part * width
            value = part % np.uint64(2) == np.uint64(1)
            for j in range(at, at + width):
                y = gates[r, j]
                if value:  # 2σ(2x) - 1
                    derivative = one - y * y
                    inner = np.float32(-2.0) * x[r, j]
                else:
                    derivative = y * (one - y)
                    inner = -x[r, j]
                if abs(inner) < _LARGEST:
                    d_gates[r, j] *= np.divide(derivative, one + inner * _POWER)
                else:
                    d_gates[r, j] = np.float32(0.0)


@kernel
def _recur(gates: Float32s, first: Longs, size: Longs, out: Float32s) -> None:
    """Compute h_t = (1 - z_t) h_{t-1} + z_t c_t along each sentence, in both directions."""
    width = np.uint64(out.shape[1] // 2)
    one = np.float32(1.0)
    state = np.empty(out.shape[1] // 2, np.float32)
    for s in range(first.shape[0]):
        for direction in range(2):
            z_at = np.uint64(direction) * np.uint64(2) * width
            c_at, to = z_at + width, np.uint64(direction) * width
            for j in range(width):
                state[j] = np.float32(0.0)
            for i in range(size[s]):
                r = np.uint64(first[s] + (i if direction == 0 else size[s] - 1 - i))
                for j in range(width):
                    z = gates[r, z_at + j]
                    state[j] = (one - z) * state[j] + z * gates[r, c_at + j]
                    out[r, to + j] = state[j]


@kernel
def _recur_back(
    gates: Float32s, first: Longs, size: Longs, out: Float32s, d_out: Float32s, d_gates: Float32s
) -> None:
    """Compute gradients of the gates of `_recur` from those of its output."""
    width = np.uint64(out.shape[1] // 2)
    one = np.float32(1.0)
    d_state = np.empty(out.shape[1] // 2, np.float32)
    for s in range(first.shape[0]):
        for direction in range(2):
            z_at = np.uint64(direction) * np.uint64(2) * width
            c_at, to = z_at + width, np.uint64(direction) * width
            for j in range(width):
                d_state[j] = np.float32(0.0)
            step = 1 if direction == 0 else -1
            for i in range(size[s]):
                r = first[s] + (size[s] - 1 - i if direction == 0 else i)
                begins = i == size[s] - 1  # the state before the sentence is zero
                row, before = np.uint64(r), np.uint64(r if begins else r - step)
                for j in range(width):
                    z = gates[row, z_at + j]
                    g = d_state[j] + d_out[row, to + j]
                    state = np.float32(0.0) if begins else out[before, to + j]
                    d_gates[row, c_at + j] = g * z
                    d_gates[row, z_at + j] = g * (gates[row, c_at + j] - state)
                    d_state[j] = g * (one - z)


def recurrence(w: Weights, name: str, x: Float32s, batch: Ragged) -> tuple[Float32s, Backward]:
    """Apply a minimal gated recurrence in both directions, each half as wide as x, side by side.

    z = σ(W_z x), c = tanh(W_c x), h_t = (1 - z_t) h_{t-1} + z_t c_t. The gates see only the input,
    so all products are over whole batches (Bradbury et al. 2017; Feng et al. 2024).
    """
    before, back_in = linear(w, f"{name}_in", x)
    gates = before.copy() if w.gradients else before  # only training needs the input of the gates
    _gates(gates)
    joined = np.empty((len(x), before.shape[1] // 2), np.float32)
    _recur(gates, batch.first, batch.size, joined)

    def backward(d_joined: Float32s) -> Float32s:
        d_gates = np.empty_like(gates)
        _recur_back(gates, batch.first, batch.size, joined, d_joined, d_gates)
        _gates_back(before, gates, d_gates)
        return back_in(d_gates)

    return joined, backward


@kernel
def norm(
    x: Float32s, gain: Float32s, shift: Float32s, out: Float32s, scale: Float32s, small: np.float32
) -> None:
    """Normalise rows; ``x`` becomes the rows before gain and shift, ``scale`` their 1/sd.

    ``small`` is added to variances; ``out`` may be ``x``.
    """
    width = np.uint64(gain.shape[0])
    squares = np.empty(gain.shape[0], np.float32)
    for r in range(np.uint64(x.shape[0])):
        mean = lane_sum(x, r * width, width) / np.float32(width)
        for j in range(width):
            x[r, j] -= mean
            squares[j] = x[r, j] * x[r, j]
        total = lane_sum(squares, 0, width)
        inverse = np.float32(1.0) / np.sqrt(total / np.float32(width) + small)
        scale[r] = inverse
        for j in range(width):
            x[r, j] *= inverse
            out[r, j] = x[r, j] * gain[j] + shift[j]


@kernel
def _norm_back(
    gradient: Float32s,
    x: Float32s,
    gain: Float32s,
    scale: Float32s,
    out: Float32s,
    gain_gradient: Float32s,
    shift_gradient: Float32s,
) -> None:
    """Compute the gradients of `norm` from the gradient of its ``out``."""
    width = np.uint64(gain.shape[0])
    products = np.empty(gain.shape[0], np.float32)
    for r in range(np.uint64(x.shape[0])):
        for j in range(width):
            gain_gradient[j] += gradient[r, j] * x[r, j]
            shift_gradient[j] += gradient[r, j]
            out[r, j] = gradient[r, j] * gain[j]
            products[j] = out[r, j] * x[r, j]
        first = lane_sum(out, r * width, width) / np.float32(width)
        second = lane_sum(products, 0, width) / np.float32(width)
        for j in range(width):
            out[r, j] = (out[r, j] - first - x[r, j] * second) * scale[r]


def normalisation(w: Weights, name: str, x: Float32s) -> tuple[Float32s, Backward]:
    """Apply layer normalisation (Ba, Kiros & Hinton 2016); ``x`` is overwritten."""
    gain, shift = w.values[f"{name}_gain"], w.values[f"{name}_shift"]
    out, scale = np.empty_like(x), np.empty(len(x), np.float32)
    norm(x, gain, shift, out, scale, np.float32(1e-5))

    def backward(d_out: Float32s) -> Float32s:
        d_x = np.empty_like(d_out)
        _norm_back(
            np.ascontiguousarray(d_out),
            x,
            gain,
            scale,
            d_x,
            w.gradients[f"{name}_gain"],
            w.gradients[f"{name}_shift"],
        )
        return d_x

    return out, backward


@kernel
def sum_rows(rows: Longs, table: NDArray[Any], unit: np.float32, out: Float32s) -> None:
    """Set ``out[i]`` to the sum of ``unit * table[rows[i, k]]``; negative rows are skipped."""
    width = np.uint64(table.shape[1])
    for i in range(np.uint64(rows.shape[0])):
        for j in range(width):
            out[i, j] = np.float32(0.0)
        for k in range(np.uint64(rows.shape[1])):
            if rows[i, k] >= 0:
                row = np.uint64(rows[i, k])
                for j in range(width):
                    out[i, j] += np.float32(table[row, j])
        for j in range(width):
            out[i, j] *= unit


@kernel
def add_to_rows(rows: Longs, gradient: Float32s, table: Float32s) -> None:
    """Add ``gradient[i]`` to ``table[rows[i, k]]`` for all k; negative rows are skipped."""
    width = np.uint64(table.shape[1])
    for i in range(np.uint64(rows.shape[0])):
        for k in range(np.uint64(rows.shape[1])):
            if rows[i, k] >= 0:
                row = np.uint64(rows[i, k])
                for j in range(width):
                    table[row, j] += gradient[i, j]


@kernel(inline=True)
def sum_of(lanes: Float32s, length: np.uint64) -> np.float32:
    """Sum `length` >= 1 numbers by adding halves; the numbers are overwritten."""
    while length > np.uint64(1):
        half = (length + np.uint64(1)) >> np.uint64(1)
        for j in range(length - half):
            lanes[j] += lanes[j + half]
        length = half
        if length == np.uint64(8):  # the same sum, without loops
            return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + (
                (lanes[1] + lanes[5]) + (lanes[3] + lanes[7])
            )
    return lanes[0]
