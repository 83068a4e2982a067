"""The root of a search: the node of all trees of a problem.

Arcs are sorted, factors that cannot fire are dropped, and those that equal parts of the oracle's
recurrence become parts. The rest is bounded by multipliers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bbparse.core import Problem
from bbparse.inference.oracles.arcs import alive_arcs
from bbparse.inference.oracles.calls import oracle_over
from bbparse.inference.relaxation.state import Node, hard_weight, score_spread, slack_of
from bbparse.inference.search.factors import (
    node_counts,
    node_factors,
    possible_factors,
    take_parts,
)
from bbparse.runtime.arrays import Ints


class Root(NamedTuple):
    """The root of a problem's search, not bounded yet."""

    node: Node
    order: Ints  # the problem's arc for each arc of the oracle
    slack: float  # this and the next: see `inference.relaxation.state.Limits`
    hard: float


def make_root(problem: Problem, mode: int, until: float = np.inf) -> Root:
    """Make the root of a problem's search; ``mode`` is that of the oracle's recurrence.

    Raises `TimeOver` if that takes long and is not done at the time ``until``.
    """
    p, n = problem, problem.n_words
    order = alive_arcs(n, p.arc_head, p.arc_mod, p.arc_state)
    if len(order) < n:  # some word has no arc: an oracle without arcs has no tree
        order = order[:0]
    head, mod, base = p.arc_head[order], p.arc_mod[order], p.arc_score[order]
    place = np.full(len(p.arc_head), -1, np.int32)
    place[order] = np.arange(len(order))
    sets, weight = possible_factors(p, place, head, mod)
    if mode > 0 and len(weight) and p.arc_label is None:
        p, sets, weight = take_parts(p, mode, head, mod, sets, weight)
    oracle, counts = oracle_over(p, mode, head, mod, until), node_counts(place, p)
    spread = score_spread(n, base, oracle.part_scores(), weight, counts.score)
    slack, hard = slack_of(spread), hard_weight(spread)
    factors = node_factors(sets, weight, len(order), hard)
    return Root(Node(oracle, mod, base, np.zeros(1), factors, counts), order, slack, hard)
