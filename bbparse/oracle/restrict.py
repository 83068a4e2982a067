"""Arcs that are required or forbidden, as scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


def restricted(scores: Floats, mod: Ints, required: Flags, forbidden: Flags) -> Floats:
    """Arc scores, -inf for forbidden arcs and for rivals of required ones.

    Parameters
    ----------
    scores : float64[A]
    mod : int32[A]
        Modifier of each arc.
    required, forbidden : bool[A]
        Two required arcs of one word rule each other out.
    """
    number = np.bincount(mod[required], minlength=int(mod.max(initial=0)) + 1)
    dead = forbidden | ((number[mod] > 0) & ~required) | (number[mod] > 1)
    return np.where(dead, -np.inf, scores)
