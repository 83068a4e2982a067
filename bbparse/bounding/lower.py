"""A first lower bound by alternating maximisation of π(p, z) ≤ φ(z) (QL13 §3.4)."""

from __future__ import annotations

import numpy as np

from bbparse.bounding.incumbents import insert_tree, tree_score
from bbparse.bounding.multipliers import copy_into
from bbparse.jit import kernel
from bbparse.oracle.calls import best, scratch_of, size_of, tree_of

NEG = -np.inf


@kernel
def lower_bound_start(node, incumbents, limits, counters):
    """Put trees among the incumbents by maximising π over z (one call of the oracle) and p in turn.

    For fixed z the best p is in closed form: a factor φ ≥ 0 takes its linear bound
    φ(Σ z_e - (r - 1)) where all its arcs are in z and 0 elsewhere; a factor φ < 0 charges φ to
    one arc, outside z if it has one there. π never falls; stop when it no longer rises. The node
    has no count factors, for which π has no form. Arguments as `bound_node` has them; all stay as
    they are but for the incumbents and the counters.
    """
    oracle, factors = node.oracle, node.factors
    if size_of(oracle) == 0:
        return
    scratch = scratch_of(oracle)
    arc_score = node.base.copy()
    chosen = np.zeros(node.base.shape[0], np.int8)
    tree = np.empty(incumbents.trees.shape[1], np.int32)
    last = NEG
    shift = node.constant[0]
    for call in range(limits.calls):
        goal = best(oracle, scratch, arc_score)
        counters[0] += 1.0
        counters[1] += size_of(oracle) / limits.full_size
        if goal == NEG:
            return
        part_score = tree_of(oracle, scratch, arc_score, tree)
        value = tree_score(node, tree, part_score, limits.hard, chosen)
        counters[2] += 1.0
        if value > NEG:
            insert_tree(incumbents, tree, value, limits.slack)
        if call > 0:  # the first pass had no π yet, only the backbone
            if goal + shift <= last + limits.slack:
                return
            last = goal + shift
        copy_into(arc_score, node.base)
        shift = node.constant[0]
        for c in range(factors.size[0]):
            lo = factors.ptr[c]
            hi = factors.ptr[c + 1]
            off = -1
            for i in range(lo, hi):
                if chosen[factors.arcs[i]] == 0:
                    off = i
                    break
            if factors.weight[c] < 0.0:
                arc_score[factors.arcs[lo if off < 0 else off]] += factors.weight[c]
            elif off < 0:
                for i in range(lo, hi):
                    arc_score[factors.arcs[i]] += factors.weight[c]
                shift -= factors.weight[c] * (hi - lo - 1)
