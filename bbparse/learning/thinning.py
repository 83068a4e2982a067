"""The finished model's weights: the largest of them, in few bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bbparse.scoring.problem_maker import ProblemMaker


def thinned(maker: ProblemMaker, share: float, bits: int) -> ProblemMaker:
    """The same with the largest weights of its backbone only, and those of the pruner in few bits.

    Parameters
    ----------
    maker : ProblemMaker
    share : float
        See `keep_largest`; 1: all.
    bits : int
        See `rounded_to`; 32: as they are.
    """
    backbone, pruner = maker.scorer, maker.pruner.scorer
    if share < 1.0:
        backbone = backbone.with_weights(keep_largest(backbone.weights, share))
    if bits < 32:
        backbone, pruner = (
            scorer.with_weights(rounded_to(scorer.weights.astype(np.int32), bits))
            for scorer in (backbone, pruner)
        )
    return maker.with_(scorer=backbone, pruner=replace(maker.pruner, scorer=pruner))


def keep_largest(weights: NDArray[np.int32], share: float) -> NDArray[np.int32]:
    """A copy of weights, int32[F], without the smallest of them.

    Most weights of a model come from features met once or twice: they are small, many, and about
    the training text only. Without them a model is a fraction of its size and parses as well.
    Kept is a share of the weights that are not zero, those of largest magnitude, and all that tie
    with the smallest of these.
    """
    kept = weights.copy()
    sizes = np.abs(weights[weights != 0])
    count = int(np.ceil(share * len(sizes)))
    if 0 < count < len(sizes):
        least = np.partition(sizes, len(sizes) - count)[len(sizes) - count]
        kept[np.abs(kept) < least] = 0
    return kept


def rounded_to(weights: NDArray[np.int32], bits: int) -> NDArray[np.int32]:
    """A copy of weights, int32[F], as multiples of a power of two: `bits` hold all their factors.

    Of the bits, two at least, one is the sign. No weight changes by more than half of the power of
    two, which is the smallest that is large enough.
    """
    most = (1 << (bits - 1)) - 1
    largest = max(int(weights.max(initial=0)), -int(weights.min(initial=0)))
    step = 1
    while (largest + step // 2) // step > most:
        step *= 2
    # The largest 32-bit number is no multiple of the step: rounded up, it would not fit.
    highest = np.iinfo(np.int32).max // step
    return np.clip(np.rint(weights / step), -highest, highest).astype(np.int32) * np.int32(step)
