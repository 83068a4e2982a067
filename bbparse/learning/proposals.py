"""What families propose for a sentence, kept as positions in a table of weights.

Where the backbone's scores are held fixed, candidate arcs do not change from epoch to epoch, and
neither do the factors over them. They are proposed once; afterwards an epoch scores them, and finds
the features in which two trees differ, by adding up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.factors import (
    CountBatch,
    FactorBatch,
    FactorFamily,
    FactorTable,
    FactorView,
)
from bbparse.factors.batch import scored_counts
from bbparse.jit import kernel
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
    counts : CountProposals, optional
        Count factors.
    """

    ptr: Longs
    arcs: Ints
    feature_ptr: Longs
    features: Ints
    counts: CountProposals | None = None

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
        counts = []
        for family in families:
            batch = family.propose(view, table)
            places = table.find(batch.feat_keys)
            parts.append(cls(*_known(batch.ptr, batch.arcs, batch.feat_ptr, places)))
            sets = family.propose_counts(view, table)
            if len(sets):
                counts.append(CountProposals.of(sets, table))
        return cls(
            _chained([part.ptr for part in parts]),
            np.concatenate([part.arcs for part in parts]),
            _chained([part.feature_ptr for part in parts]),
            np.concatenate([part.features for part in parts]),
            CountProposals.joined(counts) if counts else None,
        )

    def __len__(self) -> int:
        """Number of factors, count factors among them."""
        return len(self.ptr) - 1 + (0 if self.counts is None else len(self.counts.ptr) - 1)

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
        fields = {"factor_ptr": ptr, "factor_arcs": arcs, "factor_score": scores}
        if self.counts is not None:
            fields |= self.counts.fields(weights, quantum)
        return problem.changed(**fields)

    def difference(self, gold: Flags, other: Flags) -> tuple[Longs, Longs]:
        """Features of one tree minus those of another, as places and counts, none of them 0.

        Parameters
        ----------
        gold, other : bool[A]
            Which of the candidate arcs are in the trees.
        """
        places, signs = _fired(self.ptr, self.arcs, self.feature_ptr, self.features, gold, other)
        if self.counts is not None:
            more = self.counts.fired(gold, other)
            places = np.concatenate([places, more[0]])
            signs = np.concatenate([signs, more[1]])
        unique, inverse = np.unique(places, return_inverse=True)
        counts = np.bincount(inverse, signs, len(unique)).astype(np.int64)
        kept = counts != 0
        return unique[kept], counts[kept]


@dataclass(frozen=True, slots=True, eq=False)
class CountProposals:
    """The count factors of a sentence, as in `CountBatch`, with known features only.

    Attributes
    ----------
    ptr : int64[C + 1]
    arcs : int32[ptr[C]]
    feature_ptr : int64[ptr[C] + 1]
    features : int32[feature_ptr[-1]]
        Positions in the table.
    """

    ptr: Longs
    arcs: Ints
    feature_ptr: Longs
    features: Ints

    @classmethod
    def of(cls, batch: CountBatch, table: FactorTable) -> CountProposals:
        """The features of a batch that are in a table; sets without any stay."""
        places = table.find(batch.feat_keys)
        known = places >= 0
        upto = np.concatenate([[0], np.cumsum(known)])
        return cls(batch.ptr, batch.arcs, upto[batch.feat_ptr], places[known].astype(np.int32))

    @classmethod
    def joined(cls, parts: Sequence[CountProposals]) -> CountProposals:
        """One after the other."""
        return cls(
            _chained([part.ptr for part in parts]),
            np.concatenate([part.arcs for part in parts]),
            _chained([part.feature_ptr for part in parts]),
            np.concatenate([part.features for part in parts]),
        )

    def fields(self, weights: Ints, quantum: float) -> dict[str, NDArray[Any]]:
        """Fields of a problem."""
        scores = np.empty(len(self.arcs))
        _cell_scores(self.feature_ptr, self.features, weights, quantum, scores)
        found = scored_counts(self.ptr, self.arcs, scores)
        return {f"count_{name}": array for name, array in found._asdict().items()}

    def fired(self, gold: Flags, other: Flags) -> tuple[Longs, Longs]:
        """Features of the sets of which the trees have different numbers: places, and 1 or -1."""
        places = []
        signs = []
        numbers = [_numbers(self.ptr, self.arcs, tree) for tree in (gold, other)]
        for number, sign in zip(numbers, (1, -1)):
            chosen = np.flatnonzero((numbers[0] != numbers[1]) & (number > 0))
            for cell in (self.ptr[chosen] + number[chosen] - 1).tolist():
                own = self.features[self.feature_ptr[cell] : self.feature_ptr[cell + 1]]
                places.append(own)
                signs.append(np.full(len(own), sign, np.int64))
        nothing = [np.zeros(0, np.int64)]
        return np.concatenate(nothing + places), np.concatenate(nothing + signs)


def differing_counts(batch: CountBatch, gold: Flags, others: Flags) -> list[FactorBatch]:
    """Cells of the sets of which the tree and some of the others have different numbers.

    Parameters
    ----------
    batch : CountBatch
    gold : bool[A]
    others : bool[K, A]
    """
    number = _numbers(batch.ptr, batch.arcs, gold)
    found = []
    for other in others:
        its_own = _numbers(batch.ptr, batch.arcs, other)
        apart = number != its_own
        found.append(batch.cells(np.where(apart, number, 0)))
        found.append(batch.cells(np.where(apart, its_own, 0)))
    return found


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


def _numbers(ptr: Longs, arcs: Ints, tree: Flags) -> Longs:
    """How many arcs of each set are in a tree."""
    upto = np.concatenate([[0], np.cumsum(tree[arcs])])
    return np.diff(upto[ptr])


@kernel
def _cell_scores(
    feature_ptr: Longs, features: Ints, weights: Ints, quantum: float, out: NDArray[np.float64]
) -> None:
    for i in range(out.shape[0]):
        total = np.int64(0)
        for k in range(feature_ptr[i], feature_ptr[i + 1]):
            total += weights[features[k]]
        out[i] = total * quantum


@kernel
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


@kernel
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


@kernel
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


@kernel
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
