"""What families say of a sentence: the factors that have a score, or what fires in a tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from bbparse.factors.batch import FactorBatch, chained
from bbparse.factors.family import FactorFamily
from bbparse.factors.rules import RuleFamily, RuleSet, is_compiled
from bbparse.factors.table import FactorTable
from bbparse.factors.view import FactorView
from bbparse.problem.parts import Counts, Factors


def alive_factors(
    families: Iterable[FactorFamily], views: Sequence[FactorView], table: FactorTable
) -> list[Factors]:
    """The factors that have a score, of each of some sentences.

    Factors keep the order of the families. Two families may give the same set of arcs, each with
    its score. One family after the other sees all sentences: what it reads then stays in the
    caches. Raises what `FactorFamily.propose` does.
    """
    found = [[group.score(view, table) for view in views] for group in _groups(tuple(families))]
    return [_joined([factors[i] for factors in found]) for i in range(len(views))]


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


def _joined(groups: Sequence[Factors]) -> Factors:
    """All factors, one group after the other."""
    groups = [group for group in groups if len(group.score)]
    if len(groups) == 1:
        return groups[0]
    return Factors(
        chained(group.ptr for group in groups),
        np.concatenate([np.zeros(0, np.int32), *(group.arcs for group in groups)]),
        np.concatenate([np.zeros(0), *(group.score for group in groups)]),
    )


def alive_counts(
    families: Iterable[FactorFamily], view: FactorView, table: FactorTable
) -> Counts | None:
    """The count factors of a sentence that have a score; None without families of such."""
    counting = [family for family in families if family.has_counts]
    if not counting:
        return None
    batch = FactorBatch.joined([family.propose_counts(view, table) for family in counting])
    return batch.counts(batch.scores(table))


def tree_batches(
    families: Iterable[FactorFamily], view: FactorView, table: FactorTable | None = None
) -> Iterator[FactorBatch]:
    """All that fires in a tree, of which the view has the arcs, each set with one cell.

    Given a table, features that are not in it may be left out.
    """
    tree: NDArray[np.bool_] = np.ones(view.n_arcs, np.bool_)
    for family in families:
        for batch in (family.propose(view, table), family.propose_counts(view, table)):
            yield batch.cells(batch.fired(tree))
