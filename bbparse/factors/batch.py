"""Factors and count factors with their features as flat arrays, and room for those with scores.

A plain factor asks whether all of its arcs are in the tree. A *count factor* (QL13 §5.1: valency,
OR) has a score for every number of them: "a noun has at most one determiner", "a verb has some
subject", "this verb takes two modifiers on its right". The search bounds such a set as one thing,
which is both tighter and smaller than the 2ʳ plain factors it is a sum of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bbparse.factors.filters import passing, shift_of
from bbparse.problem.parts import Counts, Factors, take_sets


def pointers(sizes: ArrayLike) -> NDArray[np.int64]:
    """Where stretches of these sizes begin that lie end to end, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _end_to_end(lists: Iterable[Sequence[int]], dtype: type) -> NDArray:
    return np.array([item for entry in lists for item in entry], dtype)


@dataclass(frozen=True, slots=True, eq=False)
class FactorBatch:
    """Proposed factors and their features, in compressed form."""

    ptr: NDArray[np.int64]  #: int64[F + 1]: factor f is the arcs ``arcs[ptr[f]:ptr[f + 1]]``.
    #: int32[ptr[F]]: indices of arcs of the view the factors were proposed for.
    arcs: NDArray[np.int32]
    #: int64[F + 1]: factor f has the features ``feat_keys[feat_ptr[f]:feat_ptr[f + 1]]``.
    feat_ptr: NDArray[np.int64]
    #: uint64[feat_ptr[F]]: features as 64-bit hashes, of which the family's name is a part.
    feat_keys: NDArray[np.uint64]
    #: uint64[F]: a coarse hash for each factor that every one of its keys determines, or 0 for
    #: none. Gates of known keys are remembered, and what does not pass is not looked at any
    #: further.
    gates: NDArray[np.uint64]

    def __len__(self) -> int:
        """Number of factors."""
        return len(self.ptr) - 1

    def __iter__(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.uint64]]]:
        """Arcs and features of each factor."""
        for f in range(len(self)):
            yield (
                self.arcs[self.ptr[f] : self.ptr[f + 1]],
                self.feat_keys[self.feat_ptr[f] : self.feat_ptr[f + 1]],
            )

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

    @classmethod
    def from_keys(
        cls,
        ptr: NDArray[np.int64],
        arcs: NDArray[np.int32],
        keys: NDArray[np.uint64],
        bits: NDArray[np.uint64],
        gates: NDArray[np.uint64] | None = None,
    ) -> FactorBatch:
        """Those factors and features that a filter passes, of keys uint64[F, templates]."""
        known = passing(keys, bits, shift_of(bits))
        found = known.any(axis=1)
        gates = np.zeros(len(keys), np.uint64) if gates is None else gates
        return cls(
            *take_sets(ptr, arcs, found), pointers(known.sum(axis=1)[found]), keys[known],
            gates[found],
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class CountBatch:
    """Sets of arcs, and features for each number of them in the tree.

    No arc at all has no features and scores 0.
    """

    ptr: NDArray[np.int64]  #: int64[C + 1]: set c is the arcs ``arcs[ptr[c]:ptr[c + 1]]``.
    arcs: NDArray[np.int32]  #: int32[ptr[C]]: indices of arcs of the view.
    #: int64[ptr[C] + 1]: with k >= 1 arcs of set c in the tree its features are those of cell i =
    #: ptr[c] + k - 1, ``feat_keys[feat_ptr[i]:feat_ptr[i + 1]]``.
    feat_ptr: NDArray[np.int64]
    #: uint64[feat_ptr[-1]]: features as 64-bit hashes, of which the family's name is a part.
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

    @classmethod
    def from_keys(
        cls,
        ptr: NDArray[np.int64],
        arcs: NDArray[np.int32],
        keys: NDArray[np.uint64],
        bits: NDArray[np.uint64],
    ) -> CountBatch:
        """Those sets and features that a filter passes, of keys uint64[ptr[C], templates]."""
        known = passing(keys, bits, shift_of(bits))
        found = np.add.reduceat(known.sum(axis=1), ptr[:-1]) > 0 if len(arcs) else ptr[1:] > 0
        cells = np.repeat(found, np.diff(ptr))
        return cls(
            *take_sets(ptr, arcs, found), pointers(known[cells].sum(axis=1)), keys[known]
        )

    def cells(self, numbers: NDArray[np.integer]) -> FactorBatch:
        """What fires of the sets, as factors.

        Parameters
        ----------
        numbers : int[C]
            How many arcs of each set are in the tree.
        """
        fires = np.asarray(numbers) > 0
        cells = (self.ptr[:-1] + numbers - 1)[fires]
        sizes = np.diff(self.feat_ptr)[cells]
        ptr = pointers(sizes)
        places = np.arange(ptr[-1]) + np.repeat(self.feat_ptr[cells] - ptr[:-1], sizes)
        return FactorBatch(
            *take_sets(self.ptr, self.arcs, fires), ptr, self.feat_keys[places],
            np.zeros(len(cells), np.uint64),
        )  # fmt: skip


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


def room_for(n_factors: int, n_arcs: int) -> Factors:
    """Arrays for kernels to fill, of which `filled` gives what is filled."""
    ptr = np.empty(n_factors + 1, np.int64)
    ptr[0] = 0
    return Factors(ptr, np.empty(n_arcs, np.int32), np.empty(n_factors))


def filled(room: Factors, count: int) -> Factors:
    """The first factors."""
    ptr = room.ptr[: count + 1]
    return Factors(ptr, room.arcs[: ptr[-1]], room.score[:count])


_NONE = room_for(0, 0)


def joined(groups: Sequence[Factors]) -> Factors:
    """All factors, one group after the other."""
    groups = [group for group in groups if len(group.score)]
    if len(groups) == 1:
        return groups[0]
    starts = accumulate((len(group.arcs) for group in groups), initial=0)
    ptrs = [group.ptr[1:] + start for group, start in zip(groups, starts)]
    return Factors(
        np.concatenate([_NONE.ptr, *ptrs]),
        np.concatenate([_NONE.arcs, *(group.arcs for group in groups)]),
        np.concatenate([_NONE.score, *(group.score for group in groups)]),
    )
