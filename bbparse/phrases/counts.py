"""Conditional probabilities from counts, backed off level by level, in one table.

An event is an outcome in a context that is described in several levels, the most detailed first.
Its probability at a level with count c of the context, u different outcomes there and count e of
the event is

    λ·e/c + (1 − λ)·(the probability at the next level),    λ = c / (c + f·u)

(Witten & Bell 1991, with the factor f that Collins 1999 sets to 5). As in the files of n-gram
models the table holds, under 64-bit keys, the probability of each event that was seen and the
1 − λ of each context: so a look-up goes down only as long as the event has not been seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel

Longs = NDArray[np.uint64]
#: Slots and their values: the table as kernels take it.
Table = tuple[Longs, NDArray[np.float32]]


@kernel
def mix(key, value):
    """One more field in a key of 64 bits."""
    key = (key ^ np.uint64(value + 1)) * np.uint64(0x9E3779B97F4A7C15)
    return key ^ (key >> np.uint64(29))


@kernel
def _find(slots, key):
    mask = np.uint64(slots.shape[0] - 1)
    at = (key * np.uint64(0xD6E8FEB86659FD93)) >> np.uint64(20) & mask
    while slots[at] != 0 and slots[at] != key:
        at = (at + np.uint64(1)) & mask
    return at


@kernel
def backed_off(table, contexts, outcome, floor):
    """Logarithm of the probability of an outcome in contexts uint64[L], the most detailed first.

    The floor is the probability of an outcome that the last level has not seen, given that it is
    none it has.
    """
    slots, values = table
    left = 1.0
    for level in range(contexts.shape[0]):
        at = _find(slots, mix(contexts[level], outcome))
        if slots[at] != 0:
            return np.log(left * values[at])
        at = _find(slots, contexts[level])
        if slots[at] != 0:
            left *= values[at]
    return np.log(left * floor)


@kernel
def _fill(keys, values, slots, slot_values):
    for i in range(keys.shape[0]):
        at = _find(slots, keys[i])
        slots[at] = keys[i]
        slot_values[at] = values[i]


def open_table(keys: Longs, values: NDArray[np.float32]) -> Table:
    """The table for look-ups, half empty, from all keys (none 0, none twice) and values."""
    size = 1 << max(4, int(2 * len(keys)).bit_length())
    slots, found = np.zeros(size, np.uint64), np.zeros(size, np.float32)
    _fill(keys, values.astype(np.float32), slots, found)
    return slots, found


def estimate(
    contexts: Longs, outcomes: Longs, factor: float, floor: float
) -> tuple[Longs, NDArray[np.float32]]:
    """Keys and values of a table from observed events.

    Those are contexts uint64[E, L], and outcomes ``mix(context, outcome)`` of each; the factor is f
    above.
    """
    below = np.full(len(contexts), floor)
    keys, values = [], []
    for level in reversed(range(contexts.shape[1])):
        seen, first, which, count = np.unique(
            outcomes[:, level], return_index=True, return_inverse=True, return_counts=True
        )
        groups, group, total = np.unique(
            contexts[:, level], return_inverse=True, return_counts=True
        )
        distinct = np.bincount(group[first], minlength=len(groups))
        trust = total / (total + factor * distinct)
        of = group[first]
        value = trust[of] * count / total[of] + (1 - trust[of]) * below[first]
        below = value[which]
        keys += [seen, groups]
        values += [value, 1 - trust]
    every, place = np.unique(np.concatenate(keys), return_index=True)
    return every, np.concatenate(values)[place].astype(np.float32)
