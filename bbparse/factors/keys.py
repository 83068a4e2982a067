"""Keys of features: 64-bit hashes that are the same in every process, and in Python and kernels.

A feature is a sequence of tokens: a text, a number, or a tuple, which is a bracket, its items and a
bracket. The key begins with the token of the family's name, and each token is mixed into it.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from operator import index
from typing import Any, TypeAlias

import numpy as np

from bbparse.errors import FactorError
from bbparse.jit import kernel

Feature: TypeAlias = "str | int | tuple[Feature, ...]"
"""What a feature may be: text, an integer, or a tuple of features."""

#: Kinds of tokens; those of brackets are tokens themselves.
TEXT, NUMBER, OPEN, CLOSE = range(4)
_ALL = (1 << 64) - 1


def mix_all(x: Any) -> Any:
    """The finaliser of SplitMix64 (Steele, Lea & Flood 2014): a bijection that spreads all bits.

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
    """The same of a Python integer."""
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & _ALL
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & _ALL
    return x ^ (x >> 31)


@lru_cache(maxsize=1 << 16)
def token(text: str) -> int:
    """64-bit token of a text."""
    return int.from_bytes(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )


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
    """A feature as text for people: ``("head", "NOUN", 2)`` is ``head NOUN 2``."""
    if isinstance(feature, tuple):
        return " ".join(map(readable, feature))
    return feature if isinstance(feature, str) else str(index(feature))
