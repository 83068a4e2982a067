"""A problem up to the root of its search in one jitted call: presolve, oracle, bound, scores.

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
from bbparse.oracle.projective.weights import add_factors, index_groups, weight_tables
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
from bbparse.solving.presolve.classify import Holds, classify
from bbparse.solving.presolve.kernels import reduce_problem
from bbparse.solving.rescore import rescore_trees

NEG = -np.inf

#: What a root call did: found all trees that were asked for, with proof; bounded a root that stays
#: open; made a root that is to be bounded, as was asked for or as scores are out of proportion.
SOLVED, BOUNDED, MADE = 0, 1, 2


class Choices(NamedTuple):
    """A problem's flags, and how its root is to be bounded.

    Attributes
    ----------
    n_words : int
    labelled, projective, single_root : bool
    k : int
    method .. quantum
        As in :class:`bbparse.bounding.state.Limits`, but work counts the oracle's places.
    wait : bool
        The root is to be made only.
    """

    n_words: int
    labelled: bool
    projective: bool
    single_root: bool
    k: int
    method: int
    calls: int
    work: float
    eliminate_every: int
    close_k: int
    precision: float
    quantum: float
    wait: bool


@kernel
def _counting_sort(order, key, n):
    """Sort arcs stably by a word."""
    start = np.zeros(n + 2, np.int64)
    for a in order:
        start[key[a] + 1] += 1
    for i in range(n + 1):
        start[i + 1] += start[i]
    out = np.empty_like(order)
    for a in order:
        out[start[key[a]]] = a
        start[key[a]] += 1
    return out


@kernel
def _oracle_order(n, head, mod, alive):
    """The arcs that are alive, by head and modifier."""
    order = np.empty(head.shape[0], np.int32)
    kept = 0
    in_order = True
    last = -1
    for a in range(head.shape[0]):
        if alive[a]:
            key = np.int64(head[a]) * (n + 1) + mod[a]
            in_order = in_order and key >= last
            last = key
            order[kept] = a
            kept += 1
    if in_order:
        return order[:kept].copy()
    return _counting_sort(_counting_sort(order[:kept].copy(), mod, n), head, n)


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
def _without_parts(kind, ptr, arcs, score):
    """Drop, in place, the factors that became parts; returns how many are left."""
    kept = 0
    used = 0
    for f in range(kind.shape[0]):
        lo, hi = ptr[f], ptr[f + 1]
        if kind[f] != 0:
            continue
        for i in range(lo, hi):
            arcs[used] = arcs[i]
            used += 1
        score[kept] = score[f]
        kept += 1
        ptr[kept] = used
    return kept


@kernel
def _node_counts(counts, alive, place):
    """The count factors over the oracle's arcs; those that are gone are in no tree."""
    n_sets = counts.ptr.shape[0] - 1
    ptr, score_ptr = np.zeros(n_sets + 1, np.int64), np.zeros(n_sets + 1, np.int64)
    arcs, score = np.empty(counts.arcs.shape[0], np.int32), np.empty(counts.score.shape[0])
    used = 0
    for c in range(n_sets):
        for i in range(counts.ptr[c], counts.ptr[c + 1]):
            if alive[counts.arcs[i]]:
                arcs[used] = place[counts.arcs[i]]
                used += 1
        ptr[c + 1] = used
        score_ptr[c + 1] = used + c + 1
        for j in range(used - ptr[c] + 1):
            score[score_ptr[c] + j] = counts.score[counts.score_ptr[c] + j]
    return NodeCounts(ptr, arcs, score_ptr, score, np.zeros(used), np.full(1, n_sets))


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
    small = reduce_problem(n, arcs, factors, choices.projective, single_root)
    if not small.feasible:
        return SOLVED, heads, trees, exact, counters, -1, None
    alive = small.alive
    fac_ptr, fac_arcs, fac_weight = small.factors
    order = _oracle_order(n, arcs.head, arcs.mod, alive)
    place = np.empty(alive.shape[0], np.int32)
    n_arcs = order.shape[0]
    head, mod = np.empty(n_arcs, np.int32), np.empty(n_arcs, np.int32)
    base = np.empty(n_arcs)
    for i in range(n_arcs):
        a = order[i]
        place[a] = i
        head[i] = arcs.head[a]
        mod[i] = arcs.mod[a]
        more = small.gain[a]
        if small.constant != 0.0 and mod[i] == 1:
            more += small.constant
        base[i] = arcs.score[a] + more
    for i in range(fac_arcs.shape[0]):
        fac_arcs[i] = place[fac_arcs[i]]
    group_ptr = _groups(head, mod)
    group_head, group_mod = head, mod
    if group_ptr.shape[0] <= n_arcs:
        group_head, group_mod = head[group_ptr[:-1]], mod[group_ptr[:-1]]
    index = index_groups(n, group_head, group_mod)
    weights = weight_tables(n, group_head, group_mod, kind.mode, index, parts)
    n_factors = fac_weight.shape[0]
    moved = 0
    mode = kind.mode
    if n_factors > 0 and mode > 0 and not choices.labelled:
        part, words = classify(
            n, head, mod, Factors(fac_ptr, fac_arcs, fac_weight),
            Holds(True, mode == 3, mode >= 2, mode == 3),
        )  # fmt: skip
        add_factors(part, words, fac_weight, index, weights)
        moved = n_factors
        n_factors = _without_parts(part, fac_ptr, fac_arcs, fac_weight)
        moved -= n_factors
        fac_ptr, fac_weight = fac_ptr[: n_factors + 1], fac_weight[:n_factors]
    oracle = make(kind, n, group_head, group_mod, single_root, index, weights, group_ptr)
    node_counts = _node_counts(counts, alive, place)
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
        Of the oracle; -1 where presolve found that there is no tree.
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
