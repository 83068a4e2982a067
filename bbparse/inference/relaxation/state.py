"""Records of arrays for the bounding kernels, and tolerances for rounding errors.

The largest possible score determines how large the rounding errors of bounds can be.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bbparse.runtime.arrays import NEG, Float64s, Ints, Longs
from bbparse.runtime.jit import kernel


class NodeFactors(NamedTuple):
    """The alive factors of a node and their multipliers."""

    ptr: Longs  # [F + 1]
    arcs: Ints  # of factor c: ``arcs[ptr[c] : ptr[c + 1]]``
    weight: Float64s  # [F]; ``-hard`` or less: never together
    lam: Float64s  # aligned with arcs; see :mod:`bbparse.inference.relaxation.multipliers`
    size: Longs  # [1], number of factors; the arrays may be longer

    def trimmed(self) -> NodeFactors:
        """Return a copy of the alive factors."""
        n_factors = int(self.size[0])
        used = int(self.ptr[n_factors])
        return NodeFactors(
            self.ptr[: n_factors + 1].copy(),
            self.arcs[:used].copy(),
            self.weight[:n_factors].copy(),
            self.lam[:used].copy(),
            self.size.copy(),
        )


class NodeCounts(NamedTuple):
    """The alive count factors of a node and their multipliers."""

    ptr: Longs  # [C + 1]
    arcs: Ints
    score_ptr: Longs  # [C + 1]
    score: Float64s  # scores of set c for 0, 1, … of its arcs begin at ``score[score_ptr[c]]``
    lam: Float64s  # aligned with arcs; see :mod:`bbparse.inference.relaxation.counts`
    size: Longs  # [1], number of sets

    def trimmed(self) -> NodeCounts:
        """Return a copy of the alive count factors."""
        n_counts = int(self.size[0])
        used, scored = int(self.ptr[n_counts]), int(self.score_ptr[n_counts])
        return NodeCounts(
            self.ptr[: n_counts + 1].copy(),
            self.arcs[:used].copy(),
            self.score_ptr[: n_counts + 1].copy(),
            self.score[:scored].copy(),
            self.lam[:used].copy(),
            self.size.copy(),
        )


class NodeState(NamedTuple):
    """A node of the search: the trees over the arcs that are alive."""

    oracle: Any  # state of the oracle that finds the best trees; the node's own copy
    arc_mod: Ints  # [A], modifier of each arc, in the oracle's order
    base: Float64s  # [A], arc scores, with factors of one arc added; -inf: the arc is dead
    constant: Float64s  # [1], added to the score of every tree of the node
    factors: NodeFactors
    counts: NodeCounts

    def trimmed(self) -> NodeState:
        """Return an independent copy of what is alive."""
        return NodeState(
            self.oracle.trimmed(),
            self.arc_mod,
            self.base.copy(),
            self.constant.copy(),
            self.factors.trimmed(),
            self.counts.trimmed(),
        )


class Incumbents(NamedTuple):
    """The k best trees found so far, shared by all nodes."""

    trees: Ints  # [k, n], arc into each word
    scores: Float64s  # [k], descending
    found: Longs  # [1], number of trees


def no_trees(k: int, n_words: int) -> Incumbents:
    """Return empty incumbents with room for k trees."""
    return Incumbents(np.zeros((k, n_words), np.int32), np.full(k, -np.inf), np.zeros(1, np.int64))


class Limits(NamedTuple):
    """Settings and limits of bounding a node."""

    calls: int  # maximum number of oracle calls
    work: float  # full-size calls of the search after which a node gets a single oracle call
    until: float  # time limit for the same, by `bbparse.runtime.deadline.clock`; inf: none
    eliminate_every: int  # eliminate after the first and then every so many calls; 0: never
    close_k: int  # number of trees to enumerate to close the node before branching
    margin: float  # by which the score of a tree that changes the k best exceeds the k-th score
    slack: float  # maximum rounding error of sums of scores
    hard: float  # a stand-in for an infinite weight
    full_size: float  # of the oracle at the root, to count work in full-size calls


#: Cost of enumerating a tree for each word, in visited positions of the oracle.
LISTED = 3.0
# Bounds are sums of at most a few thousand doubles. This fraction of the largest possible sum is
# far above their rounding error and far below any difference that matters.
RELATIVE_SLACK = 1e-12
# Slack of problems whose scores are all zero: bounds then have no rounding error.
LEAST_SLACK = 1e-300


@kernel
def score_spread(n_words, arc_score, part_weight, fac_weight, cnt_score):
    """Return an upper bound on the sum of score magnitudes of a tree.

    Every word has one arc, and completes at most one part of each of the four kinds.
    """
    arc_size = 0.0
    for x in arc_score:
        if x > NEG:
            arc_size = max(arc_size, abs(x))
    part_size = 0.0
    for x in part_weight:
        if x > NEG:
            part_size = max(part_size, abs(x))
    size = n_words * (arc_size + 4.0 * part_size)
    for scores in (fac_weight, cnt_score):
        for x in scores:
            if x > NEG:
                size += abs(x)
    return size


def slack_of(size: float) -> float:
    """Return the maximum rounding error of bounds, given the `score_spread` of the problem."""
    return max(RELATIVE_SLACK * size, LEAST_SLACK)


def hard_weight(size: float) -> float:
    """Return a finite stand-in for an infinite weight: no sum of scores outweighs it."""
    return 4.0 * size if size > 0.0 else 1.0
