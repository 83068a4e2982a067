"""Rescore whole trees (φ), in the order of the problem's arrays.

The search adds the same terms in a different order at every node. These kernels compute the score
that a user sees; it does not depend on how the tree was found, nor on the order of the factors. The
magnitudes of the terms determine how exact a score has to be.
"""

from __future__ import annotations

import numpy as np

from bbparse.core import Problem
from bbparse.core.parts import ANY, OUTERMOST
from bbparse.runtime.arrays import Float64s, Ints
from bbparse.runtime.jit import kernel


@kernel
def add_up(terms):
    """Add up terms nearly exactly, in any order, by two doubles (Neumaier 1974).

    Returns the sum, the sum of the magnitudes, and the smallest nonzero magnitude (inf: none).
    """
    total, low, size, least = 0.0, 0.0, 0.0, np.inf
    for value in terms:
        new = total + value
        if abs(total) >= abs(value):
            low += (total - new) + value
        else:
            low += (value - new) + total
        total = new
        magnitude = abs(value)
        size += magnitude
        if 0.0 < magnitude < least:
            least = magnitude
    return total + low if total > -np.inf else total, size, least


@kernel
def tree_parts(heads):
    """Return the parts of a tree: at most one of each kind for every modifier.

    ``heads`` is int32[n+1]; heads[0] is not read. The results are int32[n+1] arrays indexed by
    modifier: ``grand`` (head of the head, -1 under the root), ``inner`` (next modifier towards the
    head, -1 if there is none) and ``outermost`` (1 for the farthest modifier on its side, else 0).
    """
    n = heads.shape[0] - 1
    grand = np.full(n + 1, np.int32(-1), np.int32)
    inner = np.full(n + 1, np.int32(-1), np.int32)
    outermost = np.zeros(n + 1, np.int32)
    left = np.full(n + 1, np.int32(-1), np.int32)  # modifier seen last on this side
    right = np.full(n + 1, np.int32(-1), np.int32)
    for m in range(1, n + 1):
        h = heads[m]
        if h > 0:
            grand[m] = heads[h]
        if m > h:
            inner[m] = right[h]
            outermost[m] = 1
            if right[h] >= 0:
                outermost[right[h]] = 0
            right[h] = m
        else:
            if left[h] >= 0:
                inner[left[h]] = m
            else:
                outermost[m] = 1
            left[h] = m
    return grand, inner, outermost


@kernel
def _add_parts(parts, heads, terms, used):
    """Append the scores of the parts that fire in a tree; return the number of terms.

    ``parts`` are the ``part_table`` of the problem. Parts of the kind `OUTERMOST` fire only if
    their modifier is the farthest on its side.
    """
    words, score, kind_ptr = parts
    first, end = kind_ptr[OUTERMOST], kind_ptr[OUTERMOST + 1]
    grand, inner, farthest = tree_parts(heads)
    for i in range(score.shape[0]):
        g, h, s, m = words[0, i], words[1, i], words[2, i], words[3, i]
        if (
            heads[m] == h
            and (g == ANY or g == grand[m])
            and (s == ANY or s == inner[m])
            and (farthest[m] == 1 or not first <= i < end)
        ):
            terms[used] = score[i]
            used += 1
    return used


@kernel
def write_trees(trees, arc_head, arc_score, parts, others):
    """Return the heads int32[K, n + 1] of trees int32[K, n], and their exact scores float64[3, K].

    The rows of the scores are φ, the sum of the magnitudes of all terms of a tree, and the smallest
    nonzero magnitude (inf: there is none). The arrays are those of the problem, ``parts`` its
    ``part_table``; ``others`` are further terms of each tree, float64[K, T], 0 where there is none.
    """
    n_parts, n_others = parts[1].shape[0], others.shape[1]
    n_trees, n = trees.shape
    terms = np.empty(n + n_parts + n_others)
    heads, scores = np.empty((n_trees, n + 1), np.int32), np.empty((3, n_trees))
    for t in range(n_trees):
        heads[t, 0] = -1
        for m in range(n):
            heads[t, m + 1] = arc_head[trees[t, m]]
            terms[m] = arc_score[trees[t, m]]
        used = n
        if n_parts > 0:
            used = _add_parts(parts, heads[t], terms, used)
        for i in range(n_others):
            terms[used + i] = others[t, i]
        scores[0, t], scores[1, t], scores[2, t] = add_up(terms[: used + n_others])
    return heads, scores


@kernel
def _factor_terms(trees, arc_mod, ptr, arcs, score):
    """Return the scores of the factors that fire in trees, float64[K, F]; 0 for the others."""
    terms = np.zeros((trees.shape[0], score.shape[0]))
    for t in range(trees.shape[0]):
        for c in range(score.shape[0]):
            fires = True
            for i in range(ptr[c], ptr[c + 1]):
                if trees[t, arc_mod[arcs[i]] - 1] != arcs[i]:
                    fires = False
                    break
            if fires:
                terms[t, c] = score[c]
    return terms


@kernel
def _count_terms(trees, arc_mod, ptr, arcs, score_ptr, score):
    """Return the scores of the counts of trees, float64[K, C]."""
    terms = np.empty((trees.shape[0], ptr.shape[0] - 1))
    for t in range(trees.shape[0]):
        for c in range(terms.shape[1]):
            number = 0
            for i in range(ptr[c], ptr[c + 1]):
                number += trees[t, arc_mod[arcs[i]] - 1] == arcs[i]
            terms[t, c] = score[score_ptr[c] + number]
    return terms


def scored_trees(problem: Problem, trees: Ints) -> tuple[Ints, Float64s]:
    """Return the heads of trees, int32[K, n] arcs, and their scores, as `write_trees` does."""
    p, arcs = problem, np.array(trees, np.int32, order="C")
    others = np.empty((len(arcs), 0))
    if len(p.factor_score):
        others = _factor_terms(arcs, p.arc_mod, p.factor_ptr, p.factor_arcs, p.factor_score)
    if len(p.count_ptr) > 1:
        counts = _count_terms(
            arcs, p.arc_mod, p.count_ptr, p.count_arcs, p.count_score_ptr, p.count_score
        )
        others = np.concatenate([others, counts], axis=1)
    return write_trees(arcs, p.arc_head, p.arc_score, p.part_table, others)
