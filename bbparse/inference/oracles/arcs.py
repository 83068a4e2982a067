"""Candidate arcs of a problem in the order in which oracles read them."""

from __future__ import annotations

import numpy as np

from bbparse.runtime.jit import kernel


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
