"""What families propose for a sentence, kept as positions in a table of weights.

Where candidate arcs do not change from epoch to epoch, neither do the factors over them. They are
proposed once; afterwards an epoch scores them, and finds the features in which two trees differ, by
adding up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from bbparse.factors import FactorBatch, FactorFamily, FactorTable, FactorView
from bbparse.factors.batch import Flags, Ints, Longs, pointers
from bbparse.problem import Problem
from bbparse.problem.parts import Counts, Factors, names_of, take_sets
from bbparse.scoring.scorer import difference

_FACTORS, _COUNTS = names_of("factor", Factors), names_of("count", Counts)


class Proposals(NamedTuple):
    """The factors and the count factors of a sentence that have known features, as places."""

    factors: FactorBatch
    counts: FactorBatch

    @classmethod
    def of(
        cls, families: Sequence[FactorFamily], view: FactorView, table: FactorTable
    ) -> Proposals:
        """What families (one at least) propose, of the features that a table knows."""
        factors = FactorBatch.joined([f.propose(view, table) for f in families]).known(table)
        counts = FactorBatch.joined([f.propose_counts(view, table) for f in families])
        return cls(factors.cells(np.diff(factors.feat_ptr) > 0), counts.known(table))

    @property
    def n_factors(self) -> int:
        """How many factors there are, count factors among them."""
        return len(self.factors) + len(self.counts)

    def onto(self, problem: Problem, weights: Ints, quantum: float) -> Problem:
        """A problem over the candidate arcs, without factors, with these; weights in quanta."""
        factors, counts = (
            np.diff(pointers(weights[own.feat_keys])[own.feat_ptr]) * quantum for own in self
        )
        fields = dict(zip(_FACTORS, self.factors.factors(factors)))
        if len(self.counts):
            fields.update(zip(_COUNTS, self.counts.counts(counts)))
        return problem.changed(**fields)

    def difference(self, gold: Flags, other: Flags) -> tuple[Longs, Longs]:
        """Features of one tree minus those of another, as places and counts, none of them 0.

        Which of the candidate arcs are in the trees, the flags bool[A] say.
        """
        added, removed = [], []
        for own in self:
            here, there = own.fired(gold), own.fired(other)
            added.append(take_sets(own.feat_ptr, own.feat_keys, here & ~there)[1])
            removed.append(take_sets(own.feat_ptr, own.feat_keys, there & ~here)[1])
        return difference(np.concatenate(added), np.concatenate(removed))


def telling(batch: FactorBatch, gold: Flags, others: Iterable[Flags]) -> FactorBatch:
    """What fires in a tree but not in all of some others, or in some of these only.

    The flags, bool[A], say which of the arcs are in which tree; each set found has one cell.
    """
    own = batch.fired(gold)
    apart = np.zeros_like(own)
    for other in others:
        apart |= batch.fired(other) != own
    return batch.cells(apart)
