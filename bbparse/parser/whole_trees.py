"""Scores of whole trees in a parser: what tree families see of a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Solution
from bbparse.inference.whole_trees import WholeTrees
from bbparse.models.factors.family import FactorFamily
from bbparse.models.factors.registry import load_families
from bbparse.models.factors.tree_family import TreeFamily, tree_options
from bbparse.models.model import Model
from bbparse.models.scoring.labeller import best_labels
from bbparse.models.scoring.problem_maker import Scored
from bbparse.parser.parse import AnyTreeFamily
from bbparse.runtime.errors import FactorError

#: Default limit on the trees of one sentence that are scored.
TREE_LIMIT = 1000


def tree_families(model: Model, asked: AnyTreeFamily | None = None) -> tuple[TreeFamily, ...]:
    """Return the tree families of a model, and the one that is asked for.

    Raises `FactorError` if that cannot be loaded, is no tree family, or is there already.
    """
    trees: list[FactorFamily] = [
        family for family in model.maker.families if isinstance(family, TreeFamily)
    ]
    if asked is not None:
        trees = load_families([*trees, asked])
        if not isinstance(trees[-1], TreeFamily):
            raise FactorError(f"tree_score is the family {trees[-1].name!r}, expected a TreeFamily")
    return tuple(family for family in trees if isinstance(family, TreeFamily))


def labels_of(model: Model, scored: Scored, heads: NDArray[np.int32]) -> list[str]:
    """Return the labels that a model gives a tree; none if it has no labels."""
    if model.labeller is None:
        return []
    return best_labels(model.labeller, model.labeller.tree_scores(scored, heads))


def tree_score_options(
    model: Model, trees: tuple[TreeFamily, ...], scored: Scored, by_work: bool
) -> WholeTrees:
    """Return options of `bbparse.solve` for the scores that trees of a sentence get as a whole.

    With ``by_work``, trees are limited, too.
    """
    if not trees:
        return {}
    options = tree_options(trees, model.maker.view_of(scored), partial(labels_of, model, scored))
    if by_work:
        options["tree_limit"] = TREE_LIMIT
    return options


def check_found(scored: Scored, solution: Solution, families: Sequence[TreeFamily]) -> None:
    """Raise `FactorError` if tree families leave a sentence no tree."""
    if families and not len(solution):
        sentence, names = scored.sentence, ", ".join(repr(one.name) for one in families)
        raise FactorError(
            f"{sentence.source or 'input'}, {sentence.name}: no tree was found that the tree"
            f" families {names} allow, among {int(solution.stats.get('trees_scored', 0))} that"
            f" were looked at ({solution.status}): prune less, or allow more"
        )
