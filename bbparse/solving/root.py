"""A problem up to the root of its search in one jitted call: factors, oracle, bound, scores.

Nearly all sentences are closed at the root of the search tree, so that for them this call is the
whole of solving. Where the root stays open, it hands over what the search goes on with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bbparse.bounding.incumbents import floor_to_beat, margin_of
from bbparse.bounding.multipliers import start_multipliers
from bbparse.bounding.node import CLOSED, OPEN, Verdict, bound_node
from bbparse.bounding.slack import IMBALANCE, hard_weight, score_spread, slack_of
from bbparse.bounding.state import Incumbents, Limits, Node, NodeCounts, NodeFactors, Record
from bbparse.jit import kernel
from bbparse.oracle.calls import make, size_of, weights_of
from bbparse.oracle.nonprojective.calls import Nonprojective
from bbparse.oracle.projective.calls import Projective
from bbparse.oracle.projective.taken import take_factors
from bbparse.oracle.projective.weights import index_groups, weight_tables
from bbparse.problem.parts import (
    Arcs,
    Counts,
    Factors,
    Grandchildren,
    GrandSiblings,
    OuterGrandchildren,
    Parts,
    Siblings,
)
from bbparse.search.kernels import plain_node
from bbparse.solving.factors import possible_factors
from bbparse.solving.rescore import rescore_trees

NEG = -np.inf

#: What a root call did: found all trees that were asked for, with proof; bounded a root that stays
#: open; made a root that is to be bounded, as was asked for or as scores are out of proportion.
SOLVED, BOUNDED, MADE = 0, 1, 2


class Choices(NamedTuple):
    """A problem's flags, and how its root is to be bounded (as in `Limits`)."""

    n_words: int
    labelled: bool
    projective: bool
    single_root: bool
    k: int
    method: int
    calls: int
    work: float  # in the oracle's places
    eliminate_every: int
    close_k: int
    precision: float
    quantum: float
    wait: bool  # the root is to be made only


@kernel
def _alive(n, arcs):
    """Arcs that are not forbidden, and no rivals of required ones, as the oracle has them."""
    required = np.full(n + 1, -1, np.int32)
    for a in range(arcs.state.shape[0]):
        if arcs.state[a] == 1:
            required[arcs.mod[a]] = a
    order = np.empty(arcs.state.shape[0], np.int32)
    count = 0
    for a in range(arcs.state.shape[0]):
        only = required[arcs.mod[a]]
        if arcs.state[a] != -1 and (only < 0 or only == a):
            order[count] = a
            count += 1
    return order[:count].copy()


@kernel
def _groups(head, mod):
    """Where the arcs of each pair of words begin; they differ in labels only."""
    ptr = np.empty(head.shape[0] + 1, np.int32)
    groups = 0
    for a in range(head.shape[0]):
        if a == 0 or head[a] != head[a - 1] or mod[a] != mod[a - 1]:
            ptr[groups] = a
            groups += 1
    ptr[groups] = head.shape[0]
    return ptr[: groups + 1].copy()


@kernel
def _node_counts(counts, place):
    """The count factors over the oracle's arcs; those that are gone are in no tree."""
    n_sets = counts.ptr.shape[0] - 1
    ptr, score_ptr = np.zeros(n_sets + 1, np.int64), np.zeros(n_sets + 1, np.int64)
    arcs, score = np.empty(counts.arcs.shape[0], np.int32), np.empty(counts.score.shape[0])
    used = 0
    for c in range(n_sets):
        for i in range(counts.ptr[c], counts.ptr[c + 1]):
            if place[counts.arcs[i]] >= 0:
                arcs[used] = place[counts.arcs[i]]
                used += 1
        ptr[c + 1] = used
        score_ptr[c + 1] = used + c + 1
        for j in range(used - ptr[c] + 1):
            score[score_ptr[c] + j] = counts.score[counts.score_ptr[c] + j]
    left = score[: score_ptr[n_sets]]  # how large scores are is seen from all of them
    return NodeCounts(ptr, arcs, score_ptr, left, np.zeros(used), np.full(1, n_sets))


@kernel
def _named(parts):
    sib, gc, ogc, gsib = parts
    return Parts(
        Siblings(*sib), Grandchildren(*gc), OuterGrandchildren(*ogc), GrandSiblings(*gsib)
    )


@kernel
def _root(kind, arcs, parts, factors, counts, choices):
    """See :func:`solve_projective`; ``kind`` selects the oracle."""
    n, single_root, k = choices.n_words, choices.single_root, choices.k
    counters = np.zeros(4)
    heads, trees, exact = np.empty((0, n + 1), np.int32), np.empty((0, n), np.int32), np.empty(0)
    order = _alive(n, arcs)
    n_arcs = order.shape[0]
    if n_arcs < n:  # some word has none
        return SOLVED, heads, trees, exact, counters, 0, None
    place = np.full(arcs.head.shape[0], np.int32(-1))
    head, mod = np.empty(n_arcs, np.int32), np.empty(n_arcs, np.int32)
    base = np.empty(n_arcs)
    for i in range(n_arcs):
        place[order[i]] = i
        head[i], mod[i], base[i] = arcs.head[order[i]], arcs.mod[order[i]], arcs.score[order[i]]
    left = possible_factors(head, mod, place, factors, choices.projective, single_root)
    group_ptr = _groups(head, mod)
    group_head, group_mod = head, mod
    if group_ptr.shape[0] <= n_arcs:
        group_head, group_mod = head[group_ptr[:-1]], mod[group_ptr[:-1]]
    index = index_groups(n, group_head, group_mod)
    weights = weight_tables(n, group_head, group_mod, kind.mode, index, parts)
    n_factors = moved = left.score.shape[0]
    if not choices.labelled:
        n_factors = take_factors(head, mod, kind.mode, index, weights, left)
    moved -= n_factors
    fac_ptr, fac_arcs, fac_weight = left.ptr[: n_factors + 1], left.arcs, left.score[:n_factors]
    oracle = make(kind, n, group_head, group_mod, single_root, index, weights, group_ptr)
    node_counts = _node_counts(counts, place)
    size, high = score_spread(n, base, weights_of(oracle), fac_weight, node_counts.score)
    slack, hard = slack_of(size), hard_weight(size)
    for f in range(n_factors):
        if fac_weight[f] == NEG:
            fac_weight[f] = -hard
    lam = np.empty(fac_ptr[n_factors])
    start_multipliers(fac_ptr, fac_weight, lam)
    node = Node(
        oracle, mod, base, np.zeros(1),
        NodeFactors(fac_ptr, fac_arcs, fac_weight, lam, np.full(1, n_factors)), node_counts,
    )  # fmt: skip
    best = Incumbents(np.zeros((k, n), np.int32), np.full(k, NEG), np.zeros(1, np.int64))
    full_size = size_of(oracle)
    verdict = Verdict(OPEN, np.inf, -1, NEG, best.trees[0], slack)
    status = MADE
    if not choices.wait and size <= IMBALANCE * high:
        limits = Limits(
            choices.method, choices.calls, choices.work / max(1, full_size),
            choices.eliminate_every, choices.close_k,
            choices.precision, choices.quantum, slack, hard, False, float(max(1, full_size)),
        )  # fmt: skip
        record = Record(
            np.empty((0, 4)), np.empty(0, np.int64), np.empty(0, np.int64), np.zeros(1, np.int64)
        )
        verdict = bound_node(node, best, limits, counters, record)
        floor = floor_to_beat(best, choices.quantum, slack)
        status = SOLVED if verdict.status == CLOSED or verdict.bound < floor else BOUNDED
    if status != SOLVED:
        return status, heads, trees, exact, counters, full_size, (
            plain_node(node), (best.trees, best.scores, best.found), order, verdict.status,
            verdict.bound, verdict.arc, verdict.lower, verdict.tree,
            margin_of(choices.quantum, slack), slack, hard, size, high, moved,
        )  # fmt: skip
    found = best.found[0]
    heads = np.full((found, n + 1), np.int32(-1))
    trees = np.empty((found, n), np.int32)
    for t in range(found):
        for m in range(1, n + 1):
            a = best.trees[t, m - 1]
            heads[t, m] = head[a]
            trees[t, m - 1] = order[a]
    counters[3] = best.scores[0]
    exact = np.empty(found)
    rescore_trees(n, arcs, parts, factors, counts, heads, trees, exact)
    return SOLVED, heads, trees, exact, counters, full_size, None


@kernel
def solve_projective(mode, arcs, parts, factors, counts, choices):
    """Bring a projective problem up to the root of its search, and solve it if that closes it.

    Parameters
    ----------
    mode : int
        Which recurrence (:mod:`bbparse.oracle.projective.recurrences`).
    arcs, parts, factors, counts, choices : tuples
        Fields of the records of :mod:`bbparse.problem.parts` and of :class:`Choices`. Plain
        tuples, as numba takes microseconds for each named one.

    Returns
    -------
    status : int
        ``SOLVED``, ``BOUNDED`` or ``MADE``.
    heads, trees, scores : int32[K, n+1], int32[K, n], float64[K]
        If solved, the trees in the arcs of the problem, best first; none where none is feasible.
    counters : float64[4]
        Calls, full-size calls, trees tried, best score as the search adds it up.
    full_size : int
        Of the oracle; 0 where some word has no arc.
    left : tuple or None
        If not solved, the fields of a :class:`bbparse.search.search.Root`.
    """
    return _root(
        Projective(mode), Arcs(*arcs), _named(parts), Factors(*factors), Counts(*counts),
        Choices(*choices),
    )  # fmt: skip


@kernel
def solve_nonprojective(mode, arcs, parts, factors, counts, choices):
    """As :func:`solve_projective`, of a problem that allows crossing arcs."""
    return _root(
        Nonprojective(mode), Arcs(*arcs), _named(parts), Factors(*factors), Counts(*counts),
        Choices(*choices),
    )  # fmt: skip
