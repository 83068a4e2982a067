"""The best trees under a score of whole trees, which no set of arcs needs to express.

Without a bound of sets of trees, trees are listed by decreasing score s in the problem. As soon as
s of the next tree, plus the bound t of all tree scores, does not beat the k-th best total so far,
no later tree does either, and the k best trees are proved (Lee, Lewis & Zettlemoyer 2016 have an
agenda of parses in place of the list). If a list ends before that, a search for four times as many
trees follows.

With such a bound, branch and bound looks at fewer trees. A node is the set of trees over the arcs
that are alive in it. Its trees have at most s(y) + b: y is its best tree in the problem, and b the
bound that the user's function gives for the set. A node is taken when no other has a higher bound;
only then is y scored as a whole. What is left of the node is partitioned around y (Lawler 1972),
but only by those of its arcs that matter: a set C of arcs of y such that trees with all of C have
too low a bound. Child i has the arcs of C before the i-th, and lacks that. C is a minimal set in
the order of the arcs (`inference.conflict.smallest`); with the default bounds it would be the
whole tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.core.tree import arcs_left, heads_of, most_trees, rivals
from bbparse.inference.conflict import smallest
from bbparse.inference.search.search import Bounder, Node, Search
from bbparse.inference.totals import Totals, TreeBoundError, TreeScore, text_of
from bbparse.inference.trees import Options, find_trees, most_listed, work_of
from bbparse.runtime.arrays import Flags, Ints

DECIDED = ("optimal", "infeasible")
#: Counts of searches that add up.
_SUMS = ("nodes", "dp_calls", "dp_work", "trees_tried", "searches")
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


class Runs:
    """Searches by one method, one after the other, within the limits of all together."""

    def __init__(self, method: str, options: Options) -> None:
        self.method, self.options = method, options
        self.stats: dict[str, float | int] = {"lists": 0}
        self.work = 0.0

    def __call__(self, problem: Problem, count: int) -> Solution:
        """Return the ``count`` best trees of a problem, or those found within what is left."""
        o, nodes = self.options, int(self.stats.get("nodes", 0))
        left = replace(
            o, k_best=count, gap=0.0,
            node_limit=None if o.node_limit is None else max(1, o.node_limit - nodes),
            work_limit=None if o.work_limit is None else max(0.0, o.work_limit - self.work),
        )  # fmt: skip
        listed = find_trees(problem, self.method, left)
        self.work += work_of(listed)
        self.stats["lists"] += 1
        for name, value in listed.stats.items():
            self.stats[name] = value + (self.stats.get(name, 0) if name in _SUMS else 0)
        return listed

    @property
    def reached(self) -> str:
        """The node limit, if it is reached."""
        limit = self.options.node_limit
        return "" if limit is None or self.stats.get("nodes", 0) < limit else "node_limit"


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
        self.bound = min(self.bound, self.totals.bound_of(score, self.totals.tree_score.at_most))
        if self.bound <= worst:
            return "optimal"
        return "gap" if self.totals.options.limits.is_tight(self.bound, worst) else ""


@dataclass(eq=False, slots=True, kw_only=True)
class TreeSet(Node):
    """The set of trees over the arcs that are alive."""

    alive: Flags
    top: float  # bound of their tree_score
    told: Ints  # heads for which that was given
    best: float = math.inf  # bound of the problem's score of the trees that are not scored
    tree: Ints | None = None  # the best one in the problem, if known


class TreeSets(Bounder[TreeSet]):
    """Bounds of sets of trees by a function of the user, and the k best trees so far.

    ``listed`` are the ``count`` best trees in the problem, so that the best one of a set is often
    among them.
    """

    def __init__(self, totals: Totals, runs: Runs, listed: Solution, count: int) -> None:
        self.totals, self.runs, self.problem = totals, runs, totals.problem
        self.score = totals.tree_score
        self.limits = totals.options.limits._replace(nodes=math.inf)
        self._listed, self._scores = listed.arcs, [*listed.scores.tolist(), -math.inf]
        if len(listed) == count < most_trees(self.problem):
            self._scores[-1] = float(listed.scores[-1])
        self._stopped = ""
        runs.stats["tree_bounds"] = 0

    def run(self) -> tuple[float, str]:
        """Search; return the bound of all trees that are not scored, and a status."""
        p = self.problem
        if not len(self._listed):
            return -math.inf, "optimal"
        alive = arcs_left(p.arc_mod, p.arc_state == 1, p.arc_state == -1)
        told = np.full(p.n_words + 1, -1, np.int32)
        root, search = TreeSet(alive=alive, top=self.score.at_most, told=told), Search(self)
        return search.run(root) if search.bound(root) else (-math.inf, "optimal")

    @property
    def worst(self) -> float:
        return self.totals.worst

    @property
    def work(self) -> float:
        return self.runs.work

    def reached(self) -> str:
        return self._stopped or self.runs.reached

    def bound(self, node: TreeSet) -> None:
        if node.tree is None:
            node.top, node.told = self._top(node, node.alive)
            self._lower(node, node.best)
            if self.matters(node):
                self._find(node)
        self._lower(node, node.best)

    def divide(self, node: TreeSet) -> list[TreeSet]:
        """Score the best tree of a node, then divide the others when the node is taken again."""
        tree, totals = node.tree, self.totals
        if tree is None or self._stopped:
            return [node]
        if tuple(tree.tolist()) not in totals.known:
            if totals.is_full:
                self._stopped = "tree_limit"
                return [node]
            self._check(tree, totals.add(tree), node.top, node.told)
            node.best = min(node.best, self._listed_in(node.alive)[1])
            return [node]
        p, children, alive = self.problem, [], node.alive
        for arc in self._cause(node, tree):
            others = alive.copy()
            others[arc] = False
            children.append(TreeSet(alive=others, top=node.top, told=node.told, best=node.best))
            alive = alive & ~rivals(p.arc_mod, arc)
        return children

    def _lower(self, node: TreeSet, best: float) -> None:
        """Lower the bound of a node by that of its trees' scores in the problem."""
        node.best = min(node.best, best)
        node.bound = min(node.bound, self.totals.bound_of(node.best, node.top))

    def _find(self, node: TreeSet) -> None:
        """Find the best tree of a node in the problem."""
        place, _ = self._listed_in(node.alive)
        self._lower(node, self._scores[place])
        if place < len(self._listed):
            node.tree = self._listed[place]
        elif self.matters(node):
            state = np.where(node.alive, self.problem.arc_state, -1).astype(np.int8)
            found = self.runs(self.problem.changed(arc_state=state), 1)
            if found.status not in DECIDED:
                self._stopped = found.status
            self._lower(node, found.upper_bound)
            if len(found):
                node.tree = found.arcs[0]

    def _listed_in(self, alive: Flags) -> tuple[int, float]:
        """Return the place of the first listed tree of a set, and the score of the second."""
        inside = np.flatnonzero(alive[self._listed].all(axis=1)).tolist()
        first, second = [*inside, *[len(self._listed)] * 2][:2]
        return first, self._scores[second] if inside else math.inf

    def _top(self, node: TreeSet, alive: Flags) -> tuple[float, Ints]:
        """Return the bound of tree_score in a subset of a node, and the heads it was asked for."""
        p, n = self.problem, self.problem.n_words
        self.runs.stats["tree_bounds"] += 1
        arcs = np.flatnonzero(alive)
        allowed = np.zeros((n + 1, n + 1), np.bool_)
        allowed[p.arc_head[arcs], p.arc_mod[arcs]] = True
        heads = np.where(allowed.sum(axis=0) == 1, allowed.argmax(axis=0), -1).astype(np.int32)
        labels = None
        if p.arc_label is not None:
            only = arcs[np.bincount(p.arc_mod[arcs], minlength=n + 1)[p.arc_mod[arcs]] == 1]
            labels = np.full(n, -1, np.int32)
            labels[p.arc_mod[only] - 1] = p.arc_label[only]
        value = self.score.bound(heads, labels, allowed)
        return (value, heads) if value < node.top else (node.top, node.told)

    def _check(self, tree: Ints, value: float, top: float, told: Ints) -> None:
        """Raise `TreeBoundError` if a tree of a set has a higher tree_score than its bound."""
        if value > top:
            raise TreeBoundError(
                f"tree_bound of heads {text_of(told)} is {top}, but tree_score of the tree with"
                f" heads {text_of(heads_of(self.problem, tree))}, one of those, is {value}"
            )

    def _cause(self, node: TreeSet, tree: Ints) -> list[int]:
        """Return arcs of a node's best tree, all of which no tree has that could be better.

        The best tree itself is known. Arcs that score far more than their rivals come first:
        trees that lack them score little.
        """
        p, alive, totals = self.problem, node.alive, self.totals
        others = alive.copy()
        others[tree] = False
        rival = np.full(p.n_words + 1, -np.inf)
        np.maximum.at(rival, p.arc_mod[others], p.arc_score[others])
        free = tree[rival[1:] > -np.inf]
        lead = p.arc_score[free] - rival[p.arc_mod[free]]
        arcs = free[np.argsort(-lead, kind="stable")].tolist()
        value = totals.add(tree)
        if totals.worst == -math.inf < value:
            return arcs  # any tree may be one of the k best

        def is_poor(some: list[int]) -> bool:
            top, told = self._top(node, alive & ~rivals(p.arc_mod, some))
            self._check(tree, value, top, told)
            return totals.bound_of(node.best, top) <= totals.worst

        return [] if is_poor([]) else smallest(arcs, is_poor)
