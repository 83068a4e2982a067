"""Random problems of more words than can be enumerated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.problem import Problem


def random_heads(rng: np.random.Generator, n: int, heads: int) -> NDArray[np.int32]:
    """Arcs of n words, a head and a modifier each: the word before, and other heads at random."""
    pairs = {(m - 1, m) for m in range(1, n + 1)}
    for m in range(1, n + 1):
        others = [h for h in range(n + 1) if h != m]
        picks = rng.choice(others, size=min(len(others), heads - 1), replace=False)
        pairs.update((int(h), m) for h in picks)
    return np.array(sorted(pairs), np.int32)


def with_pairs(rng: np.random.Generator, n: int, factors: int, weight: float = 1.0) -> Problem:
    """Five heads a word, and factors over random pairs of arcs, so many times heavier."""
    arcs = random_heads(rng, n, 5)
    sets = [rng.choice(len(arcs), size=2, replace=False) for _ in range(factors)]
    return Problem(
        n, arcs[:, 0], arcs[:, 1], rng.normal(size=len(arcs)),
        factor_ptr=2 * np.arange(factors + 1), factor_arcs=np.concatenate(sets),
        factor_score=weight * rng.normal(size=factors),
    )  # fmt: skip


def random_large(rng: np.random.Generator, n: int) -> Problem:
    """A problem of n words: up to six heads a word, siblings, factors of mixed sign."""
    pairs = set()
    for m in range(1, n + 1):
        near = [h for h in range(max(0, m - 8), min(n, m + 8) + 1) if h != m]
        picks = rng.choice(near, size=min(len(near), int(rng.integers(2, 7))), replace=False)
        pairs.update((int(h), m) for h in picks)
        pairs.add((m - 1, m))  # so that there is a tree
    arcs = np.array(sorted(pairs), np.int32)
    factors = int(rng.integers(0, 6 * n))
    sets = [
        rng.choice(len(arcs), size=int(rng.integers(2, 4)), replace=False) for _ in range(factors)
    ]
    weights = rng.normal(size=factors) * rng.choice([0.1, 0.5, 1.0])
    sib = [
        (h, s, m)
        for h, m in arcs.tolist()
        for s in [-1, *(x for g, x in arcs.tolist() if g == h and min(h, m) < x < max(h, m))]
    ]
    sib_array = np.array(sib, np.int32)
    return Problem(
        n, arcs[:, 0], arcs[:, 1], rng.normal(size=len(arcs)),
        sib_head=sib_array[:, 0], sib_inner=sib_array[:, 1], sib_outer=sib_array[:, 2],
        sib_score=0.5 * rng.normal(size=len(sib)),
        factor_ptr=np.cumsum([0, *(len(s) for s in sets)]),
        factor_arcs=np.concatenate(sets) if sets else np.zeros(0, np.int32),
        factor_score=weights, single_root=bool(rng.integers(2)),
    )  # fmt: skip
