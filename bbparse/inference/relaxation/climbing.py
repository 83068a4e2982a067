"""Hill climbing: improve a tree by moving one word at a time to another head.

In long sentences the best arborescence under multipliers that have not converged is a poor tree,
and without a good tree nothing can be eliminated.
"""

from __future__ import annotations

import numpy as np

from bbparse.inference.oracles.nonprojective.automata import parts_of
from bbparse.inference.relaxation.incumbents import insert_tree, tree_score
from bbparse.runtime.arrays import NEG
from bbparse.runtime.clock import is_over
from bbparse.runtime.jit import kernel

#: Maximum number of passes over all words.
_MOST_PASSES = 4


@kernel
def climb(o, node, limits, incumbents, counters):  # noqa: C901, PLR0915 – one pass over words, heads and changes
    """Improve the best incumbent by moving words to better heads; insert the result."""
    in_ptr, in_list, group_ptr, base = o.in_ptr, o.in_list, o.group_ptr, node.base
    n, parts = in_ptr.shape[0] - 2, o.flags[1]
    tree = incumbents.trees[incumbents.place[0]].copy()
    best = incumbents.scores[0]
    chosen = np.empty(base.shape[0], np.int8)
    picked = np.zeros(o.head.shape[0], np.int8)
    up = np.full(n + 1, -1, np.int64)  # index of each word's pair in in_list
    for m in range(1, n + 1):
        for i in range(in_ptr[m], in_ptr[m + 1]):
            c = in_list[i]
            if group_ptr[c] <= tree[m - 1] < group_ptr[c + 1]:
                if base[tree[m - 1]] == NEG:
                    return  # the incumbent belongs to another node
                up[m] = i
                picked[c] = 1
    own = np.zeros(n + 1)
    total = 0.0
    if parts:
        for h in range(n + 1):
            own[h] = parts_of(o, h, up[h], picked)
            total += own[h]
    improved = False
    waits = 0  # words visited since the last move
    for step in range(_MOST_PASSES * n):
        m = step % n + 1
        waits += 1
        if waits > n or is_over(limits.until):
            break
        for i in range(in_ptr[m], in_ptr[m + 1]):
            c, last = in_list[i], up[m]
            h, before = o.head[c], o.head[in_list[last]]
            if i == last or (o.flags[0] and (h == 0 or before == 0)):
                continue
            arc = group_ptr[c]
            for a in range(arc + 1, group_ptr[c + 1]):
                if base[a] > base[arc]:
                    arc = a
            if base[arc] == NEG:
                continue
            above = h
            while above > 0 and above != m:
                above = o.head[in_list[up[above]]]
            if above == m:
                continue
            old = tree[m - 1]
            picked[in_list[last]], picked[c] = 0, 1
            up[m], tree[m - 1] = i, arc
            at_before = at_h = at_m = changed = 0.0
            if parts:
                at_before = parts_of(o, before, up[before], picked)
                at_h, at_m = parts_of(o, h, up[h], picked), parts_of(o, m, i, picked)
                changed = at_before + at_h + at_m - own[before] - own[h] - own[m]
            score = tree_score(node, tree, total + changed, limits.hard, chosen)
            counters[2] += 1.0
            if score > best:
                best, total, improved, waits = score, total + changed, True, 0
                own[before], own[h], own[m] = at_before, at_h, at_m
                continue
            picked[in_list[last]], picked[c] = 1, 0
            up[m], tree[m - 1] = last, old
    if improved:
        insert_tree(incumbents, tree, best, limits.slack)
