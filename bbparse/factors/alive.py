"""The factors of a sentence that have a score, from all families."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby

from bbparse.factors.batch import FactorBuffer, ScoredFactors
from bbparse.factors.family import FactorFamily
from bbparse.factors.rules import RuleFamily, RuleSet
from bbparse.factors.table import FactorTable
from bbparse.factors.view import FactorView

__all__ = ["alive_factors"]


def alive_factors(
    families: Iterable[FactorFamily], view: FactorView, table: FactorTable
) -> ScoredFactors:
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
    found = FactorBuffer()
    for group in _groups(tuple(families)):
        group.score(view, table, found)
    return found.result()


@lru_cache(maxsize=64)
def _groups(families: tuple[FactorFamily, ...]) -> tuple[FactorFamily | RuleSet, ...]:
    """The families, compiled ones that follow each other together."""
    groups: list[FactorFamily | RuleSet] = []
    for together, members in groupby(families, _is_compiled):
        if together:
            groups.append(RuleSet([m for m in members if isinstance(m, RuleFamily)]))
        else:
            groups += members
    return tuple(groups)


def _is_compiled(family: FactorFamily) -> bool:
    """Whether it leaves all that is to be done to `RuleFamily`."""
    own = type(family)
    return (
        isinstance(family, RuleFamily)
        and own.propose is RuleFamily.propose
        and own.score is RuleFamily.score
    )
