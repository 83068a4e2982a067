"""Candidate factors of a sentence, stored as positions in a table of weights.

Candidate arcs that do not change from epoch to epoch have the same factors in all of them. The
families propose these once; afterwards an epoch only adds up weights to score them, and to find the
features in which two trees differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from bbparse.core import Problem
from bbparse.core.parts import Counts, Factors, names_of, take_sets
from bbparse.models.factors.batch import FactorBatch, pointers
from bbparse.models.factors.family import FactorFamily
from bbparse.models.factors.table import FactorTable
from bbparse.models.factors.view import FactorView
from bbparse.models.scoring.scorer import difference
from bbparse.runtime.arrays import Flags, Ints, Longs

_NAMES = names_of("factor", Factors) + names_of("count", Counts)


def proposals_of(
    families: Sequence[FactorFamily], view: FactorView, table: FactorTable
) -> FactorBatch:
    """Return the factors of `families` (at least one); their features are table positions."""
    return FactorBatch.joined([f.propose_all(view, table) for f in families]).known(table)


def with_proposals(
    problem: Problem, proposals: FactorBatch, weights: Ints, quantum: float
) -> Problem:
    """Return a problem of candidate arcs with these factors added; weights are in quanta."""
    scores = np.diff(pointers(weights[proposals.feat_keys])[proposals.feat_ptr]) * quantum
    factors, counts = proposals.scored(scores)
    return problem.changed(**dict(zip(_NAMES, (*factors, *counts))))


def features_apart(proposals: FactorBatch, gold: Flags, other: Flags) -> tuple[Longs, Longs]:
    """Return the features of one tree minus those of another: positions and non-zero counts.

    The flags, bool[A], mark the candidate arcs of the trees.
    """
    here, there = proposals.fired(gold), proposals.fired(other)
    return difference(*(
        take_sets(proposals.feat_ptr, proposals.feat_keys, fired)[1]
        for fired in (here & ~there, there & ~here)
    ))  # fmt: skip


def telling(batch: FactorBatch, gold: Flags, others: Iterable[Flags]) -> FactorBatch:
    """Return the features that distinguish the gold tree from its rivals.

    Such a feature fires in the gold tree but not in all rivals, or in a rival but not in the gold
    tree. The flags, bool[A], mark the arcs of each tree. Each set of the result has one cell.
    """
    in_gold = batch.fired(gold)
    apart = np.zeros_like(in_gold)
    for other in others:
        apart |= batch.fired(other) != in_gold
    return batch.cells(apart)
