"""Tables of weights; that narrow ones score the same is with the scorer's tests."""

from __future__ import annotations

import numpy as np
import pytest

from bbparse.model.file import narrow_weights
from bbparse.scoring.scorer import aligned_zeros


@pytest.mark.parametrize("size", [1, 15, 1 << 12])
def test_zeros_start_on_a_line_of_memory(size: int) -> None:
    zeros = aligned_zeros(size)
    assert zeros.shape == (size,) and zeros.dtype == np.int32
    assert zeros.ctypes.data % 64 == 0 and not zeros.any()


def test_no_weights_are_narrow() -> None:
    none = np.zeros(0, np.int64)
    weights, quantum = narrow_weights(16, none, none, 0.25)
    assert weights.tolist() == [0] * 16 and weights.dtype == np.int8 and quantum == 0.25
    weights, _ = narrow_weights(16, np.array([3]), np.array([0]), 0.25)
    assert not weights.any()
