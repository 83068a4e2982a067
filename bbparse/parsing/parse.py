"""What is asked of a parser for each sentence, and `Parse`, what it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypedDict

from bbparse.deadline import NO_DEADLINE, Deadline
from bbparse.errors import ProblemError
from bbparse.options import check_options
from bbparse.parsing.confidence import Calibration, Confidences
from bbparse.problem import Solution
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import ScoredTree
from bbparse.validity.check import Fault
from bbparse.validity.rules import Rules


class Limits(TypedDict, total=False):
    """Of a search; see `Parser.parse`."""

    k_best: int
    prune: int | None
    time_limit: float | None
    node_limit: int | None
    until: Deadline


class Asked(Limits, total=False):
    """Of the trees that are found, too."""

    valid: str | Rules | None
    confidence: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked, with the rules that trees keep, and what says how sure they are.

    The deadline is that of one sentence, from `begun` on.
    """

    k_best: int = 1
    prune: int | None = None
    time_limit: float | None = None
    node_limit: int | None = None
    rules: Rules | None = None
    calibration: Calibration | None = None
    until: Deadline = NO_DEADLINE  #: Of all sentences.
    deadline: Deadline = NO_DEADLINE

    def __post_init__(self) -> None:
        """Refuse what is out of range; raises `ProblemError`."""
        numbers = ("k_best", "prune", "time_limit", "node_limit")
        check_options({name: getattr(self, name) for name in numbers}, ProblemError)

    def begun(self) -> Wanted:
        """The same for a sentence whose time begins now."""
        deadline = self.until.within(self.time_limit)
        return self if deadline is self.deadline else replace(self, deadline=deadline)

    @property
    def limits(self) -> dict[str, Any]:
        """For `Parser.solve_problem`, with what is left of the time."""
        deadline = self.deadline
        return {
            "k_best": self.k_best, "node_limit": self.node_limit,
            "time_limit": deadline.limit() if self.time_limit is None else deadline.left(),
            "by_work": self.time_limit is None and self.node_limit is None,
        }  # fmt: skip

    def more_than(self, solution: Solution) -> bool:
        """Whether to look for more trees than there are over the candidate arcs."""
        few = len(solution) < self.k_best and solution.status == "optimal"
        return few and not self.deadline.is_over()


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

    def first(self, count: int) -> Parse:
        """The first of its trees, as `Solution.first` has them."""
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
    """The trees of a solution as plain records, with the labels of each if they are given."""
    rows = zip(
        solution.heads[:, 1:].tolist(), solution.scores.tolist(), solution.upper_bounds.tolist(),
        solution.proved.tolist(), labels or [()] * len(solution),
    )  # fmt: skip
    return [
        ScoredTree(tuple(heads), score, bound, proved, tuple(own))
        for heads, score, bound, proved, own in rows
    ]
