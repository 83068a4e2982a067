"""Copies of an arc that are in no best tree: arcs between the same words with another label.

Let c and d be arcs between the same two words. A tree with c becomes a tree with d, and its parts
stay, as these are by words: only the arc's score changes, and those of the factors that have one
of the two. So d beats c if it scores more by more than the factors can ever take back. What they
take back is bounded word by word, as a tree has one arc into each: of the factors of c and d that
have an arc x besides, a loss is counted once, for the worst x, for each word that x leads to. (In
protein design this is known as dead-end elimination; the criterion is Goldstein's of 1994.) Factors
that do not ask for labels have one weight for both and cancel.

Only copies that another beats, not those it draws with, are dropped: the best trees stay, all of
them, but not the second best, nor the second best labels of a tree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.bounding.slack import RELATIVE_SLACK
from bbparse.jit import kernel
from bbparse.problem import Problem
from bbparse.problem.parts import Arcs, Counts, Factors, take_sets

__all__ = ["beaten_copies", "without_beaten"]

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def without_beaten(problem: Problem) -> tuple[Problem, Longs | None]:
    """The problem without copies that another copy beats.

    Parameters
    ----------
    problem : Problem
        Its arcs sorted by (head, modifier, label).

    Returns
    -------
    problem : Problem
        With the same best trees. Without labels if no two arcs join the same words any more.
    kept : int64[A'] or None
        Index in the given problem of each arc; None if all were kept.
    """
    p = problem
    if p.arc_label is None:
        return p, None
    alive = beaten_copies(p.n_words, p.arcs, p.factors, p.counts, p.quantum > 0.0)
    kept = np.flatnonzero(alive)
    head, mod = p.arc_head[kept], p.arc_mod[kept]
    several = ((head[1:] == head[:-1]) & (mod[1:] == mod[:-1])).any()
    labels = p.arc_label[kept] if several else None
    if len(kept) == len(alive):
        return (p if several else p.changed(arc_label=None)), None
    place = np.cumsum(alive, dtype=np.int32) - np.int32(1)
    whole = np.ones(len(p.factor_score), np.bool_)
    if len(whole):
        whole = np.logical_and.reduceat(alive[p.factor_arcs], p.factor_ptr[:-1])
    ptr, arcs = take_sets(p.factor_ptr, p.factor_arcs, whole)
    changes: dict[str, Any] = {
        "arc_head": head, "arc_mod": mod, "arc_label": labels,
        "arc_score": p.arc_score[kept], "arc_state": p.arc_state[kept],
        "factor_ptr": ptr, "factor_arcs": place[arcs], "factor_score": p.factor_score[whole],
    }  # fmt: skip
    if len(p.count_arcs):
        changes.update(_smaller_counts(p, alive, place))
    return p.changed(**changes), kept


def _smaller_counts(p: Problem, alive: Flags, place: Ints) -> dict[str, Any]:
    """Count factors without the arcs that are gone, and without the scores of their numbers."""
    inside = alive[p.count_arcs]
    sizes = np.add.reduceat(inside, p.count_ptr[:-1], dtype=np.int64)
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    tables = [
        p.count_score[first : first + size + 1]
        for first, size in zip(p.count_score_ptr[:-1].tolist(), sizes.tolist())
    ]
    return {
        "count_ptr": ptr, "count_arcs": place[p.count_arcs[inside]],
        "count_score_ptr": ptr + np.arange(len(ptr)), "count_score": np.concatenate(tables),
    }  # fmt: skip


class _ByArc(NamedTuple):
    """The factors that each arc is in: arc a in those of ``of[first[a]:first[a + 1]]``.

    They rise by ``key``, which tells what other arcs a factor has. Keys of more than one other arc
    are above all others.
    """

    first: Longs
    of: Longs
    key: NDArray[np.uint64]


@kernel
def _sets_of(n_arcs: int, ptr: Longs, arcs: Ints) -> tuple[Longs, Longs]:
    """Which sets each arc is in, ascending: arc a is in those of of[first[a]:first[a + 1]]."""
    first = np.zeros(n_arcs + 1, np.int64)
    for a in arcs:
        first[a + 1] += 1
    for a in range(n_arcs):
        first[a + 1] += first[a]
    fill = first[:-1].copy()
    of = np.empty(arcs.shape[0], np.int64)
    for s in range(ptr.shape[0] - 1):
        for k in range(ptr[s], ptr[s + 1]):
            of[fill[arcs[k]]] = s
            fill[arcs[k]] += 1
    return first, of


@kernel
def _by_arc(n_arcs: int, ptr: Longs, arcs: Ints) -> _ByArc:
    mix = np.empty(n_arcs, np.uint64)  # of an arc's number; sums of them are keys of sets
    for a in range(n_arcs):
        x = np.uint64(a + 1) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        mix[a] = x ^ (x >> np.uint64(32))
    code = np.zeros(ptr.shape[0] - 1, np.uint64)
    for f in range(ptr.shape[0] - 1):
        for k in range(ptr[f], ptr[f + 1]):
            code[f] += mix[arcs[k]]
    first, of = _sets_of(n_arcs, ptr, arcs)
    key = np.empty(of.shape[0], np.uint64)
    for a in range(n_arcs):
        lo, hi = first[a], first[a + 1]
        for i in range(lo, hi):
            larger = np.uint64(ptr[of[i] + 1] - ptr[of[i]] > 2)
            key[i] = ((code[of[i]] - mix[a]) >> np.uint64(1)) | (larger << np.uint64(63))
        order = np.argsort(key[lo:hi])
        of[lo:hi] = of[lo:hi][order]
        key[lo:hi] = key[lo:hi][order]
    return _ByArc(first, of, key)


@kernel
def _same_rest(f: int, a: int, g: int, b: int, ptr: Longs, arcs: Ints) -> bool:
    """Whether set f without its arc a has the same arcs as set g without its arc b."""
    if ptr[f + 1] - ptr[f] != ptr[g + 1] - ptr[g]:
        return False
    for i in range(ptr[f], ptr[f + 1]):
        if arcs[i] == a:
            continue
        found = False
        for j in range(ptr[g], ptr[g + 1]):
            found |= arcs[j] == arcs[i]
        if not found:
            return False
    return True


@kernel
def _same_sets(a: int, b: int, first: Longs, of: Longs) -> bool:
    """Whether two arcs are in the same sets."""
    size = first[a + 1] - first[a]
    if first[b + 1] - first[b] != size:
        return False
    for i in range(size):
        if of[first[a] + i] != of[first[b] + i]:
            return False
    return True


@kernel
def _beats(
    d: int, c: int, given: Arcs, factors: Factors, by_arc: _ByArc, alive: Flags, exact: bool,
    room: tuple[Floats, Floats, Ints],
) -> bool:  # fmt: skip
    """Whether copy d scores more than copy c in every tree that c can be in.

    ``room`` float64[A], float64[n + 1] and int32[2 F] is to work in; the floats are zeros before
    and after.
    """
    first, of, key = by_arc
    ptr, arcs, score = factors
    loss, worst, touched = room
    n_touched = 0
    hopeless = False  # two sets of arcs have one key: nothing can be said for d
    size = abs(given.score[d]) + abs(given.score[c])
    i, j = first[c], first[d]
    while i < first[c + 1] or j < first[d + 1]:
        # the factors of c, and those of d, with the same other arcs
        if i < first[c + 1] and (j == first[d + 1] or key[i] <= key[j]):
            own, one, code = c, of[i], key[i]
        else:
            own, one, code = d, of[j], key[j]
        of_c = of_d = summed = 0.0
        while i < first[c + 1] and key[i] == code:
            hopeless |= not _same_rest(of[i], c, one, own, ptr, arcs)
            of_c += score[of[i]]
            summed += _magnitude(score[of[i]])
            i += 1
        while j < first[d + 1] and key[j] == code:
            hopeless |= not _same_rest(of[j], d, one, own, ptr, arcs)
            of_d += score[of[j]]
            summed += _magnitude(score[of[j]])
            j += 1
        x = -1
        fires = True
        for k in range(ptr[one], ptr[one + 1]):
            a = arcs[k]
            if a != own:
                fires &= alive[a] and given.mod[a] != given.mod[c]
                x = a if x < 0 else min(x, a)
        if not fires:
            continue
        size += summed
        touched[n_touched] = x
        n_touched += 1
        if ptr[one + 1] - ptr[one] == 2:
            if of_d != of_c:  # -inf for both is no difference
                loss[x] = of_d - of_c
        elif of_d < of_c and loss[x] < np.inf:  # inf: c cannot be in a tree with x
            loss[x] += of_d - of_c
    lead = given.score[d] - given.score[c]
    for i in range(n_touched):
        m = given.mod[touched[i]]
        worst[m] = min(worst[m], loss[touched[i]])
    for i in range(n_touched):
        m = given.mod[touched[i]]
        lead += worst[m]
        worst[m] = 0.0
        loss[touched[i]] = 0.0
    return not hopeless and lead > (0.0 if exact else RELATIVE_SLACK * size)


@kernel
def _magnitude(x: float) -> float:
    """Of a finite score; 0 of others."""
    return abs(x) if x > -np.inf else 0.0


@kernel
def beaten_copies(n: int, given: Arcs, factors: Factors, counts: Counts, exact: bool) -> Flags:
    """Which arcs are left when those that another copy beats are gone.

    Parameters
    ----------
    n : int
        Number of words.
    given : Arcs
        Sorted by head, then by modifier. A forbidden arc beats none, and where a word's arc is
        required, no other arc into it does; they are left for others to drop.
    factors : Factors
        Weights may be -inf.
    counts : Counts
        Only arcs that are in the same of them are compared.
    exact : bool
        Whether sums of scores are exact. If not, a copy has to be better by more than sums can be
        wrong.

    Returns
    -------
    bool[A]
    """
    head, mod, score, state = given
    n_arcs = head.shape[0]
    left = np.ones(n_arcs, np.bool_)
    alive = np.empty(n_arcs, np.bool_)
    required = np.zeros(n + 1, np.bool_)
    for a in range(n_arcs):
        required[mod[a]] |= state[a] == 1
    several = False
    for a in range(n_arcs):
        alive[a] = state[a] == 1 or (state[a] == 0 and not required[mod[a]])
        several |= a > 0 and head[a] == head[a - 1] and mod[a] == mod[a - 1]
    if not several:
        return left
    by_arc = _by_arc(n_arcs, factors.ptr, factors.arcs)
    set_first, set_of = _sets_of(n_arcs, counts.ptr, counts.arcs)
    room = np.zeros(n_arcs), np.zeros(n + 1), np.empty(2 * factors.score.shape[0], np.int32)
    changed = True
    while changed:
        changed = False
        end = 0
        for start in range(n_arcs):
            if start < end:
                continue
            while end < n_arcs and head[end] == head[start] and mod[end] == mod[start]:
                end += 1
            for c in range(start, end):
                for d in range(start, end):
                    if (
                        score[d] > score[c] and alive[c] and alive[d]
                        and _same_sets(c, d, set_first, set_of)
                        and _beats(d, c, given, factors, by_arc, alive, exact, room)
                    ):  # fmt: skip
                        alive[c] = left[c] = False
                        changed = True
                        break
    return left
