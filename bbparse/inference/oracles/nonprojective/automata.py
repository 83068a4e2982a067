"""Head automata: all parts of one head as a small dynamic program (Koo et al. 2010).

The score of the parts of head h is a function f_h(g, M) of its own head g and its modifiers M. For
each g the best M is a chain of modifiers on either side, from near to far:

    α_c = m_c + max(first(g, c),  max_s α_s + sibling(g, s, c))      best chain that ends in c
    β_c = max(outermost(g, c),  max_s sibling(g, c, s) + m_s + β_s)  best continuation after c

where m_c is the score of modifier c by itself. A modifier that has no other head is in all chains:
none skips it. These functions are the weight table of the chart:
`inference.oracles.projective.weights`. The root has exactly one modifier, or at least one; other
words have any number. Cost: the parts over arcs that are left.

"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.runtime.arrays import NEG, Flags, Float64s, Ints, Longs
from bbparse.runtime.jit import kernel


class Automata(NamedTuple):
    """An arborescence and head automata that have to agree, tied by multipliers of each pair."""

    # arcs of each head-modifier pair (*group*), in the order of (head, modifier): [B + 1]
    group_ptr: Ints
    head: Ints  # [B]
    mod: Ints  # [B]
    out_ptr: Ints  # [n + 2], first group of each head
    out_mid: Ints  # [n + 1], first of them to the right
    in_ptr: Ints  # [n + 2], groups by modifier
    in_list: Ints  # [B]
    place: Longs  # [6, B], positions of each pair's scores, in the rows of `Side`
    inc_w: Float64s  # as the next: scores of parts, see
    out_w: Float64s  # :class:`bbparse.inference.oracles.projective.weights.PartWeights`
    # Multipliers [B] of each pair: added in the arborescence, and subtracted in the automaton of
    # its head (u), or of its modifier (v). They belong to a node; all else is shared.
    u: Float64s
    v: Float64s
    flags: Flags  # [2], True if the root has one modifier; True if there are parts

    def trimmed(self) -> Automata:
        """Return a copy with multipliers of its own; all else is shared."""
        return self._replace(u=self.u.copy(), v=self.v.copy())

    def positions(self) -> int:
        """Return a number with which the work of a call grows."""
        return len(self.inc_w)

    def part_scores(self) -> Float64s:
        """Return the scores of parts, for their magnitudes."""
        return np.concatenate((self.inc_w, self.out_w))


class Side(NamedTuple):
    """The remaining modifiers of a head on one side, from near to far.

    There are two tables, because single arrays would cost kernels more than the computation. Rows
    of ``place`` int64[7, n] are ``GROUP``, the modifiers; ``RANK``, their ranks among all
    candidates, from 1, as inner siblings; ``FIRST``, ``STRIDE``: the part scores of a modifier are
    ``inc_w[first + context * stride + rank of inner sibling]``; ``LAST``, ``LAST_STRIDE``: its
    score as the outermost one is ``out_w[last + context * last_stride]``; ``NEEDED``: 1 if it must
    be taken. Rows of ``score`` float64[3, n] are ``PAYS``, the multiplier of a modifier; ``CHAIN``,
    α; ``AFTER``, β.
    """

    place: Longs
    score: Float64s


GROUP, RANK, FIRST, STRIDE, LAST, LAST_STRIDE, NEEDED = 0, 1, 2, 3, 4, 5, 6
PAYS, CHAIN, AFTER = 0, 1, 2


@kernel
def place_of(head, index, weights):
    """Make the table ``place`` of the automata."""
    ctx_ptr, out_ctx_ptr = weights.ctx_ptr, weights.out_ctx_ptr
    place = np.empty((6, head.shape[0]), np.int64)
    for c in range(head.shape[0]):
        middle = index.out_mid[head[c]]
        place[GROUP, c] = c
        place[RANK, c] = c - middle + 1 if c >= middle else middle - c
        place[FIRST, c] = weights.inc_ptr[c]
        place[STRIDE, c] = weights.ranks[c] if ctx_ptr[c + 1] - ctx_ptr[c] > 1 else 0
        place[LAST, c] = out_ctx_ptr[c]
        place[LAST_STRIDE, c] = 1 if out_ctx_ptr[c + 1] - out_ctx_ptr[c] > 1 else 0
    return place


@kernel
def only_pair(o, gscore, m):
    """Return the pair that is the only one into word m; -1 if there is none, or another."""
    only = -1
    for i in range(o.in_ptr[m], o.in_ptr[m + 1]):
        c = o.in_list[i]
        if gscore[c] > NEG:
            if only >= 0:
                return -1
            only = c
    return only


@kernel
def list_side(table, u, gscore, needed, lo, hi, right, side):
    """Write the modifiers ``lo : hi`` on one side of a head; return how many are left."""
    place, score = side
    count = 0
    for i in range(hi - lo):
        c = lo + i if right else hi - 1 - i
        if gscore[c] == NEG:
            continue
        for row in range(6):
            place[row, count] = table[row, c]
        place[NEEDED, count] = needed[c]
        score[PAYS, count] = u[c]
        count += 1
    return count


@kernel
def forward(inc_w, out_w, side, count, j, root, lone):
    """Compute α under context j; return the best score of a chain, or -inf.

    The ``root`` has at least one modifier, and with ``lone`` exactly one.
    """
    place, score = side
    best = NEG if root else 0.0
    near, passed = np.uintp(0), False
    for i in range(np.uintp(count)):
        start = np.uintp(place[FIRST, i] + j * place[STRIDE, i])
        top = NEG if passed else inc_w[start]
        if not lone:
            for s in range(near, i):
                top = max(top, score[CHAIN, s] + inc_w[start + np.uintp(place[RANK, s])])
        top -= score[PAYS, i]
        score[CHAIN, i] = top
        if place[NEEDED, i]:
            near, passed, best = i, True, NEG
        best = max(best, top + out_w[np.uintp(place[LAST, i] + j * place[LAST_STRIDE, i])])
    return best


@kernel
def backward(inc_w, out_w, side, count, j, lone):
    """Compute β under context j."""
    place, score = side
    end, passed = np.uintp(count), False
    for i in range(count - 1, -1, -1):
        top = NEG
        if not passed:
            top = out_w[np.uintp(place[LAST, i] + j * place[LAST_STRIDE, i])]
        if not lone:
            rank = place[RANK, i]
            for s in range(np.uintp(i + 1), end):
                inner = inc_w[np.uintp(place[FIRST, s] + j * place[STRIDE, s] + rank)]
                top = max(top, inner - score[PAYS, s] + score[AFTER, s])
        score[AFTER, i] = top
        if place[NEEDED, i]:
            end, passed = np.uintp(i + 1), True


@kernel
def follow(inc_w, out_w, side, count, j, lone, best, taken):
    """Mark the groups of the best chain in ``taken``; α must have been computed."""
    place, score = side
    at = -1
    for i in range(count):
        if place[NEEDED, i]:
            at = -1
        if score[CHAIN, i] + out_w[place[LAST, i] + j * place[LAST_STRIDE, i]] == best and at < 0:
            at = i
    while at >= 0:
        taken[place[GROUP, at]] = 1
        start = place[FIRST, at] + j * place[STRIDE, at]
        top, before = inc_w[start], -1
        if not lone:
            for s in range(at):
                if place[NEEDED, s]:
                    top = NEG
                value = score[CHAIN, s] + inc_w[start + place[RANK, s]]
                if value > top:
                    top, before = value, s
        at = before


@kernel
def side_parts(table, inc_w, out_w, lo, hi, right, j, picked):
    """Return the score of a tree's parts on one side of a head; ``picked`` marks its groups."""
    score = 0.0
    rank = 0
    last = -1
    for i in range(hi - lo):
        c = lo + i if right else hi - 1 - i
        if picked[c] == 1:
            score += inc_w[table[FIRST, c] + j * table[STRIDE, c] + rank]
            rank = i + 1
            last = c
    if last >= 0:
        score += out_w[table[LAST, last] + j * table[LAST_STRIDE, last]]
    return score


@kernel
def part_score_of(o, h, up, picked):
    """Return the score of a tree's parts at head h.

    ``up`` is the place of the head's own pair in ``in_list``; that of the root is not read.
    """
    j = 0 if h == 0 else up - o.in_ptr[h]
    out_ptr, out_mid, table, inc_w, out_w = o.out_ptr, o.out_mid, o.place, o.inc_w, o.out_w
    lo, middle, hi = out_ptr[h], out_mid[h], out_ptr[h + 1]
    return side_parts(table, inc_w, out_w, lo, middle, False, j, picked) + side_parts(
        table, inc_w, out_w, middle, hi, True, j, picked
    )


class AutomataScratch(NamedTuple):
    """Arrays that calls write, by group and by word."""

    gscore: Float64s  # score of the best arc of each group
    arc: Ints  # that arc
    entering: Float64s  # as the next two: of the arborescence, by modifier
    entering_head: Ints
    reduced: Float64s
    tree: Ints
    picked: NDArray[np.int8]  # groups of the arborescence
    needed: NDArray[np.int8]  # groups that are the only ones into their words
    taken: NDArray[np.int8]  # groups that automata choose as modifiers
    above: NDArray[np.int8]  # groups that automata choose as heads
    value: Float64s  # best value of each automaton and of the arborescence
    with_mod: Float64s
    with_head: Float64s
    right: Side
    left: Side
    largest: Float64s


@kernel
def automata_scratch(o):
    """Allocate the arrays that the calls of a node write."""
    b, n = o.head.shape[0], o.in_ptr.shape[0] - 2
    heads = np.empty(b, np.int32)
    for i in range(b):
        heads[i] = o.head[o.in_list[i]]
    return AutomataScratch(
        np.zeros(b),
        np.empty(b, np.int32),
        np.empty(b),
        heads,
        np.empty(b),
        np.empty(n, np.int32),
        np.zeros(b, np.int8),
        np.zeros(b, np.int8),
        np.zeros(b, np.int8),
        np.zeros(b, np.int8),
        np.empty(n + 2),
        np.empty(b),
        np.empty(b),
        Side(np.empty((7, n + 1), np.int64), np.empty((3, n + 1))),
        Side(np.empty((7, n + 1), np.int64), np.empty((3, n + 1))),
        np.zeros(1),
    )


@kernel
def find_best(o, s):
    """Compute the best value of each automaton, and mark its choice."""
    out_ptr, out_mid, in_ptr, in_list = o.out_ptr, o.out_mid, o.in_ptr, o.in_list
    inc_w, out_w, place, u, v, single = o.inc_w, o.out_w, o.place, o.u, o.v, o.flags[0]
    gscore, taken, above, needed = s.gscore, s.taken, s.above, s.needed
    rights, lefts = s.right, s.left
    for h in range(out_mid.shape[0]):
        lo, middle, hi = out_ptr[h], out_mid[h], out_ptr[h + 1]
        for c in range(lo, hi):
            taken[c] = 0
        n_right = list_side(place, u, gscore, needed, middle, hi, True, rights)
        if h == 0:
            best = forward(inc_w, out_w, rights, n_right, 0, True, single)
            follow(inc_w, out_w, rights, n_right, 0, single, best, taken)
            s.value[h] = best
            continue
        n_left = list_side(place, u, gscore, needed, lo, middle, False, lefts)
        differ = lo < hi and (place[STRIDE, lo] > 0 or place[LAST_STRIDE, lo] > 0)
        best, context, last, right, left = NEG, -1, -1, 0.0, 0.0
        computed = n_right + n_left == 0
        for j in range(in_ptr[h + 1] - in_ptr[h]):
            p = in_list[in_ptr[h] + j]
            above[p] = 0
            if gscore[p] == NEG:
                continue
            if not computed or (differ and n_right + n_left > 0):
                right = forward(inc_w, out_w, rights, n_right, j, False, False)
                left = forward(inc_w, out_w, lefts, n_left, j, False, False)
                computed = True
                last = j
            value = right + left - v[p]
            if value > best:
                best = value
                context = j
        s.value[h] = best
        if context < 0:
            continue
        above[in_list[in_ptr[h] + context]] = 1
        if n_right + n_left == 0:
            continue
        if differ and last != context:
            right = forward(inc_w, out_w, rights, n_right, context, False, False)
            left = forward(inc_w, out_w, lefts, n_left, context, False, False)
        if right != 0.0:
            follow(inc_w, out_w, rights, n_right, context, False, right, taken)
        if left != 0.0:
            follow(inc_w, out_w, lefts, n_left, context, False, left, taken)


@kernel
def _raise(side, count, other_side, with_mod):
    """Raise an automaton's best value with each of its modifiers."""
    place, score = side
    for i in range(count):
        c = place[GROUP, i]
        with_mod[c] = max(with_mod[c], score[CHAIN, i] + score[AFTER, i] + other_side)


@kernel
def find_max_marginals(o, s):
    """Compute the best values of automata with each modifier, and with each head."""
    out_ptr, out_mid, in_ptr, in_list = o.out_ptr, o.out_mid, o.in_ptr, o.in_list
    inc_w, out_w, place, u, v = o.inc_w, o.out_w, o.place, o.u, o.v
    gscore, with_mod, with_head, needed = s.gscore, s.with_mod, s.with_head, s.needed
    rights, lefts = s.right, s.left
    for h in range(out_mid.shape[0]):
        lo, middle, hi = out_ptr[h], out_mid[h], out_ptr[h + 1]
        for c in range(lo, hi):
            with_mod[c] = NEG
        n_right = list_side(place, u, gscore, needed, middle, hi, True, rights)
        n_left = list_side(place, u, gscore, needed, lo, middle, False, lefts)
        lone = h == 0 and o.flags[0]
        differ = h > 0 and lo < hi and (place[STRIDE, lo] > 0 or place[LAST_STRIDE, lo] > 0)
        computed, right, left, top = False, 0.0, 0.0, NEG
        for j in range(max(1, in_ptr[h + 1] - in_ptr[h])):
            pays = 0.0
            if h > 0:
                p = in_list[in_ptr[h] + j]
                if gscore[p] == NEG:
                    continue
                pays = v[p]
            if differ or not computed:
                right = forward(inc_w, out_w, rights, n_right, j, h == 0, lone)
                left = forward(inc_w, out_w, lefts, n_left, j, False, lone)
                backward(inc_w, out_w, rights, n_right, j, lone)
                backward(inc_w, out_w, lefts, n_left, j, lone)
                computed = True
            if h > 0:
                with_head[in_list[in_ptr[h] + j]] = right + left - pays
            if differ:
                _raise(rights, n_right, left - pays, with_mod)
                _raise(lefts, n_left, right - pays, with_mod)
            top = max(top, -pays)
        if not differ:
            _raise(rights, n_right, top + (left if h > 0 else 0.0), with_mod)
            _raise(lefts, n_left, top + right, with_mod)
