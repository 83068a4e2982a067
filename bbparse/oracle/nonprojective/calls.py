"""Arborescence and head automata as the oracle of a search (Koo et al. 2010).

See :mod:`bbparse.oracle.calls` for what is asked of it. With multipliers u and v of each pair,

    L(u, v) = max over arborescences y of Σ_a (θ_a + u_a + v_a) y_a
              + Σ_h max over g, M of [ f_h(g, M) - Σ_{m in M} u_hm - v_gh ]

bounds every tree. Each component is relaxed by itself, so that their losses for an arc add up: no
tree with it scores more than L less the loss of each component that has it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.oracle.nonprojective.arborescence import best_arborescence
from bbparse.oracle.nonprojective.automata import (
    AFTER,
    CHAIN,
    GROUP,
    Automata,
    Side,
    backward,
    follow,
    forward,
    list_side,
    side_parts,
)

NEG = -np.inf


class Nonprojective(NamedTuple):
    """The choice of this oracle, by the number of the recurrence whose parts automata hold."""

    mode: int


class AutomataScratch(NamedTuple):
    """What calls fill: by group, and by word.

    ``gscore`` the best arc's score of each group, ``arc`` that arc; ``entering`` and ``reduced``
    scores of the arborescence by modifier, ``picked`` its groups; ``taken`` and ``above`` what the
    automata have as modifiers and as heads; ``value`` of each automaton and of the arborescence.
    """

    gscore: NDArray[np.float64]
    arc: NDArray[np.int32]
    entering: NDArray[np.float64]
    entering_head: NDArray[np.int32]
    reduced: NDArray[np.float64]
    tree: NDArray[np.int32]
    picked: NDArray[np.int8]
    taken: NDArray[np.int8]
    above: NDArray[np.int8]
    value: NDArray[np.float64]
    with_mod: NDArray[np.float64]
    with_head: NDArray[np.float64]
    right: Side
    left: Side
    largest: NDArray[np.float64]


@kernel
def make_automata(kind, n, head, mod, single_root, index, weights, group_ptr):
    """The automata of a problem's candidate pairs and weights; multipliers are 0."""
    flags = np.empty(2, np.bool_)
    flags[0] = single_root
    flags[1] = kind.mode > 0
    b = head.shape[0]
    return Automata(
        group_ptr, head, mod, index.out_ptr, index.out_mid, index.in_ptr, index.in_list,
        weights.ranks, weights.ctx_ptr, weights.inc_ptr, weights.inc_w, weights.out_ctx_ptr,
        weights.out_w, np.zeros(b), np.zeros(b), flags,
    )  # fmt: skip


@kernel
def automata_scratch(o):
    """Room for the calls of a node."""
    b, n = o.head.shape[0], o.in_ptr.shape[0] - 2
    heads = np.empty(b, np.int32)
    for i in range(b):
        heads[i] = o.head[o.in_list[i]]
    return AutomataScratch(
        np.empty(b), np.empty(b, np.int32), np.empty(b), heads, np.empty(b), np.empty(n, np.int32),
        np.zeros(b, np.int8), np.zeros(b, np.int8), np.zeros(b, np.int8), np.empty(n + 2),
        np.empty(b), np.empty(b), Side(np.empty((6, n + 1), np.int64), np.empty((3, n + 1))),
        Side(np.empty((6, n + 1), np.int64), np.empty((3, n + 1))), np.zeros(1),
    )  # fmt: skip


@kernel
def automata_copy(o):
    """Automata with multipliers of their own."""
    return Automata(
        o.group_ptr, o.head, o.mod, o.out_ptr, o.out_mid, o.in_ptr, o.in_list, o.ranks, o.ctx_ptr,
        o.inc_ptr, o.inc_w, o.out_ctx_ptr, o.out_w, o.u.copy(), o.v.copy(), o.flags,
    )  # fmt: skip


@kernel
def automata_plain(o):
    """The fields as a plain tuple."""
    return (
        o.group_ptr, o.head, o.mod, o.out_ptr, o.out_mid, o.in_ptr, o.in_list, o.ranks, o.ctx_ptr,
        o.inc_ptr, o.inc_w, o.out_ctx_ptr, o.out_w, o.u, o.v, o.flags,
    )  # fmt: skip


@kernel
def automata_size(o):
    """Scores of chains."""
    return o.inc_w.shape[0]


@kernel
def automata_weights(o):
    """Scores of parts."""
    return np.concatenate((o.inc_w, o.out_w))


@kernel
def automata_exact(o):
    """Its bound need not be the score of a tree."""
    return False


@kernel
def _fill(o, s, arc_score):
    """Scores of groups, and of the arborescence."""
    group_ptr, in_list, u, v = o.group_ptr, o.in_list, o.u, o.v
    arc, gscore, entering = s.arc, s.gscore, s.entering
    for c in range(gscore.shape[0]):
        best = group_ptr[c]
        for a in range(best + 1, group_ptr[c + 1]):
            if arc_score[a] > arc_score[best]:
                best = a
        arc[c] = best
        gscore[c] = arc_score[best]
    s.picked[:] = 0
    s.taken[:] = 0
    s.above[:] = 0
    for i in range(in_list.shape[0]):
        c = in_list[i]
        entering[i] = gscore[c] + u[c] + v[c]


@kernel
def _has_contexts(o, h):
    """Whether the scores of a head's modifiers depend on its own head."""
    if h == 0 or o.out_ptr[h] == o.out_ptr[h + 1]:
        return False
    c = o.out_ptr[h]
    return o.ctx_ptr[c + 1] - o.ctx_ptr[c] > 1 or o.out_ctx_ptr[c + 1] - o.out_ctx_ptr[c] > 1


@kernel
def _automaton(o, s, h):
    """The best value of one automaton; marks what it has."""
    inc_w, out_w, v, in_list, gscore = o.inc_w, o.out_w, o.v, o.in_list, s.gscore
    rights, lefts = s.right, s.left
    n_right = list_side(o, h, True, gscore, rights)
    if h == 0:
        value = forward(inc_w, out_w, rights, n_right, 0, o.flags[0])
        follow(inc_w, out_w, rights, n_right, 0, o.flags[0], value, s.taken)
        return value
    n_left = list_side(o, h, False, gscore, lefts)
    best, context, last = NEG, -1, -1
    differ, known, right, left = _has_contexts(o, h), n_right + n_left == 0, 0.0, 0.0
    lo = o.in_ptr[h]
    for j in range(o.in_ptr[h + 1] - lo):
        p = in_list[lo + j]
        if gscore[p] == NEG:
            continue
        if (differ and n_right + n_left > 0) or not known:
            right = forward(inc_w, out_w, rights, n_right, j, False) if n_right > 0 else 0.0
            left = forward(inc_w, out_w, lefts, n_left, j, False) if n_left > 0 else 0.0
            known = True
            last = j
        value = max(0.0, right) + max(0.0, left) - v[p]
        if value > best:
            best = value
            context = j
    if context < 0:
        return NEG
    s.above[in_list[lo + context]] = 1
    if n_right + n_left == 0:
        return best
    if differ and last != context:
        right = forward(inc_w, out_w, rights, n_right, context, False)
        left = forward(inc_w, out_w, lefts, n_left, context, False)
    if right > 0.0:
        follow(inc_w, out_w, rights, n_right, context, False, right, s.taken)
    if left > 0.0:
        follow(inc_w, out_w, lefts, n_left, context, False, left, s.taken)
    return best


@kernel
def automata_best(o, s, arc_score):
    """The sum of the components' best values."""
    _fill(o, s, arc_score)
    n = o.in_ptr.shape[0] - 2
    total = best_arborescence(
        o.in_ptr, s.entering_head, s.entering, o.flags[0], s.tree, s.reduced, s.largest
    )
    if total == NEG:
        return NEG
    for i in s.tree:
        s.picked[o.in_list[i]] = 1
    s.value[n + 1] = total
    if not o.flags[1]:
        return total
    for h in range(n + 1):
        s.value[h] = _automaton(o, s, h)
        total += s.value[h]
    return total


@kernel
def automata_tree(o, s, arc_score, tree):
    """The arborescence; what its parts score."""
    score = 0.0
    n = tree.shape[0]
    for m in range(n):
        tree[m] = s.arc[o.in_list[s.tree[m]]]
    if not o.flags[1]:
        return score
    for h in range(n + 1):
        j = 0 if h == 0 else s.tree[h - 1] - o.in_ptr[h]
        score += side_parts(o, h, True, j, s.picked) + side_parts(o, h, False, j, s.picked)
    return score


@kernel
def _raise(side, count, others, with_mod):
    """Raise what is known of an automaton's best value with each of its modifiers."""
    place, score = side
    for i in range(count):
        c = place[GROUP, i]
        with_mod[c] = max(with_mod[c], score[CHAIN, i] + score[AFTER, i] + others)


@kernel
def _with_parts(o, s, h):
    """Best value of an automaton with each modifier, and with each head."""
    inc_w, out_w, v, in_list, gscore = o.inc_w, o.out_w, o.v, o.in_list, s.gscore
    rights, lefts, with_mod, with_head = s.right, s.left, s.with_mod, s.with_head
    n_right = list_side(o, h, True, gscore, rights)
    n_left = list_side(o, h, False, gscore, lefts)
    lone = h == 0 and o.flags[0]
    differ, known, right, left, top = _has_contexts(o, h), False, 0.0, 0.0, NEG
    lo = o.in_ptr[h]
    for j in range(max(1, o.in_ptr[h + 1] - lo)):
        pays = 0.0
        if h > 0:
            p = in_list[lo + j]
            if gscore[p] == NEG:
                continue
            pays = v[p]
        if differ or not known:
            right = forward(inc_w, out_w, rights, n_right, j, lone)
            left = forward(inc_w, out_w, lefts, n_left, j, lone)
            backward(inc_w, out_w, rights, n_right, j, lone)
            backward(inc_w, out_w, lefts, n_left, j, lone)
            if h > 0:
                right, left = max(0.0, right), max(0.0, left)
            known = True
        if h > 0:
            with_head[in_list[lo + j]] = right + left - pays
        if differ:
            _raise(rights, n_right, left - pays, with_mod)
            _raise(lefts, n_left, right - pays, with_mod)
        top = max(top, -pays)
    if not differ:
        _raise(rights, n_right, top + (left if h > 0 else 0.0), with_mod)
        _raise(lefts, n_left, top + right, with_mod)


@kernel
def automata_with_each(o, s, arc_score, each):
    """The bound less the sum of the components' losses."""
    n = o.in_ptr.shape[0] - 2
    total = s.value[n + 1]
    if o.flags[1]:
        s.with_mod[:] = NEG
        for h in range(n + 1):
            total += s.value[h]
            _with_parts(o, s, h)
    for i in range(o.in_list.shape[0]):
        c = o.in_list[i]
        bound = total + s.reduced[i]
        if o.flags[1]:
            bound += min(0.0, s.with_mod[c] - s.value[o.head[c]])
            bound += min(0.0, s.with_head[c] - s.value[o.mod[c]])
        for a in range(o.group_ptr[c], o.group_ptr[c + 1]):
            dead = arc_score[a] == NEG or s.reduced[i] == NEG
            each[a] = NEG if dead else bound - s.gscore[c] + arc_score[a]


@kernel
def automata_eliminate(o, s, floor):
    """There is nothing but arcs to drop."""
    return True


@kernel
def automata_k_best(o, s, arc_score, n_words, k):
    """The one tree of the last multipliers; the rest is open."""
    trees = np.empty((1, n_words), np.int32)
    values, part_scores = np.empty(1), np.empty(1)
    values[0] = automata_best(o, s, arc_score)
    if values[0] == NEG:
        return trees[:0], values[:0], part_scores[:0], NEG
    part_scores[0] = automata_tree(o, s, arc_score, trees[0])
    return trees, values, part_scores, values[0]


@kernel
def automata_norm(o, s, chosen):
    """In how many places the automata differ from the arborescence."""
    norm = 0.0
    if o.flags[1]:
        picked, taken, above = s.picked, s.taken, s.above
        for c in range(picked.shape[0]):
            norm += (picked[c] != taken[c]) + (picked[c] != above[c])
    return norm


@kernel
def automata_step(o, s, chosen, alpha):
    """One step of the subgradient."""
    if o.flags[1]:
        u, v, picked, taken, above = o.u, o.v, s.picked, s.taken, s.above
        for c in range(picked.shape[0]):
            u[c] -= alpha * (picked[c] - taken[c])
            v[c] -= alpha * (picked[c] - above[c])


@kernel
def automata_noise(o, s):
    """The largest numbers among multipliers, values and what the arborescence adds up."""
    n = o.in_ptr.shape[0] - 2
    most = s.largest[0]
    if o.flags[1]:
        for h in range(n + 1):
            most = max(most, abs(s.value[h]))
        for c in range(o.head.shape[0]):
            if s.gscore[c] > NEG:
                most = max(most, abs(o.u[c]), abs(o.v[c]))
    return most


@kernel
def automata_gaps(o, s, chosen, arc_gap):
    """Automata's values above their scores of the tree, on the arcs that they differ in."""
    if not o.flags[1]:
        return
    n = o.in_ptr.shape[0] - 2
    for h in range(n + 1):
        j = 0 if h == 0 else s.tree[h - 1] - o.in_ptr[h]
        own = side_parts(o, h, True, j, s.picked) + side_parts(o, h, False, j, s.picked)
        if h > 0:
            own -= o.v[o.in_list[s.tree[h - 1]]]
        for c in range(o.out_ptr[h], o.out_ptr[h + 1]):
            if s.picked[c] == 1:
                own -= o.u[c]
        gap = s.value[h] - own
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
