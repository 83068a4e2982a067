"""Arcs that are required or forbidden, as scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


def restricted(scores: Floats, mod: Ints, required: Flags, forbidden: Flags) -> Floats:
    """Arc scores float64[A], -inf for forbidden arcs and for rivals of required ones.

    Two required arcs of one word rule each other out. ``mod`` has the modifier of each arc.
    """
    number = np.bincount(mod[required], minlength=int(mod.max(initial=0)) + 1)
    dead = forbidden | ((number[mod] > 0) & ~required) | (number[mod] > 1)
    return np.where(dead, -np.inf, scores)
