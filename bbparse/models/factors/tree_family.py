"""`TreeFamily`: a score of whole trees, for properties that no set of arcs captures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bbparse.core.check import MAX_SCORE, checked_score
from bbparse.models.factors.family import FactorFamily, naming_errors
from bbparse.models.factors.view import ROOT, FactorView
from bbparse.runtime.arrays import Ints
from bbparse.runtime.errors import FactorError


class TreeFamily(FactorFamily):
    """Base class of scores of whole trees.

    A tree family has a `name`, a `summary` and the method `tree_score`, and is named and installed
    like other families. It has no features, so nothing is learned for it. The parser adds the
    scores of all tree families to the score of a tree, and still proves that its trees are the best
    (``tree_score`` of `bbparse.solve`). The method `tree_terms` explains the score.

    Attributes
    ----------
    at_most : float
        Upper bound on all scores. The closer the scores of good trees are to it, the fewer trees
        are enumerated.
    """

    at_most: float = 0.0

    def factors(self, view: FactorView) -> Iterable[Any]:
        """Return no factors: only whole trees have scores."""
        return ()

    def tree_score(self, view: FactorView, heads: Ints, labels: Sequence[str]) -> float:
        """Return the score of a tree, at most `at_most`; -inf forbids the tree.

        It depends only on the sentence and the tree.

        Parameters
        ----------
        view : FactorView
            The words of the sentence and its candidate arcs; the same view for all its trees.
        heads : int32[n + 1]
            Head of each word; ``heads[0]`` is -1.
        labels : sequence of str, length n + 1
            Label of each word's arc; ``labels[0]`` is `ROOT`. They are the labels that the model
            gives to this tree; validity rules may change some of them later. Empty if the model has
            no labels.
        """
        raise NotImplementedError(f"{type(self).__name__}.tree_score")

    def tree_terms(
        self, view: FactorView, heads: Ints, labels: Sequence[str]
    ) -> Iterable[tuple[str, float]]:
        """Return the terms of a tree's score: texts with numbers that add up to it.

        Explanations show them (`apps.explain`). The default is one term, the summary with the whole
        score. Parameters are those of `tree_score`.
        """
        return [(self.summary, self.tree_score(view, heads, labels))]


def tree_options(
    families: Sequence[TreeFamily], view: FactorView, labels_of: Callable[[Ints], Sequence[str]]
) -> dict[str, Any]:
    """Return options of `bbparse.solve` that add the scores of tree families for one sentence."""
    tops = [
        checked_score(f"tree family {family.name!r}: at_most", family.at_most, error=FactorError)
        for family in families
    ]

    def tree_score(heads: Ints, _: Ints | None) -> float:
        labels = labels_of(heads)
        if labels:
            labels = [ROOT, *labels]
        values = []
        for family, top in zip(families, tops):
            with naming_errors(f"tree family {family.name!r}", view.sentence):
                value = family.tree_score(view, heads, labels)
                values.append(checked_score("tree_score", value, top, True, FactorError))
        return math.fsum(values)

    return {"tree_score": tree_score, "at_most": math.fsum(tops)}


def terms_of_tree(
    family: TreeFamily, view: FactorView, heads: Ints, labels: Sequence[str]
) -> list[tuple[str, float]]:
    """Return the checked terms of a tree family's score, without those that are 0."""
    with naming_errors(f"tree family {family.name!r}", view.sentence):
        score = family.tree_score(view, heads, labels)
        terms = [
            (str(text), checked_score("tree_terms", value, MAX_SCORE, True, FactorError))
            for text, value in family.tree_terms(view, heads, labels)
        ]
        total = math.fsum(value for _, value in terms)
        if not (total == score or abs(total - score) <= 1e-9 * max(1.0, abs(score))):
            raise FactorError(f"tree_terms add up to {total}, expected tree_score, {score}")
    return [(text, value) for text, value in terms if value]
