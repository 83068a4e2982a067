"""Keys of features, and their weights.

A key is a 64-bit hash that is the same in every process, and in Python and kernels.

A feature has a weight only if it was seen in enough gold trees: a factor without known features
scores 0 and is dropped. (In a hashed weight vector, collisions would give thousands of factors some
weight, and bounds would become loose.)
"""

from __future__ import annotations

from functools import lru_cache
from operator import index
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bbparse.runtime.arrays import Longs, indices_among
from bbparse.runtime.errors import FactorError
from bbparse.treebank.encode import text_hash

Feature: TypeAlias = "str | int | tuple[Feature, ...]"
"""A feature: text, an integer, or a tuple of features."""


def feature_key(family: str, feature: Feature) -> int:
    """Return the 64-bit key of a feature of a family, the same in every process."""
    try:
        return _key(family, feature)
    except TypeError:  # what cannot be hashed is no feature
        return text_hash(_canonical(feature))  # which raises the error


@lru_cache(maxsize=1 << 17)  # hashing costs ten times more
def _key(family: str, feature: Feature) -> int:
    return text_hash(f"{len(family)}:{family}" + _canonical(feature))


def _canonical(feature: Feature) -> str:
    """Return unambiguous text of a feature: lengths and brackets separate its parts."""
    if isinstance(feature, tuple):
        return "(" + "".join(map(_canonical, feature)) + ")"
    if isinstance(feature, str):
        return f"s{len(feature)}:{feature}"
    try:
        return f"i{index(feature)};"
    except TypeError:
        raise FactorError(
            f"feature {feature!r}: expected text, an integer or a tuple of these, "
            f"found {type(feature).__name__}"
        ) from None


def readable(feature: Feature) -> str:
    """Return a feature as readable text: ``("head", "NOUN", 2)`` is ``head NOUN 2``."""
    if isinstance(feature, tuple):
        return " ".join(map(readable, feature))
    return feature if isinstance(feature, str) else str(index(feature))


class FactorTable:
    """Weights float64[K] of the known features, 0 by default, in ascending order of keys."""

    def __init__(self, keys: ArrayLike, weights: ArrayLike | None = None) -> None:
        self.keys = np.array(keys, np.uint64)
        self.weights = np.zeros(len(self.keys))
        self.weights[:] = 0.0 if weights is None else weights
        if not bool(np.all(self.keys[1:] > self.keys[:-1])):
            raise FactorError("keys of the factor table: expected strictly ascending keys")
        if not bool(np.all(np.isfinite(self.weights))):
            raise FactorError("weights of the factor table: expected finite numbers")

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: ArrayLike) -> Longs:
        """Return the position of each key, uint64[*], in `keys`; -1 for unknown ones."""
        return indices_among(self.keys, np.asarray(keys, np.uint64))

    def pruned(self) -> FactorTable:
        """Return the table without features of weight 0, which changes no score."""
        keep = self.weights != 0
        return FactorTable(self.keys[keep], self.weights[keep])
