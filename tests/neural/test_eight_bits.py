"""Products of 8-bit numbers against integers of numpy, by all instructions there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from bbparse.neural import tiles
from bbparse.neural.eight_bits import STEPS, ByteMatrix
from bbparse.neural.packing import rounded


def matrix_of(rng: np.random.Generator, inputs: int, columns: int) -> np.ndarray:
    """Weights as trained networks have them, in columns of very different sizes."""
    sizes = 10.0 ** rng.integers(-3, 3, columns)
    weights = (rng.standard_normal((inputs, columns)) * sizes).astype(np.float32)
    out: np.ndarray = rounded({"w": weights})["w"]
    return out


def in_steps(x: np.ndarray, steps: int = STEPS) -> np.ndarray:
    """The nearest numbers that bytes can have, halves to even."""
    return np.clip(np.rint(x * np.float32(steps)), -127, 127) / steps


@given(st.integers(0, 2**32 - 1), st.integers(1, 70), st.integers(1, 9), st.integers(1, 70))
def test_products_are_exact(seed: int, rows: int, fours: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    steps = int(2 ** rng.integers(2, 7))
    weights = matrix_of(rng, 4 * fours, columns)
    matrix = ByteMatrix.of(weights, steps)
    assert matrix is not None
    x = (rng.standard_normal((rows, 4 * fours)) * 10.0 ** rng.integers(-2, 3)).astype(np.float32)
    bias = rng.standard_normal(columns).astype(np.float32)
    exact = in_steps(x, steps) @ weights.astype(float)
    found = matrix.product(matrix.input(x), bias)
    assert found.dtype == np.float32
    assert np.array_equal(found, exact.astype(np.float32) + bias)


def test_the_largest_numbers_do_not_overflow() -> None:
    for sign in (1.0, -1.0):
        weights = np.full((576, 16), sign, np.float32)  # 64 steps each
        matrix = ByteMatrix.of(weights)
        assert matrix is not None and np.abs(matrix.panels.numbers.view(np.int8)).max() == 64
        for x in (100.0, -100.0):
            found = matrix.product(
                matrix.input(np.full((5, 576), x, np.float32)), np.zeros(16, np.float32)
            )
            assert (found == 576 * sign * np.sign(x) * 127 / STEPS).all()


@given(st.integers(0, 2**32 - 1), st.integers(0, 70), st.integers(1, 9), st.integers(1, 18))
def test_gradients_are_those_of_rounded_numbers(
    seed: int, rows: int, in_fours: int, out_fours: int
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((4 * in_fours, 4 * out_fours)) * 10.0 ** rng.integers(-2, 3)
    matrix = ByteMatrix.nearest(weights.astype(np.float32))
    units = (matrix.scale * matrix.steps).astype(float)
    largest = np.abs(weights).max(axis=0)
    assert (largest <= 64.01 * units).all() and (largest > 31.99 * units).all()
    near = np.rint(weights.astype(np.float32) / units) * units
    x = rng.standard_normal((rows, 4 * in_fours)).astype(np.float32)
    # Rows and columns have gradients of very different sizes, and some have none.
    d = rng.standard_normal((rows, 4 * out_fours)) * 10.0 ** rng.integers(-9, 3, (rows, 1))
    d *= 10.0 ** rng.integers(-9, 3, 4 * out_fours) * (rng.random(4 * out_fours) < 0.8)
    d[rng.random(rows) < 0.2] = 0.0
    d = d.astype(np.float32)
    before = rng.standard_normal(weights.shape).astype(np.float32)
    gradient = before.copy()
    d_x = matrix.back(matrix.input(x), d, gradient)
    large = np.abs(before) + np.abs(gradient)
    assert d_x.dtype == np.float32 and d_x.shape == x.shape

    # No gradient is further from the exact one than its rounding allows.
    half = 0.501
    sums = np.abs(in_steps(x)).astype(float).T @ np.ones(d.shape)
    error = np.abs(gradient - before - in_steps(x).astype(float).T @ d)
    assert (error <= sums * half * np.abs(d).max(axis=0, initial=0.0) / 2**13 + 1e-5 * large).all()
    by_row = np.abs(d * units).max(axis=1, initial=0.0)[:, np.newaxis] / 127
    error = np.abs(d_x - d.astype(float) @ near.T)
    assert (error <= half * by_row * np.abs(near / units).sum(axis=1) + 1e-6 * np.abs(d_x)).all()


INSTRUCTIONS = {
    "at once, 16": (16, {"avx512vnni"}),
    "by pairs, 16": (16, {"avx512bw"}),
    "one by one, 16": (16, set()),
    "at once, 8": (8, {"avx512vnni", "avx512vl"}),
    "at once, 8, without AVX-512": (8, {"avxvnni"}),
    "by pairs, 8": (8, {"avx2"}),
    "one by one, 8": (8, set()),
}


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_all_instructions_have_the_same_sums(name: str) -> None:
    width, features = INSTRUCTIONS[name]
    if not features <= tiles.processor_features():
        pytest.skip("this processor does not have the instructions")
    tile = tiles.tile_of(width, frozenset(features))

    @njit  # type: ignore[untyped-decorator]
    def multiply(x, panel, start, out):  # type: ignore[no-untyped-def]
        tile(x, 0, panel, start, out, 0, 0)

    rng = np.random.default_rng(5)
    for largest in (0, 1):
        x = rng.integers(0, 256, (tiles.rows_of_tile(width), 24)).astype(np.uint8)
        weights = rng.integers(-64, 65, (24, 2 * width)).astype(np.int8)
        if largest:
            x[:], weights[:] = 255, np.where(weights > 0, 64, -64)
        panel = np.ascontiguousarray(weights.reshape(6, 4, -1).transpose(0, 2, 1))
        start = rng.integers(-1000, 1000, 2 * width).astype(np.int32)
        out = np.zeros((len(x), 2 * width), np.int32)
        multiply(x.reshape(-1).view(np.int32), panel.view(np.int32)[..., 0], start, out)
        assert np.array_equal(out, start + x.astype(int) @ weights.astype(int))
