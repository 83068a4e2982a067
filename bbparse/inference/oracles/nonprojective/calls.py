"""Arborescence and head automata as the oracle of a search (Koo et al. 2010).

See `inference.oracles.protocol.Calls` for the calls. With multipliers u and v of each pair,

    L(u, v) = max over arborescences y of Σ_a (θ_a + u_a + v_a) y_a
              + Σ_h max over g, M of [ f_h(g, M) - Σ_{m in M} u_hm - v_gh ]

bounds every tree. Each component is relaxed by itself, so that their losses for an arc add up: no
tree with the arc scores more than L minus the loss of each component that has it.
"""

from __future__ import annotations

import numpy as np

from bbparse.core.parts import ProblemArrays
from bbparse.inference.oracles.arcs import check_size, pair_groups
from bbparse.inference.oracles.nonprojective.arborescence import best_arborescence
from bbparse.inference.oracles.nonprojective.automata import (
    Automata,
    automata_scratch,
    find_best,
    find_max_marginals,
    only_pair,
    part_score_of,
    place_of,
)
from bbparse.inference.oracles.projective.weights import index_groups, weight_tables
from bbparse.inference.oracles.protocol import Calls
from bbparse.runtime.arrays import NEG, Ints
from bbparse.runtime.jit import kernel


@kernel
def automata_of(n, mode, single_root, head, mod, parts):
    """Make the fields of `Automata`; see `make_automata`, and `chart_of` for the tuple."""
    group_ptr, group_head, group_mod = pair_groups(head, mod)
    index = index_groups(n, group_head, group_mod)
    weights = weight_tables(group_head, group_mod, mode, index, parts)
    b, flags = group_head.shape[0], np.empty(2, np.bool_)
    flags[0], flags[1] = single_root, mode > 0
    automata = Automata(
        group_ptr,
        group_head,
        group_mod,
        index.out_ptr,
        index.out_mid,
        index.in_ptr,
        index.in_list,
        place_of(group_head, index, weights),
        weights.inc_w,
        weights.out_w,
        np.zeros(b),
        np.zeros(b),
        flags,
    )
    return automata[:]


def make_automata(problem: ProblemArrays, mode: int, head: Ints, mod: Ints) -> Automata:
    """Make the automata of arcs sorted by head and modifier; multipliers are 0."""
    p = problem
    check_size(p.n_words, mode, head, mod)
    return Automata(*automata_of(p.n_words, mode, p.single_root, head, mod, p.part_table))


@kernel
def automata_size(o):
    """Return the number of chain scores."""
    return o.inc_w.shape[0]


@kernel
def _fill(o, s, arc_score):
    """Compute the scores of groups, and of the arborescence."""
    group_ptr, in_list, u, v = o.group_ptr, o.in_list, o.u, o.v
    arc, gscore, entering = s.arc, s.gscore, s.entering
    for c in range(gscore.shape[0]):
        best = group_ptr[c]
        for a in range(best + 1, group_ptr[c + 1]):
            if arc_score[a] > arc_score[best]:
                best = a
        arc[c] = best
        gscore[c] = arc_score[best]
    in_ptr, needed = o.in_ptr, s.needed
    for m in range(1, in_ptr.shape[0] - 1):
        only = only_pair(o, gscore, m)
        for i in range(in_ptr[m], in_ptr[m + 1]):
            c = in_list[i]
            needed[c] = c == only
    s.picked[:] = 0
    for i in range(in_list.shape[0]):
        c = in_list[i]
        entering[i] = gscore[c] + u[c] + v[c]


@kernel
def automata_best(o, s, arc_score, until):
    """Return the sum of the components' best values; NaN if time is over."""
    _fill(o, s, arc_score)
    n = o.in_ptr.shape[0] - 2
    total = best_arborescence(
        o.in_ptr, s.entering_head, s.entering, o.flags[0], s.tree, s.reduced, s.largest, until
    )
    if not total > NEG:
        return total
    for i in s.tree:
        s.picked[o.in_list[i]] = 1
    s.value[n + 1] = total
    if not o.flags[1]:
        return total
    find_best(o, s)
    for h in range(n + 1):
        total += s.value[h]
    return total


@kernel
def automata_tree(o, s, arc_score, tree):
    """Write the arborescence; return the score of its parts."""
    score = 0.0
    n = tree.shape[0]
    for m in range(n):
        tree[m] = s.arc[o.in_list[s.tree[m]]]
    if not o.flags[1]:
        return score
    for h in range(n + 1):
        score += part_score_of(o, h, -1 if h == 0 else s.tree[h - 1], s.picked)
    return score


@kernel
def automata_max_marginals(o, s, arc_score, marginals):
    """Write the bound minus the sum of the components' losses."""
    n = o.in_ptr.shape[0] - 2
    total = s.value[n + 1]
    if o.flags[1]:
        find_max_marginals(o, s)
        for h in range(n + 1):
            total += s.value[h]
    for i in range(o.in_list.shape[0]):
        c = o.in_list[i]
        bound = total + s.reduced[i]
        if o.flags[1]:
            bound += min(0.0, s.with_mod[c] - s.value[o.head[c]])
            bound += min(0.0, s.with_head[c] - s.value[o.mod[c]])
        for a in range(o.group_ptr[c], o.group_ptr[c + 1]):
            dead = arc_score[a] == NEG or s.reduced[i] == NEG
            marginals[a] = NEG if dead else bound - s.gscore[c] + arc_score[a]


@kernel
def automata_k_best(o, s, arc_score, n_words, k, min_score, until):
    """Return the one tree of the last multipliers, and a bound on all others (inf: time over)."""
    trees = np.empty((1, n_words), np.int32)
    values, part_scores = np.empty(1), np.empty(1)
    values[0] = automata_best(o, s, arc_score, until)
    if not values[0] > NEG:
        return trees[:0], values[:0], part_scores[:0], NEG if values[0] == NEG else np.inf
    part_scores[0] = automata_tree(o, s, arc_score, trees[0])
    return trees, values, part_scores, values[0]


@kernel
def automata_norm(o, s):
    """Count the places in which the automata differ from the arborescence."""
    norm = 0.0
    if o.flags[1]:
        picked, taken, above = s.picked, s.taken, s.above
        for c in range(picked.shape[0]):
            norm += (picked[c] != taken[c]) + (picked[c] != above[c])
    return norm


@kernel
def automata_step(o, s, alpha):
    """Make one subgradient step."""
    if o.flags[1]:
        u, v, picked, taken, above = o.u, o.v, s.picked, s.taken, s.above
        for c in range(picked.shape[0]):
            u[c] -= alpha * (picked[c] - taken[c])
            v[c] -= alpha * (picked[c] - above[c])


@kernel
def automata_gaps(o, s, arc_gap):
    """Add the gap of each automaton to the arcs in which it differs from the tree."""
    if not o.flags[1]:
        return
    n = o.in_ptr.shape[0] - 2
    for h in range(n + 1):
        up = -1 if h == 0 else s.tree[h - 1]
        tree_value = part_score_of(o, h, up, s.picked)
        if h > 0:
            tree_value -= o.v[o.in_list[up]]
        for c in range(o.out_ptr[h], o.out_ptr[h + 1]):
            if s.picked[c] == 1:
                tree_value -= o.u[c]
        gap = s.value[h] - tree_value
        if gap <= 0.0:
            continue
        for c in range(o.out_ptr[h], o.out_ptr[h + 1]):
            if s.picked[c] != s.taken[c]:
                for a in range(o.group_ptr[c], o.group_ptr[c + 1]):
                    arc_gap[a] += gap
        for i in range(o.in_ptr[h], o.in_ptr[h + 1]):
            c = o.in_list[i]
            if s.picked[c] != s.above[c]:
                for a in range(o.group_ptr[c], o.group_ptr[c + 1]):
                    arc_gap[a] += gap


AUTOMATA_CALLS = Calls(
    scratch_of=automata_scratch,
    size_of=automata_size,
    is_exact=False,
    best=automata_best,
    tree_of=automata_tree,
    max_marginals=automata_max_marginals,
    k_best=automata_k_best,
    inner_norm=automata_norm,
    inner_step=automata_step,
    inner_gaps=automata_gaps,
)
