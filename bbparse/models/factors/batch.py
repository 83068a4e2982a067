"""Sets of arcs with their features as flat arrays.

A plain factor scores if all of its arcs are in the tree. A *count factor* (QL13 §5.1: valency, OR)
has a score for each number of them: "a noun has at most one determiner", "a verb has a subject".
The search bounds such a set as a whole, which is tighter and smaller than the sum of 2ʳ plain
factors that it equals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bbparse.core.parts import Counts, Factors, take_sets
from bbparse.models.factors.table import FactorTable
from bbparse.runtime.arrays import Flags, Hashes, Ints, Longs
from bbparse.treebank.encode import HashCounter


def pointers(sizes: ArrayLike) -> Longs:
    """Return the offsets of groups of these sizes in a flat array, and its length."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def chained(parts: Iterable[Longs]) -> Longs:
    """Return offsets into concatenated arrays from the offsets into each."""
    return pointers(np.concatenate([np.zeros(0, np.int64), *map(np.diff, parts)]))


#: Types of the arrays of a batch whose features are keys.
_DTYPES = {
    "ptr": np.int64,
    "arcs": np.int32,
    "cell_ptr": np.int64,
    "feat_ptr": np.int64,
    "feat_keys": np.uint64,
}


@dataclass(frozen=True, slots=True, eq=False)
class FactorBatch:
    """Sets of arcs that families propose, factors and count factors alike, with features in cells.

    The last cell of a set fires if all of its arcs are in a tree, the one before it if all but one
    are, and so on as far as there are cells. A factor has one cell; a count factor has one for each
    number of arcs except 0, which has no features and scores 0.
    """

    #: int64[S + 1], int32[ptr[S]]: set s is the arcs ``arcs[ptr[s]:ptr[s + 1]]`` of a view.
    ptr: Longs
    arcs: Ints
    #: int64[S + 1]: it has the cells ``cell_ptr[s]:cell_ptr[s + 1]``.
    cell_ptr: Longs
    #: int64[cells + 1]: cell c has the features ``feat_keys[feat_ptr[c]:feat_ptr[c + 1]]``.
    feat_ptr: Longs
    #: uint64[feat_ptr[cells]]: features as 64-bit hashes that include the family's name; or int32
    #: indices into a table, see `known`.
    feat_keys: NDArray[Any]

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def __iter__(self) -> Iterator[tuple[Ints, NDArray[Any]]]:
        begin = self.feat_ptr[self.cell_ptr]
        for s in range(len(self)):
            yield self.arcs[self.ptr[s] : self.ptr[s + 1]], self.feat_keys[begin[s] : begin[s + 1]]

    @classmethod
    def from_lists(
        cls, arcs: Sequence[Sequence[int]], cells: Sequence[Sequence[Sequence[int]]]
    ) -> FactorBatch:
        """Make a batch from lists: arc indices of each set, and keys of each of its cells."""
        flat = [keys for own in cells for keys in own]
        return cls(
            pointers([len(own) for own in arcs]),
            np.array([*chain(*arcs)], np.int32),
            pointers([len(own) for own in cells]),
            pointers([len(keys) for keys in flat]),
            np.array([*chain(*flat)], np.uint64),
        )

    @classmethod
    def from_keys(cls, ptr: Longs, arcs: Ints, keys: Hashes) -> FactorBatch:
        """Make a batch of factors from arrays, with keys uint64[factors, templates]."""
        feat_ptr = np.arange(len(keys) + 1) * keys.shape[1]
        return cls(ptr, arcs, np.arange(len(ptr)), feat_ptr, keys.ravel())

    @classmethod
    def joined(cls, parts: Sequence[FactorBatch]) -> FactorBatch:
        """Concatenate one or more batches."""
        return cls(
            chained(part.ptr for part in parts),
            np.concatenate([part.arcs for part in parts]),
            chained(part.cell_ptr for part in parts),
            chained(part.feat_ptr for part in parts),
            np.concatenate([part.feat_keys for part in parts]),
        )

    def fault(self, n_arcs: int) -> str:
        """Return the first inconsistency with a view of so many arcs, or an empty string."""
        for name, dtype in _DTYPES.items():
            array = getattr(self, name)
            is_right = isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype == dtype
            if not is_right or not array.flags.c_contiguous:
                return f"{name} is {array!r:.60}, expected a contiguous array {np.dtype(dtype)}[]"
        for name, end, like in (
            ("ptr", len(self.arcs), self.cell_ptr),
            ("cell_ptr", len(self.feat_ptr) - 1, self.ptr),
            ("feat_ptr", len(self.feat_keys), self.feat_ptr),
        ):
            array = getattr(self, name)
            if len(array) != len(like) or not len(array):
                return f"{name} has {len(array)} elements, expected {max(1, len(like))}"
            if array[0] != 0 or array[-1] != end or (array[1:] < array[:-1]).any():
                return f"{name} does not rise from 0 to {end}"
        if len(self.arcs) and not 0 <= self.arcs.min() <= self.arcs.max() < n_arcs:
            return f"arcs are {self.arcs.min()} to {self.arcs.max()}, expected 0 to {n_arcs - 1}"
        sizes, cells = np.diff(self.ptr), np.diff(self.cell_ptr)
        wrong = np.flatnonzero((sizes == 0) | ((cells != sizes) & (cells != 1)))
        if len(wrong):
            return (
                f"set {wrong[0]} has {sizes[wrong[0]]} arcs and {cells[wrong[0]]} cells, expected"
                " one cell, or one for each arc"
            )
        places = np.repeat(np.arange(len(sizes)) * n_arcs, sizes) + self.arcs
        if len(np.unique(places)) < len(places):
            return "a set has an arc twice"
        return ""

    def known(self, table: FactorTable) -> FactorBatch:
        """Return the batch with indices into a table instead of keys; unknown keys are dropped."""
        places = table.find(self.feat_keys)
        known = places >= 0
        feat_ptr = pointers(known)[self.feat_ptr]
        sets, sizes = np.diff(feat_ptr[self.cell_ptr]) > 0, np.diff(self.cell_ptr)
        return FactorBatch(
            *take_sets(self.ptr, self.arcs, sets),
            pointers(sizes[sets]),
            pointers(np.diff(feat_ptr)[np.repeat(sets, sizes)]),
            places[known].astype(np.int32),
        )

    def fired(self, tree: Flags) -> Flags:
        """Return the cells that fire in a tree, given as bool[A] over the arcs of the view."""
        missing = np.diff(self.ptr) - np.diff(pointers(tree[self.arcs])[self.ptr])
        out = np.zeros(len(self.feat_ptr) - 1, np.bool_)
        there = missing < np.diff(self.cell_ptr)
        out[(self.cell_ptr[1:] - 1 - missing)[there]] = True
        return out

    def cells(self, chosen: Flags) -> FactorBatch:
        """Return the chosen cells, bool[cells], each as a factor over all arcs of its set."""
        owner = np.repeat(np.arange(len(self)), np.diff(self.cell_ptr))[chosen]
        sizes = np.diff(self.ptr)[owner]
        ptr = pointers(sizes)
        arcs = self.arcs[np.arange(ptr[-1]) + np.repeat(self.ptr[owner] - ptr[:-1], sizes)]
        features = take_sets(self.feat_ptr, self.feat_keys, chosen)
        return FactorBatch(ptr, arcs, np.arange(len(ptr)), *features)

    def scored(self, weights: NDArray[Any], unit: float = 1.0) -> tuple[Factors, Counts]:
        """Return factors and count factors with a score other than 0, in multiples of ``unit``."""
        n_cells = len(self.feat_ptr) - 1
        owner = np.repeat(np.arange(n_cells), np.diff(self.feat_ptr))
        scores = np.bincount(owner, weights[self.feat_keys], n_cells) * unit
        sizes = np.diff(self.cell_ptr)
        counting = sizes == np.diff(self.ptr)  # a factor has two arcs at least
        alive = np.diff(pointers(scores != 0.0)[self.cell_ptr]) > 0
        own, several = alive & ~counting, alive & counting
        factors = Factors(*take_sets(self.ptr, self.arcs, own), scores[self.cell_ptr[:-1][own]])
        ptr, arcs = take_sets(self.ptr, self.arcs, several)
        table = np.insert(scores[np.repeat(several, sizes)], ptr[:-1], 0.0)
        return factors, Counts(ptr, arcs, ptr + np.arange(len(ptr)), table)


class FactorCounter:
    """Counts in how many gold trees each feature fires, to keep only frequent features."""

    def __init__(self) -> None:
        self._counter = HashCounter()

    def add(self, batches: Iterable[FactorBatch]) -> None:
        """Count each feature of the factors that fire in one tree once."""
        for batch in batches:
            self._counter.add(np.unique(batch.feat_keys))

    def table(self, cutoff: int) -> FactorTable:
        """Return a table of features that fired in at least `cutoff` trees, with weights of 0."""
        keys, counts = self._counter.counts()
        return FactorTable(keys[counts >= cutoff])
