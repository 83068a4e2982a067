"""The k best trees found so far, as plain arrays shared by all nodes of a search."""

from __future__ import annotations

import numpy as np

from bbparse.bounding.counts import count_score_of
from bbparse.bounding.multipliers import copy_into
from bbparse.jit import kernel

NEG = -np.inf


@kernel
def insert_tree(best, tree, score, slack):
    """Insert a tree unless it is there already or too poor; keep scores falling.

    ``best`` (:class:`bbparse.bounding.state.Incumbents`) changes in place. Scores closer than
    ``slack`` count as the same when looking for duplicates. Equal scores keep their order of
    arrival. Returns whether the tree was taken.
    """
    trees, scores, count, place = best
    k = scores.shape[0]
    n = count[0]
    if n == k and score <= scores[k - 1]:
        return False
    first, last = 0, n  # the first tree that scores no more than this one and the slack
    while first < last:
        middle = (first + last) // 2
        if scores[middle] - score > slack:
            first = middle + 1
        else:
            last = middle
    while first < n and score - scores[first] <= slack:
        same = True
        for m in range(tree.shape[0]):
            if trees[place[first], m] != tree[m]:
                same = False
                break
        if same:
            return False
        first += 1
    at = n if n < k else k - 1
    row = place[at]  # rows stay where they are, so that many trees cost little more than few
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


@kernel
def margin_of(quantum, slack):
    """By how much a tree must be better than the k-th one to change the k best."""
    return quantum - slack if quantum > 2.0 * slack else slack


@kernel
def floor_to_beat(best, quantum, slack):
    """Least score of a tree that would change the k best: the k-th score and a little more.

    With a quantum q the next better score is q higher (QL13 §4.4: rounding the bound down);
    without one, trees better by less than ``slack`` count as equal.
    """
    k = best.scores.shape[0]
    return NEG if best.found[0] < k else best.scores[k - 1] + margin_of(quantum, slack)


@kernel
def tree_score(node, tree, part_score, hard, chosen):
    """φ of a tree of a node: parts + arc scores + the factors and count factors that fire.

    Marks the tree's arcs in ``chosen`` (int8[A]); -inf where a hard factor fires.
    """
    ptr, arcs, weight, _, size = node.factors
    base = node.base
    chosen[:] = 0
    score = part_score + node.constant[0]
    for m in range(tree.shape[0]):
        score += base[tree[m]]
        chosen[tree[m]] = 1
    for c in range(size[0]):
        fires = True
        for i in range(ptr[c], ptr[c + 1]):
            if chosen[arcs[i]] == 0:
                fires = False
                break
        if fires:
            if weight[c] <= -hard:
                return NEG
            score += weight[c]
    return score + count_score_of(node.counts, chosen)
