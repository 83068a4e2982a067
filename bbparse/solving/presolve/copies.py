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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.bounding.slack import RELATIVE_SLACK
from bbparse.jit import kernel
from bbparse.problem import Problem

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
    alive = beaten_copies(
        p.n_words, p.arc_head, p.arc_mod, p.arc_score, p.arc_state, p.factor_ptr, p.factor_arcs,
        p.factor_score, p.count_ptr, p.count_arcs, p.quantum > 0.0,
    )  # fmt: skip
    kept = np.flatnonzero(alive)
    head, mod = p.arc_head[kept], p.arc_mod[kept]
    changes: dict[str, Any] = {}
    if not ((head[1:] == head[:-1]) & (mod[1:] == mod[:-1])).any():
        changes["arc_label"] = None
    if len(kept) == len(alive):
        return (p.changed(**changes) if changes else p), None
    place = np.cumsum(alive, dtype=np.int32) - np.int32(1)
    ptr, arcs, scores = _without_arcs(alive, place, p.factor_ptr, p.factor_arcs, p.factor_score)
    changes.update(
        arc_head=head, arc_mod=mod, arc_score=p.arc_score[kept], arc_state=p.arc_state[kept],
        factor_ptr=ptr, factor_arcs=arcs, factor_score=scores,
    )  # fmt: skip
    if "arc_label" not in changes:
        changes["arc_label"] = p.arc_label[kept]
    if len(p.count_arcs):
        changes.update(_smaller_counts(p, alive, place))
    return p.changed(**changes), kept


def _smaller_counts(p: Problem, alive: Flags, place: Ints) -> dict[str, Any]:
    """Count factors without the arcs that are gone, and without the scores of their numbers."""
    inside = alive[p.count_arcs]
    sizes = np.diff(np.concatenate([[0], np.cumsum(inside)])[p.count_ptr])
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    tables = [
        p.count_score[first : first + size + 1]
        for first, size in zip(p.count_score_ptr[:-1].tolist(), sizes.tolist())
    ]
    return {
        "count_ptr": ptr, "count_arcs": place[p.count_arcs[inside]],
        "count_score_ptr": ptr + np.arange(len(ptr)), "count_score": np.concatenate(tables),
    }  # fmt: skip


@kernel
def _without_arcs(
    alive: Flags, place: Ints, ptr: Longs, arcs: Ints, score: Floats
) -> tuple[Longs, Ints, Floats]:
    """The factors all of whose arcs are alive, with the arcs' new numbers."""
    new_ptr = np.zeros(ptr.shape[0], np.int64)
    new_arcs = np.empty(arcs.shape[0], np.int32)
    new_score = np.empty(score.shape[0])
    n = i = 0
    for f in range(score.shape[0]):
        whole = True
        for k in range(ptr[f], ptr[f + 1]):
            whole &= alive[arcs[k]]
        if not whole:
            continue
        for k in range(ptr[f], ptr[f + 1]):
            new_arcs[i] = place[arcs[k]]
            i += 1
        new_score[n] = score[f]
        n += 1
        new_ptr[n] = i
    return new_ptr[: n + 1].copy(), new_arcs[:i].copy(), new_score[:n].copy()


@kernel
def _by_arc(n_arcs: int, ptr: Longs, arcs: Ints) -> tuple[Longs, Longs]:
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
def _same_rest(f: int, a: int, g: int, b: int, ptr: Longs, arcs: Ints) -> bool:
    """Whether factor f without its arc a has the same arcs as factor g without its arc b."""
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
def _gather(
    a: int, first: Longs, of: Longs, ptr: Longs, arcs: Ints, score: Floats, mod: Ints,
    alive: Flags, pair: Floats, seen: Flags, touched: Ints, n_touched: int,
    large: Longs, key: NDArray[np.uint64], mix: NDArray[np.uint64],
) -> tuple[int, int]:  # fmt: skip
    """The factors of arc a that can fire: weights of pairs by their other arc, and larger ones.

    Returns how many arcs are touched, and how many larger factors there are; these are sorted by
    a key of their arcs other than a.
    """
    n_large = 0
    for j in range(first[a], first[a + 1]):
        f = of[j]
        fires = True
        code = np.uint64(0)
        other = -1
        for k in range(ptr[f], ptr[f + 1]):
            x = arcs[k]
            if x == a:
                continue
            fires &= alive[x] and mod[x] != mod[a]
            code += mix[x]
            other = x
        if not fires:
            continue
        if ptr[f + 1] - ptr[f] == 2:
            pair[other] += score[f]
            if not seen[other]:
                seen[other] = True
                touched[n_touched] = other
                n_touched += 1
        else:
            large[n_large] = f
            key[n_large] = code
            n_large += 1
    if n_large > 1:
        order = np.argsort(key[:n_large])
        large[:n_large] = large[:n_large][order]
        key[:n_large] = key[:n_large][order]
    return n_touched, n_large


@kernel
def _beats(
    d: int, c: int, arc_score: Floats, mod: Ints, alive: Flags, first: Longs, of: Longs,
    ptr: Longs, arcs: Ints, score: Floats, mix: NDArray[np.uint64], exact: bool,
    pairs: Floats, loss: Floats, worst: Floats, seen: Flags, touched: Ints, large: Longs,
    keys: NDArray[np.uint64],
) -> bool:  # fmt: skip
    """Whether copy d scores more than copy c in every tree that c can be in.

    The arrays from `pairs` on (float64[2, A], float64[A], float64[n + 1], bool[A], int32[A],
    int64[2, F], uint64[2, F]) are room to work in; the first four are zeros before and after.
    """
    size = abs(arc_score[d]) + abs(arc_score[c])
    n_touched, n_c = _gather(
        c, first, of, ptr, arcs, score, mod, alive, pairs[0], seen, touched, 0, large[0],
        keys[0], mix,
    )  # fmt: skip
    n_touched, n_d = _gather(
        d, first, of, ptr, arcs, score, mod, alive, pairs[1], seen, touched, n_touched, large[1],
        keys[1], mix,
    )  # fmt: skip
    for i in range(n_touched):
        x = touched[i]
        of_c, of_d = pairs[0, x], pairs[1, x]
        if of_d != of_c:  # -inf for both is no difference
            loss[x] = of_d - of_c
        size += _magnitude(of_c) + _magnitude(of_d)
        pairs[0, x] = 0.0
        pairs[1, x] = 0.0
    i = j = 0
    while i < n_c or j < n_d:
        # the factors of c, and those of d, with the same other arcs
        if i < n_c and (j == n_d or keys[0, i] <= keys[1, j]):
            own, one, key = c, large[0, i], keys[0, i]
        else:
            own, one, key = d, large[1, j], keys[1, j]
        of_c = of_d = 0.0
        same = True
        while i < n_c and keys[0, i] == key:
            f = large[0, i]
            same &= _same_rest(f, c, one, own, ptr, arcs)
            of_c += score[f]
            size += _magnitude(score[f])
            i += 1
        while j < n_d and keys[1, j] == key:
            f = large[1, j]
            same &= _same_rest(f, d, one, own, ptr, arcs)
            of_d += score[f]
            size += _magnitude(score[f])
            j += 1
        x = -1
        for k in range(ptr[one], ptr[one + 1]):
            if arcs[k] != own and (x < 0 or arcs[k] < x):
                x = arcs[k]
        if not seen[x]:
            seen[x] = True
            touched[n_touched] = x
            n_touched += 1
        if not same:  # two sets of arcs with one key: nothing can be said for d
            loss[x] = -np.inf
        elif of_d < of_c and loss[x] < np.inf:  # inf: c cannot be in a tree with x
            loss[x] += of_d - of_c
    lead = arc_score[d] - arc_score[c]
    for i in range(n_touched):
        x = touched[i]
        worst[mod[x]] = min(worst[mod[x]], loss[x])
    for i in range(n_touched):
        x = touched[i]
        lead += worst[mod[x]]
        worst[mod[x]] = 0.0
        loss[x] = 0.0
        seen[x] = False
    return lead > (0.0 if exact else RELATIVE_SLACK * size)


@kernel
def _magnitude(x: float) -> float:
    """Of a finite score; 0 of others."""
    return abs(x) if x > -np.inf else 0.0


@kernel
def beaten_copies(
    n_words: int, head: Ints, mod: Ints, arc_score: Floats, state: NDArray[np.int8],
    ptr: Longs, arcs: Ints, score: Floats, count_ptr: Longs, count_arcs: Ints, exact: bool,
) -> Flags:  # fmt: skip
    """Which arcs are left when those that another copy beats are gone.

    Parameters
    ----------
    n_words : int
    head, mod, arc_score, state
        Arcs sorted by head, then by modifier. A forbidden arc beats none, and where a word's arc
        is required, no other arc into it does; they are left for others to drop.
    ptr, arcs, score
        Factors; weights may be -inf.
    count_ptr, count_arcs
        Count factors; only arcs that are in the same of them are compared.
    exact : bool
        Whether sums of scores are exact. If not, a copy has to be better by more than sums can be
        wrong.

    Returns
    -------
    bool[A]
    """
    n_arcs = head.shape[0]
    left = np.ones(n_arcs, np.bool_)
    alive = np.empty(n_arcs, np.bool_)
    required = np.zeros(n_words + 1, np.bool_)
    for a in range(n_arcs):
        required[mod[a]] |= state[a] == 1
    for a in range(n_arcs):
        alive[a] = state[a] == 1 or (state[a] == 0 and not required[mod[a]])
    several = False
    for a in range(1, n_arcs):
        several |= head[a] == head[a - 1] and mod[a] == mod[a - 1]
    if not several:
        return left
    first, of = _by_arc(n_arcs, ptr, arcs)
    set_first, set_of = _by_arc(n_arcs, count_ptr, count_arcs)
    most = 0
    for a in range(n_arcs):
        most = max(most, first[a + 1] - first[a])
    mix = np.empty(n_arcs, np.uint64)  # of an arc's number; sums of them are keys of sets
    for a in range(n_arcs):
        x = np.uint64(a + 1) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        mix[a] = x ^ (x >> np.uint64(32))
    pairs = np.zeros((2, n_arcs))
    loss = np.zeros(n_arcs)
    worst = np.zeros(n_words + 1)
    seen = np.zeros(n_arcs, np.bool_)
    touched = np.empty(n_arcs, np.int32)
    large = np.empty((2, most), np.int64)
    keys = np.empty((2, most), np.uint64)
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
                        arc_score[d] > arc_score[c] and alive[c] and alive[d]
                        and _same_sets(c, d, set_first, set_of)
                        and _beats(
                            d, c, arc_score, mod, alive, first, of, ptr, arcs, score, mix, exact,
                            pairs, loss, worst, seen, touched, large, keys,
                        )
                    ):  # fmt: skip
                        alive[c] = left[c] = False
                        changed = True
                        break
    return left
