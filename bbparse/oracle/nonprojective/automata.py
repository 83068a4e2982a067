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
    ranks, ctx_ptr, inc_ptr, inc_w, out_ctx_ptr, out_w
        The weights of parts: :class:`bbparse.oracle.projective.weights.Weights`.
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
    ranks: NDArray[np.int32]
    ctx_ptr: NDArray[np.int64]
    inc_ptr: NDArray[np.int64]
    inc_w: NDArray[np.float64]
    out_ctx_ptr: NDArray[np.int64]
    out_w: NDArray[np.float64]
    u: NDArray[np.float64]
    v: NDArray[np.float64]
    flags: NDArray[np.bool_]


@kernel
def _sibling(o, c, rank, j):
    """Score of modifier c with the inner sibling of a rank (0: none), under context j."""
    b = j if j < o.ctx_ptr[c + 1] - o.ctx_ptr[c] else 0
    return o.inc_w[o.inc_ptr[c] + b * o.ranks[c] + rank]


@kernel
def _outermost(o, c, j):
    """Score of modifier c as the outermost one on its side."""
    if o.head[c] == 0:
        return 0.0
    b = j if j < o.out_ctx_ptr[c + 1] - o.out_ctx_ptr[c] else 0
    return o.out_w[o.out_ctx_ptr[c] + b]


@kernel
def _rank(o, s):
    """The rank of group s as an inner sibling."""
    h = o.head[s]
    return s - o.out_mid[h] + 1 if o.mod[s] > h else o.out_mid[h] - s


@kernel
def list_side(o, h, right, gscore, side):
    """Groups of a head that are alive on one side, near to far; returns how many."""
    count = 0
    if right:
        for c in range(o.out_mid[h], o.out_ptr[h + 1]):
            if gscore[c] > NEG:
                side[count] = c
                count += 1
    else:
        for c in range(o.out_mid[h] - 1, o.out_ptr[h] - 1, -1):
            if gscore[c] > NEG:
                side[count] = c
                count += 1
    return count


@kernel
def forward(o, side, count, j, chain):
    """Fill ``chain[i]``, α of the i-th group of a side; returns the best score of the side.

    For words other than the root, no modifier is a choice, too.
    """
    lone = o.flags[0] and count > 0 and o.head[side[0]] == 0
    best = 0.0
    if count > 0 and o.head[side[0]] == 0:
        best = NEG
    for i in range(count):
        c = side[i]
        top = _sibling(o, c, 0, j)
        if not lone:
            b = j if j < o.ctx_ptr[c + 1] - o.ctx_ptr[c] else 0
            start = o.inc_ptr[c] + b * o.ranks[c]
            for s in range(i):
                top = max(top, chain[s] + o.inc_w[start + _rank(o, side[s])])
        chain[i] = top - o.u[c]
        best = max(best, chain[i] + _outermost(o, c, j))
    return best


@kernel
def backward(o, side, count, j, after):
    """Fill ``after[i]``, β of the i-th group of a side."""
    lone = o.flags[0] and count > 0 and o.head[side[0]] == 0
    for i in range(count - 1, -1, -1):
        c = side[i]
        top = _outermost(o, c, j)
        if not lone:
            rank = _rank(o, c)
            for s in range(i + 1, count):
                d = side[s]
                top = max(top, _sibling(o, d, rank, j) - o.u[d] + after[s])
        after[i] = top


@kernel
def follow(o, side, count, j, chain, best, taken):
    """Mark the groups of the best chain of a side in ``taken``."""
    if best == 0.0 and (count == 0 or o.head[side[0]] != 0):
        return
    at = -1
    for i in range(count):
        if chain[i] + _outermost(o, side[i], j) == best:
            at = i
            break
    while at >= 0:
        c = side[at]
        taken[c] = 1
        value = chain[at] + o.u[c]
        before = -1
        if not (o.flags[0] and o.head[c] == 0):
            gap = abs(value - _sibling(o, c, 0, j))
            for s in range(at):
                apart = abs(value - (chain[s] + _sibling(o, c, _rank(o, side[s]), j)))
                if apart < gap:
                    gap = apart
                    before = s
        at = before


@kernel
def side_parts(o, h, right, j, picked):
    """What the parts of a tree score on one side of a head, and how many modifiers are there.

    ``picked[c]`` says which groups the tree has.
    """
    score = 0.0
    rank = 0
    last = -1
    lo, hi = (o.out_mid[h], o.out_ptr[h + 1]) if right else (o.out_ptr[h], o.out_mid[h])
    for i in range(hi - lo):
        c = lo + i if right else hi - 1 - i
        if picked[c] == 1:
            score += _sibling(o, c, rank, j)
            rank = _rank(o, c)
            last = c
    if last >= 0:
        score += _outermost(o, last, j)
    return score
