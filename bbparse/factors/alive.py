"""What families say of a sentence: the factors that have a score, or what fires in a tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from bbparse.factors.batch import FactorBatch, joined, pointers, scored_counts
from bbparse.factors.family import FactorFamily
from bbparse.factors.rules import RuleFamily, RuleSet, is_compiled
from bbparse.factors.table import FactorTable
from bbparse.factors.view import FactorView
from bbparse.problem.parts import Counts, Factors


def alive_factors(
    families: Iterable[FactorFamily], view: FactorView, table: FactorTable
) -> Factors:
    """The factors of a sentence that have a score: what goes into its `Problem`.

    Factors keep the order of the families. Two families may give the same set of arcs, each with
    its score.

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
    return alive_in_all(families, [view], table)[0]


def alive_in_all(
    families: Iterable[FactorFamily], views: Sequence[FactorView], table: FactorTable
) -> list[Factors]:
    """`alive_factors` of each of some sentences.

    One family after the other sees all of them: what it reads then stays in the caches.
    """
    found = [[group.score(view, table) for view in views] for group in _groups(tuple(families))]
    return [joined([factors[i] for factors in found]) for i in range(len(views))]


@lru_cache(maxsize=64)
def _groups(families: tuple[FactorFamily, ...]) -> tuple[FactorFamily | RuleSet, ...]:
    """The families, compiled ones that follow each other together."""
    groups: list[FactorFamily | RuleSet] = []
    for together, members in groupby(families, is_compiled):
        if together:
            groups.append(RuleSet([m for m in members if isinstance(m, RuleFamily)]))
        else:
            groups += members
    return tuple(groups)


def alive_counts(
    families: Iterable[FactorFamily], view: FactorView, table: FactorTable
) -> Counts | None:
    """The count factors of a sentence that have a score; None without families of such.

    Parameters and errors are as for `alive_factors`, of one view.
    """
    batches = [family.propose_counts(view, table) for family in _counting(tuple(families))]
    batches = [batch for batch in batches if len(batch)]
    if not batches:
        return None
    return scored_counts(
        pointers(np.concatenate([np.diff(batch.ptr) for batch in batches])),
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
        Over the arcs of the tree (`FactorView.of_tree`).
    table : FactorTable, optional
        Features that are not in it may be left out.
    """
    for family in families:
        yield family.propose(view, table)
        if family.has_counts:
            counts = family.propose_counts(view, table)
            yield counts.cells(np.diff(counts.ptr))


def tree_keys(
    families: Iterable[FactorFamily], view: FactorView, table: FactorTable | None = None
) -> NDArray[np.uint64]:
    """Keys of the features of all that fires in a tree, as often as it fires; as `tree_batches`."""
    keys = [batch.feat_keys for batch in tree_batches(families, view, table)]
    return np.concatenate([np.zeros(0, np.uint64), *keys])
