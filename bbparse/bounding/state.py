"""What bounding works on, as records of arrays that kernels take.

Between Python and kernels such records travel as plain tuples (`Node.plain` and its like in the
kernels that Python calls): numba takes some microseconds for each named one, a tenth of a sentence.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class NodeFactors(NamedTuple):
    """The factors that are alive in a node, and their multipliers.

    Attributes
    ----------
    ptr, arcs : int64[F + 1], int32[]
        Arcs of factor c are ``arcs[ptr[c] : ptr[c + 1]]``.
    weight : float64[F]
        ``-hard`` or less: never together.
    lam : float64[]
        Aligned with `arcs`; see :mod:`bbparse.bounding.multipliers`.
    size : int64[1]
        How many factors; the arrays may be longer.
    """

    ptr: Longs
    arcs: Ints
    weight: Floats
    lam: Floats
    size: Longs


class NodeCounts(NamedTuple):
    """The count factors that are alive in a node, and their multipliers.

    Attributes
    ----------
    ptr, arcs : int64[C + 1], int32[]
    score_ptr, score : int64[C + 1], float64[]
        Scores of set c, from none of its arcs to all, start at ``score[score_ptr[c]]``.
    lam : float64[]
        Aligned with `arcs`; see :mod:`bbparse.bounding.counts`.
    size : int64[1]
        How many sets.
    """

    ptr: Longs
    arcs: Ints
    score_ptr: Longs
    score: Floats
    lam: Floats
    size: Longs


class Node(NamedTuple):
    """A node of the search: the trees over the arcs that are alive.

    Attributes
    ----------
    oracle : NamedTuple
        What finds its best trees: the state of one of the oracles, in the node's own copy.
    arc_mod : int32[A]
        Modifier of each arc, in the oracle's order.
    base : float64[A]
        Scores; -inf where an arc is dead. Factors that became linear are added here.
    constant : float64[1]
        What every tree of the node scores beside all this.
    factors : NodeFactors
    counts : NodeCounts
    """

    oracle: Any
    arc_mod: Ints
    base: Floats
    constant: Floats
    factors: NodeFactors
    counts: NodeCounts


class Incumbents(NamedTuple):
    """The k best trees found so far, shared by all nodes.

    Attributes
    ----------
    trees : int32[k, n]
        Arc of each word.
    scores : float64[k]
        Falling.
    found : int64[1]
        How many there are.
    """

    trees: Ints
    scores: Floats
    found: Longs


class Limits(NamedTuple):
    """How a node is bounded.

    Attributes
    ----------
    method : int
        ``PAPER``: subgradient with the paper's step and stopping rules; ``POLYAK``: with Polyak's
        step; ``LEADS``: by max-marginal differences, found at every pass; ``MIXED``: by these where
        elimination finds them, by Polyak's step elsewhere.
    calls : int
        Most calls of the oracle.
    work : float
        Full-size calls of the whole search after which a node is called no more than once.
    eliminate_every : int
        Elimination after the first and then every so many calls; 0: never.
    close_k : int
        List this many trees under the last bound to close the node before branching.
    precision : float
        ``PAPER`` stops when the bound fell by less (QL13: 1e-8).
    quantum, slack, hard : float
        Score quantum (0: none), numerical slack, stand-in for an infinite weight.
    wild : bool
        Scores are out of proportion: the slack of an oracle that is not exact is to be found from
        the numbers that each bound is added from.
    full_size : float
        Size of the oracle at the root, to count work in full-size calls.
    """

    method: int
    calls: int
    work: float
    eliminate_every: int
    close_k: int
    precision: float
    quantum: float
    slack: float
    hard: float
    wild: bool
    full_size: float


class Record(NamedTuple):
    """What happened in a node, for observers; empty arrays where nobody watches.

    Attributes
    ----------
    rows : float64[calls, 4]
        After each call: calls of the whole search, bound, best known score, oracle's size.
    factors : int64[calls]
        Factors and count factors alive.
    died : int64[A]
        Row before which an arc was dead; that of no row: alive.
    used : int64[1]
        Number of rows.
    """

    rows: Floats
    factors: Longs
    died: Longs
    used: Longs
