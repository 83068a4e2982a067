"""Keys of features, and their weights.

A key is a 64-bit hash that is the same in every process, and in Python and kernels. A feature is a
sequence of tokens: a text, a number, or a tuple, which is a bracket, its items and a bracket. The
key begins with the token of the family's name, and each token is mixed into it.

A hashed weight vector gives every candidate factor some weight by collision; thousands of factors
are then alive, bounds are loose and time is lost. Here a feature has a weight only if it was seen
in enough gold trees, so that a factor with no known feature scores 0 and does not exist.

Keys are 64-bit hashes, sorted, beside their weights. In front of them stand two filters of one bit
per hash (Bloom 1970, one hash function), one for gates (coarse hashes that each key determines) and
one for keys, so that a kernel rejects most proposals by a look at a few hundred kilobytes. A wrong
"yes" of a filter costs time, never a score. As the filter takes the first bits of a key, the bits
set before a key's own, counted, tell where it is among the sorted keys, give or take a few.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from operator import index
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bbparse.runtime.arrays import Float64s, Hashes, Ints, Longs
from bbparse.runtime.errors import FactorError
from bbparse.runtime.jit import inlined, kernel, plain
from bbparse.treebank.encode import text_hash

Feature: TypeAlias = "str | int | tuple[Feature, ...]"
"""A feature: text, an integer, or a tuple of features."""

#: Kinds of tokens; those of brackets are tokens themselves.
TEXT, NUMBER, OPEN, CLOSE = range(4)
_ALL = (1 << 64) - 1
#: Places of features of a family that are remembered.
MOST_PLACES = 1 << 17


def mix_all(x: Any) -> Any:
    """Mix the bits by the finaliser of SplitMix64 (Steele, Lea & Flood 2014), a bijection.

    Of a np.uint64 in kernels, of uint64 arrays outside.
    """
    x = x ^ (x >> np.uint64(30))
    x = x * np.uint64(0xBF58476D1CE4E5B9)
    x = x ^ (x >> np.uint64(27))
    x = x * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


#: The same in kernels.
mix = kernel(mix_all)


def _mix(x: int) -> int:
    """Mix a Python integer in the same way."""
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & _ALL
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & _ALL
    return x ^ (x >> 31)


#: 64-bit token of a text.
token = lru_cache(maxsize=1 << 16)(text_hash)


def feature_key(family: str, feature: Feature) -> int:
    """64-bit key of a feature of a family, the same in every process.

    `FactorError` if the feature is not text, an integer or a tuple of such.
    """
    try:
        return _remembered_key(family, feature)
    except TypeError:  # what cannot be hashed is no feature; say so
        return _key(family, feature)


def _key(family: str, feature: Feature) -> int:
    return _mixed(token(family), feature)


# A look at the memory costs a tenth of the making of a key. It is for threads, too.
_remembered_key = lru_cache(maxsize=1 << 17)(_key)


def _mixed(key: int, feature: Feature) -> int:
    if isinstance(feature, str):
        return _mix(key ^ token(feature))
    if isinstance(feature, tuple):
        key = _mix(key ^ OPEN)
        for item in feature:
            key = _mixed(key, item)
        return _mix(key ^ CLOSE)
    try:
        number = index(feature)
    except TypeError:
        raise FactorError(
            f"feature {feature!r}: expected text, an integer or a tuple of such, "
            f"found {type(feature).__name__}"
        ) from None
    return _mix(key ^ _mix(number & _ALL ^ NUMBER))


def salt(family: str, feature: Feature) -> int:
    """64-bit number for what a kernel makes keys of by itself; no key of `feature_key`."""
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


#: The filter that lets everything pass.
ALL_PASS = np.full(1, np.iinfo(np.uint64).max, dtype=np.uint64)

_BITS_PER_HASH = 16  # one in 16 of what is not there passes, at most


def filter_of(hashes: Hashes) -> Hashes:
    """Return the filter that passes these hashes, and few others."""
    n_bits = max(6, (_BITS_PER_HASH * len(hashes)).bit_length())
    bits = np.zeros(1 << (n_bits - 6), dtype=np.uint64)
    index = hashes >> np.uint64(64 - n_bits)
    np.bitwise_or.at(bits, index >> np.uint64(6), np.uint64(1) << (index & np.uint64(63)))
    return bits


def shift_of(bits: Hashes) -> np.uint64:
    """By how much a hash is shifted to give the number of its bit: 64 - log2(64 len(bits))."""
    return np.uint64(65 - (64 * len(bits)).bit_length())


def passing(hashes: Any, bits: Hashes, shift: np.uint64) -> Any:
    """Return whether bit ``hash >> shift`` of a filter is set, of one hash or many."""
    bit = hashes >> shift
    return (bits[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & np.uint64(1) != np.uint64(0)


class KeyIndex(NamedTuple):
    """Filters and sorted keys, in which kernels look keys up.

    A gate is known only if it passes the filter ``gate_bits`` with ``gate_shift`` (see `passing`),
    and a key if it passes ``bits`` with ``shift``. Keys and weights lie side by side in ``pairs``
    (uint64[K, 2], keys) and ``weights`` (float64[K, 2], the same memory); ``starts`` (int32) are
    how many keys come before those of each word of ``bits``.
    """

    gate_bits: Hashes
    gate_shift: np.uint64
    bits: Hashes
    shift: np.uint64
    starts: Ints
    pairs: Hashes
    weights: Float64s


class FactorTable:
    """Weights float64[K] of the known features; 0 if left out.

    Keys, uint64[K], are strictly ascending, else `FactorError`; each may have a gate, 0 for none.
    `index` is a `KeyIndex` as a plain tuple, for kernels, `gate_bits` and `key_bits` its filters
    (see `passing`). A perceptron adds integers, and sums of integers below 2⁵³ are exact.
    """

    def __init__(
        self, keys: ArrayLike, gates: ArrayLike | None = None, weights: ArrayLike | None = None
    ) -> None:
        given = np.asarray(keys, np.uint64)
        size = len(given)
        # A key and its weight lie side by side: who finds the one has the other.
        pairs = np.empty((size, 2), dtype=np.uint64)
        self.keys = np.empty(size, dtype=np.uint64)
        self.weights = pairs.view(np.float64)[:, 1]
        self.keys[:] = pairs[:, 0] = given
        if size > 1 and not bool(np.all(self.keys[1:] > self.keys[:-1])):
            raise FactorError("keys of the factor table: expected strictly ascending keys")
        self.gates = np.array(np.zeros(size) if gates is None else gates, np.uint64)
        self.weights[:] = 0.0 if weights is None else weights
        if not bool(np.all(np.isfinite(self.weights))):
            raise FactorError("weights of the factor table: expected finite numbers")
        self._places: dict[str, _Places] = {}
        self.gate_bits = filter_of(np.unique(self.gates[self.gates != 0]))
        self.key_bits = filter_of(self.keys)
        shift = shift_of(self.key_bits)
        # Number of keys before those of each word of the filter.
        firsts = np.arange(len(self.key_bits), dtype=np.uint64) << (shift + np.uint64(6))
        starts = np.searchsorted(self.keys, firsts).astype(np.int32)
        self.index = plain(
            KeyIndex(
                self.gate_bits, shift_of(self.gate_bits), self.key_bits, shift, starts,
                pairs, pairs.view(np.float64),
            )
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: ArrayLike) -> Longs:
        """Position of each key in `keys` and `weights`, -1 for the unknown."""
        wanted = np.asarray(keys, dtype=np.uint64)
        positions = np.full(len(wanted), -1, dtype=np.int64)
        likely = np.flatnonzero(passing(wanted, self.key_bits, shift_of(self.key_bits)))
        places = np.searchsorted(self.keys, wanted[likely])
        places[places == len(self.keys)] = 0
        known = self.keys[places] == wanted[likely]
        positions[likely[known]] = places[known]
        return positions

    def places(self, family: str) -> Mapping[Feature, int]:
        """Return the position of each feature of a family, -1 if unknown; lookups are cached."""
        if family not in self._places:
            self._places.setdefault(family, _Places(self, family))
        return self._places[family]

    def pruned(self) -> FactorTable:
        """Return the table without the features of weight 0: scores stay, filters grow sharper."""
        keep = self.weights != 0
        return FactorTable(self.keys[keep], self.gates[keep], self.weights[keep])


class _Places(dict[Feature, int]):
    """See `FactorTable.places`; emptied where it grows too large, and for threads, too."""

    def __init__(self, table: FactorTable, family: str) -> None:
        self._table = table
        self._family = family

    def __missing__(self, feature: Feature) -> int:
        if len(self) >= MOST_PLACES:
            self.clear()
        place = self[feature] = int(self._table.find([feature_key(self._family, feature)])[0])
        return place


#: The same in kernels.
passes = inlined(passing)


@inlined
def first_place(key: np.uint64, bits: Hashes, shift: np.uint64, starts: Ints) -> np.uint64:
    """Return a position from which to look for a key that passes the filter.

    `bits` is the filter of the keys, `shift` its own (`shift_of`) and `starts` (int32[B]) how many
    keys come before those of each of its words.
    """
    one = np.uint64(1)
    bit = key >> shift
    x = bits[bit >> np.uint64(6)] & ((one << (bit & np.uint64(63))) - one)
    # Bits set (Warren 2002, figure 5-2). Compilers know it as one instruction.
    x -= (x >> one) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.uint64(starts[bit >> np.uint64(6)]) + (
        (x * np.uint64(0x0101010101010101)) >> np.uint64(56)
    )
