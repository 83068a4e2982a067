"""Factors as flat arrays: with features (`FactorBatch`) or with scores (`ScoredFactors`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FactorBatch", "ScoredFactors"]


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

    @classmethod
    def concatenate(cls, parts: Sequence[ScoredFactors]) -> ScoredFactors:
        """One after the other, in the order given."""
        if not parts:
            return cls.none()
        if len(parts) == 1:
            return parts[0]
        sizes = np.concatenate([np.diff(part.ptr) for part in parts])
        ptr = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=ptr[1:])
        return cls(
            ptr,
            np.concatenate([part.arcs for part in parts]),
            np.concatenate([part.scores for part in parts]),
        )


_NO_FACTORS = ScoredFactors(_NO_BATCH.ptr, _NO_BATCH.arcs, np.zeros(0, dtype=np.float64))
