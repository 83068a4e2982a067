"""The k best trees found so far: arrays that all nodes of a search share."""

from __future__ import annotations

import numpy as np

from bbparse.inference.relaxation.counts import count_score_of
from bbparse.inference.relaxation.multipliers import copy_into
from bbparse.inference.relaxation.state import Incumbents
from bbparse.runtime.arrays import NEG, Float64s, Ints
from bbparse.runtime.jit import kernel


@kernel
def _are_equal(tree, other):
    for m in range(tree.shape[0]):
        if tree[m] != other[m]:
            return False
    return True


@kernel
def insert_tree(best, tree, score, slack):
    """Insert a tree, unless it is a duplicate or too poor; keep scores in descending order.

    ``best`` (`inference.relaxation.state.Incumbents`) changes in place. Scores that differ by at
    most ``slack`` count as equal in the search for duplicates. Trees of equal score keep their
    order of insertion.
    """
    trees, scores, count = best
    k, n = scores.shape[0], count[0]
    if n == k and score <= scores[k - 1]:
        return
    for i in range(n):
        if abs(scores[i] - score) <= slack and _are_equal(trees[i], tree):
            return
    at = min(n, k - 1)
    while at > 0 and scores[at - 1] < score:
        scores[at] = scores[at - 1]
        copy_into(trees[at], trees[at - 1])
        at -= 1
    scores[at] = score
    copy_into(trees[at], tree)
    count[0] = min(n + 1, k)


def insert_trees(best: Incumbents, trees: Ints, values: Float64s) -> None:
    """Insert distinct trees int32[M, n], unless they are known, too poor, or score -inf."""
    found = int(best.found[0])
    known = {tree.tobytes() for tree in best.trees[:found]}
    is_new = [tree.tobytes() not in known for tree in trees]
    new = np.flatnonzero(np.array(is_new, np.bool_) & (values > NEG))
    scores = np.concatenate((best.scores[:found], values[new]))
    order = np.argsort(-scores, kind="stable")[: len(best.scores)]
    best.trees[: len(order)] = np.concatenate((best.trees[:found], trees[new]))[order]
    best.scores[: len(order)] = scores[order]
    best.found[0] = len(order)


def margin_of(quantum: float, slack: float) -> float:
    """Return the minimum score difference by which a tree changes the k best.

    With a quantum q the next better score is q higher (QL13 §4.4: rounding the bound down).
    Without one, trees that are better by less than ``slack`` count as equal.
    """
    return quantum - slack if quantum > 2.0 * slack else slack


@kernel
def floor_to_beat(best, margin):
    """Return the minimum score of a tree that changes the k best: k-th score plus a margin."""
    k = best.scores.shape[0]
    return NEG if best.found[0] < k else best.scores[k - 1] + margin


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
        fires = True
        for i in range(factors.ptr[c], factors.ptr[c + 1]):
            if chosen[factors.arcs[i]] == 0:
                fires = False
                break
        if fires:
            if weight[c] <= -hard:
                return NEG
            score += weight[c]
    return score + count_score_of(node.counts, chosen)
