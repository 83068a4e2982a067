"""The best trees under a score of whole trees, which no set of arcs needs to express.

A tree y has the total s(y) + g(y): s is its score in the problem, and g is any function that is at
most t. Trees are listed by decreasing s. As soon as s of the next tree, plus t, does not beat the
k-th best total so far, no later tree does either, and the k best trees are proved (Lee, Lewis &
Zettlemoyer 2016 have an agenda of parses in place of the list). If a list ends before that, a
search for four times as many trees follows.

Totals are correctly rounded sums of all their terms. The bound on a tree that is not listed is the
total of the largest sum of scores that is not above the list's bound, so that rounding hides none.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from bbparse.deadline import clock
from bbparse.errors import BBParseError, ProblemError
from bbparse.options import OPTIONS, check_number
from bbparse.problem import Problem, Solution
from bbparse.problem.check import MAX_SCORE
from bbparse.problem.order import ranked
from bbparse.problem.tree import heads_of, most_trees, tree_terms
from bbparse.proof.exact import rounded, whole
from bbparse.solving.proportion import grain_of
from bbparse.solving.trees import Options, find_trees, most_listed, work_of

Ints = NDArray[np.int32]

#: A score of whole trees: from heads int32[n + 1] and labels int32[n], or None without labels.
Function = Callable[[Ints, Ints | None], float]

#: Number of trees in the first list, by method: branch and bound lists sixteen in two and a half
#: times the time that it takes for one, a program solves for each tree. Then, how many times as
#: many trees the next list has.
_FIRST, _MORE = {"auto": 16, "bb": 16}, 4
_DECIDED = ("optimal", "infeasible")
#: Counts of the search that add up over the lists.
_SUMS = ("nodes", "dp_calls", "dp_work", "trees_tried", "searches")


class WholeTrees(TypedDict, total=False):
    """Options of `bbparse.solve` about a score of whole trees."""

    tree_score: Function | None
    at_most: float
    tree_limit: int | None


@dataclass(frozen=True, slots=True)
class TreeScore:
    """A checked score of whole trees; see `bbparse.solve`."""

    tree_score: Function
    at_most: float = 0.0
    tree_limit: int | None = None

    def __post_init__(self) -> None:
        if not callable(self.tree_score):
            raise ProblemError(f"tree_score is {self.tree_score!r:.60}, expected a function")
        checked_score("at_most", self.at_most)
        check_number("tree_limit", self.tree_limit, OPTIONS["tree_limit"], ProblemError)

    def __call__(self, heads: Ints, labels: Ints | None) -> float:
        """Return the score of a tree; raises `ProblemError` for what is no score."""
        where = f"tree_score of the tree with heads {' '.join(map(str, heads[1:].tolist()))}"
        try:
            value = self.tree_score(heads, labels)
        except BBParseError:
            raise
        except Exception as error:
            text = " ".join(f"{type(error).__name__}: {error}".split())
            raise ProblemError(f"{where}: {text}") from error
        return checked_score(where, value, self.at_most, or_never=True)


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
    return TreeScore(function, asked.get("at_most", 0.0), asked.get("tree_limit"))


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


def find_whole_trees(
    problem: Problem, method: str, options: Options, tree_score: TreeScore
) -> Solution:
    """Find the k best trees by the sum of the problem's score and a score of whole trees."""
    k = most_listed(problem, options.k_best)
    best = _Best(problem, tree_score, replace(options, k_best=k))
    stats: dict[str, float | int] = {}
    longest = most_listed(problem)
    count = min(max(_FIRST.get(method, 1), k), longest)
    lists, work, status = 0, 0.0, ""
    while not status:
        listed = find_trees(problem, method, _left(options, count, stats.get("nodes", 0), work))
        lists, work = lists + 1, work + work_of(listed)
        for name, value in listed.stats.items():
            stats[name] = value + (stats.get(name, 0) if name in _SUMS else 0)
        status = best.read(listed, count)
        if not status and count == longest:
            status = "tree_limit"
        elif not status and stats.get("nodes", 0) >= (options.node_limit or math.inf):
            status = "node_limit"
        count = min(_MORE * count, longest)
    found = best.solution(status, stats | {"lists": lists})
    if found.status == "infeasible" and best.scores:
        never = f"tree_score is -inf for all trees, of which there are {len(best.scores)}"
        found = replace(found, conflict=(never,))
    return found


def _left(options: Options, count: int, nodes: float, work: float) -> Options:
    """Return the options of the next list, with what is left of the limits."""
    o = options
    return replace(
        o, k_best=count, gap=0.0,
        node_limit=None if o.node_limit is None else max(1, o.node_limit - int(nodes)),
        work_limit=None if o.work_limit is None else max(0.0, o.work_limit - work),
    )  # fmt: skip


class _Best:
    """The trees that are scored as a whole, and a bound on all others."""

    def __init__(self, problem: Problem, tree_score: TreeScore, options: Options) -> None:
        self.problem, self.tree_score, self.options = problem, tree_score, options
        self.scores: dict[tuple[int, ...], float] = {}  # total of each tree, by its arcs
        self.bound = math.inf  # of trees that are not scored
        self._kth: list[float] = []  # heap of the k best totals
        self._top, self._grain = whole(float(tree_score.at_most)), whole(grain_of(problem))

    @property
    def worst(self) -> float:
        """The k-th best total; -inf if fewer are known."""
        return self._kth[0] if len(self._kth) == self.options.k_best else -math.inf

    def read(self, listed: Solution, count: int) -> str:
        """Score the trees of a list of ``count``; return a status if the search is over."""
        fewer = len(listed) < count or count >= most_trees(self.problem)
        is_whole = fewer and listed.status in _DECIDED
        rest = -math.inf if is_whole else listed.upper_bound
        if len(listed) and not is_whole:
            rest = float(listed.upper_bounds[-1])
        for arcs, score in zip(listed.arcs, listed.scores.tolist()):
            if status := self._lowered(max(score, rest)):
                return status
            tree = tuple(arcs.tolist())
            if tree in self.scores:
                continue
            if self.scores:
                if self.options.deadline.is_over():
                    return "time_limit"
                if len(self.scores) == self.tree_score.tree_limit:
                    return "tree_limit"
            self._add(tree, arcs)
        return self._lowered(rest) or ("" if listed.status in _DECIDED else listed.status)

    def _lowered(self, score: float) -> str:
        """Lower the bound, as trees that are not scored have at most this score in the problem."""
        self.bound = min(self.bound, self._bound_of(score))
        if self.bound <= self.worst:
            return "optimal"
        gap = self.options.gap * max(abs(self.worst), abs(self.bound))
        return "gap" if self.worst > -math.inf and self.bound - self.worst <= gap else ""

    def _bound_of(self, score: float) -> float:
        """Return the largest total of trees whose score in the problem is rounded to this one."""
        if not math.isfinite(score):
            return score
        units = whole(score)
        if self._grain:
            middle = (units + whole(math.nextafter(score, math.inf))) // 2
            middle -= rounded(middle) > score  # halves are rounded to even
            units = middle // self._grain * self._grain
        return rounded(units + self._top)

    def _add(self, tree: tuple[int, ...], arcs: Ints) -> None:
        p = self.problem
        labels = None if p.arc_label is None else p.arc_label[arcs]
        value = self.tree_score(heads_of(p, arcs), labels)
        total = math.fsum([*tree_terms(p, arcs), value])
        self.scores[tree] = total
        if total > -math.inf:
            heapq.heappush(self._kth, total)
            if len(self._kth) > self.options.k_best:
                heapq.heappop(self._kth)

    def solution(self, status: str, stats: dict[str, float | int]) -> Solution:
        """Return the k best trees so far."""
        p = self.problem

        def rank(tree: tuple[int, ...]) -> tuple[Any, ...]:
            arcs = list(tree)
            labels = [] if p.arc_label is None else p.arc_label[arcs].tolist()
            return -self.scores[tree], p.arc_head[arcs].tolist(), labels

        found = [tree for tree, total in self.scores.items() if total > -math.inf]
        trees = sorted(found, key=rank)[: self.options.k_best]
        scores = [self.scores[tree] for tree in trees]
        stats |= {
            "trees_scored": len(self.scores),
            "upper_bound": max([self.bound, *scores[:1]]),
            "seconds": clock() - self.options.started,
        }
        rows = [np.array(tree, np.int32) for tree in trees]
        return ranked(p, rows, scores, self.bound, status, stats)
