"""The root of a search: the node of all trees of a problem.

Arcs are sorted, factors that cannot fire are dropped, and those that equal parts of the oracle's
recurrence become parts. The rest is bounded by multipliers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bbparse.core import Problem
from bbparse.core.parts import PART_NAMES
from bbparse.inference.oracles.arcs import alive_arcs
from bbparse.inference.oracles.calls import oracle_over
from bbparse.inference.relaxation.multipliers import start_multipliers
from bbparse.inference.relaxation.state import (
    Node,
    NodeFactors,
    hard_weight,
    score_spread,
    slack_of,
)
from bbparse.inference.search.factors import (
    FIELDS_OF_KIND,
    node_counts,
    possible_factors,
    take_parts,
)
from bbparse.runtime.arrays import NEG, Float64s, Ints


class Root(NamedTuple):
    """The root of a problem's search, not bounded yet."""

    node: Node
    order: Ints  # the problem's arc for each arc of the oracle
    slack: float  # this and the next: see `inference.relaxation.state.Limits`
    hard: float
    moved_factors: int  # factors that the oracle absorbed


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
    ptr, arcs, weight = possible_factors(
        head, mod, place, p.factor_ptr, p.factor_arcs, p.factor_score, p.projective, p.single_root
    )
    moved = 0
    if mode > 0 and len(weight) and p.arc_label is None:
        rows, row_score = take_parts(head, mod, mode, ptr, arcs, weight)
        if moved := len(rows):
            p = _with_parts(p, rows, row_score)
            weight = weight[:-moved].copy()
            ptr = ptr[: len(weight) + 1].copy()
            arcs = arcs[: ptr[-1]].copy()
    oracle = oracle_over(p, mode, head, mod, until)
    counts = node_counts(place, p)
    spread = score_spread(n, base, oracle.part_scores(), weight, counts.score)
    slack, hard = slack_of(spread), hard_weight(spread)
    weight[weight == NEG] = -hard
    multipliers = np.empty(len(arcs))
    start_multipliers(ptr, weight, multipliers)
    factors = NodeFactors(ptr, arcs, weight, multipliers, np.full(1, len(weight)))
    node = Node(oracle, mod, base, np.zeros(1), factors, counts)
    return Root(node, order, slack, hard, moved)


def _with_parts(problem: Problem, rows: Ints, scores: Float64s) -> Problem:
    """Add parts to a problem, in the rows of `take_parts`."""
    changes: dict[str, Any] = {}
    for kind, names in enumerate(PART_NAMES.values()):
        chosen = rows[:, 0] == kind
        if chosen.any():
            columns = [rows[chosen, field] for field in FIELDS_OF_KIND[kind]]
            for name, column in zip(names, [*columns, scores[chosen]]):
                changes[name] = np.concatenate((getattr(problem, name), column))
    return problem.changed(**changes)
