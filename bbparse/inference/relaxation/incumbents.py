"""The k best trees found so far: arrays that all nodes of a search share.

The first trees may come from alternating maximisation of a lower bound, π(p, z) ≤ φ(z) (QL13 §3.4).
"""

from __future__ import annotations

import numpy as np

from bbparse.inference.oracles.calls import best, scratch_of, size_of, tree_of
from bbparse.inference.relaxation.counts import count_score_of
from bbparse.inference.relaxation.multipliers import copy_into
from bbparse.inference.relaxation.state import Incumbents
from bbparse.runtime.arrays import NEG, Float64s, Ints
from bbparse.runtime.clock import is_over
from bbparse.runtime.jit import kernel


@kernel
def _is_known(best, tree, score, slack):
    """Return True if the incumbents contain a tree, with a score within ``slack``."""
    trees, scores, count, place = best
    first, last = 0, count[0]  # the first tree that scores no more than this one and the slack
    while first < last:
        middle = (first + last) // 2
        if scores[middle] - score > slack:
            first = middle + 1
        else:
            last = middle
    while first < count[0] and score - scores[first] <= slack:
        same = True
        for m in range(tree.shape[0]):
            if trees[place[first], m] != tree[m]:
                same = False
                break
        if same:
            return True
        first += 1
    return False


@kernel
def insert_tree(best, tree, score, slack):
    """Insert a tree, unless it is a duplicate or too poor; keep scores in descending order.

    ``best`` (`inference.relaxation.state.Incumbents`) changes in place. Scores that differ by at
    most ``slack`` count as equal in the search for duplicates. Trees of equal score keep their
    order of insertion. Returns True if the tree was inserted.
    """
    trees, scores, count, place = best
    k = scores.shape[0]
    n = count[0]
    if (n == k and score <= scores[k - 1]) or _is_known(best, tree, score, slack):
        return False
    at = n if n < k else k - 1
    row = place[at]  # rows are not moved: insertion costs little even if k is large
    while at > 0 and scores[at - 1] < score:
        scores[at] = scores[at - 1]
        place[at] = place[at - 1]
        at -= 1
    scores[at] = score
    place[at] = row
    copy_into(trees[row], tree)
    if n < k:
        count[0] = n + 1
    return True


def insert_trees(best: Incumbents, trees: Ints, values: Float64s) -> None:
    """Insert distinct trees int32[M, n], unless they are known, too poor, or score -inf.

    Of equal scores, those of trees that are known come first, then the order of ``trees``.
    """
    rows = best.place[: best.found[0]]
    known = {tree.tobytes() for tree in best.trees[rows]}
    is_new = [tree.tobytes() not in known for tree in trees]
    new = np.flatnonzero(np.array(is_new, np.bool_) & (values > NEG))
    scores = np.concatenate((best.scores[: len(rows)], values[new]))
    order = np.argsort(-scores, kind="stable")[: len(best.scores)]
    best.trees[: len(order)] = np.concatenate((best.trees[rows], trees[new]))[order]
    best.scores[: len(order)] = scores[order]
    best.place[:] = np.arange(len(best.place))
    best.found[0] = len(order)


def margin(quantum: float, slack: float) -> float:
    """Return the minimum score difference by which a tree changes the k best."""
    return quantum - slack if quantum > 2.0 * slack else slack


margin_of = kernel(margin)


@kernel
def floor_to_beat(best, quantum, slack):
    """Return the minimum score of a tree that changes the k best: k-th score plus a margin.

    With a quantum q the next better score is q higher (QL13 §4.4: rounding the bound down).
    Without one, trees that are better by less than ``slack`` count as equal.
    """
    k = best.scores.shape[0]
    return NEG if best.found[0] < k else best.scores[k - 1] + margin_of(quantum, slack)


@kernel(inline=True)
def _fires(factors, c, chosen):
    """Return True if all arcs of a factor are among the chosen ones."""
    for i in range(factors.ptr[c], factors.ptr[c + 1]):
        if chosen[factors.arcs[i]] == 0:
            return False
    return True


@kernel
def tree_score(node, tree, part_score, hard, chosen):
    """Return φ of a tree of a node: parts, arc scores, and factors and count factors that fire.

    Marks the tree's arcs in ``chosen`` (int8[A]). The score is -inf if a hard factor fires.
    """
    factors, base = node.factors, node.base
    weight = factors.weight
    chosen[:] = 0
    score = part_score + node.constant[0]
    for m in range(tree.shape[0]):
        score += base[tree[m]]
        chosen[tree[m]] = 1
    for c in range(factors.size[0]):
        if _fires(factors, c, chosen):
            if weight[c] <= -hard:
                return NEG
            score += weight[c]
    return score + count_score_of(node.counts, chosen)


@kernel
def tree_scores(node, trees, part_scores, hard):
    """Return `tree_score` of many trees, float64[K].

    Only factors whose first arc is in a tree are checked for that tree.
    """
    factors = node.factors
    ptr, arcs, weight, _, size = factors
    base = node.base
    last, before = np.full(base.shape[0], -1), np.empty(size[0], np.int64)
    for c in range(size[0]):  # by the first arc
        before[c] = last[arcs[ptr[c]]]
        last[arcs[ptr[c]]] = c
    chosen = np.zeros(base.shape[0], np.int8)
    scores = np.empty(trees.shape[0])
    for t in range(trees.shape[0]):
        score = part_scores[t] + node.constant[0]
        for a in trees[t]:
            score += base[a]
            chosen[a] = 1
        for a in trees[t]:
            c = last[a]
            while c >= 0:
                if _fires(factors, c, chosen):
                    score += weight[c] if weight[c] > -hard else NEG
                c = before[c]
        scores[t] = score + count_score_of(node.counts, chosen)
        for a in trees[t]:
            chosen[a] = 0
    return scores


@kernel(stage="branch and bound")
def lower_bound_start(node, incumbents, limits, counters):
    """Insert trees found by maximising π over z (one oracle call) and over p in alternation.

    For fixed z the best p has a closed form. A factor φ ≥ 0 takes its linear bound
    φ(Σ z_e - (r - 1)) if all its arcs are in z, and 0 otherwise. A factor φ < 0 charges φ to one
    arc, one outside z if possible. π never falls; the kernel stops when it no longer rises. The
    node must have no count factors, for which π is not defined. Arguments are those of
    `bound_node`; only the incumbents and the counters change.
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
        if is_over(limits.until):
            return
        goal = best(oracle, scratch, arc_score, limits.until)
        counters[0] += 1.0
        counters[1] += size_of(oracle) / limits.full_size
        if not goal > NEG:
            return
        part_score = tree_of(oracle, scratch, arc_score, tree)
        value = tree_score(node, tree, part_score, limits.hard, chosen)
        counters[2] += 1.0
        if value > NEG:
            insert_tree(incumbents, tree, value, limits.slack)
        if call > 0:  # the first pass maximises the backbone alone, without π
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
