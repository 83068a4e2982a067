"""Conditional probabilities with Witten-Bell back-off, stored in one hash table.

An event is an outcome in a context, and a context has several levels, from the most to the least
detailed. At a level where the context has count c and u distinct outcomes, an event with count e
has the probability

    λ·e/c + (1 − λ)·(the probability at the next level),    λ = c / (c + f·u)

(Witten & Bell 1991, with the factor f that Collins 1999 sets to 5). As in ARPA
files, the table stores the probability of each observed event and 1 − λ of each context, under
64-bit keys, so that a lookup backs off only while the event is unseen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.runtime.arrays import Hashes
from bbparse.runtime.jit import kernel

#: Hash table for kernels: keys by slot, and their values.
Table = tuple[Hashes, NDArray[np.float32]]


@kernel
def mix(key, value):
    """Hash a further field into a 64-bit key."""
    key = (key ^ np.uint64(value + 1)) * np.uint64(0x9E3779B97F4A7C15)
    return key ^ (key >> np.uint64(29))


@kernel
def event(context, outcome):
    """Return the key of an outcome in a context, distinct from keys of contexts."""
    return mix(context ^ np.uint64(0xA24BAED4963EE407), outcome)


@kernel
def kind_of_context(number):
    """Return the seed for keys of one kind of context."""
    return np.uint64(number) * np.uint64(0xC2B2AE3D27D4EB4F)


@kernel
def _find(slots, key):
    mask = np.uint64(slots.shape[0] - 1)
    at = (key * np.uint64(0xD6E8FEB86659FD93)) >> np.uint64(20) & mask
    while slots[at] != 0 and slots[at] != key:
        at = (at + np.uint64(1)) & mask
    return at


@kernel
def backed_off(table, contexts, outcome, floor):
    """Return the log probability of an outcome in contexts uint64[L], most detailed first.

    `floor` is the probability of an outcome that is unseen at all levels.
    """
    slots, values = table
    remaining = 1.0
    for level in range(contexts.shape[0]):
        at = _find(slots, event(contexts[level], outcome))
        if slots[at] != 0:
            return np.log(remaining * values[at])
        at = _find(slots, contexts[level])
        if slots[at] != 0:
            remaining *= values[at]
    return np.log(remaining * floor)


@kernel
def _fill(keys, values, slots, slot_values):
    for i in range(keys.shape[0]):
        at = _find(slots, keys[i])
        slots[at] = keys[i]
        slot_values[at] = values[i]


def open_table(keys: Hashes, values: NDArray[np.float32]) -> Table:
    """Build the hash table of distinct non-zero keys and their values."""
    size = 1 << max(4, int(2 * len(keys)).bit_length())
    slots, slot_values = np.zeros(size, np.uint64), np.zeros(size, np.float32)
    _fill(keys, values.astype(np.float32), slots, slot_values)
    return slots, slot_values


def estimate(
    contexts: Hashes, outcomes: Hashes, factor: float, floor: float
) -> tuple[Hashes, NDArray[np.float32]]:
    """Estimate the keys and values of a table from E observed events.

    ``contexts`` uint64[E, L] are their contexts at L levels, ``outcomes`` uint64[E, L] the keys
    that `event` gives. ``factor`` is f above; for ``floor`` see `backed_off`. Returns sorted
    distinct keys uint64[K] and values float32[K].
    """
    next_level = np.full(len(contexts), floor)
    keys, values = [], []
    for level in reversed(range(contexts.shape[1])):
        events, first, number, count = np.unique(
            outcomes[:, level], return_index=True, return_inverse=True, return_counts=True
        )
        groups, group, total = np.unique(
            contexts[:, level], return_inverse=True, return_counts=True
        )
        distinct = np.bincount(group[first], minlength=len(groups))
        weight = total / (total + factor * distinct)
        context_of = group[first]
        value = (
            weight[context_of] * count / total[context_of]
            + (1 - weight[context_of]) * next_level[first]
        )
        next_level = value[number]
        keys += [events, groups]
        values += [value, 1 - weight]
    unique_keys, positions = np.unique(np.concatenate(keys), return_index=True)
    return unique_keys, np.concatenate(values)[positions].astype(np.float32)
