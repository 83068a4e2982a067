"""BLAKE2b in a kernel: keys of features that compiled families make, as hashlib makes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel

_START = np.array(
    [
        0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
        0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
    ],
    dtype=np.uint64,
)  # fmt: skip
_SIGMA = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    ],
    dtype=np.uint64,
)


@kernel
def _stir(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64, x: np.uint64, y: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """The function G of BLAKE2b."""
    a = a + b + x
    d ^= a
    d = (d >> np.uint64(32)) | (d << np.uint64(32))
    c = c + d
    b ^= c
    b = (b >> np.uint64(24)) | (b << np.uint64(40))
    a = a + b + y
    d ^= a
    d = (d >> np.uint64(16)) | (d << np.uint64(48))
    c = c + d
    b ^= c
    b = (b >> np.uint64(63)) | (b << np.uint64(1))
    return a, b, c, d


@kernel
def blake2b_64(message: NDArray[np.uint8], size: int, words: NDArray[np.uint64]) -> np.uint64:
    """BLAKE2b (RFC 7693) with a digest of 8 bytes, read as a number, low byte first.

    The message is the first ``size`` bytes of ``message`` (uint8, a whole number of blocks of 128
    bytes long, at least one more than the text begins); ``words`` is the same memory as uint64.
    What follows the message is overwritten.
    """
    end = max((size + 127) // 128, 1) * 128
    for i in range(size, end):
        message[i] = 0
    h = np.empty(8, np.uint64)
    for i in range(8):
        h[i] = _START[i]
    h[0] ^= np.uint64(0x01010008)
    for block in range(0, end, 128):
        last = block + 128 == end
        at = np.uint64(block // 8)
        v0, v1, v2, v3, v4, v5, v6, v7 = h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
        v8, v9, v10, v11 = _START[0], _START[1], _START[2], _START[3]
        v12 = _START[4] ^ np.uint64(size if last else block + 128)
        v13, v14, v15 = _START[5], _START[6], _START[7]
        if last:
            v14 = ~v14
        for r in range(12):
            s = _SIGMA[r]
            v0, v4, v8, v12 = _stir(v0, v4, v8, v12, words[at + s[0]], words[at + s[1]])
            v1, v5, v9, v13 = _stir(v1, v5, v9, v13, words[at + s[2]], words[at + s[3]])
            v2, v6, v10, v14 = _stir(v2, v6, v10, v14, words[at + s[4]], words[at + s[5]])
            v3, v7, v11, v15 = _stir(v3, v7, v11, v15, words[at + s[6]], words[at + s[7]])
            v0, v5, v10, v15 = _stir(v0, v5, v10, v15, words[at + s[8]], words[at + s[9]])
            v1, v6, v11, v12 = _stir(v1, v6, v11, v12, words[at + s[10]], words[at + s[11]])
            v2, v7, v8, v13 = _stir(v2, v7, v8, v13, words[at + s[12]], words[at + s[13]])
            v3, v4, v9, v14 = _stir(v3, v4, v9, v14, words[at + s[14]], words[at + s[15]])
        h[0] ^= v0 ^ v8
        h[1] ^= v1 ^ v9
        h[2] ^= v2 ^ v10
        h[3] ^= v3 ^ v11
        h[4] ^= v4 ^ v12
        h[5] ^= v5 ^ v13
        h[6] ^= v6 ^ v14
        h[7] ^= v7 ^ v15
    return h[0]
