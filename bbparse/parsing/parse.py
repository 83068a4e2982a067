"""`Parse`: what parsing a sentence found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from bbparse.parsing.confidence import Calibration, Confidences
from bbparse.problem import Solution
from bbparse.treebank import Sentence
from bbparse.treebank.scored import ScoredTree
from bbparse.validity.check import Fault
from bbparse.validity.rules import Rules

__all__ = ["Parse", "Wanted", "trees_of"]


class Wanted(NamedTuple):
    """What is done with the trees found: rules that they keep, and how sure they are."""

    rules: Rules | None = None
    calibration: Calibration | None = None


class Parse(NamedTuple):
    """What parsing a sentence found.

    Attributes
    ----------
    sentence : Sentence
    solution : Solution
    labels : list of list of str
        For each tree of the solution the labels of its arcs; no list where the model has none.
    faults : list of list of Fault
        For each tree the rules that it breaks in spite of all; no list where none breaks any.
    sure : list of Confidences
        Of each tree, if they were asked for.
    """

    sentence: Sentence
    solution: Solution
    labels: list[list[str]]
    faults: Sequence[Sequence[Fault]] = ()
    sure: Sequence[Confidences] = ()

    @property
    def trees(self) -> list[ScoredTree]:
        """The trees as plain records, best first."""
        trees = trees_of(self.solution, self.labels)
        for k, faults in enumerate(self.faults):
            texts = [f.text(self.sentence, trees[k].heads, trees[k].labels) for f in faults]
            trees[k] = replace(trees[k], broken=tuple(texts))
        for k, sure in enumerate(self.sure):
            trees[k] = replace(
                trees[k], confidences=sure.arcs, confidence=sure.tree,
                rivals=sure.rivals, either=sure.either,
            )  # fmt: skip
        return trees


def trees_of(solution: Solution, labels: Sequence[Sequence[str]] = ()) -> list[ScoredTree]:
    """The trees of a solution as plain records, with the labels of each if they are given."""
    rows = zip(
        solution.heads[:, 1:].tolist(), solution.scores.tolist(), solution.upper_bounds.tolist(),
        solution.proved.tolist(), labels or [()] * len(solution),
    )  # fmt: skip
    return [
        ScoredTree(tuple(heads), score, bound, proved, tuple(own))
        for heads, score, bound, proved, own in rows
    ]
