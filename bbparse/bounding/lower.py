"""A first lower bound by alternating maximisation of π(p, z) ≤ φ(z) (QL13 §3.4)."""

from __future__ import annotations

import numpy as np

from bbparse.bounding.copying import copy_into
from bbparse.bounding.incumbents import insert_tree, tree_score
from bbparse.jit import kernel
from bbparse.oracle.projective.passes import backtrace, group_scores, inside_pass

NEG = -np.inf


@kernel
def lower_bound_start(
    n_words, group_ptr, group_mod,
    item_ptr, item_group, left, right, weight,
    base, fac_ptr, fac_arcs, fac_weight, sizes, constant,
    trees, scores, count, max_calls, slack, hard, full_edges, counters,
):  # fmt: skip
    """Put trees among the incumbents by maximising π over z (one DP call) and p in turn.

    For fixed z the best p is in closed form: a factor φ ≥ 0 takes its linear bound
    φ(Σ z_e - (r - 1)) where all its arcs are in z and 0 elsewhere; a factor φ < 0 charges φ to
    one arc, outside z if it has one there. π never falls; stop when it no longer rises.
    Arguments as in :func:`bbparse.bounding.node.bound_node`.
    """
    if sizes[0] <= 1:
        return
    arc_score = np.empty(base.shape[0])
    gscore = np.empty(group_mod.shape[0])
    inside = np.empty(sizes[0])
    chosen = np.zeros(base.shape[0], np.int8)
    tree = np.empty(n_words, np.int32)
    last = NEG
    shift = constant[0]
    copy_into(arc_score, base)
    for call in range(max_calls):
        group_scores(group_ptr, arc_score, gscore)
        goal = inside_pass(sizes[0], item_ptr, item_group, left, right, weight, gscore, inside)
        counters[0] += 1.0
        counters[1] += item_ptr[sizes[0]] / full_edges
        if goal == NEG:
            return
        edge_sum = backtrace(
            sizes[0], item_ptr, item_group, left, right, weight, group_ptr, arc_score,
            group_mod, inside, tree,
        )  # fmt: skip
        value = tree_score(
            tree, base, edge_sum, constant[0], sizes[1], fac_ptr, fac_arcs, fac_weight, hard, chosen
        )
        counters[2] += 1.0
        if value > NEG:
            insert_tree(trees, scores, count, tree, value, slack)
        if call > 0:  # the first pass had no π yet, only the backbone
            if goal + shift <= last + slack:
                return
            last = goal + shift
        copy_into(arc_score, base)
        shift = constant[0]
        for c in range(sizes[1]):
            lo = fac_ptr[c]
            hi = fac_ptr[c + 1]
            off = -1
            for i in range(lo, hi):
                if chosen[fac_arcs[i]] == 0:
                    off = i
                    break
            if fac_weight[c] < 0.0:
                arc_score[fac_arcs[lo if off < 0 else off]] += fac_weight[c]
            elif off < 0:
                for i in range(lo, hi):
                    arc_score[fac_arcs[i]] += fac_weight[c]
                shift -= fac_weight[c] * (hi - lo - 1)
