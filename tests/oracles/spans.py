"""Which arcs are in projective trees, by the spans of Eisner (1996) over plain truth values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]


def arcs_in_projective_trees(arcs: Flags, single_root: bool) -> Flags:
    """Whether each arc (bool[n+1, n+1], ``arcs[h, m]``) is in a projective tree of such arcs.

    An item ``(i, j, kind)`` is a span with its head at one end; it stands if one of its ways to be
    made of two others does, and is of use if something that is of use is made with it.
    """
    n = arcs.shape[0] - 1
    first = 1 if single_root else 0
    # stands[kind][i, j]: head at the left end, at the right; an arc to the right, to the left
    stands = {kind: np.zeros((n + 2, n + 2), np.bool_) for kind in ("R", "L", "r", "l")}
    for i in range(first, n + 1):
        stands["R"][i, i] = stands["L"][i, i] = True
    for length in range(1, n + 1 - first):
        for i in range(first, n + 1 - length):
            j = i + length
            both = (stands["R"][i, i:j] & stands["L"][i + 1 : j + 1, j]).any()
            stands["r"][i, j] = both and arcs[i, j]
            stands["l"][i, j] = both and arcs[j, i]
            after = slice(i + 1, j + 1)
            stands["R"][i, j] = (stands["r"][i, after] & stands["R"][after, j]).any()
            stands["L"][i, j] = (stands["L"][i, i:j] & stands["l"][i:j, j]).any()
    used = {kind: np.zeros_like(table) for kind, table in stands.items()}
    found = np.zeros_like(arcs)
    if single_root:
        for m in range(1, n + 1):
            if arcs[0, m] and stands["L"][1, m] and stands["R"][m, n]:
                found[0, m] = used["L"][1, m] = used["R"][m, n] = True
    else:
        used["R"][0, n] = stands["R"][0, n]
    for length in range(n - first, 0, -1):
        for i in range(first, n + 1 - length):
            j = i + length
            if used["R"][i, j]:
                ways = stands["r"][i, i + 1 : j + 1] & stands["R"][i + 1 : j + 1, j]
                used["r"][i, i + 1 : j + 1] |= ways
                used["R"][i + 1 : j + 1, j] |= ways
            if used["L"][i, j]:
                ways = stands["L"][i, i:j] & stands["l"][i:j, j]
                used["L"][i, i:j] |= ways
                used["l"][i:j, j] |= ways
            if used["r"][i, j] or used["l"][i, j]:
                found[i, j] |= used["r"][i, j]
                found[j, i] |= used["l"][i, j]
                ways = stands["R"][i, i:j] & stands["L"][i + 1 : j + 1, j]
                used["R"][i, i:j] |= ways
                used["L"][i + 1 : j + 1, j] |= ways
    return found
