"""Products of matrices: to the last bit what they are defined as, fused products and all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bbparse.network.dense import dense


def fused(a: np.float32, b: np.float32, c: np.float32) -> np.float32:
    """``a * b + c``, rounded once: the nearest 32-bit float, of two equally near the even one."""
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    near = np.float32(float(exact))
    around = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
    return min(around, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(np.int32)) & 1))


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 9), st.integers(1, 70))
def test_products_to_the_last_bit(seed: int, blocks: int, inputs: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    rows, stride, begin = 4 * blocks, int(rng.integers(1, 12)), int(rng.integers(0, 3))
    scale = 10.0 ** rng.integers(-3, 4)
    x = (scale * rng.normal(size=begin + rows * stride + inputs)).astype(np.float32)
    weights = rng.normal(size=(inputs, columns)).astype(np.float32)
    bias = rng.normal(size=columns).astype(np.float32)
    out = np.full((rows, columns), np.nan, np.float32)
    dense(x, begin, stride, inputs, weights, bias, out)
    some = rng.integers(0, columns, 4)
    for r in rng.integers(0, rows, 4):
        for column in some:
            total = bias[column]
            for i in range(inputs):
                total = fused(x[begin + r * stride + i], weights[i, column], total)
            assert out[r, column] == total


def test_nothing_is_written_beside_the_rows() -> None:
    room = np.full(6 * 40, np.float32(7.0))
    out = room[40:200].reshape(4, 40)
    weights = np.ones((3, 40), np.float32)
    dense(np.ones(12, np.float32), 0, 3, 3, weights, np.zeros(40, np.float32), out)
    assert (out == 3.0).all()
    assert (room[:40] == 7.0).all() and (room[200:] == 7.0).all()
