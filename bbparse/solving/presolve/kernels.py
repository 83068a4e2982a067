"""The kernels of presolve: what the fixed arcs exclude, and which factors can fire.

A word with one candidate arc left is fixed, and every arc that cannot be in a tree with it goes:
one that crosses it (projective), a second arc from the root (single root), one that closes a cycle
with fixed arcs. Where only one word can hang from the root, it does. This is repeated until
nothing changes; as every step only removes, the end does not depend on the order of the steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.problem.parts import Arcs, Factors
from bbparse.solving.presolve.order import MOST_ARCS, factor_key, same_set, sort_factors


@kernel
def _crosses(a: int, b: int, c: int, d: int) -> bool:
    """Whether the arcs between words a and b and between c and d cross."""
    if a > b:
        a, b = b, a
    if c > d:
        c, d = d, c
    return a < c < b < d or c < a < d < b


@kernel
def _leads_to(up: NDArray[np.int32], start: int, goal: int) -> bool:
    """Whether the heads in `up` (-1: open) lead from start to goal, start itself included."""
    word = start
    for _ in range(up.shape[0]):
        if word == goal:
            return True
        if word <= 0:
            return False
        word = up[word]
    return False


@kernel
def _propagate(
    n: int, head: NDArray[np.int32], mod: NDArray[np.int32], alive: NDArray[np.bool_],
    fixed: NDArray[np.int32], up: NDArray[np.int32], projective: bool, single_root: bool,
) -> bool:  # fmt: skip
    """Drop arcs that exclude a word's only candidate, until nothing changes.

    `alive[a]` says which arcs are left; `fixed[m]` is the only one of word m (-1: several) and
    `up[m]` its head (-1). All three are updated. Returns False if some word, or the root, is left
    without an arc.
    """
    n_arcs = head.shape[0]
    count = np.zeros(n + 1, dtype=np.int64)
    while True:
        # count[0] is the number of words with an arc from the root.
        count[:] = 0
        last_root = -1
        for a in range(n_arcs):
            if alive[a]:
                count[mod[a]] += 1
        root_words = np.zeros(n + 1, dtype=np.bool_)
        for a in range(n_arcs):
            if alive[a] and head[a] == 0 and not root_words[mod[a]]:
                root_words[mod[a]] = True
                count[0] += 1
                last_root = mod[a]
        for m in range(n + 1):
            if count[m] == 0:
                return False
        changed = False
        if count[0] == 1:
            for a in range(n_arcs):
                if alive[a] and mod[a] == last_root and head[a] != 0:
                    alive[a] = False
                    changed = True
        for a in range(n_arcs):
            if not alive[a] or count[mod[a]] != 1 or fixed[mod[a]] >= 0:
                continue
            h, m = head[a], mod[a]
            fixed[m] = a
            up[m] = h
            changed = True
            for b in range(n_arcs):
                if not alive[b] or b == a:
                    continue
                if (single_root and h == 0 and head[b] == 0) or (
                    projective and _crosses(h, m, head[b], mod[b])
                ):
                    alive[b] = False
        if not changed:
            return True
        for a in range(n_arcs):
            if alive[a] and _leads_to(up, head[a], mod[a]):
                alive[a] = False


@kernel
def _shrink(
    ptr: NDArray[np.int64], arcs: NDArray[np.int32], score: NDArray[np.float64],
    length: NDArray[np.int64], mod: NDArray[np.int32], alive: NDArray[np.bool_],
    fixed: NDArray[np.int32],
) -> tuple[bool, bool]:  # fmt: skip
    """Take fixed arcs out of the factors; drop (length -1) those over an arc that is gone.

    A hard factor of one arc drops the arc. Returns (whether it did, whether a hard factor has no
    arc left and so forbids every tree).
    """
    dropped = False
    for f in range(score.shape[0]):
        if length[f] < 0:
            continue
        start, left = ptr[f], 0
        for i in range(length[f]):
            a = arcs[start + i]
            if not alive[a]:
                left = -1
                break
            if fixed[mod[a]] != a:
                arcs[start + left] = a
                left += 1
        length[f] = left
        if score[f] == -np.inf and left == 0:
            return dropped, True
        if score[f] == -np.inf and left == 1:
            alive[arcs[start]] = False
            dropped = True
    return dropped, False


@kernel
def _arc_ends(
    head: NDArray[np.int32], mod: NDArray[np.int32], up: NDArray[np.int32]
) -> NDArray[np.int32]:
    """For each arc: the smaller word, the larger, where the fixed arcs above its head end, mod."""
    ends = np.empty((head.shape[0], 4), dtype=np.int32)
    top = np.empty(up.shape[0], dtype=np.int32)
    for word in range(up.shape[0]):
        above = word
        while up[above] >= 0:
            above = up[above]
        top[word] = above
    for a in range(head.shape[0]):
        h, m = head[a], mod[a]
        ends[a, 0], ends[a, 1] = min(h, m), max(h, m)
        ends[a, 2], ends[a, 3] = top[h], m
    return ends


@kernel
def _can_fire(
    lo: int, hi: int, arcs: NDArray[np.int32], ends: NDArray[np.int32], projective: bool,
    single_root: bool,
) -> bool:  # fmt: skip
    """Whether ``arcs[lo:hi]``, none of them fixed, may be in one tree with the fixed arcs.

    (It may say yes wrongly: only pairs and cycles are looked at.) Without branches, which would
    be taken at random.
    """
    bad = False
    for i in range(lo + 1, hi):
        a = arcs[i]
        a_low, a_high, a_top, a_mod = ends[a, 0], ends[a, 1], ends[a, 2], ends[a, 3]
        for j in range(lo, i):
            b = arcs[j]
            b_low, b_high, b_top, b_mod = ends[b, 0], ends[b, 1], ends[b, 2], ends[b, 3]
            bad |= a_mod == b_mod
            bad |= (a_top == b_mod) & (b_top == a_mod)
            bad |= single_root & ((a_low | b_low) == 0)
            crosses = (a_low < b_low) & (b_low < a_high) & (a_high < b_high)
            crosses |= (b_low < a_low) & (a_low < b_high) & (b_high < a_high)
            bad |= projective & crosses
    if bad or hi - lo < 3:
        return not bad
    for i in range(lo, hi):
        word = ends[arcs[i], 2]
        for _ in range(lo, hi):
            arc = -1
            for j in range(lo, hi):
                arc = j if ends[arcs[j], 3] == word else arc
            if arc == i:
                return False
            if arc < 0:
                break
            word = ends[arcs[arc], 2]
    return True


class Reduced(NamedTuple):
    """A problem without what cannot be in a tree, in the arc indices of the original one.

    Attributes
    ----------
    feasible : bool
        False if there is no tree; the rest then says nothing.
    same : bool
        Whether nothing was changed, not even the order of the factors.
    alive : bool[A]
        Arcs that are left.
    gain : float64[A]
        What is to be added to the score of each arc.
    constant : float
        What is to be added to the score of every tree.
    factors : Factors
        Those that are left, in canonical order.
    merged : int
        How many factors were added to another one.
    """

    feasible: bool
    same: bool
    alive: NDArray[np.bool_]
    gain: NDArray[np.float64]
    constant: float
    factors: Factors
    merged: int


@kernel
def reduce_problem(
    n: int, given: Arcs, factors: Factors, projective: bool, single_root: bool
) -> Reduced:
    """Everything that presolve does but counts and the move to the backbone."""
    head, mod, _, state = given
    ptr, factor_arcs, score = factors
    n_arcs, n_factors = head.shape[0], score.shape[0]
    alive = state != -1
    required = np.full(n + 1, -1, dtype=np.int32)
    for a in range(n_arcs):
        if state[a] == 1:
            required[mod[a]] = a
    for a in range(n_arcs):
        if required[mod[a]] >= 0 and required[mod[a]] != a:
            alive[a] = False
    arcs = factor_arcs.copy()
    length = np.empty(n_factors, dtype=np.int64)
    same = True
    for f in range(n_factors):
        length[f] = ptr[f + 1] - ptr[f]
        for i in range(ptr[f] + 1, ptr[f + 1]):
            a, j = arcs[i], i
            while j > ptr[f] and arcs[j - 1] > a:
                arcs[j] = arcs[j - 1]
                j -= 1
                same = False
            arcs[j] = a
    fixed = np.full(n + 1, -1, dtype=np.int32)
    up = np.full(n + 1, -1, dtype=np.int32)
    gain = np.zeros(n_arcs, dtype=np.float64)
    constant = 0.0
    no_ptr = np.zeros(1, dtype=np.int64)
    while True:
        if not _propagate(n, head, mod, alive, fixed, up, projective, single_root):
            nothing = Factors(no_ptr, arcs[:0], gain[:0])
            return Reduced(False, False, alive, gain, constant, nothing, 0)
        dropped, impossible = _shrink(ptr, arcs, score, length, mod, alive, fixed)
        if impossible:
            nothing = Factors(no_ptr, arcs[:0], gain[:0])
            return Reduced(False, False, alive, gain, constant, nothing, 0)
        if not dropped:
            break

    ends = _arc_ends(head, mod, up)
    live = np.empty(n_factors, dtype=np.int64)
    keys = np.empty(n_factors, dtype=np.int64)
    count = 0
    in_order = n_arcs <= MOST_ARCS
    for f in range(n_factors):
        if length[f] < 0 or score[f] == 0.0:
            continue
        if length[f] > 1 and not _can_fire(
            ptr[f], ptr[f] + length[f], arcs, ends, projective, single_root
        ):
            continue
        keys[count] = factor_key(f, ptr, arcs, length)
        # equal keys may be out of order; such factors are few
        in_order = in_order and (count == 0 or keys[count - 1] < keys[count])
        live[count] = f
        count += 1
    live, keys = live[:count], keys[:count]
    if not in_order:
        ordered, keys = sort_factors(live, keys, ptr, arcs, length, score, n_arcs)
        for i in range(count):
            same = same and ordered[i] == live[i]
        live = ordered

    new_ptr = np.zeros(count + 1, dtype=np.int64)
    new_arcs = np.empty(arcs.shape[0], dtype=np.int32)
    new_score = np.empty(count, dtype=np.float64)
    kept = merged = i = 0
    while i < count:
        f = live[i]
        total = score[f]
        i += 1
        while i < count and keys[i] == keys[i - 1] and same_set(f, live[i], ptr, arcs, length):
            total += score[live[i]]
            merged += 1
            i += 1
        if length[f] == 0:
            constant = total
        elif length[f] == 1:
            gain[arcs[ptr[f]]] = total
        elif total != 0.0:
            new_ptr[kept + 1] = new_ptr[kept] + length[f]
            for j in range(length[f]):
                new_arcs[new_ptr[kept] + j] = arcs[ptr[f] + j]
            new_score[kept] = total
            kept += 1
    # No factor was shrunk if all are left and none of their arcs is missing.
    same = same and kept == n_factors and new_ptr[kept] == arcs.shape[0] and alive.all()
    for a in range(n_arcs):
        same = same and state[a] == 0
    left = Factors(new_ptr[: kept + 1], new_arcs[: new_ptr[kept]], new_score[:kept])
    return Reduced(True, same, alive, gain, constant, left, merged)
