"""The k best trees found so far, as plain arrays shared by all nodes of a search."""

from __future__ import annotations

import numpy as np

from bbparse.bounding.copying import copy_into
from bbparse.jit import kernel


@kernel
def insert_tree(trees, scores, count, tree, score, slack):
    """Insert a tree unless it is there already or too poor; keep scores falling.

    ``trees`` int32[k, n], ``scores`` float64[k] and ``count`` int64[1] change in place. Scores
    closer than ``slack`` count as the same when looking for duplicates. Equal scores keep their
    order of arrival. Returns whether the tree was taken.
    """
    k = scores.shape[0]
    n = count[0]
    if n == k and score <= scores[k - 1]:
        return False
    for i in range(n):
        if abs(scores[i] - score) <= slack:
            same = True
            for m in range(tree.shape[0]):
                if trees[i, m] != tree[m]:
                    same = False
                    break
            if same:
                return False
    at = n if n < k else k - 1
    while at > 0 and scores[at - 1] < score:
        scores[at] = scores[at - 1]
        copy_into(trees[at], trees[at - 1])
        at -= 1
    scores[at] = score
    copy_into(trees[at], tree)
    if n < k:
        count[0] = n + 1
    return True


@kernel
def tree_score(
    tree, base, weights, constant, n_factors, fac_ptr, fac_arcs, fac_weight, hard, chosen
):
    """φ of a tree: hyperedge weights + arc scores + the factors that fire.

    Marks the tree's arcs in ``chosen`` (int8[A]); -inf where a hard factor fires.
    """
    chosen[:] = 0
    score = weights + constant
    for m in range(tree.shape[0]):
        score += base[tree[m]]
        chosen[tree[m]] = 1
    for c in range(n_factors):
        fires = True
        for i in range(fac_ptr[c], fac_ptr[c + 1]):
            if chosen[fac_arcs[i]] == 0:
                fires = False
                break
        if fires:
            if fac_weight[c] <= -hard:
                return -np.inf
            score += fac_weight[c]
    return score
