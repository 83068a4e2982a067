"""Which factors equal a part that the backbone scores by itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.problem.parts import GC, GSIB, OGC, SIB, Factors


class Holds(NamedTuple):
    """Which kinds of part a backbone scores by itself."""

    sib: bool
    gc: bool
    ogc: bool
    gsib: bool


@kernel
def _ranks(
    n: int, head: NDArray[np.int32], mod: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Place of each arc among those of its head ordered by modifier, and arcs per head.

    Two arcs of a head with neighbouring places have no candidate modifier between them.
    """
    per_head = np.zeros(n + 1, dtype=np.int64)
    rank = np.empty(head.shape[0], dtype=np.int64)
    start = np.zeros(n + 2, dtype=np.int64)
    by_mod = np.empty(head.shape[0], dtype=np.int64)
    for a in range(head.shape[0]):
        start[mod[a] + 1] += 1
    for m in range(n + 1):
        start[m + 1] += start[m]
    for a in range(head.shape[0]):
        by_mod[start[mod[a]]] = a
        start[mod[a]] += 1
    for i in range(head.shape[0]):
        a = by_mod[i]
        rank[a] = per_head[head[a]]
        per_head[head[a]] += 1
    return rank, per_head


@kernel
def classify(
    n: int, head: NDArray[np.int32], mod: NDArray[np.int32], factors: Factors, holds: Holds
) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """The kind of part that equals each factor, and its words.

    Returns
    -------
    kind : int8[F]
        Its number in `bbparse.problem.parts`; 0 for none.
    words : int32[F, 4]
        In the order of the fields of that kind of part.
    """
    ptr, arcs, score = factors
    n_factors = score.shape[0]
    kind = np.zeros(n_factors, dtype=np.int8)
    words = np.zeros((n_factors, 4), dtype=np.int32)
    rank, per_head = _ranks(n, head, mod)
    for f in range(n_factors):
        size = ptr[f + 1] - ptr[f]
        if size > 3 or score[f] == -np.inf:
            continue
        # Two arcs of one head are the siblings a and b, the outer one b; a third is the upper one.
        upper, a, b = -1, -1, -1
        for i in range(ptr[f], ptr[f + 1]):
            for j in range(ptr[f], ptr[f + 1]):
                first, second = arcs[i], arcs[j]
                if first == second:
                    continue
                h = head[first]
                if head[second] == h and (
                    h < mod[first] < mod[second] or h > mod[first] > mod[second]
                ):
                    a, b = first, second
                elif mod[first] == head[second]:
                    upper = first
                    if size == 2:
                        b = second
        if size == 2 and upper >= 0:
            h, m = head[b], mod[b]
            last = rank[b] == per_head[h] - 1 if m > h else rank[b] == 0
            if holds.gc:
                kind[f] = GC
            elif holds.ogc and last:
                kind[f] = OGC
            words[f, 0], words[f, 1], words[f, 2] = head[upper], h, m
        elif a >= 0 and abs(rank[a] - rank[b]) == 1:
            if size == 2 and holds.sib:
                kind[f] = SIB
                words[f, 0], words[f, 1], words[f, 2] = head[a], mod[a], mod[b]
            elif size == 3 and upper >= 0 and holds.gsib and mod[upper] == head[a]:
                kind[f] = GSIB
                words[f, 0], words[f, 1] = head[upper], head[a]
                words[f, 2], words[f, 3] = mod[a], mod[b]
    return kind, words
