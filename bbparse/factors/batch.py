"""Factors as flat arrays, with features (`FactorBatch`) or scores (`ScoredFactors`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FactorArrays", "FactorBatch", "FactorBuffer", "ScoredFactors"]


@dataclass(frozen=True, slots=True, eq=False)
class FactorBatch:
    """Proposed factors and their features, in compressed form.

    Attributes
    ----------
    ptr : int64[F + 1]
        Factor f is the arcs ``arcs[ptr[f]:ptr[f + 1]]``.
    arcs : int32[ptr[F]]
        Indices of arcs of the view the factors were proposed for.
    feat_ptr : int64[F + 1]
        Factor f has the features ``feat_keys[feat_ptr[f]:feat_ptr[f + 1]]``.
    feat_keys : uint64[feat_ptr[F]]
        Features as 64-bit hashes, of which the family's name is a part.
    gates : uint64[F]
        A coarse hash for each factor that every one of its keys determines, or 0 for none. Gates of
        known keys are remembered, and what does not pass is not looked at any further.
    """

    ptr: NDArray[np.int64]
    arcs: NDArray[np.int32]
    feat_ptr: NDArray[np.int64]
    feat_keys: NDArray[np.uint64]
    gates: NDArray[np.uint64]

    def __len__(self) -> int:
        """Number of factors."""
        return len(self.ptr) - 1

    @classmethod
    def from_lists(
        cls, arcs: Sequence[Sequence[int]], keys: Sequence[Sequence[int]]
    ) -> FactorBatch:
        """Factors given one by one, without gates.

        Parameters
        ----------
        arcs : sequence of F sequences of int
            Arc indices of each factor.
        keys : sequence of F sequences of int
            64-bit keys of its features.
        """
        if not arcs:
            return _NO_BATCH
        return cls(
            _pointers(arcs),
            np.array([arc for factor in arcs for arc in factor], dtype=np.int32),
            _pointers(keys),
            np.array([key for factor in keys for key in factor], dtype=np.uint64),
            np.zeros(len(arcs), dtype=np.uint64),
        )


def _pointers(lists: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    ptr = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(entry) for entry in lists], out=ptr[1:])
    return ptr


# Most sentences do not concern a handcrafted family: their answers are these, and cost nothing.
_NO_BATCH = FactorBatch(
    np.zeros(1, dtype=np.int64),
    np.zeros(0, dtype=np.int32),
    np.zeros(1, dtype=np.int64),
    np.zeros(0, dtype=np.uint64),
    np.zeros(0, dtype=np.uint64),
)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredFactors:
    """Factors with their scores, as `Problem` takes them.

    Attributes
    ----------
    ptr : int64[F + 1]
        Factor f is the arcs ``arcs[ptr[f]:ptr[f + 1]]``: `Problem.factor_ptr`.
    arcs : int32[ptr[F]]
        `Problem.factor_arcs`.
    scores : float64[F]
        `Problem.factor_score`.
    """

    ptr: NDArray[np.int64]
    arcs: NDArray[np.int32]
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        """Number of factors."""
        return len(self.scores)

    @classmethod
    def none(cls) -> ScoredFactors:
        """No factors."""
        return _NO_FACTORS


_NO_FACTORS = ScoredFactors(_NO_BATCH.ptr, _NO_BATCH.arcs, np.zeros(0, dtype=np.float64))


class FactorArrays(NamedTuple):
    """Room for factors: as in `ScoredFactors`, and what follows the last factor has no meaning."""

    ptr: NDArray[np.int64]
    arcs: NDArray[np.int32]
    scores: NDArray[np.float64]

    @classmethod
    def of_size(cls, n_factors: int, n_arcs: int) -> FactorArrays:
        """Room for this many."""
        return cls(
            np.zeros(n_factors + 1, np.int64), np.empty(n_arcs, np.int32), np.empty(n_factors)
        )


class FactorBuffer:
    """Room in which families put their factors with scores, one family after the other.

    Attributes
    ----------
    arrays : FactorArrays
    n_factors : int
        How many there are.
    """

    __slots__ = ("arrays", "n_factors")

    def __init__(self) -> None:
        self.arrays = FactorArrays.of_size(1024, 4096)
        self.n_factors = 0

    def reserve(self, n_factors: int, n_arcs: int) -> None:
        """Make room for more factors, and for this many arcs of all of them together."""
        old, count = self.arrays, self.n_factors
        size, used = count + n_factors, int(old.ptr[count])
        if size <= len(old.scores) and used + n_arcs <= len(old.arcs):
            return
        new = FactorArrays.of_size(2 * size, 2 * (used + n_arcs))
        new.ptr[: count + 1] = old.ptr[: count + 1]
        new.arcs[:used] = old.arcs[:used]
        new.scores[:count] = old.scores[:count]
        self.arrays = new

    def add(self, factors: ScoredFactors) -> None:
        """Append factors."""
        more = len(factors)
        if not more:
            return
        self.reserve(more, len(factors.arcs))
        arrays, first = self.arrays, self.n_factors
        used = arrays.ptr[first]
        arrays.ptr[first + 1 : first + more + 1] = factors.ptr[1:] + used
        arrays.arcs[used : used + len(factors.arcs)] = factors.arcs
        arrays.scores[first : first + more] = factors.scores
        self.n_factors += more

    def result(self) -> ScoredFactors:
        """The factors so far, in arrays of their own."""
        if not self.n_factors:
            return _NO_FACTORS
        arrays, count = self.arrays, self.n_factors
        ptr = arrays.ptr[: count + 1].copy()
        return ScoredFactors(ptr, arrays.arcs[: ptr[-1]].copy(), arrays.scores[:count].copy())
