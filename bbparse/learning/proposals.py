"""What families propose for a sentence, kept as positions in a table of weights.

Where candidate arcs do not change from epoch to epoch, neither do the factors over them. They are
proposed once; afterwards an epoch scores them, and finds the features in which two trees differ, by
adding up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from bbparse.factors import FactorBatch, FactorFamily, FactorTable, FactorView
from bbparse.factors.batch import Flags, Ints, Longs, pointers
from bbparse.problem import Problem
from bbparse.problem.parts import Counts, Factors, names_of, take_sets
from bbparse.scoring.scorer import difference

_NAMES = names_of("factor", Factors) + names_of("count", Counts)


def proposals_of(
    families: Sequence[FactorFamily], view: FactorView, table: FactorTable
) -> FactorBatch:
    """What families (one at least) propose that has known features, these as places in a table."""
    return FactorBatch.joined([f.propose_all(view, table) for f in families]).known(table)


def with_proposals(
    problem: Problem, proposals: FactorBatch, weights: Ints, quantum: float
) -> Problem:
    """A problem over the candidate arcs, without factors, with these; weights in quanta."""
    scores = np.diff(pointers(weights[proposals.feat_keys])[proposals.feat_ptr]) * quantum
    factors, counts = proposals.scored(scores)
    return problem.changed(**dict(zip(_NAMES, (*factors, *counts))))


def features_apart(proposals: FactorBatch, gold: Flags, other: Flags) -> tuple[Longs, Longs]:
    """Features of one tree minus those of another, as places and counts, none of them 0.

    Which of the candidate arcs are in the trees, the flags bool[A] say.
    """
    here, there = proposals.fired(gold), proposals.fired(other)
    return difference(*(
        take_sets(proposals.feat_ptr, proposals.feat_keys, some)[1]
        for some in (here & ~there, there & ~here)
    ))  # fmt: skip


def telling(batch: FactorBatch, gold: Flags, others: Iterable[Flags]) -> FactorBatch:
    """What fires in a tree but not in all of some others, or in some of these only.

    The flags, bool[A], say which of the arcs are in which tree; each set found has one cell.
    """
    own = batch.fired(gold)
    apart = np.zeros_like(own)
    for other in others:
        apart |= batch.fired(other) != own
    return batch.cells(apart)
