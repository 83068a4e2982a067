"""Scores of whole trees as options of `bbparse.solve`, and the best trees by their totals.

A tree y has the total s(y) + g(y): s is its score in the problem, and g is any function that is at
most t. Totals are correctly rounded sums of all their terms. The bound on a tree that is not listed
is the total of the largest sum of scores that is not above the bound of its score, so that rounding
hides none.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypedDict

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.core.check import MAX_SCORE
from bbparse.core.order import ranked
from bbparse.core.tree import heads_of, tree_terms
from bbparse.inference.proof.exact import rounded, whole
from bbparse.inference.search.proportion import grain_of
from bbparse.inference.trees import Options
from bbparse.runtime.arrays import Flags, Ints
from bbparse.runtime.deadline import clock
from bbparse.runtime.errors import BBParseError, ProblemError, one_line
from bbparse.runtime.options import OPTIONS, check_number

#: A score of whole trees: from heads int32[n + 1] and labels int32[n], or None without labels.
Function = Callable[[Ints, Ints | None], float]
#: Its bound on a set of trees: from heads and labels, -1 where they differ, and the arcs of the
#: set, bool[n + 1, n + 1] by head and modifier.
BoundFunction = Callable[[Ints, Ints | None, Flags], float]


class TreeBoundError(ProblemError):
    """A tree has a higher score than the bound of a set that it is in."""


class WholeTrees(TypedDict, total=False):
    """Options of `bbparse.solve` about a score of whole trees."""

    tree_score: Function | None
    tree_bound: BoundFunction | None
    at_most: float
    tree_limit: int | None


@dataclass(frozen=True, slots=True)
class TreeScore:
    """A checked score of whole trees; see `bbparse.solve`."""

    tree_score: Function
    at_most: float = 0.0
    tree_limit: int | None = None
    tree_bound: BoundFunction | None = None

    def __post_init__(self) -> None:
        for name in ("tree_score", "tree_bound"):
            value = getattr(self, name)
            if not callable(value) and (name == "tree_score" or value is not None):
                raise ProblemError(f"{name} is {value!r:.60}, expected a function")
        checked_score("at_most", self.at_most)
        check_number("tree_limit", self.tree_limit, OPTIONS["tree_limit"], ProblemError)

    def __call__(self, heads: Ints, labels: Ints | None) -> float:
        """Return the score of a tree; raises `ProblemError` for what is no score."""
        where = f"tree_score of the tree with heads {text_of(heads)}"
        return self._value(where, self.at_most, self.tree_score, heads, labels)

    def bound(self, heads: Ints, labels: Ints | None, allowed: Flags) -> float:
        """Return an upper bound of the scores of a set of trees; raises as for a tree."""
        if self.tree_bound is None:
            return self.at_most
        where = f"tree_bound of heads {text_of(heads)}"
        value = self._value(where, MAX_SCORE, self.tree_bound, heads, labels, allowed)
        return min(self.at_most, value)

    @staticmethod
    def _value(where: str, most: float, function: Callable[..., float], *arguments: Any) -> float:
        try:
            value = function(*arguments)
        except BBParseError:
            raise
        except Exception as error:
            text = one_line(f"{type(error).__name__}: {error}")
            raise ProblemError(f"{where}: {text}") from error
        return checked_score(where, value, most, or_never=True)


def text_of(heads: Ints) -> str:
    """Return the heads of the words 1 to n as text."""
    return " ".join(map(str, heads[1:].tolist()))


def tree_score_of(asked: WholeTrees, **others: Any) -> TreeScore | None:
    """Return the score of whole trees that `bbparse.solve` is asked for.

    Raises `ProblemError` if an option does not fit; ``others`` are options that it excludes.
    """
    function = asked.get("tree_score")
    for name, value in asked.items():
        if name not in WholeTrees.__annotations__:
            raise TypeError(f"solve() got an unexpected keyword argument {name!r}")
        if value is not None and function is None:
            raise ProblemError(f"{name} is {value!r:.60}: it needs a tree_score")
    if function is None:
        return None
    for name, value in others.items():
        if value:
            raise ProblemError(f"{name} is {value!r:.60}: with a tree_score there is none")
    return TreeScore(
        function, asked.get("at_most", 0.0), asked.get("tree_limit"), asked.get("tree_bound")
    )


def checked_score(
    where: str, value: Any, most: float = MAX_SCORE, or_never: bool = False,
    error: type[BBParseError] = ProblemError,
) -> float:  # fmt: skip
    """Return a number as a float; raise `error` unless it is in range, or -inf if that may be."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise error(f"{where} is {value!r:.60}, expected a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not (-MAX_SCORE <= number <= most or (or_never and number == -math.inf)):
        never = ", or -inf for a tree that is forbidden" if or_never else ""
        raise error(
            f"{where} is {number}, expected a number from {-MAX_SCORE:g} to {most:g}{never}"
        )
    return number


class Totals:
    """The trees that are scored as a whole, and the k best of them."""

    def __init__(self, problem: Problem, tree_score: TreeScore, options: Options) -> None:
        self.problem, self.tree_score, self.options = problem, tree_score, options
        self.known: dict[tuple[int, ...], tuple[float, float]] = {}  # total and score, by arcs
        self._kth: list[float] = []  # heap of the k best totals
        self._grain = whole(grain_of(problem))

    @property
    def worst(self) -> float:
        """The k-th best total; -inf if fewer are known."""
        return self._kth[0] if len(self._kth) == self.options.k_best else -math.inf

    @property
    def is_full(self) -> bool:
        """True if no further tree may be scored."""
        return len(self.known) == self.tree_score.tree_limit

    def bound_of(self, score: float, top: float) -> float:
        """Return the largest total of trees with at most ``score`` in the problem and ``top``.

        Trees whose score in the problem is rounded to ``score`` are among them.
        """
        if not math.isfinite(score):
            return score
        units = whole(score)
        if self._grain:
            middle = (units + whole(math.nextafter(score, math.inf))) // 2
            middle -= rounded(middle) > score  # halves are rounded to even
            units = middle // self._grain * self._grain
        return rounded(units + whole(float(top)))

    def add(self, arcs: Ints) -> float:
        """Score a tree, the arc of each word, unless it is known; return its tree_score."""
        tree = tuple(arcs.tolist())
        if tree in self.known:
            return self.known[tree][1]
        p = self.problem
        labels = None if p.arc_label is None else p.arc_label[arcs]
        value = self.tree_score(heads_of(p, arcs), labels)
        total = math.fsum([*tree_terms(p, arcs), value])
        self.known[tree] = total, value
        if total > -math.inf:
            heapq.heappush(self._kth, total)
            if len(self._kth) > self.options.k_best:
                heapq.heappop(self._kth)
        return value

    def solution(self, bound: float, status: str, stats: dict[str, float | int]) -> Solution:
        """Return the k best trees so far; ``bound`` is that of all others."""
        p = self.problem

        def rank(tree: tuple[int, ...]) -> tuple[Any, ...]:
            arcs = list(tree)
            labels = [] if p.arc_label is None else p.arc_label[arcs].tolist()
            return -self.known[tree][0], p.arc_head[arcs].tolist(), labels

        found = [tree for tree, (total, _) in self.known.items() if total > -math.inf]
        trees = sorted(found, key=rank)[: self.options.k_best]
        scores = [self.known[tree][0] for tree in trees]
        stats |= {
            "trees_scored": len(self.known),
            "upper_bound": max([bound, *scores[:1]]),
            "seconds": clock() - self.options.started,
        }
        rows = [np.array(tree, np.int32) for tree in trees]
        return ranked(p, rows, scores, bound, status, stats)
