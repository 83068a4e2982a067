"""What families propose for a sentence, kept as positions in a table of weights.

Where candidate arcs do not change from epoch to epoch, neither do the factors over them. They are
proposed once; afterwards an epoch scores them, and finds the features in which two trees differ, by
adding up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.factors import (
    CountBatch,
    FactorBatch,
    FactorFamily,
    FactorTable,
    FactorView,
)
from bbparse.factors.batch import pointers, scored_counts
from bbparse.problem import Problem
from bbparse.problem.parts import take_sets
from bbparse.scoring.scorer import difference

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Sets(NamedTuple):
    """Sets of candidate arcs, factors and count factors alike, with features in cells.

    Of the cells of a set, one fires if all of its arcs are in a tree, the one before it if all but
    one are, and so on as far as there are cells. A factor has one cell, a count factor has one for
    each number of arcs but 0.
    """

    #: int64[S + 1], int32[ptr[S]]: set s is the arcs ``arcs[ptr[s]:ptr[s + 1]]``.
    ptr: Longs
    arcs: Ints
    #: int64[S + 1]: it has the cells ``cell_ptr[s]:cell_ptr[s + 1]``.
    cell_ptr: Longs
    #: int64[cells + 1], array[feature_ptr[cells]]: cell c has
    #: ``features[feature_ptr[c]:feature_ptr[c + 1]]``: keys, or places in a table.
    feature_ptr: Longs
    features: NDArray[Any]

    @classmethod
    def of(cls, batch: FactorBatch | CountBatch) -> Sets:
        """What a family proposes, with its keys."""
        cells = batch.ptr if isinstance(batch, CountBatch) else np.arange(len(batch.ptr))
        return cls(batch.ptr, batch.arcs, cells, batch.feat_ptr, batch.feat_keys)

    @classmethod
    def joined(cls, parts: Sequence[Sets]) -> Sets:
        """One after the other."""
        return cls(
            _chained([part.ptr for part in parts]),
            np.concatenate([part.arcs for part in parts]),
            _chained([part.cell_ptr for part in parts]),
            _chained([part.feature_ptr for part in parts]),
            np.concatenate([part.features for part in parts]),
        )

    def known(self, table: FactorTable) -> Sets:
        """The same with places in a table instead of keys, those of unknown ones left out."""
        places = table.find(self.features)
        known = places >= 0
        kept = places[known].astype(np.int32)
        return self._replace(feature_ptr=pointers(known)[self.feature_ptr], features=kept)

    def fired(self, tree: Flags) -> Flags:
        """Which cells fire in a tree, which has the candidate arcs bool[A]."""
        missing = np.diff(self.ptr) - np.diff(pointers(tree[self.arcs])[self.ptr])
        out = np.zeros(len(self.feature_ptr) - 1, np.bool_)
        there = missing < np.diff(self.cell_ptr)
        out[(self.cell_ptr[1:] - 1 - missing)[there]] = True
        return out

    def features_of(self, cells: Flags) -> tuple[Longs, NDArray[Any]]:
        """Pointers and features of some cells, bool[cells]."""
        return take_sets(self.feature_ptr, self.features, cells)

    def totals(self, weights: Ints) -> Longs:
        """The sum of the weights of each cell's features, which are places."""
        return np.diff(pointers(weights[self.features])[self.feature_ptr])


class Proposals(NamedTuple):
    """The factors and the count factors of a sentence that have known features, as places."""

    factors: Sets
    counts: Sets

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
        found = [Sets.of(family.propose(view, table)).known(table) for family in families]
        counts = [Sets.of(family.propose_counts(view, table)).known(table) for family in families]
        factors = Sets.joined(found)
        some = np.diff(factors.feature_ptr) > 0
        ptr, arcs = take_sets(factors.ptr, factors.arcs, some)
        return cls(
            Sets(ptr, arcs, np.arange(len(ptr)), *factors.features_of(some)), Sets.joined(counts)
        )

    @property
    def n_factors(self) -> int:
        """How many factors there are, count factors among them."""
        return len(self.factors.ptr) + len(self.counts.ptr) - 2

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
        totals = self.factors.totals(weights)
        ptr, arcs = take_sets(self.factors.ptr, self.factors.arcs, totals != 0)
        scores = totals[totals != 0] * quantum
        fields = {"factor_ptr": ptr, "factor_arcs": arcs, "factor_score": scores}
        if len(self.counts.arcs):
            counts = self.counts
            scores = np.multiply(counts.totals(weights), quantum, dtype=float)
            found = scored_counts(counts.ptr, counts.arcs, scores)
            fields |= {f"count_{name}": array for name, array in found._asdict().items()}
        return problem.changed(**fields)

    def difference(self, gold: Flags, other: Flags) -> tuple[Longs, Longs]:
        """Features of one tree minus those of another, as places and counts, none of them 0.

        Parameters
        ----------
        gold, other : bool[A]
            Which of the candidate arcs are in the trees.
        """
        added, removed = [], []
        for sets in self:
            own, its_own = sets.fired(gold), sets.fired(other)
            added.append(sets.features_of(own & ~its_own)[1])
            removed.append(sets.features_of(its_own & ~own)[1])
        return difference(np.concatenate(added), np.concatenate(removed))


def telling(
    batch: FactorBatch | CountBatch, gold: Flags, others: Iterable[Flags]
) -> FactorBatch:
    """What fires in a tree but not in all of some others, or in some of these only.

    Parameters
    ----------
    batch : FactorBatch or CountBatch
    gold : bool[A]
        Which of the arcs are in the tree.
    others : iterable of bool[A]
        Which of them are in each of the others.

    Returns
    -------
    FactorBatch
        Its `arcs` are empty: it is for counting features.
    """
    sets = Sets.of(batch)
    own = sets.fired(gold)
    apart = np.zeros_like(own)
    for other in others:
        apart |= sets.fired(other) != own
    feat_ptr, keys = sets.features_of(apart)
    gates = batch.gates[apart] if isinstance(batch, FactorBatch) else np.zeros(apart.sum(), "u8")
    return FactorBatch(np.zeros(len(gates) + 1, np.int64), np.zeros(0, "i4"), feat_ptr, keys, gates)


def _chained(parts: Sequence[Longs]) -> Longs:
    """Pointers into arrays laid end to end."""
    return pointers(np.concatenate([np.diff(part) for part in parts]))
