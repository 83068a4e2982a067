"""Windows of the pieces of long sentences, and states of words from those of pieces.

Text that is longer than the input of an encoder is read in windows, each of which overlaps half of
the previous one. A piece has the state from the window in which it is nearer to the middle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bbparse.runtime.arrays import Float32s

#: Number of layers, from the top, that are averaged unless others are asked for.
LAYERS = 4

_MAX_STATE = float(np.finfo(np.float16).max)


def word_states(
    pieces: Sequence[Sequence[Sequence[int]]],
    room: int,
    dimension: int,
    read: Callable[[Sequence[Sequence[int]]], Sequence[Float32s]],
) -> list[NDArray[np.float16]]:
    """Return the states of words, float16[n_words, dimension] a sentence; 0 without pieces.

    `read` returns the states of the pieces of windows, short ones first, of at most `room` pieces.
    """
    ids = [[i for word in words for i in word] for words in pieces]
    windows = [
        (sentence, start, row[start : start + room])
        for sentence, row in enumerate(ids)
        if row
        for start in range(0, max(1, len(row) - room + room // 2), room // 2)
    ]
    windows.sort(key=lambda window: len(window[2]))
    states = [np.zeros((len(row), dimension), np.float32) for row in ids]
    for (sentence, start, window), rows in zip(windows, read([window for *_, window in windows])):
        # up to the middle of the overlap with the windows around it
        low = room // 4 if start else 0
        is_last = start + len(window) == len(ids[sentence])
        high = len(window) if is_last else room // 2 + room // 4
        states[sentence][start + low : start + high] = rows[low:high]
    return [_pooled(rows, [len(word) for word in words]) for rows, words in zip(states, pieces)]


def _pooled(states: Float32s, sizes: Sequence[int]) -> NDArray[np.float16]:
    """Average the states over the pieces of each word, of which there are `sizes`."""
    counts = np.array(sizes, np.int64)
    means = np.zeros((len(counts), states.shape[1]), np.float32)
    np.add.at(means, np.repeat(np.arange(len(counts)), counts), states)
    means /= np.maximum(counts, 1).astype(np.float32)[:, np.newaxis]
    return np.clip(means, -_MAX_STATE, _MAX_STATE).astype(np.float16)
