"""Solve a problem by any method: the module that connects the parts of the solver.

`Options` holds the options of a solver, and `METHODS` the options that each method supports.
`find_trees` solves a linear problem directly, searches for any other, and ranks the trees. It does
not check, explain or prove anything:
`bbparse.inference.solve` does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.core.order import in_original_order, ranked, sort_arcs, with_sorted_sets
from bbparse.core.score import score_trees
from bbparse.core.tree import most_trees
from bbparse.inference.oracles.projective.recurrences import recurrence_for
from bbparse.inference.programs.ilp import solve_ilp
from bbparse.inference.programs.price_and_cut import price_and_cut
from bbparse.inference.relaxation.state import LISTED
from bbparse.inference.search.lagrangian import Lagrangian, Observer, Outcome, make_root
from bbparse.inference.search.linear import ROUNDING, is_linear, linear_trees
from bbparse.inference.search.rescaling import Answer, resolved_at_scale, rounding_matters
from bbparse.inference.search.search import SearchLimits
from bbparse.inference.search.settings import DEFAULT, SearchSettings
from bbparse.runtime.arrays import Longs
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

    @property
    def deadline(self) -> Deadline:
        """The end of the time limit."""
        limit = self.time_limit
        return NO_DEADLINE if limit is None else Deadline(self.started + float(limit))

    @property
    def limits(self) -> SearchLimits:
        """The limits that end a search early."""
        return SearchLimits.of(self.deadline, self.node_limit, self.work_limit, self.gap)


_USUAL = Options(started=0.0)

_SOME = ("node_limit", "work_limit", "backbone", "settings", "observer")
#: The options that each method supports besides ``k_best``, ``time_limit`` and ``gap``, which all
#: support. auto is branch and bound, which can solve every problem.
METHODS: dict[str, tuple[str, ...]] = {
    "auto": _SOME,
    "bb": _SOME,
    "ilp": (),
    "price-and-cut": ("node_limit",),
}


def check_request(problem: Any, method: Any, options: Options) -> None:
    """Raise ProblemError for impossible options and those that the method does not support."""
    check_type("problem", problem, Problem, "a Problem", ProblemError)
    numbers = ("k_best", "time_limit", "node_limit", "work_limit", "gap")
    check_options({name: getattr(options, name) for name in numbers}, ProblemError)
    if not isinstance(method, str) or method not in METHODS:
        raise ProblemError(f"unknown method {method!r}: one of {', '.join(METHODS)}")
    check_type("settings", options.settings, SearchSettings, "SearchSettings", ProblemError)
    if not (options.observer is None or callable(options.observer)):
        raise ProblemError(f"observer is {options.observer!r:.60}, expected a function")
    check_type("backbone", options.backbone, (str, NoneType), "str or None", ProblemError)
    for name in _SOME:
        value = getattr(options, name)
        if name not in METHODS[method] and value != getattr(_USUAL, name):
            raise ProblemError(f"{name} is {value!r}: not an option of method {method!r}")


#: Maximum k_best for a problem that has so many trees, and maximum number of words of all trees
#: together: k-best enumeration takes a hundred bytes for each.
MOST_TREES, MOST_TREE_WORDS = 1_000_000, 20_000_000
#: Methods that HiGHS does the work for.
_PROGRAMS = ("ilp", "price-and-cut")


def find_trees(problem: Problem, method: str, options: Options) -> Solution:
    """Find the k best trees of a problem, with their bounds."""
    k_best = most_listed(problem, options.k_best)
    if k_best != options.k_best:
        options = replace(options, k_best=k_best)
    if method in _PROGRAMS:
        ordered, order = sort_arcs(problem)
        answer = _by_programs(method, ordered, options)
    else:
        ordered, order = _sorted(problem)
        answer = _branch_and_bound(ordered, options)
    solution = answer.solution
    if _rounding_matters(ordered, answer, options.k_best):
        # not by HiGHS, which would take seconds for some words
        solution = resolved_at_scale(ordered, answer, _branch_and_bound, options)
    return in_original_order(solution, problem, order)


def _sorted(problem: Problem) -> tuple[Problem, Longs | None]:
    """Return `sort_arcs` of a problem with labels or count factors; roots sort other problems."""
    if problem.arc_label is None and len(problem.count_ptr) == 1:
        return problem, None
    ordered, order = sort_arcs(problem)
    return with_sorted_sets(ordered, "count"), order


def most_listed(problem: Problem, k_best: int | None = None) -> int:
    """Return the number of trees to list for the k best; None: the most that can be listed."""
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


def _rounding_matters(problem: Problem, answer: Answer, k: int) -> bool:
    """Return True if the slack of a solution could hide terms of its trees."""
    solution, slack, sizes = answer
    all_trees = len(solution) < k and solution.status in ("optimal", "infeasible")
    if all_trees or problem.quantum > 2.0 * slack:
        return False
    return any(rounding_matters(slack, size, least) for size, least in sizes.T.tolist())


def _by_programs(method: str, problem: Problem, options: Options) -> Answer:
    """Solve with HiGHS, which is exact up to the tolerance in the method's stats."""
    if method == "ilp":
        solution = solve_ilp(problem, options.k_best, options.deadline.limit(), options.gap)
    else:
        solution = price_and_cut(problem, options.k_best, options.limits)
    sizes = score_trees(problem, solution.arcs)[1:]
    return Answer(solution, float(solution.stats["tolerance"]), sizes)


def _branch_and_bound(problem: Problem, options: Options) -> Answer:
    """Solve a linear problem without a search, any other by branch and bound."""
    mode = recurrence_for(problem, options.backbone).mode
    if options.observer is None and is_linear(problem, options.k_best):
        return _linear(problem, mode, options)
    try:
        root = make_root(problem, mode, options.deadline.at)
    except TimeOver:
        trees = np.empty((0, problem.n_words), np.int32)
        return _answer(problem, options, Outcome(trees, np.inf, "time_limit", {}), 0.0)
    bounder = Lagrangian(root, options.k_best, options.settings, problem.quantum, options.observer)
    return _answer(problem, options, bounder.run(options.limits), root.slack)


def _linear(problem: Problem, mode: int, options: Options) -> Answer:
    """Solve a linear problem."""
    n, k = problem.n_words, options.k_best
    arcs, edges, slack, bound = linear_trees(problem, mode, k, options.deadline.at)
    status = "optimal" if bound == -np.inf else "time_limit"
    stats: dict[str, float | int] = {
        "nodes": 1,
        "dp_calls": 1,
        "trees_tried": len(arcs),
        "closed_at_root": 1,
        "edges": edges,
        "dp_work": 1.0 if k == 1 else 1.0 + LISTED * n * len(arcs) / max(1, edges),
    }
    answer = _answer(problem, options, Outcome(arcs, bound + slack, status, stats), slack)
    if not slack and len(arcs):  # no bound is needed; but large terms may have hidden small ones
        size, least = answer.sizes[:, 0].tolist()
        rounding = ROUNDING * n * size
        answer = answer._replace(slack=rounding if least < rounding else 0.0)
    return answer


def _answer(problem: Problem, options: Options, outcome: Outcome, slack: float) -> Answer:
    """Return the solution of a search, its trees ranked by their exact scores."""
    trees, bound, status, stats = outcome
    scores = score_trees(problem, trees)
    stats["upper_bound"] = max(bound, float(scores[0].max(initial=-np.inf)))
    stats["seconds"] = clock() - options.started
    solution = ranked(problem, trees, scores[0], bound, status, stats)
    return Answer(solution, slack, scores[1:])
