"""Probabilities of the likely tags of words, for parsers that use more than the best tag."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.layers import fast_exp
from bbparse.runtime.arrays import Float32s
from bbparse.runtime.jit import kernel
from bbparse.treebank.likely_tags import Likely

#: Factor of the scores: flattens the probabilities of the tagger, which is overconfident. Of 0.3,
#: 0.4, 0.5, 0.6, 0.8 and 1 this gives the best trees.
_FLATTER = 0.5
# Tags of less than e^-5 of the probability of the best one are left out.
_LEAST = np.float32(-5.0)


def likely(scores: Float32s, flatter: float = _FLATTER) -> Likely:
    """Return the likely tags of words with these scores, float32[n, tags], log-probabilities."""
    return Likely(*_likely(np.ascontiguousarray(scores), np.float32(flatter)))


def sharpened(tags: Likely) -> Likely:
    """Return likely tags with the probabilities that the tagger itself gives them."""
    shares = tags.probabilities ** np.float32(1.0 / _FLATTER)
    n_each = np.diff(tags.begin)
    totals = np.add.reduceat(shares, tags.begin[:-1])
    return tags._replace(probabilities=shares / np.repeat(totals, n_each))


@kernel
def _likely(
    scores: Float32s, flatter: float
) -> tuple[NDArray[np.int64], NDArray[np.int32], Float32s]:
    n = scores.shape[0]
    begin = np.zeros(n + 1, np.int64)
    best = np.full(n, np.float32(-np.inf), np.float32)
    for i in range(n):
        for k in range(scores.shape[1]):
            best[i] = max(best[i], scores[i, k])
        begin[i + 1] = begin[i]
        for k in range(scores.shape[1]):
            if flatter * (scores[i, k] - best[i]) > _LEAST:
                begin[i + 1] += 1
    numbers = np.empty(begin[n], np.int32)
    probabilities = np.empty(begin[n], np.float32)
    for i in range(n):
        at, total = begin[i], np.float32(0.0)
        for k in range(scores.shape[1]):
            less = flatter * (scores[i, k] - best[i])
            if less > _LEAST:
                numbers[at], probabilities[at] = k, fast_exp(less)
                total += probabilities[at]
                at += 1
        for place in range(begin[i], at):
            probabilities[place] = np.divide(probabilities[place], total)
    return begin, numbers, probabilities
