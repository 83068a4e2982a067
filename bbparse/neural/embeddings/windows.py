"""Windows of the pieces of long sentences, and states of words from those of pieces.

Text that is longer than the input of an encoder is read in windows, each of which overlaps half of
the previous one. A piece has the state from the window in which it is nearer to the middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.runtime.arrays import Float32s

_MAX_STATE = float(np.finfo(np.float16).max)


class Window(NamedTuple):
    """Some pieces of a sentence."""

    sentence: int
    start: int
    ids: Sequence[int]
    room: int  #: Most pieces of a window.


def windows_of(pieces: Sequence[Sequence[int]], room: int) -> list[Window]:
    """Return the windows of sentences, the short ones first."""
    windows = [
        Window(i, start, ids[start : start + room], room)
        for i, ids in enumerate(pieces)
        for start in (range(0, max(1, len(ids) - room + room // 2), room // 2) if len(ids) else ())
    ]
    return sorted(windows, key=lambda window: len(window.ids))


def merged(
    windows: Sequence[Window], states: Sequence[Float32s], sizes: Sequence[int], dimension: int
) -> list[Float32s]:
    """Return the states of the pieces of sentences, which have `sizes` pieces."""
    rows = [np.zeros((size, dimension), np.float32) for size in sizes]
    for (i, start, ids, room), window_states in zip(windows, states):
        # up to the middle of the overlap with the windows around it
        low = room // 4 if start else 0
        high = len(ids)
        if start + high < sizes[i]:
            high = room // 2 + room // 4
        rows[i][start + low : start + high] = window_states[low:high]
    return rows


def pooled(states: Float32s, word_of: Sequence[int], n: int) -> NDArray[np.float16]:
    """Average the states over the pieces of each of n words."""
    means = np.zeros((n, states.shape[1]), np.float32)
    np.add.at(means, np.asarray(word_of, np.int64), states)
    counts = np.bincount(word_of, minlength=n) if len(word_of) else np.zeros(n)
    means /= np.maximum(counts, 1).astype(np.float32)[:, np.newaxis]
    return np.clip(means, -_MAX_STATE, _MAX_STATE).astype(np.float16)
