"""The best trees under a score of whole trees, which no set of arcs needs to express.

Without a bound of sets of trees, trees are listed by decreasing score s in the problem. As soon as
s of the next tree, plus the bound t of all tree scores, does not beat the k-th best total so far,
no later tree does either, and the k best trees are proved (Lee, Lewis & Zettlemoyer 2016 have an
agenda of parses in place of the list). If a list ends before that, a search for four times as many
trees follows. With such a bound, branch and bound looks at fewer trees
(:mod:`bbparse.solving.tree_sets`).
"""

from __future__ import annotations

import math
from dataclasses import replace

from bbparse.problem import Problem, Solution
from bbparse.problem.tree import most_trees
from bbparse.solving.totals import Totals, TreeScore
from bbparse.solving.tree_sets import DECIDED, Runs, TreeSets
from bbparse.solving.trees import Options, most_listed

#: Number of trees in the first list, by method: branch and bound lists sixteen in two and a half
#: times the time that it takes for one, a program solves for each tree. Then, how many times as
#: many trees the next list has.
_FIRST, _MORE = {"auto": 16, "bb": 16}, 4


def find_whole_trees(
    problem: Problem, method: str, options: Options, tree_score: TreeScore
) -> Solution:
    """Find the k best trees by the sum of the problem's score and a score of whole trees."""
    k = most_listed(problem, options.k_best)
    totals = Totals(problem, tree_score, replace(options, k_best=k))
    runs = Runs(method, options)
    count = min(max(_FIRST.get(method, 1), k), most_listed(problem))
    first = runs(problem, count)
    if tree_score.tree_bound is None or first.status not in DECIDED:
        bound, status = _Lists(totals, runs).run(first, count)
    else:
        bound, status = TreeSets(totals, runs, first, count).run()
    found = totals.solution(bound, status, runs.stats)
    if found.status == "infeasible" and totals.known:
        never = f"tree_score is -inf for all trees, of which there are {len(totals.known)}"
        if tree_score.tree_bound is not None:
            never = (
                f"tree_score is -inf for all trees: for {len(totals.known)} that were looked at,"
                " and by tree_bound for all others"
            )
        found = replace(found, conflict=(never,))
    return found


class _Lists:
    """Longer and longer lists of trees, and a bound on all trees that are not scored."""

    def __init__(self, totals: Totals, runs: Runs) -> None:
        self.totals, self.runs = totals, runs
        self.bound = math.inf

    def run(self, listed: Solution, count: int) -> tuple[float, str]:
        """Read lists, the first of ``count`` trees; return the bound and a status."""
        longest = most_listed(self.totals.problem)
        while True:
            status = self._read(listed, count)
            if not status and count == longest:
                status = "tree_limit"
            if status := status or self.runs.reached:
                return self.bound, status
            count = min(_MORE * count, longest)
            listed = self.runs(self.totals.problem, count)

    def _read(self, listed: Solution, count: int) -> str:
        """Score the trees of a list of ``count``; return a status if the search is over."""
        totals = self.totals
        fewer = len(listed) < count or count >= most_trees(totals.problem)
        is_whole = fewer and listed.status in DECIDED
        rest = -math.inf if is_whole else listed.upper_bound
        if len(listed) and not is_whole:
            rest = float(listed.upper_bounds[-1])
        for arcs, score in zip(listed.arcs, listed.scores.tolist()):
            if status := self._lowered(max(score, rest)):
                return status
            if tuple(arcs.tolist()) in totals.known:
                continue
            if totals.known:
                if totals.options.deadline.is_over():
                    return "time_limit"
                if totals.is_full:
                    return "tree_limit"
            totals.add(arcs)
        return self._lowered(rest) or ("" if listed.status in DECIDED else listed.status)

    def _lowered(self, score: float) -> str:
        """Lower the bound, as trees that are not scored have at most this score in the problem."""
        worst = self.totals.worst
        self.bound = min(
            self.bound, self.totals.bound_of(score, self.totals.tree_score.at_most)
        )
        if self.bound <= worst:
            return "optimal"
        return "gap" if self.totals.options.limits.is_tight(self.bound, worst) else ""
