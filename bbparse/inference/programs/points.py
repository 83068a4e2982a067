"""Rounding and separation at a fractional point: the best tree, and violated rows.

Violated rows are sets of words without enough incoming arcs, and crossing arcs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bbparse.core import Problem
from bbparse.inference.oracles.nonprojective.arborescence import arborescence_over
from bbparse.inference.oracles.projective.dense import dense_tree
from bbparse.runtime.arrays import Flags, Float64s, Ints
from bbparse.runtime.jit import kernel

_BROKEN = 1e-6  # rows that are violated by less are ignored


class WeightedTree(NamedTuple):
    """A tree, int32[n]: `most` bounds the weight of all trees, most + loss[a] those with arc a.

    `noise` bounds all rounding errors of these.
    """

    arcs: Ints
    most: float
    loss: Float64s
    noise: float


def best_by_weight(problem: Problem, weight: Float64s) -> WeightedTree | None:
    """Return the tree of maximum total arc weight, float64[A], crossing or not; None if none."""
    p, single_root = problem, problem.single_root
    best = arborescence_over(p.n_words, p.arc_head, p.arc_mod, weight, single_root)
    if best.value == -np.inf:
        return None
    arcs = best.arcs
    if p.projective:
        order = np.argsort(weight, kind="stable")  # of arcs between the same words, the last counts
        head, mod = p.arc_head[order], p.arc_mod[order]
        rows, _ = dense_tree(p.n_words, head, mod, weight[order], single_root)
        if not len(rows):
            return None
        arcs = order[rows].astype(np.int32)
    # for each word, at most as many numbers are added as there are contractions
    noise = 2.0**-51 * p.n_words * (p.n_words + 4) * best.largest
    return WeightedTree(arcs, best.value, best.reduced, noise)


@kernel
def broken_sets(weight: Float64s) -> Flags:
    """Find sets of words whose incoming arcs weigh less than 1, by maximum flows: bool[S, n + 1].

    ``weight[h, m]`` >= 0 is the weight of the arc from h to m. For each word to which a flow of 1
    is not possible from the root, the result has the smallest set of a minimum cut, unless the word
    is in an earlier set. The cost is O(n^2) for each augmenting path (Edmonds & Karp 1972).
    """
    least = 1.0 - _BROKEN
    size = weight.shape[0]
    sets = np.zeros((size, size), np.bool_)
    count = 0
    covered = np.zeros(size, np.bool_)
    towards = np.empty(size, np.int64)
    queue = np.empty(size, np.int64)
    for word in range(1, size):
        if covered[word]:
            continue
        left, flow = weight.copy(), 0.0
        while flow < least:
            seen = np.zeros(size, np.bool_)
            seen[word] = True
            queue[0] = word
            start = 0
            end = 1
            while start < end and not seen[0]:
                m = queue[start]
                start += 1
                for h in range(size):
                    if not seen[h] and left[h, m] > 1e-12:
                        seen[h] = True
                        towards[h] = m
                        queue[end] = h
                        end += 1
            if not seen[0]:
                for m in range(size):
                    sets[count, m] = seen[m]
                    covered[m] |= seen[m]
                count += 1
                break
            share = np.inf
            h = 0
            while h != word:
                share = min(share, left[h, towards[h]])
                h = towards[h]
            h = 0
            while h != word:
                left[h, towards[h]] -= share
                left[towards[h], h] += share
                h = towards[h]
            flow += share
    return sets[:count]


def broken_spans(weight: Float64s) -> Iterator[tuple[int, int, int]]:
    """Yield (left, right, word): an arc joins left and right, a word between has a head outside.

    At most one of the two arcs between left and right is in a tree. If one is, the head of every
    word between them is in left..right, or arcs cross. Trees that satisfy all these rows are
    projective: of two crossing arcs, each endpoint inside the other arc would descend from one of
    that arc's endpoints.
    """
    n = len(weight) - 1
    sums = np.vstack((np.zeros(n + 1), np.cumsum(weight, axis=0)))
    joined = weight + weight.T
    for left, right in np.argwhere(np.triu(joined, 2) > _BROKEN).tolist():
        inside = (sums[right + 1] - sums[left])[left + 1 : right]
        broken = np.flatnonzero(joined[left, right] - inside > _BROKEN)
        yield from ((left, right, left + 1 + int(k)) for k in broken)
