"""Records of arrays for the bounding kernels, and tolerances for rounding errors.

Records pass between Python and kernels as plain tuples: numba spends some microseconds on each
named tuple, a tenth of the time of a sentence. Python keeps nodes as the tuples that `plain_node`
returns, and passes them back unchanged. The largest possible score determines how large the
rounding errors of bounds can be.
"""

from __future__ import annotations

from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np

from bbparse.inference.oracles.calls import copy_of
from bbparse.runtime.arrays import NEG, Float64s, Ints, Longs
from bbparse.runtime.jit import kernel


class NodeFactors(NamedTuple):
    """The alive factors of a node and their multipliers."""

    ptr: Longs  # [F + 1]
    arcs: Ints  # of factor c: ``arcs[ptr[c] : ptr[c + 1]]``
    weight: Float64s  # [F]; ``-hard`` or less: never together
    lam: Float64s  # aligned with arcs; see :mod:`bbparse.inference.relaxation.multipliers`
    size: Longs  # [1], number of factors; the arrays may be longer


class NodeCounts(NamedTuple):
    """The alive count factors of a node and their multipliers."""

    ptr: Longs  # [C + 1]
    arcs: Ints
    score_ptr: Longs  # [C + 1]
    score: Float64s  # scores of set c for 0, 1, … of its arcs begin at ``score[score_ptr[c]]``
    lam: Float64s  # aligned with arcs; see :mod:`bbparse.inference.relaxation.counts`
    size: Longs  # [1], number of sets


class Node(NamedTuple):
    """A node of the search: the trees over the arcs that are alive."""

    oracle: Any  # state of the oracle that finds the best trees; the node's own copy
    arc_mod: Ints  # [A], modifier of each arc, in the oracle's order
    base: Float64s  # [A], arc scores, with factors of one arc added; -inf: the arc is dead
    constant: Float64s  # [1], added to the score of every tree of the node
    factors: NodeFactors
    counts: NodeCounts


class Incumbents(NamedTuple):
    """The k best trees found so far, shared by all nodes."""

    trees: Ints  # [k, n], arc into each word; rows are in no particular order
    scores: Float64s  # [k], descending
    found: Longs  # [1], number of trees
    place: Longs  # [k], row of each score's tree; initially 0, 1, …


def no_trees(k: int, n_words: int) -> Incumbents:
    """Return empty incumbents with room for k trees."""
    return Incumbents(
        np.zeros((k, n_words), np.int32), np.full(k, -np.inf), np.zeros(1, np.int64), np.arange(k)
    )


class Limits(NamedTuple):
    """Settings and limits of bounding a node.

    The method ``PAPER`` takes subgradient steps with the paper's lengths and stopping rules.
    ``MIXED`` uses max-marginal differences in calls that eliminate arcs, and Polyak steps in the
    others.
    """

    method: int
    calls: int  # maximum number of oracle calls
    work: float  # full-size calls of the search after which a node gets a single oracle call
    until: float  # time limit for the same, by `bbparse.runtime.deadline.clock`; inf: none
    eliminate_every: int  # eliminate after the first and then every so many calls; 0: never
    close_k: int  # number of trees to enumerate to close the node before branching
    precision: float  # ``PAPER`` stops when the bound falls by less (QL13: 1e-8)
    quantum: float  # scores are multiples of it; 0: none
    slack: float  # maximum rounding error of sums of scores
    hard: float  # a stand-in for an infinite weight
    full_size: float  # of the oracle at the root, to count work in full-size calls


class Record(NamedTuple):
    """The calls in one node, recorded for observers; empty arrays without an observer."""

    rows: Float64s  # [calls, 4]: calls of the whole search, bound, best known score, oracle's size
    factors: Longs  # [calls], number of alive factors and count factors
    died: Longs  # [A], first row at which the arc is dead; the number of rows if it is alive
    used: Longs  # [1], number of rows


@kernel
def copy_node(node):
    """Copy a node; the copy holds alive factors only."""
    factors, counts = node.factors, node.counts
    n_factors, n_counts = factors.size[0], counts.size[0]
    used, members = factors.ptr[n_factors], counts.ptr[n_counts]
    return Node(
        copy_of(node.oracle), node.arc_mod, node.base.copy(), node.constant.copy(),
        NodeFactors(
            factors.ptr[: n_factors + 1].copy(), factors.arcs[:used].copy(),
            factors.weight[:n_factors].copy(), factors.lam[:used].copy(), factors.size.copy(),
        ),
        NodeCounts(
            counts.ptr[: n_counts + 1].copy(), counts.arcs[:members].copy(),
            counts.score_ptr[: n_counts + 1].copy(),
            counts.score[: counts.score_ptr[n_counts]].copy(), counts.lam[:members].copy(),
            counts.size.copy(),
        ),
    )  # fmt: skip


@kernel
def plain_node(node):
    """Convert a node to a tuple of arrays and tuples of arrays."""
    oracle, arc_mod, base, constant, factors, counts = node
    return oracle[:], (arc_mod, base, constant), factors[:], counts[:]


@kernel
def named_node(oracle, node):
    """Convert a tuple of `plain_node` and an oracle back to a node."""
    _, (arc_mod, base, constant), factors, counts = node
    return Node(oracle, arc_mod, base, constant, NodeFactors(*factors), NodeCounts(*counts))


def empty_record(kind: type, tables: tuple[str, ...] = ()) -> tuple[Any, ...]:
    """Return empty arrays with the dtypes of a record's fields; ``tables`` are 2-dimensional."""
    return tuple(
        np.empty((0, 0) if name in tables else 0, _element_type(hint))
        for name, hint in get_type_hints(kind).items()
    )


def _element_type(hint: Any) -> Any:
    """Return the type of the elements of an array's type hint, ``NDArray[...]``."""
    last = get_args(hint)[-1]  # dtype[T]; T since numpy 2.5, where NDArray is an alias of its own
    return (get_args(last) or (last,))[0]


def empty_node(oracle: type, tables: tuple[str, ...] = ()) -> tuple[Any, ...]:
    """Return a placeholder for a node with an oracle of a type, as a plain tuple."""
    arrays = np.empty(0, np.int32), np.empty(0), np.empty(0)
    return empty_record(oracle, tables), arrays, empty_record(NodeFactors), empty_record(NodeCounts)


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


@kernel
def slack_of(size):
    """Return the maximum rounding error of bounds, given the `score_spread` of the problem."""
    return max(RELATIVE_SLACK * size, LEAST_SLACK)


@kernel
def hard_weight(size):
    """Return a finite stand-in for an infinite weight: no sum of scores outweighs it."""
    return 4.0 * size if size > 0.0 else 1.0
