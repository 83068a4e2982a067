"""Solve a problem by any method: the module that connects the parts of the solver.

`Options` holds the options of a solver, and `METHODS` the options that each method supports.
`find_trees` solves a linear problem directly, searches for any other, and ranks the trees. It does
not check, explain or prove anything:
`bbparse.inference.solve` does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from types import NoneType
from typing import Any

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.core.order import in_order, in_rank, ranked, with_sorted_sets
from bbparse.core.tree import most_trees
from bbparse.inference.oracles.projective.recurrences import recurrence_for
from bbparse.inference.programs.ilp import solve_ilp
from bbparse.inference.programs.price_and_cut import price_and_cut
from bbparse.inference.search.lagrangian import Lagrangian
from bbparse.inference.search.linear import LISTED, is_linear, linear_trees
from bbparse.inference.search.observer import Observer
from bbparse.inference.search.proportion import Answer, Proportion, in_doubt
from bbparse.inference.search.rescore import scored_trees
from bbparse.inference.search.root import make_root
from bbparse.inference.search.search import SearchLimits
from bbparse.inference.search.settings import DEFAULT, SearchSettings
from bbparse.runtime.arrays import Ints, Longs
from bbparse.runtime.deadline import NO_DEADLINE, Deadline, TimeOver, clock
from bbparse.runtime.errors import ProblemError
from bbparse.runtime.options import check_options, check_type


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `bbparse.solve` that methods use; see there."""

    k_best: int = 1
    time_limit: float | None = None
    node_limit: int | None = None
    work_limit: float | None = None
    gap: float = 0.0
    backbone: str | None = None
    settings: SearchSettings = DEFAULT
    observer: Observer | None = None
    started: float = field(default_factory=clock)
    until: Deadline = NO_DEADLINE  #: For all problems together.

    @property
    def deadline(self) -> Deadline:
        """The end of the time limit."""
        limit, until = self.time_limit, self.until
        return until if limit is None else Deadline(min(until.at, self.started + float(limit)))

    @property
    def limits(self) -> SearchLimits:
        """The limits that end a search early."""
        return SearchLimits.of(self.deadline, self.node_limit, self.work_limit, self.gap)


_USUAL = Options(started=0.0)

_SOME = ("node_limit", "work_limit", "backbone", "settings", "observer")
#: The options that each method supports besides ``k_best``, ``time_limit`` and ``gap``, which all
#: support. auto is branch and bound, which can solve every problem.
METHODS: dict[str, tuple[str, ...]] = {
    "auto": _SOME, "bb": _SOME, "ilp": (), "price-and-cut": ("node_limit",),
}  # fmt: skip


def check_request(problem: Any, method: Any, options: Options) -> None:
    """Raise ProblemError for impossible options and those that the method does not support."""
    check_type("problem", problem, Problem, "a Problem", ProblemError)
    numbers = ("k_best", "time_limit", "node_limit", "work_limit", "gap")
    check_options({name: getattr(options, name) for name in numbers}, ProblemError)
    if not isinstance(method, str) or method not in METHODS:
        raise ProblemError(f"unknown method {method!r}: one of {', '.join(METHODS)}")
    check_type("settings", options.settings, SearchSettings, "SearchSettings", ProblemError)
    for name, kind in (("backbone", str), ("observer", Observer)):
        expected = f"{kind.__name__} or None"
        check_type(name, getattr(options, name), (kind, NoneType), expected, ProblemError)
    for name in _SOME:
        value = getattr(options, name)
        if name not in METHODS[method] and value != getattr(_USUAL, name):
            raise ProblemError(f"{name} is {value!r}: not an option of method {method!r}")


#: Maximum k_best for a problem that has so many trees, and maximum number of words of all trees
#: together: k-best enumeration takes a hundred bytes for each.
MOST_TREES, MOST_TREE_WORDS = 1_000_000, 20_000_000
_ONE = np.ones(1, np.bool_)
#: This fraction of a tree's terms, times its words, bounds the rounding of their sums in a chart.
_ROUNDING = 2.0**-51
#: Methods that HiGHS does the work for.
_PROGRAMS = ("ilp", "price-and-cut")


def find_trees(problem: Problem, method: str, options: Options) -> Solution:
    """Find the k best trees of a problem, with their bounds."""
    k_best = most_listed(problem, options.k_best)
    if k_best != options.k_best:
        options = replace(options, k_best=k_best)
    run: Callable[[Problem, Options], Answer]
    if method in _PROGRAMS:
        run, (ordered, order) = partial(_by_programs, method), in_order(problem)
    else:
        ordered, order = _sorted(problem)
        given = None if order is None else order.astype(np.int32)
        run = partial(_branch_and_bound, given=given)
    return in_rank(_settled(ordered, run(ordered, options), run, options), problem, order)


def _sorted(problem: Problem) -> tuple[Problem, Longs | None]:
    """Return `in_order` of a problem with labels or count factors; roots sort other problems."""
    if problem.arc_label is None and len(problem.count_ptr) == 1:
        return problem, None
    ordered, order = in_order(problem)
    return with_sorted_sets(ordered, "count"), order


def _settled(
    problem: Problem, answer: Answer, run: Callable[[Problem, Options], Answer], options: Options
) -> Solution:
    """Return the solution of a problem, solved again where its slack could hide terms."""
    if not _in_doubt(problem, answer, options.k_best):
        return answer.solution
    ordered, order = in_order(problem)
    if order is None:
        return Proportion(problem, answer, run, options).solution()
    place = np.argsort(order).astype(np.int32)
    found = replace(answer.solution, arcs=place[answer.solution.arcs])
    settled = Proportion(ordered, answer._replace(solution=found), run, options).solution()
    return in_rank(settled, problem, order)


def most_listed(problem: Problem, k_best: int | None = None) -> int:
    """Return the number of trees to list for the k best; None: the most that can be listed.

    A problem may have fewer trees than are requested. Raises `ProblemError` if all that are left
    do not fit in memory, which is allocated at once.
    """
    limit = min(MOST_TREES, MOST_TREE_WORDS // problem.n_words)
    if k_best == 1:
        return 1
    most = max(1, most_trees(problem))
    if k_best is None:
        return min(limit, most)
    if min(k_best, most) > limit:
        raise ProblemError(
            f"k_best is {k_best}, expected at most {limit} for {problem.n_words} words"
        )
    return min(k_best, most)


def work_of(solution: Solution) -> float:
    """Return the hyperedges that the search of a solution has visited."""
    return solution.stats.get("dp_work", 0.0) * solution.stats.get("edges", 0)


def _in_doubt(problem: Problem, answer: Answer, k: int) -> bool:
    """Return True if the slack of a solution could hide terms of its trees."""
    solution, slack, sizes = answer
    all_trees = len(solution) < k and solution.status in ("optimal", "infeasible")
    if all_trees or problem.quantum > 2.0 * slack:
        return False
    return any(in_doubt(slack, size, least) for size, least in sizes.T.tolist())


def _by_programs(method: str, problem: Problem, options: Options) -> Answer:
    """Solve with HiGHS, which is exact up to the tolerance in the method's stats."""
    o = options
    if method == "ilp":
        found = solve_ilp(problem, o.k_best, o.deadline.limit(), o.gap)
    else:
        found = price_and_cut(problem, o.k_best, o.limits)
    sizes = scored_trees(problem, found.arcs)[1][1:]
    return Answer(found, float(found.stats["tolerance"]), sizes)


def _branch_and_bound(problem: Problem, options: Options, given: Ints | None = None) -> Answer:
    """Solve a linear problem without a search, any other by branch and bound.

    ``given[a]`` is the number of arc a in the user's problem; None: the numbers are the same.
    """
    mode = recurrence_for(problem, options.backbone).mode
    if options.observer is None and is_linear(problem, options.k_best):
        return _linear(problem, mode, options)
    try:
        root = make_root(problem, mode, options.deadline.at)
    except TimeOver:
        return _nothing(problem, {}, clock() - options.started, over=True)
    arcs = root.order if given is None else given[root.order]
    bounder = Lagrangian(
        root, options.k_best, options.settings, problem.quantum, options.observer, arcs
    )
    outcome = bounder.run(options.limits)
    if outcome.status == "infeasible":
        return _nothing(problem, outcome.stats, clock() - options.started)
    _, scores = scored_trees(problem, outcome.trees)
    stats = {**outcome.stats, "seconds": clock() - options.started}
    found = ranked(problem, outcome.trees, scores[0], outcome.bound, outcome.status, stats)
    return Answer(found, root.slack, scores[1:])


def _linear(problem: Problem, mode: int, options: Options) -> Answer:
    """Solve a linear problem."""
    n, k = problem.n_words, options.k_best
    arcs, edges, slack, bound = linear_trees(problem, mode, k, options.deadline.at)
    heads, scores = scored_trees(problem, arcs)
    work = 1.0 if k == 1 else 1.0 + LISTED * n * len(arcs) / max(1, edges)
    stats: dict[str, float | int] = {
        "nodes": 1, "dp_calls": 1, "dp_work": work, "trees_tried": len(arcs), "closed_at_root": 1,
        "edges": edges, "upper_bound": float(scores[0, 0]) if len(arcs) else -np.inf,
    }  # fmt: skip
    if not len(arcs):
        return _nothing(problem, stats, clock() - options.started, bound == np.inf)
    if bound > -np.inf:
        stats["seconds"] = clock() - options.started
        cut = ranked(problem, arcs, scores[0], bound + slack, "time_limit", stats)
        return Answer(cut, slack, scores[1:])
    if not slack:  # no bound is needed; but large terms may have hidden small ones
        size, least = scores[1:, 0].tolist()
        rounding = _ROUNDING * n * size
        slack = rounding if least < rounding else 0.0
    values = scores[0]
    if len(values) > 1 and (values[1:] > values[:-1]).any():  # out of order by rounding only
        order = np.argsort(-values, kind="stable")
        heads, arcs, values = heads[order], arcs[order], values[order]
    stats["seconds"] = clock() - options.started
    proved = _ONE if len(values) == 1 else np.ones(len(values), np.bool_)
    solution = Solution.trusted(heads, arcs, values, values, proved, "optimal", stats)
    return Answer(solution, slack, scores[1:])


def _nothing(
    problem: Problem, stats: dict[str, float | int], seconds: float, over: bool = False
) -> Answer:
    """Return an answer without trees: there are none, or the time was over before one was found."""
    bound, status = (np.inf, "time_limit") if over else (-np.inf, "optimal")
    solution = ranked(problem, [], [], bound, status, {**stats, "seconds": seconds})
    return Answer(solution, 0.0, np.empty((2, 0)))
