"""Best non-projective trees: the algorithm of Chu-Liu and Edmonds, with an exact single root.

Arcs are sorted by modifier: those into word m are ``mod_ptr[m] : mod_ptr[m + 1]``. Several arcs may
join the same two words (labels), so there is no table of pairs, and a pruned sentence costs less.

The search extends a path of best entering arcs backwards and contracts the cycles that it closes
(Tarjan 1977). Picking an arc lowers all arcs into a word by the same amount, so the amount is
stored once per word; a pick reads the arcs into its set of words. Cost O(arcs · depth), where depth
is the nesting of contracted cycles: usually two or three, at most n.

Single root: scores are pairs (-1 for an arc from the root, score), compared from the left, so that
the best tree has as few root arcs as possible. This is the large penalty of Gabow & Tarjan 1984
("Efficient algorithms for a family of matroid intersection problems") without its rounding errors.

The amounts of all contractions solve the dual of the tree's linear program, so every arc gets, at
no cost, a bound on the trees that use it (its reduced score).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.runtime.arrays import NEG, Float64s, Ints, Longs
from bbparse.runtime.clock import is_over
from bbparse.runtime.jit import kernel

#: The best tree over fewer arcs takes a fraction of a second, and is found at any time.
_MANY_ARCS = 2**18


class Contraction(NamedTuple):
    """Words and contracted sets of words: the words come first, set 0 is the root."""

    top: Longs  # [n + 1], outermost set of each word
    parent: Longs  # [sets], -1: outermost
    first: Longs  # [sets], words of a set, as a chained list
    last: Longs
    chain: Longs  # [n + 1]
    state: NDArray[np.int8]  # [sets], 0 new, 1 on the path, 2 hangs from the root
    entering: Longs  # [sets], picked arc
    lost: Float64s  # [n + 1], subtracted so far from all arcs into a word
    lost_level: Longs  # [n + 1]
    settled: NDArray[np.bool_]  # [A], inside a contracted set


@kernel
def _words_alone(n, n_arcs):
    """Return the sets of one word each, of which only the root is settled."""
    size = 2 * n + 2
    sets = Contraction(
        np.arange(n + 1),
        np.full(size, -1, np.int64),
        np.full(size, -1, np.int64),
        np.full(size, -1, np.int64),
        np.full(n + 1, -1, np.int64),
        np.zeros(size, np.int8),
        np.full(size, -1, np.int64),
        np.zeros(n + 1),
        np.zeros(n + 1, np.int64),
        np.zeros(n_arcs, np.bool_),
    )
    for m in range(n + 1):
        sets.first[m] = sets.last[m] = m
    sets.state[0] = 2
    return sets


@kernel(inline=True)
def _pick(sets, current, mod_ptr, arc_head, arc_score, single_root, reduced):
    """Return the best arc that enters a set, -1 if there is none, its level and its score.

    Arcs inside the set are settled.
    """
    top, chain, settled = sets.top, sets.chain, sets.settled
    lost, lost_level = sets.lost, sets.lost_level
    best, best_level, best_value = -1, 0, NEG
    m = sets.first[current]
    while m >= 0:
        for a in range(mod_ptr[m], mod_ptr[m + 1]):
            if settled[a] or arc_score[a] == NEG:
                continue
            h = arc_head[a]
            level, value = -lost_level[m], arc_score[a] - lost[m]
            if single_root and h == 0:
                level -= 1
            if top[h] == current:
                settled[a] = True
                reduced[a] = value if level == 0 else NEG
            elif best < 0 or level > best_level or (level == best_level and value > best_value):
                best, best_level, best_value = a, level, value
        m = chain[m]
    return best, best_level, best_value


@kernel(inline=True)
def _contract(sets, merged, stack, height, above):
    """Make one set of those on the path from set ``above`` on; return the height of the rest."""
    first, last, chain = sets.first, sets.last, sets.chain
    while True:
        height -= 1
        inner = stack[height]
        sets.parent[inner] = merged
        m = first[inner]
        while m >= 0:
            sets.top[m] = merged
            m = chain[m]
        if first[merged] < 0:
            first[merged] = first[inner]
        else:
            chain[last[merged]] = first[inner]
        last[merged] = last[inner]
        if inner == above:
            return height


@kernel
def _expand(sets, n_sets, mod_ptr):
    """Replace the arc into the subset in which an arc into a contracted set ends."""
    n = sets.top.shape[0] - 1
    for c in range(n_sets - 1, n, -1):
        a = sets.entering[c]
        inner = 0
        for m in range(1, n + 1):  # the word that the arc enters
            if mod_ptr[m] <= a < mod_ptr[m + 1]:
                inner = m
                break
        while sets.parent[inner] != c:
            inner = sets.parent[inner]
        sets.entering[inner] = a


@kernel
def _write(sets, mod_ptr, arc_head, arc_score, single_root, tree, reduced):
    """Write the tree and the reduced scores; return the score, -inf if there is no tree."""
    lost, lost_level, settled = sets.lost, sets.lost_level, sets.settled
    score, roots = 0.0, 0
    for m in range(1, tree.shape[0] + 1):
        a = sets.entering[m]
        tree[m - 1] = a
        score += arc_score[a]
        roots += arc_head[a] == 0
        for b in range(mod_ptr[m], mod_ptr[m + 1]):
            if arc_score[b] == NEG:
                reduced[b] = NEG
            elif not settled[b]:
                level = -lost_level[m] - (single_root and arc_head[b] == 0)
                reduced[b] = arc_score[b] - lost[m] if level == 0 else NEG
            reduced[b] = min(reduced[b], 0.0)
    return NEG if single_root and roots != 1 else score


@kernel
def best_arborescence(mod_ptr, arc_head, arc_score, single_root, tree, reduced, info, until):
    """Find the best tree; return its score, -inf if there is none.

    Arcs into word m are ``mod_ptr[m] : mod_ptr[m + 1]`` (int32[n + 2]; word 0 has none), with
    ``arc_head`` int32[A] and ``arc_score`` float64[A], -inf for removed arcs. Written are ``tree``
    int32[n], the arc of each word, of equal ones the first; ``reduced`` float64[A], no tree with
    arc a scores more than the best plus ``reduced[a]`` (<= 0; -inf: there is no such tree, or the
    arc is removed); and ``info`` float64[1], the largest magnitude in the additions, for error
    bounds. The score of a tree over many arcs that is not found before the time ``until`` is NaN.
    """
    n, is_large = mod_ptr.shape[0] - 2, arc_head.shape[0] > _MANY_ARCS
    sets, n_sets = _words_alone(n, arc_head.shape[0]), n + 1
    state, stack = sets.state, np.empty(2 * n + 2, np.int64)
    info[0] = 0.0
    for start in range(1, n + 1):
        current, height = sets.top[start], 0
        while state[current] != 2:
            if is_large and is_over(until):
                return np.nan
            a, level, value = _pick(
                sets, current, mod_ptr, arc_head, arc_score, single_root, reduced
            )
            if a < 0:
                return NEG
            sets.entering[current] = a
            info[0] = max(info[0], abs(value))
            m = sets.first[current]
            while m >= 0:
                sets.lost[m] += value
                sets.lost_level[m] += level
                info[0] = max(info[0], abs(sets.lost[m]))
                m = sets.chain[m]
            state[current] = 1
            stack[height] = current
            height += 1
            above = sets.top[arc_head[a]]
            if state[above] == 1:  # the path has closed a cycle: its sets become one
                height = _contract(sets, n_sets, stack, height, above)
                current = n_sets
                n_sets += 1
            else:
                current = above
        for i in range(height):
            state[stack[i]] = 2
    _expand(sets, n_sets, mod_ptr)
    return _write(sets, mod_ptr, arc_head, arc_score, single_root, tree, reduced)


class Arborescence(NamedTuple):
    """A best tree; see `best_arborescence`."""

    value: float
    arcs: Ints  # [n], the arc of each word; none if there is no tree or time is over
    reduced: Float64s
    largest: float


def arborescence_over(
    n: int, head: Ints, mod: Ints, score: Float64s, single_root: bool, until: float = np.inf
) -> Arborescence:
    """Find the best tree of n words over arcs in any order; see `best_arborescence`."""
    order = np.argsort(mod, kind="stable").astype(np.int32)
    ptr = np.searchsorted(mod[order], np.arange(n + 2)).astype(np.int32)
    tree, reduced, info = np.empty(n, np.int32), np.empty((2, len(order))), np.empty(1)
    value = best_arborescence(
        ptr, head[order], score[order], single_root, tree, reduced[0], info, until
    )
    reduced[1, order] = reduced[0]
    arcs = order[tree] if value > NEG else np.empty(0, np.int32)
    return Arborescence(float(value), arcs, reduced[1], float(info[0]))
