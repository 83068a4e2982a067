"""What families propose for a sentence, kept as positions in a table of weights.

Where the backbone's scores are held fixed, candidate arcs do not change from epoch to epoch, and
neither do the factors over them. They are proposed once; afterwards an epoch scores them, and finds
the features in which two trees differ, by adding up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from bbparse.factors import FactorBatch, FactorFamily, FactorTable, FactorView
from bbparse.problem import Problem

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Proposals:
    """The factors of a sentence that have known features.

    Attributes
    ----------
    ptr : int64[F + 1]
        Factor f is the arcs ``arcs[ptr[f]:ptr[f + 1]]``.
    arcs : int32[ptr[F]]
        Indices of candidate arcs.
    feature_ptr : int64[F + 1]
        Factor f has the features ``features[feature_ptr[f]:feature_ptr[f + 1]]``, one at least.
    features : int32[feature_ptr[F]]
        Positions in the table.
    """

    ptr: Longs
    arcs: Ints
    feature_ptr: Longs
    features: Ints

    @classmethod
    def of(
        cls, families: Sequence[FactorFamily], view: FactorView, table: FactorTable
    ) -> Proposals:
        """What families propose.

        Parameters
        ----------
        families : sequence of FactorFamily
        view : FactorView
            Over the candidate arcs.
        table : FactorTable
            The features that are known.
        """
        parts = []
        for family in families:
            batch = family.propose(view, table)
            places = table.find(batch.feat_keys)
            parts.append(cls(*_known(batch.ptr, batch.arcs, batch.feat_ptr, places)))
        return cls(
            _chained([part.ptr for part in parts]),
            np.concatenate([part.arcs for part in parts]),
            _chained([part.feature_ptr for part in parts]),
            np.concatenate([part.features for part in parts]),
        )

    def __len__(self) -> int:
        """Number of factors."""
        return len(self.ptr) - 1

    def onto(self, problem: Problem, weights: Ints, quantum: float) -> Problem:
        """The problem with these factors.

        Parameters
        ----------
        problem : Problem
            Over the candidate arcs, without factors.
        weights : int32[len(table)]
            In quanta.
        quantum : float
        """
        ptr, arcs, scores = _scored(
            self.ptr, self.arcs, self.feature_ptr, self.features, weights, quantum
        )
        return problem._changed(factor_ptr=ptr, factor_arcs=arcs, factor_score=scores)

    def difference(self, gold: Flags, other: Flags) -> tuple[Longs, Longs]:
        """Features of one tree minus those of another, as places and counts, none of them 0.

        Parameters
        ----------
        gold, other : bool[A]
            Which of the candidate arcs are in the trees.
        """
        places, signs = _fired(
            self.ptr, self.arcs, self.feature_ptr, self.features, gold, other
        )
        unique, inverse = np.unique(places, return_inverse=True)
        counts = np.bincount(inverse, signs, len(unique)).astype(np.int64)
        kept = counts != 0
        return unique[kept], counts[kept]


def differing(batch: FactorBatch, gold: Flags, others: Flags) -> FactorBatch:
    """The factors that fire in one tree but not in all of some others, or in some of them only.

    Parameters
    ----------
    batch : FactorBatch
    gold : bool[A]
        Which of the arcs are in the tree.
    others : bool[K, A]
        Which of them are in each of the others.

    Returns
    -------
    FactorBatch
        Its `arcs` are empty: it is for counting features.
    """
    keep = _differ(batch.ptr, batch.arcs, gold, others)
    sizes = np.diff(batch.feat_ptr)
    return FactorBatch(
        np.zeros(int(keep.sum()) + 1, np.int64),
        np.zeros(0, np.int32),
        _chained([np.concatenate([[0], np.cumsum(sizes[keep])])]),
        batch.feat_keys[np.repeat(keep, sizes)],
        batch.gates[keep],
    )


def _chained(pointers: Sequence[Longs]) -> Longs:
    """Pointers into arrays laid end to end."""
    out = np.zeros(sum(len(pointer) - 1 for pointer in pointers) + 1, np.int64)
    np.cumsum(np.concatenate([np.diff(pointer) for pointer in pointers]), out=out[1:])
    return out


@njit(cache=True, nogil=True)
def _known(
    ptr: Longs, arcs: Ints, feat_ptr: Longs, places: Longs
) -> tuple[Longs, Ints, Longs, Ints]:
    """The factors with a known feature, and these features only."""
    new_ptr = np.zeros_like(ptr)
    new_arcs = np.empty_like(arcs)
    new_feat_ptr = np.zeros_like(ptr)
    features = np.empty(places.shape[0], np.int32)
    n = i = j = 0
    for f in range(ptr.shape[0] - 1):
        before = j
        for k in range(feat_ptr[f], feat_ptr[f + 1]):
            if places[k] >= 0:
                features[j] = places[k]
                j += 1
        if j == before:
            continue
        for k in range(ptr[f], ptr[f + 1]):
            new_arcs[i] = arcs[k]
            i += 1
        n += 1
        new_ptr[n] = i
        new_feat_ptr[n] = j
    return (
        new_ptr[: n + 1].copy(), new_arcs[:i].copy(), new_feat_ptr[: n + 1].copy(),
        features[:j].copy(),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _scored(
    ptr: Longs, arcs: Ints, feature_ptr: Longs, features: Ints, weights: Ints, quantum: float
) -> tuple[Longs, Ints, NDArray[np.float64]]:
    """The factors whose score is not 0."""
    new_ptr = np.zeros_like(ptr)
    new_arcs = np.empty_like(arcs)
    scores = np.empty(ptr.shape[0] - 1)
    n = i = 0
    for f in range(ptr.shape[0] - 1):
        total = np.int64(0)
        for k in range(feature_ptr[f], feature_ptr[f + 1]):
            total += weights[features[k]]
        if total == 0:
            continue
        for k in range(ptr[f], ptr[f + 1]):
            new_arcs[i] = arcs[k]
            i += 1
        scores[n] = total * quantum
        n += 1
        new_ptr[n] = i
    return new_ptr[: n + 1].copy(), new_arcs[:i].copy(), scores[:n].copy()


@njit(cache=True, nogil=True)
def _fired(
    ptr: Longs, arcs: Ints, feature_ptr: Longs, features: Ints, gold: Flags, other: Flags
) -> tuple[Longs, Longs]:
    """Features of the factors that fire in one of the trees only: places, and 1 or -1."""
    places = np.empty(features.shape[0], np.int64)
    signs = np.empty(features.shape[0], np.int64)
    size = 0
    for f in range(ptr.shape[0] - 1):
        in_gold = True
        in_other = True
        for k in range(ptr[f], ptr[f + 1]):
            in_gold &= gold[arcs[k]]
            in_other &= other[arcs[k]]
        if in_gold == in_other:
            continue
        for k in range(feature_ptr[f], feature_ptr[f + 1]):
            places[size] = features[k]
            signs[size] = 1 if in_gold else -1
            size += 1
    return places[:size], signs[:size]


@njit(cache=True, nogil=True)
def _differ(ptr: Longs, arcs: Ints, gold: Flags, others: Flags) -> Flags:
    out = np.zeros(ptr.shape[0] - 1, np.bool_)
    for f in range(ptr.shape[0] - 1):
        in_gold = True
        for k in range(ptr[f], ptr[f + 1]):
            in_gold &= gold[arcs[k]]
        for t in range(others.shape[0]):
            fires = True
            for k in range(ptr[f], ptr[f + 1]):
                fires &= others[t, arcs[k]]
            if fires != in_gold:
                out[f] = True
    return out
