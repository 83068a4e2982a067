"""The best trees under a score of whole trees: list trees by score until no other can win.

A tree y has the total s(y) + g(y): s is its score in the problem, and g any function that is at
most t. Trees are listed by decreasing s. As soon as s of the next tree plus t does not beat the
k-th best total so far, no later tree does either, and the k best trees are proved (Lee, Lewis &
Zettlemoyer 2016 have an agenda of parses in place of the list). If a list ends before that, a
search for four times as many trees follows.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.core.check import checked_score
from bbparse.core.order import ranked
from bbparse.core.score import tree_terms
from bbparse.core.tree import heads_of, most_trees
from bbparse.inference.methods import Options, find_trees, most_listed
from bbparse.runtime.arrays import Ints
from bbparse.runtime.deadline import clock
from bbparse.runtime.errors import BBParseError, ProblemError, one_line
from bbparse.runtime.options import OPTIONS, check_number

#: A score of whole trees: from heads int32[n + 1] and labels int32[n], or None without labels.
Function = Callable[[Ints, Ints | None], float]

_DECIDED = ("optimal", "infeasible")
#: Counts of searches that add up.
_SUMS = ("nodes", "dp_calls", "dp_work", "trees_tried", "searches")
#: Number of trees in the first list, by method: branch and bound lists sixteen in two and a half
#: times the time that it takes for one, a program solves for each tree. The next list is _MORE
#: times as long.
_FIRST, _MORE = {"auto": 16, "bb": 16}, 4


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
        """Return the score of a tree; raises `ProblemError` if the function fails."""
        where = f"tree_score of the tree with heads {' '.join(map(str, heads[1:].tolist()))}"
        try:
            value = self.tree_score(heads, labels)
        except BBParseError:
            raise
        except Exception as error:
            text = one_line(f"{type(error).__name__}: {error}")
            raise ProblemError(f"{where}: {text}") from error
        return checked_score(where, value, self.at_most, or_never=True)


def find_whole_trees(
    problem: Problem, method: str, options: Options, tree_score: TreeScore
) -> Solution:
    """Find the k best trees by the sum of the problem's score and a score of whole trees."""
    options = replace(options, k_best=most_listed(problem, options.k_best))
    solution = _Search(problem, method, options, tree_score).run()
    if solution.status == "infeasible" and solution.stats["trees_scored"]:
        count = solution.stats["trees_scored"]
        solution = replace(solution, conflict=(f"tree_score is -inf for all {count} trees",))
    return solution


class _Search:
    """Longer and longer lists of trees, the k best totals, and a bound on all other trees."""

    def __init__(
        self, problem: Problem, method: str, options: Options, tree_score: TreeScore
    ) -> None:
        self.problem, self.method, self.options = problem, method, options
        self.tree_score = tree_score
        self.totals: dict[tuple[int, ...], float] = {}  # by arcs
        self.best: list[float] = []  # heap of the k best totals
        self.bound = math.inf
        self.stats: dict[str, float | int] = {"lists": 0}
        self.work = 0.0

    def run(self) -> Solution:
        """List trees until no later one can be among the k best, or to a limit."""
        longest = most_listed(self.problem)
        count = min(max(_FIRST.get(self.method, 1), self.options.k_best), longest)
        node_limit = self.options.node_limit
        while not (status := self._read(self._list(count), count)):
            if count == longest:
                status = "tree_limit"
            elif node_limit is not None and self.stats.get("nodes", 0) >= node_limit:
                status = "node_limit"
            if status:
                break
            count = min(_MORE * count, longest)
        return self._solution(status)

    def _list(self, count: int) -> Solution:
        """Return the ``count`` best trees of the problem, within the remaining limits."""
        o, nodes = self.options, int(self.stats.get("nodes", 0))
        left = replace(
            o,
            k_best=count,
            gap=0.0,
            node_limit=None if o.node_limit is None else max(1, o.node_limit - nodes),
            work_limit=None if o.work_limit is None else max(0.0, o.work_limit - self.work),
        )
        listed = find_trees(self.problem, self.method, left)
        self.work += listed.work
        self.stats["lists"] += 1
        for name, value in listed.stats.items():
            self.stats[name] = value + (self.stats.get(name, 0) if name in _SUMS else 0)
        return listed

    def _read(self, listed: Solution, count: int) -> str:
        """Score the trees of a list of ``count``; return a status if the search is over."""
        fewer = len(listed) < count or count >= most_trees(self.problem)
        is_whole = fewer and listed.status in _DECIDED
        rest = -math.inf if is_whole else listed.upper_bound
        if len(listed) and not is_whole:
            rest = float(listed.upper_bounds[-1])
        for arcs, score in zip(listed.arcs, listed.scores.tolist()):
            if status := self._lower(max(score, rest)):
                return status
            if tuple(arcs.tolist()) in self.totals:
                continue
            if self.totals and self.options.deadline.is_over():
                return "time_limit"
            if len(self.totals) == self.tree_score.tree_limit:
                return "tree_limit"
            self._add(arcs)
        return self._lower(rest) or ("" if listed.status in _DECIDED else listed.status)

    def _lower(self, score: float) -> str:
        """Lower the bound: trees without a total have at most this score in the problem."""
        worst = self.best[0] if len(self.best) == self.options.k_best else -math.inf
        self.bound = min(self.bound, math.fsum((score, self.tree_score.at_most)))
        if self.bound <= worst:
            return "optimal"
        return "gap" if self.options.limits.is_tight(self.bound, worst) else ""

    def _add(self, arcs: Ints) -> None:
        """Compute the total of a tree, the arc of each word."""
        p = self.problem
        labels = None if p.arc_label is None else p.arc_label[arcs]
        value = self.tree_score(heads_of(p, arcs), labels)
        total = self.totals[tuple(arcs.tolist())] = math.fsum([*tree_terms(p, arcs), value])
        if total > -math.inf:
            heapq.heappush(self.best, total)
            if len(self.best) > self.options.k_best:
                heapq.heappop(self.best)

    def _solution(self, status: str) -> Solution:
        """Return the k best trees so far."""
        p = self.problem

        def rank(tree: tuple[int, ...]) -> tuple[Any, ...]:
            arcs = list(tree)
            labels = [] if p.arc_label is None else p.arc_label[arcs].tolist()
            return -self.totals[tree], p.arc_head[arcs].tolist(), labels

        feasible = [tree for tree, total in self.totals.items() if total > -math.inf]
        trees = sorted(feasible, key=rank)[: self.options.k_best]
        scores = [self.totals[tree] for tree in trees]
        self.stats |= {
            "trees_scored": len(self.totals),
            "upper_bound": max([self.bound, *scores[:1]]),
            "seconds": clock() - self.options.started,
        }
        rows = [np.array(tree, np.int32) for tree in trees]
        return ranked(p, rows, scores, self.bound, status, self.stats)
