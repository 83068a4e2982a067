"""The root of the search in one jitted call: presolve, chart, bound and the trees' scores.

Nearly all sentences are closed at the root of the search tree, so that for them this call is the
whole of solving. It composes the kernels that :mod:`bbparse.solving.presolve`,
:mod:`bbparse.oracle.projective.chart` and :mod:`bbparse.search.tree` call one by one, in the same
order and on the same numbers. Where the root stays open, it hands over what the search goes on
with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.bounding.multipliers import start_multipliers
from bbparse.bounding.node import CLOSED, bound_node, floor_to_beat
from bbparse.bounding.slack import hard_weight, score_spread, slack_of
from bbparse.jit import kernel
from bbparse.oracle.projective.build import build_chart
from bbparse.oracle.projective.weights import add_factors, index_groups, weight_tables
from bbparse.problem.parts import Factors
from bbparse.solving.presolve.classify import Holds, classify
from bbparse.solving.presolve.kernels import reduce_problem
from bbparse.solving.rescore import rescore_trees

NEG = -np.inf

#: What :func:`solve_root` found: all trees that were asked for, proved; an open root; penalties
#: that are out of proportion to the scores, which the search has its own way with.
SOLVED, OPEN_ROOT, UNBALANCED = 0, 1, 2
#: Largest sum of magnitudes, in largest sums of positive scores, that is not out of proportion.
IMBALANCE = 1e3


class OpenRoot(NamedTuple):
    """What a search needs to go on below an open root: see :class:`bbparse.search.tree.Node`.

    ``order`` leads from chart arcs, whose modifiers are ``mod``, to those of the problem.
    """

    slack: float
    hard: float
    bound: float
    arc: int
    lower: float
    order: NDArray[np.int32]
    group_ptr: NDArray[np.int32]
    mod: NDArray[np.int32]
    item_ptr: NDArray[np.int32]
    item_group: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    weight: NDArray[np.float64]
    base: NDArray[np.float64]
    fac_ptr: NDArray[np.int64]
    fac_arcs: NDArray[np.int32]
    fac_weight: NDArray[np.float64]
    lam: NDArray[np.float64]
    sizes: NDArray[np.int64]
    constant: NDArray[np.float64]
    trees: NDArray[np.int32]
    scores: NDArray[np.float64]
    found: NDArray[np.int64]


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
def _chart_order(n, head, mod, alive):
    """The arcs that are alive, by head and modifier."""
    order = np.empty(head.shape[0], np.int32)
    kept = 0
    in_order = True
    last = -1
    for a in range(head.shape[0]):
        if alive[a]:
            key = np.int64(head[a]) * (n + 1) + mod[a]
            in_order = in_order and key > last
            last = key
            order[kept] = a
            kept += 1
    if in_order:
        return order[:kept].copy()
    return _counting_sort(_counting_sort(order[:kept].copy(), mod, n), head, n)


@kernel
def _in_chart(n, head, mod, score, alive, gain, constant, factor_arcs):
    """Arcs in chart order with their scores; ``factor_arcs`` becomes chart arcs in place.

    Returns the original arc of each chart arc, its head, its modifier and its score.
    """
    order = _chart_order(n, head, mod, alive)
    n_arcs = order.shape[0]
    place = np.empty(head.shape[0], np.int32)
    chart_head = np.empty(n_arcs, np.int32)
    chart_mod = np.empty(n_arcs, np.int32)
    base = np.empty(n_arcs, np.float64)
    for i in range(n_arcs):
        a = order[i]
        place[a] = i
        chart_head[i] = head[a]
        chart_mod[i] = mod[a]
        base[i] = score[a] + gain[a]
        if constant != 0.0 and mod[a] == 1:
            base[i] = score[a] + (gain[a] + constant)
    for i in range(factor_arcs.shape[0]):
        factor_arcs[i] = place[factor_arcs[i]]
    return order, chart_head, chart_mod, base


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
def solve_root(
    n, arcs, parts, factors, counts, single_root, quantum,
    mode, k, method, max_calls, eliminate_every, close_k, precision,
):  # fmt: skip
    """Bound the root of a projective problem without labels and count factors.

    Parameters
    ----------
    n .. quantum
        The problem, as in :class:`bbparse.problem.Problem`.
    mode : int
        Which recurrence (:mod:`bbparse.oracle.projective.recurrences`).
    k .. precision
        As :func:`bbparse.bounding.node.bound_node` takes them.

    Returns
    -------
    status : int
        ``SOLVED``; ``OPEN_ROOT``, with all that is needed to go on; or ``UNBALANCED``, with
        nothing done.
    heads, arcs, scores : int32[K, n+1], int32[K, n], float64[K]
        If solved, the trees in the arcs of the problem, best first; none where none is feasible.
    counters : float64[4]
        Passes, full-size passes, trees tried, best score as the search adds it up.
    n_edges : int
        Hyperedges of the chart; -1 where presolve found that there is no tree.
    left : tuple or None
        If open, the fields of an :class:`OpenRoot`.
    """
    counters = np.zeros(4)
    heads = np.empty((0, n + 1), np.int32)
    tree_arcs = np.empty((0, n), np.int32)
    small = reduce_problem(n, arcs, factors, True, single_root)
    if not small.feasible:
        return SOLVED, heads, tree_arcs, np.empty(0), counters, -1, None
    fac_ptr, fac_arcs, fac_weight = small.factors
    order, head, mod, base = _in_chart(
        n, arcs.head, arcs.mod, arcs.score, small.alive, small.gain, small.constant, fac_arcs
    )
    index = index_groups(n, head, mod)
    weights = weight_tables(n, head, mod, mode, index, parts)
    n_factors = fac_weight.shape[0]
    if n_factors > 0 and mode > 0:
        kind, words = classify(
            n, head, mod, Factors(fac_ptr, fac_arcs, fac_weight),
            Holds(True, mode == 3, mode >= 2, mode == 3),
        )  # fmt: skip
        add_factors(kind, words, fac_weight, index, weights)
        n_factors = _without_parts(kind, fac_ptr, fac_arcs, fac_weight)
        fac_ptr, fac_weight = fac_ptr[: n_factors + 1], fac_weight[:n_factors]
    item_ptr, item_group, left, right, weight = build_chart(
        n, head, mod, mode, single_root, index, weights
    )
    cnt_score = np.empty(0)
    size, high = score_spread(n, base, weight, fac_weight, cnt_score)
    if size > IMBALANCE * high:
        return UNBALANCED, heads, tree_arcs, np.empty(0), counters, 0, None
    slack, hard = slack_of(size), hard_weight(size)
    for f in range(n_factors):
        if fac_weight[f] == NEG:
            fac_weight[f] = -hard
    lam = np.empty(fac_ptr[n_factors])
    start_multipliers(n_factors, fac_ptr, fac_weight, lam)
    n_arcs, n_edges = order.shape[0], left.shape[0]
    group_ptr = np.arange(n_arcs + 1).astype(np.int32)
    cnt_ptr, cnt_score_ptr = np.zeros(1, np.int64), np.zeros(1, np.int64)
    cnt_arcs, cnt_lam = np.empty(0, np.int32), np.empty(0)
    sizes = np.zeros(3, np.int64)
    sizes[0], sizes[1] = item_group.shape[0], n_factors
    node_constant, out = np.zeros(1), np.empty(3)
    trees, scores, count = np.zeros((k, n), np.int32), np.full(k, NEG), np.zeros(1, np.int64)
    status = bound_node(
        n, group_ptr, mod, mod, item_ptr, item_group, left, right, weight,
        base, fac_ptr, fac_arcs, fac_weight, lam,
        cnt_ptr, cnt_arcs, cnt_score_ptr, cnt_score, cnt_lam,
        sizes, node_constant, trees, scores, count,
        method, max_calls, eliminate_every, close_k, precision, quantum, slack, hard,
        float(max(1, n_edges)), counters, out,
    )  # fmt: skip
    if status != CLOSED and out[0] >= floor_to_beat(scores, count, quantum, slack):
        open_root = (
            slack, hard, out[0], int(out[1]), out[2], order, group_ptr, mod,
            item_ptr, item_group, left, right, weight, base, fac_ptr, fac_arcs, fac_weight, lam,
            sizes, node_constant, trees, scores, count,
        )  # fmt: skip
        return OPEN_ROOT, heads, tree_arcs, np.empty(0), counters, n_edges, open_root
    found = count[0]
    heads = np.full((found, n + 1), np.int32(-1))
    tree_arcs = np.empty((found, n), np.int32)
    for t in range(found):
        for m in range(1, n + 1):
            a = trees[t, m - 1]
            heads[t, m] = head[a]
            tree_arcs[t, m - 1] = order[a]
    counters[3] = scores[0]
    exact = np.empty(found)
    rescore_trees(n, arcs, parts, factors, counts, heads, tree_arcs, exact)
    return SOLVED, heads, tree_arcs, exact, counters, n_edges, None
