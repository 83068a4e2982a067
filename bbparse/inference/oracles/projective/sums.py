"""Sums over the projective trees of a chart instead of maxima: the likelihood of a tree.

Derivations and projective trees correspond one to one (`projective.build`), so a sum
over all derivations is a sum over all trees. Its gradient are the probabilities of arcs and parts
(Baker 1979; Eisner 2016).

This is not `projective.passes` in another semiring: the fractions of sums that the inside pass
leaves behind make the outside pass one product for each hyperedge, without a logarithm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bbparse.core.score_kernels import tree_parts
from bbparse.inference.oracles.projective.build import build_chart
from bbparse.inference.oracles.projective.weights import empty_weights, index_groups
from bbparse.runtime.arrays import Ints
from bbparse.runtime.jit import kernel

_LEAST = -25.0  # log of the fraction of a sum below which terms are left out


class TreeChart(NamedTuple):
    """The chart of a sentence over candidate arcs, without scores.

    Hyperedge e with slot[e] != -1 adds the scores of sibling ``of_sib[slot[e]]`` and grandchild
    ``of_gc[slot[e]]``. These index the columns of `sib` (head, inner, outer) and `gc` (grand,
    head, mod); a grandchild of -1 adds nothing.
    """

    item_ptr: Ints
    item_group: Ints
    left: Ints
    right: Ints
    slot: Ints
    of_sib: Ints
    of_gc: Ints
    sib: Ints
    gc: Ints


@kernel
def tree_chart(n, head, mod, mode, single_root):
    """Build the `TreeChart` of arcs that are sorted by (head, mod).

    Recurrence ``mode`` (`inference.oracles.projective.recurrences`) is 0 for arcs alone, 1 for
    arcs and siblings, 3 for grandchildren, too.
    """
    n_arcs = head.shape[0]
    index = index_groups(n, head, mod)
    weights = empty_weights(head, mod, mode, index)
    ranks, ctx_ptr, inc_ptr = weights.ranks, weights.ctx_ptr, weights.inc_ptr
    # Each hyperedge gets the number of the part that it completes in place of its score.
    n_slots = weights.inc_w.shape[0]
    for slot in range(n_slots):
        weights.inc_w[slot] = slot + 1
    groups = np.arange(n_arcs + 1).astype(np.int32)
    chart = build_chart(head, mod, mode, single_root, index, weights, groups, np.inf)
    sib = np.empty((3, ranks.sum()), np.int32)
    gc = np.empty((3, ctx_ptr[n_arcs] if mode == 3 else 0), np.int32)
    of_sib = np.empty(n_slots, np.int32)
    of_gc = np.empty(n_slots, np.int32)
    n_sib = n_gc = 0
    for b in range(n_arcs):
        h = head[b]
        contexts = ctx_ptr[b + 1] - ctx_ptr[b]
        of_context = np.full(contexts, -1, np.int32)
        for j in range(index.in_ptr[h + 1] - index.in_ptr[h] if mode == 3 else 0):
            g = head[index.in_list[index.in_ptr[h] + j]]
            if g != mod[b]:
                gc[0, n_gc], gc[1, n_gc], gc[2, n_gc] = g, h, mod[b]
                of_context[j] = n_gc
                n_gc += 1
        for rank in range(ranks[b]):
            s = index.out_mid[h] + rank - 1 if mod[b] > h else index.out_mid[h] - rank
            sib[0, n_sib], sib[2, n_sib] = h, mod[b]
            sib[1, n_sib] = mod[s] if rank > 0 else -1
            for j in range(contexts):
                slot = inc_ptr[b] + j * ranks[b] + rank
                of_sib[slot] = n_sib
                of_gc[slot] = of_context[j]
            n_sib += 1
    slots = chart.weight.astype(np.int32) - np.int32(1)
    return TreeChart(
        chart.item_ptr,
        chart.item_group,
        chart.left,
        chart.right,
        slots,
        of_sib,
        of_gc,
        sib if mode > 0 else sib[:, :0].copy(),
        gc[:, :n_gc].copy(),
    )


@kernel
def gold_parts(heads, head, mod, sib, gc):
    """Return masks (bool) of the arcs, siblings and grandchildren of a tree, int32[n + 1] heads."""
    grand, inner, _ = tree_parts(heads)
    arcs = heads[mod] == head
    siblings = np.empty(sib.shape[1], np.bool_)
    for i in range(sib.shape[1]):
        m = sib[2, i]
        siblings[i] = heads[m] == sib[0, i] and inner[m] == sib[1, i]
    grandchildren = np.empty(gc.shape[1], np.bool_)
    for i in range(gc.shape[1]):
        m = gc[2, i]
        grandchildren[i] = heads[m] == gc[1, i] and grand[m] == gc[0, i]
    return arcs, siblings, grandchildren


@kernel
def log_sum(chart, arc, sib, gc, d_arc, d_sib, d_gc):  # noqa: C901 – one recurrence, there and back
    """Return the log of the sum of exp(score) over all trees; add its gradient, the marginals.

    Scores are float64; those of arcs follow the chart's groups. The gradients `d_arc`, `d_sib` and
    `d_gc` must be zeros. Terms below e^-25 of a sum are left out.
    """
    item_ptr, item_group, left, right, slot, of_sib, of_gc, _, _ = chart
    # without a sign, indices need no check whether they count from the end
    item_ptr = item_ptr.astype(np.uint64)
    left, right = left.view(np.uint32), right.view(np.uint32)
    n_items = item_group.shape[0]
    inside = np.empty(n_items)
    inside[0] = 0.0
    # of each hyperedge: the log of its term of a sum, then its fraction of the sum
    share = np.empty(left.shape[0])
    for i in range(1, n_items):
        top = -np.inf
        for e in range(item_ptr[i], item_ptr[i + 1]):
            value = inside[left[e]] + inside[right[e]]
            if slot[e] >= 0:
                value += sib[of_sib[slot[e]]]
                if of_gc[slot[e]] >= 0:
                    value += gc[of_gc[slot[e]]]
            top = max(top, value)
            share[e] = value
        total = 0.0
        for e in range(item_ptr[i], item_ptr[i + 1]):
            value = share[e] - top
            # most items have one term that stands out, or no other
            share[e] = 1.0 if value == 0.0 else np.exp(value) if value > _LEAST else 0.0
            total += share[e]
        inside[i] = top
        if total > 1.0:
            inside[i] += np.log(total)
            for e in range(item_ptr[i], item_ptr[i + 1]):
                share[e] /= total
        if item_group[i] >= 0:
            inside[i] += arc[item_group[i]]
    marginal = np.zeros(n_items)
    marginal[n_items - 1] = 1.0
    for i in range(n_items - 1, 0, -1):
        if marginal[i] == 0.0:
            continue
        if item_group[i] >= 0:
            d_arc[item_group[i]] += marginal[i]
        for e in range(item_ptr[i], item_ptr[i + 1]):
            if share[e] == 0.0:
                continue
            probability = marginal[i] * share[e]
            marginal[left[e]] += probability
            marginal[right[e]] += probability
            if slot[e] >= 0:
                d_sib[of_sib[slot[e]]] += probability
                if of_gc[slot[e]] >= 0:
                    d_gc[of_gc[slot[e]]] += probability
    return inside[n_items - 1]
