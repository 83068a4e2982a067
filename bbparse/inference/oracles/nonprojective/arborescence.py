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

import numpy as np

from bbparse.runtime.arrays import NEG
from bbparse.runtime.jit import kernel


@kernel
def best_arborescence(mod_ptr, arc_head, arc_score, single_root, tree, reduced, info):  # noqa: C901, PLR0915 – one algorithm: contract, then expand
    """Find the best tree; return its score, -inf if there is none.

    Arcs into word m are ``mod_ptr[m] : mod_ptr[m + 1]`` (int32[n + 2]; word 0 has none), with
    ``arc_head`` int32[A] and ``arc_score`` float64[A], -inf for removed arcs. Written are ``tree``
    int32[n], the arc of each word, of equal ones the first; ``reduced`` float64[A], no tree with
    arc a scores more than the best plus ``reduced[a]`` (<= 0; -inf: there is no such tree, or the
    arc is removed); and ``info`` float64[1], the largest magnitude in the additions, for error
    bounds.
    """
    n = mod_ptr.shape[0] - 2
    size = 2 * n + 2
    info[0] = 0.0
    top = np.arange(n + 1)  # outermost contracted set of each word
    parent = np.full(size, -1, np.int64)
    first = np.full(size, -1, np.int64)  # words of a set, as a chained list
    last = np.full(size, -1, np.int64)
    chain = np.full(n + 1, -1, np.int64)
    state = np.zeros(size, np.int8)  # 0 new, 1 on the path, 2 hangs from the root
    entering = np.full(size, -1, np.int64)
    lost = np.zeros(n + 1)  # subtracted so far from all arcs into a word
    lost_level = np.zeros(n + 1, np.int64)
    stack = np.empty(size, np.int64)
    settled = np.zeros(arc_head.shape[0], np.bool_)  # inside a contracted set
    for m in range(n + 1):
        first[m] = m
        last[m] = m
    state[0] = 2
    sets = n + 1
    for start in range(1, n + 1):
        current = top[start]
        if state[current] == 2:
            continue
        height = 0
        while True:
            best = -1
            best_level = 0
            best_value = NEG
            m = first[current]
            while m >= 0:
                for a in range(mod_ptr[m], mod_ptr[m + 1]):
                    if settled[a] or arc_score[a] == NEG:
                        continue
                    h = arc_head[a]
                    level = -lost_level[m]
                    value = arc_score[a] - lost[m]
                    if top[h] == current:
                        settled[a] = True
                        if single_root and h == 0:
                            level -= 1
                        reduced[a] = value if level == 0 else NEG
                        continue
                    if single_root and h == 0:
                        level -= 1
                    if best < 0 or level > best_level or (
                        level == best_level and value > best_value
                    ):
                        best = a
                        best_level = level
                        best_value = value
                m = chain[m]
            if best < 0:
                return NEG
            entering[current] = best
            info[0] = max(info[0], abs(best_value))
            m = first[current]
            while m >= 0:
                lost[m] += best_value
                lost_level[m] += best_level
                info[0] = max(info[0], abs(lost[m]))
                m = chain[m]
            state[current] = 1
            stack[height] = current
            height += 1
            above = top[arc_head[best]]
            if state[above] == 2:
                for i in range(height):
                    state[stack[i]] = 2
                break
            if state[above] == 0:
                current = above
                continue
            merged = sets  # the path has closed a cycle: its sets become one
            sets += 1
            while True:
                height -= 1
                inner = stack[height]
                parent[inner] = merged
                m = first[inner]
                while m >= 0:
                    top[m] = merged
                    m = chain[m]
                if first[merged] < 0:
                    first[merged] = first[inner]
                else:
                    chain[last[merged]] = first[inner]
                last[merged] = last[inner]
                if inner == above:
                    break
            current = merged

    # An arc that enters a contracted set replaces the arc into the subset that it ends in.
    for c in range(sets - 1, n, -1):
        a = entering[c]
        inner = 0
        for m in range(1, n + 1):  # the word that the arc enters
            if mod_ptr[m] <= a < mod_ptr[m + 1]:
                inner = m
                break
        while parent[inner] != c:
            inner = parent[inner]
        entering[inner] = a
    score = 0.0
    roots = 0
    for m in range(1, n + 1):
        a = entering[m]
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
    if single_root and roots != 1:
        return NEG
    return score
