"""Attention by hand-built code, against the same floats in the same order in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from bbparse.neural.embeddings.attention import SPARE, attend, exponentials
from bbparse.runtime.arrays import Float32s


def plain_attention(qkv: Float32s, heads: int, biases: Float32s) -> Float32s:
    """Attention in one window; ``biases`` float32[heads, 2 n - 1] are by distance."""
    n, width = len(qkv), qkv.shape[1] // 3
    dim = width // heads
    out = np.empty((n, width), np.float32)
    for h in range(heads):
        own = slice(h * dim, (h + 1) * dim)
        q, k, v = (qkv[:, part * width :][:, own] for part in range(3))
        for i in range(n):
            weights = biases[h, n - 1 - i : 2 * n - 1 - i].copy()
            for d in range(0, dim, 4):
                one, two, three, four = (q[i, d + j] * k[:, d + j] for j in range(4))
                weights += (one + two) + (three + four)
            weights -= weights.max()
            powers = np.empty_like(weights)
            exponentials(weights, powers.view(np.int32), powers)
            mixed, total = np.zeros(dim, np.float32), np.float32(0.0)
            for weight, value in zip(weights, v):
                total += weight
                mixed += weight * value
            out[i, own] = mixed * (np.float32(1.0) / total)
    return out


@pytest.mark.parametrize(("heads", "dim"), [(1, 4), (3, 20), (2, 32), (2, 36), (1, 64)])
def test_attention_is_the_same_to_the_last_bit(heads: int, dim: int) -> None:
    rng = np.random.default_rng(heads * dim)
    size = np.array([1, 3, 16, 8, 17, 33])
    first = np.cumsum(size) - size
    longest, width = int(size.max()), heads * dim
    qkv = rng.normal(0.0, 1.5, (int(size.sum()), 3 * width)).astype(np.float32)
    biases = rng.normal(0.0, 1.0, (heads, 2 * (longest + SPARE) - 1)).astype(np.float32)
    out = np.empty((len(qkv), width), np.float32)
    attend(qkv, first, size, heads, biases, out)
    for at, n in zip(first, size):
        middle = longest + SPARE - 1
        own = plain_attention(qkv[at : at + n], heads, biases[:, middle - n + 1 : middle + n])
        assert np.array_equal(out[at : at + n], own)
