"""Keys of features, and their weights.

A key is a 64-bit hash that is the same in every process, and in Python and kernels. A feature is a
sequence of tokens: a text, a number, or a tuple, which is a bracket, its items and a bracket. The
key begins with the token of the family's name, and each token is mixed into it.

A feature has a weight only if it was seen in enough gold trees: a factor with no known feature
scores 0 and does not exist. (In a hashed weight vector, collisions give thousands of factors some
weight, and bounds become loose.)
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from operator import index
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from bbparse.runtime.arrays import Hashes, Ints, Longs
from bbparse.runtime.errors import FactorError
from bbparse.runtime.jit import kernel
from bbparse.treebank.encode import text_hash

Feature: TypeAlias = "str | int | tuple[Feature, ...]"
"""A feature: text, an integer, or a tuple of features."""

# Token of numbers, and those of brackets.
_NUMBER, _OPEN, _CLOSE = 1, 2, 3
_ALL = (1 << 64) - 1


def _mix(x: int) -> int:
    """Mix a Python integer as `mix_all` does."""
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & _ALL
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & _ALL
    return x ^ (x >> 31)


#: 64-bit token of a text.
token = lru_cache(maxsize=1 << 16)(text_hash)


def feature_key(family: str, feature: Feature) -> int:
    """Return the 64-bit key of a feature of a family, the same in every process.

    `FactorError` if the feature is not text, an integer or a tuple of these.
    """
    try:
        return _cached_key(family, feature)
    except TypeError:  # what cannot be hashed is no feature
        return _mixed(token(family), feature)  # which raises the error


@lru_cache(maxsize=1 << 17)  # hashing costs ten times more
def _cached_key(family: str, feature: Feature) -> int:
    return _mixed(token(family), feature)


def _mixed(key: int, feature: Feature) -> int:
    if isinstance(feature, str):
        return _mix(key ^ token(feature))
    if isinstance(feature, tuple):
        key = _mix(key ^ _OPEN)
        for item in feature:
            key = _mixed(key, item)
        return _mix(key ^ _CLOSE)
    try:
        number = index(feature)
    except TypeError:
        raise FactorError(
            f"feature {feature!r}: expected text, an integer or a tuple of these, "
            f"found {type(feature).__name__}"
        ) from None
    return _mix(key ^ _mix(number & _ALL ^ _NUMBER))


def salt(family: str, feature: Feature) -> int:
    """Return a 64-bit number to make keys from in a kernel; no key of `feature_key`."""
    return token(f"{len(family)}:{family}" + _canonical(feature))


def _canonical(feature: Feature) -> str:
    """Text that differs for different features: lengths and brackets keep the pieces apart."""
    if isinstance(feature, tuple):
        return "(" + "".join(map(_canonical, feature)) + ")"
    return f"s{len(feature)}:{feature}" if isinstance(feature, str) else f"i{index(feature)};"


def readable(feature: Feature) -> str:
    """Write a feature as text for people: ``("head", "NOUN", 2)`` is ``head NOUN 2``."""
    if isinstance(feature, tuple):
        return " ".join(map(readable, feature))
    return feature if isinstance(feature, str) else str(index(feature))


class FactorTable:
    """Weights float64[K] of the known features, 0 by default, by strictly ascending keys."""

    def __init__(self, keys: ArrayLike, weights: ArrayLike | None = None) -> None:
        self.keys = np.array(keys, np.uint64)
        self.weights = np.zeros(len(self.keys))
        self.weights[:] = 0.0 if weights is None else weights
        if not bool(np.all(self.keys[1:] > self.keys[:-1])):
            raise FactorError("keys of the factor table: expected strictly ascending keys")
        if not bool(np.all(np.isfinite(self.weights))):
            raise FactorError("weights of the factor table: expected finite numbers")

    @cached_property
    def _slots(self) -> Ints:
        return cast("Ints", _slots(self.keys))

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: ArrayLike) -> Longs:
        """Return the position of each key, uint64[*], in `keys`, -1 for the unknown."""
        places: Longs = _find(np.array(keys, np.uint64), self.keys, self._slots)
        return places

    def pruned(self) -> FactorTable:
        """Return the table without the features of weight 0: scores stay."""
        keep = self.weights != 0
        return FactorTable(self.keys[keep], self.weights[keep])


@kernel
def _slots(keys: Hashes) -> Ints:
    """Return a hash table with open addressing: the position of the key in each slot, or -1."""
    size = 8
    while size < 4 * keys.shape[0]:
        size *= 2
    slots = np.full(size, np.int32(-1))
    for place in range(keys.shape[0]):
        slot = np.int64(keys[place] & np.uint64(size - 1))
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = place
    return slots


@kernel
def _find(wanted: Hashes, keys: Hashes, slots: Ints) -> Longs:
    """Look keys up in the hash table of `_slots`."""
    places = np.empty(wanted.shape[0], np.int64)
    last = slots.shape[0] - 1
    for i in range(wanted.shape[0]):
        slot = np.int64(wanted[i] & np.uint64(last))
        while slots[slot] >= 0 and keys[slots[slot]] != wanted[i]:
            slot = (slot + 1) & last
        places[i] = slots[slot]
    return places
