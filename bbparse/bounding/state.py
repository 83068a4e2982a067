"""What bounding works on, as records of arrays that kernels take, and how large its scores can be.

Between Python and kernels such records travel as plain tuples: numba takes some microseconds for
each named one, a tenth of a sentence. Python keeps nodes as the tuples that `plain_node` makes, and
hands them back as they are. With the scores goes how large the rounding errors of bounds can be.
"""

from __future__ import annotations

from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.oracle.calls import copy_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class NodeFactors(NamedTuple):
    """The factors that are alive in a node, and their multipliers."""

    ptr: Longs  # [F + 1]
    arcs: Ints  # of factor c: ``arcs[ptr[c] : ptr[c + 1]]``
    weight: Floats  # [F]; ``-hard`` or less: never together
    lam: Floats  # aligned with arcs; see :mod:`bbparse.bounding.multipliers`
    size: Longs  # [1], how many factors; the arrays may be longer


class NodeCounts(NamedTuple):
    """The count factors that are alive in a node, and their multipliers."""

    ptr: Longs  # [C + 1]
    arcs: Ints
    score_ptr: Longs  # [C + 1]
    score: Floats  # of set c, from none of its arcs to all: from ``score[score_ptr[c]]`` on
    lam: Floats  # aligned with arcs; see :mod:`bbparse.bounding.counts`
    size: Longs  # [1], how many sets


class Node(NamedTuple):
    """A node of the search: the trees over the arcs that are alive."""

    oracle: Any  # what finds its best trees: the state of an oracle, in the node's own copy
    arc_mod: Ints  # [A], modifier of each arc, in the oracle's order
    base: Floats  # [A], -inf where an arc is dead; factors that became linear are added here
    constant: Floats  # [1], what every tree of the node scores beside all this
    factors: NodeFactors
    counts: NodeCounts


class Incumbents(NamedTuple):
    """The k best trees found so far, shared by all nodes."""

    trees: Ints  # [k, n], arc of each word; in the order in which they found their rows
    scores: Floats  # [k], falling
    found: Longs  # [1], how many there are
    place: Longs  # [k], row of each score's tree; 0, 1, … where none was found yet


def no_trees(k: int, n_words: int) -> Incumbents:
    """Room for the k best trees."""
    return Incumbents(
        np.zeros((k, n_words), np.int32), np.full(k, -np.inf), np.zeros(1, np.int64), np.arange(k)
    )


class Limits(NamedTuple):
    """How a node is bounded.

    The methods: ``PAPER``: subgradient with the paper's step and stopping rules; ``MIXED``: by
    max-marginal differences where elimination finds them, with Polyak's step elsewhere.
    """

    method: int
    calls: int  # most calls of the oracle
    work: float  # full-size calls of the search after which a node is called no more than once
    until: float  # the same as a moment of `bbparse.deadline.clock`; inf: none
    eliminate_every: int  # elimination after the first and then every so many calls; 0: never
    close_k: int  # list this many trees under the last bound to close the node before branching
    precision: float  # ``PAPER`` stops when the bound fell by less (QL13: 1e-8)
    quantum: float  # of scores; 0: none
    slack: float  # what sums of scores may be wrong by
    hard: float  # a stand-in for an infinite weight
    full_size: float  # of the oracle at the root, to count work in full-size calls


class Record(NamedTuple):
    """What happened in a node, for observers; empty arrays where nobody watches."""

    rows: Floats  # [calls, 4]: calls of the whole search, bound, best known score, oracle's size
    factors: Longs  # [calls], factors and count factors alive
    died: Longs  # [A], row before which an arc was dead; that of no row: alive
    used: Longs  # [1], number of rows


@kernel
def copy_node(node):
    """An independent node, trimmed to what is alive."""
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
    """A node as a tuple of arrays and tuples of arrays."""
    oracle, arc_mod, base, constant, factors, counts = node
    return oracle[:], arc_mod, base, constant, factors[:], counts[:]


@kernel
def named_node(oracle, node):
    """A node from such a tuple and its oracle."""
    _, arc_mod, base, constant, factors, counts = node
    return Node(oracle, arc_mod, base, constant, NodeFactors(*factors), NodeCounts(*counts))


def empty_record(kind: type, tables: tuple[str, ...] = ()) -> tuple[Any, ...]:
    """Empty arrays of the dtypes that the fields of a record have; tables are of two dimensions."""
    return tuple(
        np.empty((0, 0) if name in tables else 0, get_args(get_args(hint)[1])[0])
        for name, hint in get_type_hints(kind).items()
    )


def empty_node(oracle: type, tables: tuple[str, ...] = ()) -> tuple[Any, ...]:
    """Stands for a node with an oracle of a type, as a plain tuple, where there is none."""
    return (
        empty_record(oracle, tables), np.empty(0, np.int32), np.empty(0), np.empty(0),
        empty_record(NodeFactors), empty_record(NodeCounts),
    )  # fmt: skip


NEG = -np.inf

# Bounds are sums of at most a few thousand doubles; this share of the largest possible sum is
# far above their rounding error and far below any difference that matters.
RELATIVE_SLACK = 1e-12
# Of problems whose scores are all zero; bounds have no rounding error then.
LEAST_SLACK = 1e-300


@kernel
def score_spread(n_words, arc_score, part_weight, fac_weight, cnt_score):
    """The largest sum of magnitudes that a tree can have.

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
    """What bounds may be wrong by, where no tree's scores have a larger sum of magnitudes."""
    return max(RELATIVE_SLACK * size, LEAST_SLACK)


@kernel
def hard_weight(size):
    """A stand-in for an infinite weight: no sum of scores makes up for it."""
    return 4.0 * size if size > 0.0 else 1.0
