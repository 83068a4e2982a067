"""Weights in files: what rounding keeps, and that packing keeps everything."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bbparse.neural.packing import packed, packed_size, rounded, unpacked


@given(st.integers(0, 2**32 - 1), st.integers(0, 5), st.integers(1, 4))
def test_matrices_are_rounded_by_column(seed: int, rows: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = 10.0 ** rng.integers(-3, 4, columns)
    matrix = (rng.standard_normal((rows, columns)) * sizes).astype(np.float32)
    out = rounded({"w": matrix, "b": matrix[:, 0]})
    assert out["w"].shape == matrix.shape and out["w"].dtype == np.float32
    top = np.abs(matrix).max(axis=0, initial=0.0)
    assert (np.abs(out["w"] - matrix) <= top / 63).all()
    for column in out["w"].T:  # few distinct values: multiples of one power of two
        step = 2.0 ** np.floor(np.log2(np.abs(column).max(initial=0.0) or 1.0)) / 64
        assert (column % step == 0.0).all()
    assert (out["b"] == matrix[:, 0].astype(np.float16)).all()


SHAPES = {"c0_w": (8, 3), "c0_b": (3,), "n0_gain": (5,), "end_w": (4, 20)}


def weights_of(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        name: (rng.standard_normal(shape) * 10.0 ** rng.integers(-4, 4, shape[-1])).astype(
            np.float32
        )
        for name, shape in SHAPES.items()
    }


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_packed_weights_come_back(seed: int, count: int) -> None:
    members = [rounded(weights_of(seed + i)) for i in range(count)]
    stored = packed(members)
    assert stored.dtype == np.int8 and len(stored) == count * packed_size(SHAPES)
    for own, part in zip(members, np.split(stored, count)):
        found = unpacked(part, SHAPES)
        assert list(found) == list(own)
        assert all(np.array_equal(found[name], own[name]) for name in SHAPES)
