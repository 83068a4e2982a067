"""Scores of whole trees in a parser: what tree families see of a sentence, and its solver."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import FactorError
from bbparse.factors import FactorFamily, TreeFamily, load_families, tree_options
from bbparse.model.model import Model
from bbparse.parsing.parse import AnyTreeFamily, Wanted
from bbparse.problem import Solution
from bbparse.scoring.labeller import best_labels
from bbparse.scoring.problem_maker import Scored

#: Default limit on the trees of one sentence that are scored.
TREE_LIMIT = 1000
#: Solves a problem: `bbparse.parsing.parser.Parser.solve_problem`, with or without tree scores.
Solve = Callable[..., Solution]


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


def with_tree_scores(solve: Solve, model: Model, wanted: Wanted, scored: Scored) -> Solve:
    """Return ``solve`` with the scores that the trees of a sentence get as a whole."""
    if not wanted.trees:
        return solve
    labeller = model.labeller

    def labels_of(heads: NDArray[np.int32]) -> list[str]:
        if labeller is None:
            return []
        return best_labels(labeller, labeller.tree_scores(scored, heads))

    options = tree_options(wanted.trees, model.maker.view_of(scored), labels_of)
    if wanted.limits["by_work"]:
        options["tree_limit"] = TREE_LIMIT
    return partial(solve, **options)


def check_found(scored: Scored, solution: Solution, wanted: Wanted) -> None:
    """Raise `FactorError` if tree families leave a sentence no tree."""
    if wanted.trees and not len(solution):
        sentence, names = scored.sentence, ", ".join(repr(one.name) for one in wanted.trees)
        raise FactorError(
            f"{sentence.source or 'input'}, {sentence.name}: no tree was found that the tree"
            f" families {names} allow, among {int(solution.stats.get('trees_scored', 0))} that"
            f" were looked at ({solution.status}): prune less, or allow more"
        )
