"""Candidate arcs of a problem in the order in which oracles read them."""

from __future__ import annotations

import numpy as np

from bbparse.inference.oracles.projective.recurrences import GRANDSIB
from bbparse.runtime.arrays import Ints
from bbparse.runtime.errors import ProblemError
from bbparse.runtime.jit import kernel

#: Maximum number of positions of a dynamic program, such as hyperedges of a chart: 4 GiB. A chart
#: of 640 words that may all be heads of each other has so many.
MOST_POSITIONS = 2**28
#: Over fewer arcs no table is too large.
FEW_ARCS = 10_000


@kernel
def sort_stably(keys, before, after, first):
    """Write the arcs ``before`` into ``after``, sorted by their keys; equal ones stay in order.

    ``first`` is scratch of two elements more than the largest key.
    """
    first[:] = 0
    for a in before:
        first[keys[a] + 1] += 1
    for key in range(1, first.shape[0]):
        first[key] += first[key - 1]
    for a in before:
        after[first[keys[a]]] = a
        first[keys[a]] += 1


@kernel
def alive_arcs(n, head, mod, state):
    """Return the arcs that are neither forbidden nor rivals of required arcs.

    They are sorted by head, then by modifier; arcs between the same words stay in order.
    """
    required = np.full(n + 1, np.int32(-1), np.int32)
    for a in range(state.shape[0]):
        if state[a] == 1:
            required[mod[a]] = a
    order = np.empty(state.shape[0], np.int32)
    count, is_sorted = 0, True
    for a in range(state.shape[0]):
        only = required[mod[a]]
        if state[a] != -1 and (only < 0 or only == a):
            if count > 0:
                b = order[count - 1]
                is_sorted &= head[b] < head[a] or (head[b] == head[a] and mod[b] <= mod[a])
            order[count] = a
            count += 1
    order = order[:count].copy()
    if not is_sorted:
        by_mod, first = np.empty_like(order), np.empty(n + 2, np.int64)
        sort_stably(mod, order, by_mod, first)
        sort_stably(head, by_mod, order, first)
    return order


@kernel
def pair_groups(head, mod):
    """Return where the arcs of each pair of words begin, and the heads and modifiers of pairs.

    The arcs of a pair differ in label only.
    """
    ptr = np.empty(head.shape[0] + 1, np.int32)
    pair_head, pair_mod = np.empty_like(head), np.empty_like(mod)
    groups = 0
    for a in range(head.shape[0]):
        if a == 0 or head[a] != head[a - 1] or mod[a] != mod[a - 1]:
            ptr[groups], pair_head[groups], pair_mod[groups] = a, head[a], mod[a]
            groups += 1
    ptr[groups] = head.shape[0]
    return ptr[: groups + 1].copy(), pair_head[:groups].copy(), pair_mod[:groups].copy()


def check_size(n: int, mode: int, head: Ints, mod: Ints, of_pair: int = 1) -> None:
    """Refuse arcs over which the tables of a recurrence would fill the memory."""
    if len(head) < FEW_ARCS:
        return
    positions = len(head) * of_pair
    if mode > 0:
        siblings = np.bincount(2 * head.astype(np.int64) + (mod > head), minlength=2 * n + 2)
        pairs = (siblings * (siblings + 1) // 2).reshape(-1, 2).sum(axis=1)
        above = np.bincount(mod, minlength=n + 1)[: n + 1] if mode == GRANDSIB.mode else 1
        positions = max(positions, int((pairs * above).sum()))
    if positions > MOST_POSITIONS:
        raise too_large(n, head)


def too_large(n: int, head: Ints) -> ProblemError:
    """Return the error for arcs whose dynamic program would fill the memory."""
    return ProblemError(
        f"{n} words with {len(head)} candidate arcs need too much memory: prune arcs, or use the"
        " best tree of arc scores alone, which needs one number per arc"
    )
