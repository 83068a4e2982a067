"""The best values of head automata; those that nothing has changed for stay as they were.

Multipliers move where components differ, which soon is in few places: a call finds anew the values
of the heads there, and of those that lost candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.oracle.nonprojective.automata import (
    AFTER,
    CHAIN,
    GROUP,
    LAST_STRIDE,
    STRIDE,
    Side,
    backward,
    follow,
    forward,
    list_side,
)

NEG = -np.inf


class AutomataScratch(NamedTuple):
    """What calls fill: by group, and by word.

    ``gscore`` the best arc's score of each group, ``arc`` that arc; ``entering`` and ``reduced``
    scores of the arborescence by modifier, ``picked`` its groups; ``taken`` and ``above`` what the
    automata have as modifiers and as heads; ``value`` of each automaton and of the arborescence;
    ``stale`` and ``spread`` by head: whether its automaton has changed since its best value was
    found, or its best values with each pair.
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
    stale: NDArray[np.bool_]
    spread: NDArray[np.bool_]


@kernel
def automata_scratch(o):
    """Room for the calls of a node."""
    b, n = o.head.shape[0], o.in_ptr.shape[0] - 2
    heads = np.empty(b, np.int32)
    for i in range(b):
        heads[i] = o.head[o.in_list[i]]
    return AutomataScratch(
        np.zeros(b), np.empty(b, np.int32), np.empty(b), heads, np.empty(b), np.empty(n, np.int32),
        np.zeros(b, np.int8), np.zeros(b, np.int8), np.zeros(b, np.int8), np.empty(n + 2),
        np.empty(b), np.empty(b), Side(np.empty((6, n + 1), np.int64), np.empty((3, n + 1))),
        Side(np.empty((6, n + 1), np.int64), np.empty((3, n + 1))), np.zeros(1),
        np.ones(n + 1, np.bool_), np.ones(n + 1, np.bool_),
    )  # fmt: skip


@kernel
def find_best(o, s):
    """Find the best value of each automaton that is stale, and mark what it has."""
    out_ptr, out_mid, in_ptr, in_list = o.out_ptr, o.out_mid, o.in_ptr, o.in_list
    inc_w, out_w, place, u, v, single = o.inc_w, o.out_w, o.place, o.u, o.v, o.flags[0]
    gscore, taken, above, rights, lefts = s.gscore, s.taken, s.above, s.right, s.left
    for h in range(out_mid.shape[0]):
        if not s.stale[h]:
            continue
        s.stale[h] = False
        s.spread[h] = True
        lo, middle, hi = out_ptr[h], out_mid[h], out_ptr[h + 1]
        for c in range(lo, hi):
            taken[c] = 0
        n_right = list_side(place, u, gscore, middle, hi, True, rights)
        if h == 0:
            best = forward(inc_w, out_w, rights, n_right, 0, single)
            follow(inc_w, out_w, rights, n_right, 0, single, best, taken)
            s.value[h] = best
            continue
        n_left = list_side(place, u, gscore, lo, middle, False, lefts)
        differ = lo < hi and (place[STRIDE, lo] > 0 or place[LAST_STRIDE, lo] > 0)
        best, context, last, right, left = NEG, -1, -1, 0.0, 0.0
        known = n_right + n_left == 0
        for j in range(in_ptr[h + 1] - in_ptr[h]):
            p = in_list[in_ptr[h] + j]
            above[p] = 0
            if gscore[p] == NEG:
                continue
            if not known or (differ and n_right + n_left > 0):
                right = forward(inc_w, out_w, rights, n_right, j, False) if n_right > 0 else 0.0
                left = forward(inc_w, out_w, lefts, n_left, j, False) if n_left > 0 else 0.0
                known = True
                last = j
            value = max(0.0, right) + max(0.0, left) - v[p]
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
            right = forward(inc_w, out_w, rights, n_right, context, False)
            left = forward(inc_w, out_w, lefts, n_left, context, False)
        if right > 0.0:
            follow(inc_w, out_w, rights, n_right, context, False, right, taken)
        if left > 0.0:
            follow(inc_w, out_w, lefts, n_left, context, False, left, taken)


@kernel
def _raise(side, count, others, with_mod):
    """Raise what is known of an automaton's best value with each of its modifiers."""
    place, score = side
    for i in range(count):
        c = place[GROUP, i]
        with_mod[c] = max(with_mod[c], score[CHAIN, i] + score[AFTER, i] + others)


@kernel
def find_with_each(o, s):
    """Find anew what automata score at most with each modifier, and with each head."""
    out_ptr, out_mid, in_ptr, in_list = o.out_ptr, o.out_mid, o.in_ptr, o.in_list
    inc_w, out_w, place, u, v = o.inc_w, o.out_w, o.place, o.u, o.v
    gscore, with_mod, with_head, rights, lefts = s.gscore, s.with_mod, s.with_head, s.right, s.left
    for h in range(out_mid.shape[0]):
        if not s.spread[h]:
            continue
        s.spread[h] = False
        lo, middle, hi = out_ptr[h], out_mid[h], out_ptr[h + 1]
        for c in range(lo, hi):
            with_mod[c] = NEG
        n_right = list_side(place, u, gscore, middle, hi, True, rights)
        n_left = list_side(place, u, gscore, lo, middle, False, lefts)
        lone = h == 0 and o.flags[0]
        differ = h > 0 and lo < hi and (place[STRIDE, lo] > 0 or place[LAST_STRIDE, lo] > 0)
        known, right, left, top = False, 0.0, 0.0, NEG
        for j in range(max(1, in_ptr[h + 1] - in_ptr[h])):
            pays = 0.0
            if h > 0:
                p = in_list[in_ptr[h] + j]
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
                with_head[in_list[in_ptr[h] + j]] = right + left - pays
            if differ:
                _raise(rights, n_right, left - pays, with_mod)
                _raise(lefts, n_left, right - pays, with_mod)
            top = max(top, -pays)
        if not differ:
            _raise(rights, n_right, top + (left if h > 0 else 0.0), with_mod)
            _raise(lefts, n_left, top + right, with_mod)
