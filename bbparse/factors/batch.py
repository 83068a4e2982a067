"""Factors and count factors with their features as flat arrays, and room for those with scores.

A plain factor asks whether all of its arcs are in the tree. A *count factor* (QL13 §5.1: valency,
OR) has a score for every number of them: "a noun has at most one determiner", "a verb has some
subject", "this verb takes two modifiers on its right". The search bounds such a set as one thing,
which is both tighter and smaller than the 2ʳ plain factors it is a sum of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bbparse.problem.parts import Counts, Factors, take_sets

__all__ = ["CountBatch", "FactorBatch", "FactorBuffer", "pointers", "scored_counts"]


def pointers(sizes: ArrayLike) -> NDArray[np.int64]:
    """Where stretches of these sizes begin that lie end to end, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _end_to_end(lists: Iterable[Sequence[int]], dtype: type) -> NDArray:
    return np.array([item for entry in lists for item in entry], dtype)


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
        """Factors given one by one, without gates: arc indices and 64-bit keys of each."""
        return cls(
            pointers([len(factor) for factor in arcs]),
            _end_to_end(arcs, np.int32),
            pointers([len(own) for own in keys]),
            _end_to_end(keys, np.uint64),
            np.zeros(len(arcs), np.uint64),
        )


@dataclass(frozen=True, slots=True, eq=False)
class CountBatch:
    """Sets of arcs, and features for each number of them in the tree.

    No arc at all has no features and scores 0.

    Attributes
    ----------
    ptr : int64[C + 1]
        Set c is the arcs ``arcs[ptr[c]:ptr[c + 1]]``.
    arcs : int32[ptr[C]]
        Indices of arcs of the view.
    feat_ptr : int64[ptr[C] + 1]
        With k >= 1 arcs of set c in the tree its features are those of cell i = ptr[c] + k - 1,
        ``feat_keys[feat_ptr[i]:feat_ptr[i + 1]]``.
    feat_keys : uint64[feat_ptr[-1]]
        Features as 64-bit hashes, of which the family's name is a part.
    """

    ptr: NDArray[np.int64]
    arcs: NDArray[np.int32]
    feat_ptr: NDArray[np.int64]
    feat_keys: NDArray[np.uint64]

    def __len__(self) -> int:
        """Number of sets."""
        return len(self.ptr) - 1

    @classmethod
    def from_lists(
        cls, arcs: Sequence[Sequence[int]], keys: Sequence[Sequence[Sequence[int]]]
    ) -> CountBatch:
        """Sets given one by one.

        Parameters
        ----------
        arcs : sequence of C sequences of int
            Arc indices of each set, one at least.
        keys : sequence of C sequences of sequences of int
            64-bit keys for one arc, for two and so on; the last stands for all larger numbers.
        """
        cells = [
            own[min(k, len(own) - 1)] if own else []
            for chosen, own in zip(arcs, keys)
            for k in range(len(chosen))
        ]
        return cls(
            pointers([len(chosen) for chosen in arcs]),
            _end_to_end(arcs, np.int32),
            pointers([len(cell) for cell in cells]),
            _end_to_end(cells, np.uint64),
        )

    def cells(self, numbers: NDArray[np.integer]) -> FactorBatch:
        """What fires, as factors without arcs, for counting features.

        Parameters
        ----------
        numbers : int[C]
            How many arcs of each set are in the tree.
        """
        cells = (self.ptr[:-1] + numbers - 1)[numbers > 0]
        sizes = np.diff(self.feat_ptr)[cells]
        ptr = pointers(sizes)
        places = np.arange(ptr[-1]) + np.repeat(self.feat_ptr[cells] - ptr[:-1], sizes)
        return FactorBatch(
            np.zeros(len(cells) + 1, np.int64),
            np.zeros(0, np.int32),
            ptr,
            self.feat_keys[places],
            np.zeros(len(cells), np.uint64),
        )


def scored_counts(
    ptr: NDArray[np.int64], arcs: NDArray[np.int32], scores: NDArray[np.float64]
) -> Counts:
    """Of scores float64[ptr[C]] for one arc and more; sets that never score are left out."""
    sizes = np.diff(ptr)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    alive = np.bincount(owner, scores != 0.0, len(sizes)) > 0
    new_ptr, new_arcs = take_sets(ptr, arcs, alive)
    table = np.insert(scores[alive[owner]], new_ptr[:-1], 0.0)  # no arc at all scores 0
    return Counts(new_ptr, new_arcs, new_ptr + np.arange(len(new_ptr)), table)


class FactorBuffer:
    """Room in which families put their factors with scores, one family after the other.

    Attributes
    ----------
    arrays : Factors
        What follows the last factor has no meaning.
    n_factors : int
        How many there are.
    """

    __slots__ = ("arrays", "n_factors")

    def __init__(self, n_factors: int = 1024, n_arcs: int = 4096) -> None:
        self.arrays = Factors(
            np.zeros(n_factors + 1, np.int64), np.empty(n_arcs, np.int32), np.empty(n_factors)
        )
        self.n_factors = 0

    def reserve(self, n_factors: int, n_arcs: int) -> None:
        """Make room for more factors, and for this many arcs of all of them together."""
        old, count = self.arrays, self.n_factors
        size, used = count + n_factors, int(old.ptr[count])
        if size > len(old.score) or used + n_arcs > len(old.arcs):
            so_far = self.result()
            self.arrays = FactorBuffer(2 * size, 2 * (used + n_arcs)).arrays
            self.n_factors = 0
            self.add(so_far)

    def add(self, factors: Factors) -> None:
        """Append factors."""
        first, more = self.n_factors, len(factors.score)
        self.reserve(more, len(factors.arcs))
        arrays = self.arrays
        used = arrays.ptr[first]
        arrays.ptr[first + 1 : first + more + 1] = factors.ptr[1:] + used
        arrays.arcs[used : used + len(factors.arcs)] = factors.arcs
        arrays.score[first : first + more] = factors.score
        self.n_factors += more

    def result(self) -> Factors:
        """The factors so far, in arrays of their own."""
        arrays, count = self.arrays, self.n_factors
        ptr = arrays.ptr[: count + 1].copy()
        return Factors(ptr, arrays.arcs[: ptr[-1]].copy(), arrays.score[:count].copy())
