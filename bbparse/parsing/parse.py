"""Options of a parse for each sentence, and `Parse`, its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypedDict

from bbparse.deadline import NO_DEADLINE, Deadline
from bbparse.errors import ProblemError
from bbparse.factors import TreeFamily
from bbparse.options import check_options
from bbparse.parsing.confidence import Calibration, Confidences
from bbparse.problem import Solution
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import ScoredTree
from bbparse.validity.check import Fault
from bbparse.validity.rules import Rules

#: A tree family, its class or its name.
AnyTreeFamily = TreeFamily | type[TreeFamily] | str


class Limits(TypedDict, total=False):
    """Limits of a search; see `Parser.parse`."""

    k_best: int
    prune: int | None
    time_limit: float | None
    node_limit: int | None
    until: Deadline


class Asked(Limits, total=False):
    """Limits of a search and options about its trees; see `Parser.parse`."""

    valid: str | Rules | None
    confidence: bool
    tree_score: AnyTreeFamily | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Checked options of a parse, with the rules, the calibration and the tree scores to apply.

    ``deadline`` belongs to one sentence; `begun` sets it.
    """

    k_best: int = 1
    prune: int | None = None
    time_limit: float | None = None
    node_limit: int | None = None
    rules: Rules | None = None
    calibration: Calibration | None = None
    trees: tuple[TreeFamily, ...] = ()  #: Scores of whole trees.
    until: Deadline = NO_DEADLINE  #: For all sentences together.
    deadline: Deadline = NO_DEADLINE  #: For one sentence.

    def __post_init__(self) -> None:
        """Check the ranges of the options; raises `ProblemError`."""
        numbers = ("k_best", "prune", "time_limit", "node_limit")
        check_options({name: getattr(self, name) for name in numbers}, ProblemError)

    def begun(self) -> Wanted:
        """Return the same options for a sentence whose time begins now."""
        deadline = self.until.within(self.time_limit)
        return self if deadline is self.deadline else replace(self, deadline=deadline)

    @property
    def limits(self) -> dict[str, Any]:
        """Limits for `Parser.solve_problem`, with the time that is left."""
        deadline = self.deadline
        return {
            "k_best": self.k_best, "node_limit": self.node_limit,
            "time_limit": deadline.limit() if self.time_limit is None else deadline.left(),
            "by_work": self.time_limit is None and self.node_limit is None,
        }  # fmt: skip

    def more_than(self, solution: Solution) -> bool:
        """Return True if fewer trees were found than requested and time is left for more."""
        few = len(solution) < self.k_best and solution.status == "optimal"
        return few and not self.deadline.is_over()


class Parse(NamedTuple):
    """Result of parsing a sentence.

    Attributes
    ----------
    sentence : Sentence
    solution : Solution
    labels : list of list of str
        For each tree of the solution the labels of its arcs; empty if the model has no labels.
    faults : list of list of Fault
        For each tree the rules that no search could make it satisfy; empty if there are none.
    sure : list of Confidences
        For each tree, if confidences were requested.
    """

    sentence: Sentence
    solution: Solution
    labels: list[list[str]]
    faults: Sequence[Sequence[Fault]] = ()
    sure: Sequence[Confidences] = ()

    def first(self, count: int) -> Parse:
        """Return the parse with only its first trees; see `Solution.first`."""
        if count >= len(self.solution):
            return self
        return Parse(
            self.sentence, self.solution.first(count), self.labels[:count], self.faults[:count],
            self.sure[:count],
        )  # fmt: skip

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
    """Convert the trees of a solution to plain records, with the labels of each if given."""
    rows = zip(
        solution.heads[:, 1:].tolist(), solution.scores.tolist(), solution.upper_bounds.tolist(),
        solution.proved.tolist(), labels or [()] * len(solution),
    )  # fmt: skip
    return [
        ScoredTree(tuple(heads), score, bound, proved, tuple(names))
        for heads, score, bound, proved, names in rows
    ]
