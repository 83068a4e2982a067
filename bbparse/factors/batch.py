"""Factors as flat arrays, with features (`FactorBatch`) or scores (`ScoredFactors`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FactorBatch", "FactorBuffer", "ScoredFactors"]


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


class FactorBuffer:
    """Room in which families put their factors with scores, one family after the other.

    Attributes
    ----------
    ptr : int64[more than n_factors]
        Factor f is the arcs ``arcs[ptr[f]:ptr[f + 1]]``; ``ptr[0]`` is 0.
    arcs : int32[ptr[n_factors] or more]
    scores : float64[n_factors or more]
    n_factors : int
        How many there are; what follows in the arrays has no meaning.
    """

    __slots__ = ("arcs", "n_factors", "ptr", "scores")

    def __init__(self) -> None:
        self.ptr = np.empty(1025, dtype=np.int64)
        self.arcs = np.empty(4096, dtype=np.int32)
        self.scores = np.empty(1024, dtype=np.float64)
        self.ptr[0] = 0
        self.n_factors = 0

    def reserve(self, n_factors: int, n_arcs: int) -> None:
        """Make room for more factors, and for this many arcs of all of them together."""
        size = self.n_factors + n_factors
        if size > len(self.scores):
            self.scores = _grown(self.scores, 2 * size, self.n_factors)
            self.ptr = _grown(self.ptr, 2 * size + 1, self.n_factors + 1)
        used = int(self.ptr[self.n_factors])
        if used + n_arcs > len(self.arcs):
            self.arcs = _grown(self.arcs, 2 * (used + n_arcs), used)

    def add(self, factors: ScoredFactors) -> None:
        """Append factors."""
        more = len(factors)
        if not more:
            return
        self.reserve(more, len(factors.arcs))
        first, used = self.n_factors, self.ptr[self.n_factors]
        self.ptr[first + 1 : first + more + 1] = factors.ptr[1:] + used
        self.arcs[used : used + len(factors.arcs)] = factors.arcs
        self.scores[first : first + more] = factors.scores
        self.n_factors += more

    def result(self) -> ScoredFactors:
        """The factors so far, in arrays of their own."""
        if not self.n_factors:
            return _NO_FACTORS
        ptr = self.ptr[: self.n_factors + 1].copy()
        return ScoredFactors(ptr, self.arcs[: ptr[-1]].copy(), self.scores[: self.n_factors].copy())


def _grown(array: NDArray[Any], size: int, used: int) -> NDArray[Any]:
    larger = np.empty(size, dtype=array.dtype)
    larger[:used] = array[:used]
    return larger
