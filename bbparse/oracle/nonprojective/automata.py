"""Head automata: all parts of one head as a small dynamic program (Koo et al. 2010).

What the parts of head h score is a function f_h(g, M) of its own head g and its modifiers M. For
each g the best M is a chain of modifiers on either side, from near to far:

    α_c = m_c + max(first(g, c),  max_s α_s + sibling(g, s, c))      best chain that ends in c
    β_c = max(outermost(g, c),  max_s sibling(g, c, s) + m_s + β_s)  best of what comes after c

with m_c what modifier c scores by itself. The chart's table of weights is these functions:
:mod:`bbparse.oracle.projective.weights`. The root has exactly one modifier, or at least one; other
words have any number. Cost: the parts over arcs that are alive.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel

NEG = -np.inf


class Automata(NamedTuple):
    """An arborescence and head automata that are to agree; tied by multipliers of each pair.

    Attributes
    ----------
    group_ptr : int32[B + 1]
        Arcs of each head-modifier pair (*group*), in the order of (head, modifier).
    head, mod : int32[B]
    out_ptr, out_mid : int32[n + 2], int32[n + 1]
        First group of each head, first of them to the right.
    in_ptr, in_list : int32[n + 2], int32[B]
        Groups by modifier.
    place : int64[6, B]
        Where each pair's scores are, in rows as `Side` has them.
    inc_w, out_w : float64[]
        Scores of parts: :class:`bbparse.oracle.projective.weights.Weights`.
    u, v : float64[B]
        What the arborescence gets for a pair, and the automaton of its head (u), or of its modifier
        (v), pays for it. A node's own; all else is shared.
    flags : bool[2]
        Whether the root has one modifier; whether there are parts.
    """

    group_ptr: NDArray[np.int32]
    head: NDArray[np.int32]
    mod: NDArray[np.int32]
    out_ptr: NDArray[np.int32]
    out_mid: NDArray[np.int32]
    in_ptr: NDArray[np.int32]
    in_list: NDArray[np.int32]
    place: NDArray[np.int64]
    inc_w: NDArray[np.float64]
    out_w: NDArray[np.float64]
    u: NDArray[np.float64]
    v: NDArray[np.float64]
    flags: NDArray[np.bool_]


class Side(NamedTuple):
    """Room for the modifiers of a head on one side, near to far, those that are alive.

    Two tables, as each array by itself would cost kernels more than what is computed.

    Attributes
    ----------
    place : int64[6, n]
        Rows ``GROUP``: which modifiers; ``RANK``: their places among all candidates, from 1, as
        inner siblings; ``FIRST``, ``STRIDE``: scores of a modifier's parts are ``inc_w[first +
        context * stride + rank of inner sibling]``; ``LAST``, ``LAST_STRIDE``: and its score as the
        outermost one ``out_w[last + context * last_stride]``.
    score : float64[3, n]
        Rows ``PAYS``: what a modifier pays for being taken; ``CHAIN``: α; ``AFTER``: β.
    """

    place: NDArray[np.int64]
    score: NDArray[np.float64]


GROUP, RANK, FIRST, STRIDE, LAST, LAST_STRIDE = 0, 1, 2, 3, 4, 5
PAYS, CHAIN, AFTER = 0, 1, 2


@kernel
def place_of(head, index, weights):
    """Table ``place`` of the automata."""
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
def list_side(table, u, gscore, lo, hi, right, side):
    """Fill in the modifiers ``lo : hi`` on one side of a head; returns how many are alive."""
    place, score = side
    count = 0
    for i in range(hi - lo):
        c = lo + i if right else hi - 1 - i
        if gscore[c] == NEG:
            continue
        for row in range(6):
            place[row, count] = table[row, c]
        score[PAYS, count] = u[c]
        count += 1
    return count


@kernel
def forward(inc_w, out_w, side, count, j, lone):
    """Fill α under context j; returns the best score of a chain of one at least, or -inf.

    ``lone``: a chain of one.
    """
    place, score = side
    best = NEG
    for i in range(np.uintp(count)):
        start = np.uintp(place[FIRST, i] + j * place[STRIDE, i])
        top = inc_w[start]
        if not lone:
            for s in range(i):
                top = max(top, score[CHAIN, s] + inc_w[start + np.uintp(place[RANK, s])])
        top -= score[PAYS, i]
        score[CHAIN, i] = top
        best = max(best, top + out_w[np.uintp(place[LAST, i] + j * place[LAST_STRIDE, i])])
    return best


@kernel
def backward(inc_w, out_w, side, count, j, lone):
    """Fill β under context j."""
    place, score = side
    for i in range(count - 1, -1, -1):
        top = out_w[np.uintp(place[LAST, i] + j * place[LAST_STRIDE, i])]
        if not lone:
            rank = place[RANK, i]
            for s in range(np.uintp(i + 1), np.uintp(count)):
                inner = inc_w[np.uintp(place[FIRST, s] + j * place[STRIDE, s] + rank)]
                top = max(top, inner - score[PAYS, s] + score[AFTER, s])
        score[AFTER, i] = top


@kernel
def follow(inc_w, out_w, side, count, j, lone, best, taken):
    """Mark in ``taken`` the groups of the best chain, of which α is there."""
    place, score = side
    at = -1
    for i in range(count):
        if score[CHAIN, i] + out_w[place[LAST, i] + j * place[LAST_STRIDE, i]] == best:
            at = i
            break
    while at >= 0:
        taken[place[GROUP, at]] = 1
        start = place[FIRST, at] + j * place[STRIDE, at]
        top, before = inc_w[start], -1
        if not lone:
            for s in range(at):
                value = score[CHAIN, s] + inc_w[start + place[RANK, s]]
                if value > top:
                    top, before = value, s
        at = before


@kernel
def side_parts(table, inc_w, out_w, lo, hi, right, j, picked):
    """What the parts of a tree score on one side of a head; ``picked`` has the tree's groups."""
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
def parts_of(o, h, j, picked):
    """What the parts of a tree score at head h, under context j."""
    out_ptr, out_mid, table, inc_w, out_w = o.out_ptr, o.out_mid, o.place, o.inc_w, o.out_w
    lo, middle, hi = out_ptr[h], out_mid[h], out_ptr[h + 1]
    return side_parts(table, inc_w, out_w, lo, middle, False, j, picked) + side_parts(
        table, inc_w, out_w, middle, hi, True, j, picked
    )
