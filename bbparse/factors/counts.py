"""Families that score how many arcs of a set are in the tree (QL13 §5.1: valency, OR).

A plain factor asks whether all of its arcs are in the tree; here every number of them has a score
of its own. "A noun has at most one determiner", "a verb has some subject", "this verb takes two
modifiers on its right" are of this kind. The search bounds such a set as one thing, which is both
tighter and smaller than the 2ʳ plain factors it is a sum of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import FactorError
from bbparse.factors.batch import FactorBatch

if TYPE_CHECKING:
    from bbparse.factors.family import FactorFamily
    from bbparse.factors.table import FactorTable
    from bbparse.factors.view import FactorView

__all__ = ["CountBatch", "ScoredCounts", "alive_counts", "tree_batches"]


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
    def none(cls) -> CountBatch:
        """No sets."""
        return _NONE

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
            list(own[min(k, len(own) - 1)]) if own else []
            for chosen, own in zip(arcs, keys)
            for k in range(len(chosen))
        ]
        return cls(
            _pointers([len(chosen) for chosen in arcs]),
            np.array([arc for chosen in arcs for arc in chosen], np.int32),
            _pointers([len(cell) for cell in cells]),
            np.array([key for cell in cells for key in cell], np.uint64),
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
        places = np.repeat(self.feat_ptr[cells] - np.cumsum(sizes) + sizes, sizes)
        return FactorBatch(
            np.zeros(len(cells) + 1, np.int64),
            np.zeros(0, np.int32),
            _pointers(sizes),
            self.feat_keys[places + np.arange(len(places))],
            np.zeros(len(cells), np.uint64),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ScoredCounts:
    """Count factors as `Problem` takes them.

    Attributes
    ----------
    ptr, score_ptr : int64[C + 1]
    arcs : int32[ptr[C]]
    scores : float64[ptr[C] + C]
        Fields ``count_ptr``, ``count_score_ptr``, ``count_arcs``, ``count_score`` of a problem.
    """

    ptr: NDArray[np.int64]
    arcs: NDArray[np.int32]
    score_ptr: NDArray[np.int64]
    scores: NDArray[np.float64]

    @classmethod
    def of(
        cls, ptr: NDArray[np.int64], arcs: NDArray[np.int32], scores: NDArray[np.float64]
    ) -> ScoredCounts:
        """Of scores float64[ptr[C]] for one arc and more; sets that never score are left out."""
        sizes = np.diff(ptr)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        alive = np.zeros(len(sizes), np.bool_)
        alive[owner[scores != 0.0]] = True
        kept = alive[owner]
        new_ptr = _pointers(sizes[alive])
        score_ptr = new_ptr + np.arange(len(new_ptr))
        table = np.zeros(int(score_ptr[-1]))
        table[np.arange(int(new_ptr[-1])) + np.repeat(np.arange(1, len(new_ptr)), sizes[alive])] = (
            scores[kept]
        )
        return cls(new_ptr, arcs[kept], score_ptr, table)


def alive_counts(
    families: Iterable[FactorFamily], view: FactorView, table: FactorTable
) -> ScoredCounts | None:
    """The count factors of a sentence that have a score; None without families of such.

    Parameters
    ----------
    families : iterable of FactorFamily
    view : FactorView
        Over the candidate arcs.
    table : FactorTable

    Raises
    ------
    FactorError
        As `FactorFamily.propose`.
    """
    batches = [family.propose_counts(view, table) for family in _counting(tuple(families))]
    batches = [batch for batch in batches if len(batch)]
    if not batches:
        return None
    return ScoredCounts.of(
        chained([batch.ptr for batch in batches]),
        np.concatenate([batch.arcs for batch in batches]),
        np.concatenate([table.score_features(b.feat_ptr, b.feat_keys) for b in batches]),
    )


@lru_cache(maxsize=64)
def _counting(families: tuple[FactorFamily, ...]) -> tuple[FactorFamily, ...]:
    """Those of the families that may have count factors."""
    return tuple(family for family in families if family.has_counts)


def tree_batches(
    families: Iterable[FactorFamily], view: FactorView, table: FactorTable | None = None
) -> Iterator[FactorBatch]:
    """All that fires in a tree: factors, and count factors as `CountBatch.cells` gives them.

    Parameters
    ----------
    families : iterable of FactorFamily
    view : FactorView
        Over the arcs of the tree.
    table : FactorTable, optional
        Features that are not in it may be left out.
    """
    for family in families:
        yield family.propose(view, table)
        counts = family.propose_counts(view, table)
        if len(counts):
            yield counts.cells(np.diff(counts.ptr))


def from_python(
    family: FactorFamily, view: FactorView, sets: Iterable[tuple[Iterable[tuple[int, int]], object]]
) -> CountBatch:
    """The batch of what `FactorFamily.counts` yields."""
    arcs: list[list[int]] = []
    keys: list[list[list[int]]] = []
    for pairs, features in sets:
        place = view.arc_places
        found = sorted({place[arc] for arc in pairs if arc in place})
        if not found:
            continue
        if isinstance(features, str) or not isinstance(features, Sequence):
            raise FactorError(
                f"features: expected a sequence of features for each number, found {features!r}"
            )
        arcs.append(found)
        keys.append([family._keys(entry) for entry in features])
    return CountBatch.from_lists(arcs, keys)


def chained(pointers: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Pointers into arrays laid end to end."""
    if not pointers:
        return np.zeros(1, np.int64)
    return _pointers(np.concatenate([np.diff(pointer) for pointer in pointers]))


def _pointers(sizes: Sequence[int] | NDArray[np.integer]) -> NDArray[np.int64]:
    out = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=out[1:])
    return out


_NONE = CountBatch(
    np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.uint64)
)
