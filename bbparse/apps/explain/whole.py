"""Scores of whole trees in an explanation: their terms, and the best tree without them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bbparse.apps.explain.terms import Feature, Term, terms_of
from bbparse.models.factors.tree_family import TreeFamily, terms_of_tree
from bbparse.models.factors.view import ROOT

if TYPE_CHECKING:
    from bbparse.core import Solution
    from bbparse.models.scoring.problem_maker import Scored
    from bbparse.parser.parser import Parser
    from bbparse.treebank.sentence import ScoredTree


@dataclass(frozen=True, slots=True)
class WholeScores:
    """Effect and cost of scores of whole trees."""

    families: tuple[str, ...]  #: Names of the tree families.
    looked_at: int  #: Number of trees scored to prove the best ones.
    plain: ScoredTree  #: The best tree without them, with the score that it has without them.
    terms: list[Term]  #: All terms of that tree, with those of the tree families.

    @property
    def score(self) -> float:
        """Score that the tree families give to the best tree without them."""
        return math.fsum(term.value for term in self.terms if term.kind in self.families)


class WholeTerms:
    """The terms of a sentence's trees, with those of tree families."""

    def __init__(self, parser: Parser, scored: Scored, families: Sequence[TreeFamily]) -> None:
        self.parser, self.scored, self.families = parser, scored, families
        self.view = parser.maker.view_of(scored) if families else None

    def __call__(self, arcs: NDArray[np.int32], heads: NDArray[np.int32]) -> list[Term]:
        """Return all terms of a tree; texts of a family are sorted by magnitude."""
        problem, sentence = self.scored.problem, self.scored.sentence
        terms = terms_of(problem, arcs, self.parser, sentence)
        if self.view is None:
            return terms
        labels = self.parser.model.labels_of(self.scored, heads)
        labels = [ROOT, *labels] if labels else []
        for family in self.families:
            told = terms_of_tree(family, self.view, heads, labels)
            texts = sorted((Feature(*one) for one in told), key=lambda f: (-abs(f.weight), f.text))
            if value := math.fsum(one.weight for one in texts):
                terms.append(Term(family.name, (), (), value, tuple(texts)))
        return terms

    def without(self, solution: Solution, plain: Solution) -> WholeScores:
        """Compare the best tree with that of a solution without tree families."""
        (tree, *_) = self.parser.labelled(self.scored.sentence, plain.first(1)).trees
        return WholeScores(
            tuple(family.name for family in self.families),
            int(solution.stats["trees_scored"]), tree, self(plain.arcs[0], plain.heads[0]),
        )
