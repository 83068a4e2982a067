"""From a problem to trees by any method: the module that connects the parts of the solver.

`Options` holds the options of a solver, and `METHODS` the options that each method supports.
`find_trees` sorts the problem, calls the root kernel (possible factors, oracle, bound), searches if
the root stays open, and maps the trees back to the order of the input. It does not check, explain
or prove anything: `bbparse.solving.solve` does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from bbparse.arrays import Ints
from bbparse.bounding.state import no_trees
from bbparse.deadline import NO_DEADLINE, Deadline, clock
from bbparse.errors import ProblemError
from bbparse.ilp import solve_ilp
from bbparse.options import check_options, check_type
from bbparse.oracle.projective.dense import dense_tree
from bbparse.oracle.projective.recurrences import recurrence_for
from bbparse.oracle.trees import restricted
from bbparse.pricing.search import within_tolerance
from bbparse.problem import Problem, Solution
from bbparse.problem.order import in_order, in_rank, ranked, with_sorted_sets
from bbparse.problem.tree import heads_of, most_trees
from bbparse.search.lagrangian import CALLS, Called, Lagrangian, Outcome
from bbparse.search.observer import Finished, Observer
from bbparse.search.search import SearchLimits
from bbparse.search.settings import DEFAULT, SearchSettings
from bbparse.solving.proportion import Answer, in_doubt, in_proportion
from bbparse.solving.rescore import rescore
from bbparse.solving.root import call_node, call_root


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

#: The options that each method supports besides ``k_best``, ``time_limit`` and ``gap``, which all
#: support. auto is branch and bound, which can solve every problem.
METHODS: dict[str, frozenset[str]] = {
    "auto": frozenset({"node_limit", "work_limit", "backbone", "settings", "observer"}),
    "bb": frozenset({"node_limit", "work_limit", "backbone", "settings", "observer"}),
    "ilp": frozenset(),
    "price-and-cut": frozenset({"node_limit"}),
}


def check_request(problem: Any, method: Any, options: Options) -> None:
    """Raise ProblemError for impossible options and those that the method does not support."""
    check_type("problem", problem, Problem, "a Problem", ProblemError)
    numbers = ("k_best", "time_limit", "node_limit", "work_limit", "gap")
    check_options({name: getattr(options, name) for name in numbers}, ProblemError)
    if not isinstance(method, str) or method not in METHODS:
        raise ProblemError(f"unknown method {method!r}: one of {', '.join(METHODS)}")
    check_type("settings", options.settings, SearchSettings, "SearchSettings", ProblemError)
    if options.backbone is not None:
        check_type("backbone", options.backbone, str, "str or None", ProblemError)
    if options.observer is not None:
        check_type("observer", options.observer, Observer, "Observer or None", ProblemError)
    for name in ("node_limit", "work_limit", "backbone", "settings", "observer"):
        value = getattr(options, name)
        if name not in METHODS[method] and value != getattr(_USUAL, name):
            raise ProblemError(f"{name} is {value!r}: method {method!r} takes none")


#: Maximum k_best for a problem that has so many trees, and maximum number of words of all trees
#: together: k-best enumeration takes a hundred bytes for each.
MOST_TREES, MOST_TREE_WORDS = 1_000_000, 20_000_000
_ONE = np.ones(1, np.bool_)


def find_trees(problem: Problem, method: str, options: Options) -> Solution:
    """Find the k best trees of a problem, with their bounds."""
    k_best = most_listed(problem, options.k_best)
    if k_best != options.k_best:
        options = replace(options, k_best=k_best)
    ordered, order = in_order(problem)
    o = options
    run: Callable[[Problem, Options], Answer]
    if method in ("ilp", "price-and-cut"):
        run = partial(_by_programs, method)
    else:
        ordered = with_sorted_sets(ordered, "count")
        given = None if order is None else order.astype(np.int32)
        run = partial(_branch_and_bound, given)
    answer = run(ordered, o)
    found = answer.solution
    if _in_doubt(ordered, answer, o.k_best):
        found = in_proportion(ordered, answer, run, o)
    return in_rank(found, problem, order)


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
        found = within_tolerance(problem, o.k_best, o.limits)
    sizes = rescore(problem, found.arcs, found.heads)[1:]
    return Answer(found, float(found.stats["tolerance"]), sizes)


def _branch_and_bound(given: Ints | None, problem: Problem, options: Options) -> Answer:
    """Solve with one jitted call, and a search if the root stays open.

    ``given[a]`` is the number of arc a in the user's problem; None: the numbers are the same.
    """
    try:
        recurrence = recurrence_for(problem, options.backbone)
    except ValueError as error:
        raise ProblemError(str(error)) from None
    observer, s = options.observer, options.settings
    if (
        options.k_best == 1
        and recurrence.mode == 0
        and problem.projective
        and observer is None
        and _is_dense(problem)
    ):
        return _solve_dense(problem, options)
    waits = s.lower_start > 0 or observer is not None
    found = make_root(problem, options, waits, recurrence.mode)
    root = found.left
    if root is None:
        return _solved(problem, found, options)
    arcs = root.order if given is None else given[root.order]
    bounder = Lagrangian(
        root, found, call_node, s, problem.projective, problem.quantum, observer, arcs
    )
    return _solution(problem, bounder.run(options.limits), options, root.slack)


def make_root(p: Problem, options: Options, waits: bool, mode: int | None = None) -> Called:
    """Make the root of a problem's search; bound it unless ``waits``.

    ``mode`` is that of the recurrence of the options; None: look it up.
    """
    s, asked = options.settings, options.limits
    calls = s.root_calls * CALLS[p.projective]
    limits = s.limits(calls, asked.work, asked.deadline.at, p.quantum)
    if mode is None:
        mode = recurrence_for(p, options.backbone).mode
    return call_root(p, mode, waits, options.k_best, limits)


def _is_dense(problem: Problem) -> bool:
    """Return True if a problem has arcs only, and so many that a sparse chart costs more."""
    return (
        4 * len(problem.arc_head) >= problem.n_words**2
        and len(problem.factor_ptr) == len(problem.count_ptr) == 1
        and problem.arc_label is None
    )


def _solve_dense(problem: Problem, options: Options) -> Answer:
    """Solve a problem that has arcs only: one pass finds the best tree, no bound is needed."""
    p, n = problem, problem.n_words
    score = restricted(p.arc_score, p.arc_mod, p.arc_state == 1, p.arc_state == -1)
    arcs, _ = dense_tree(n, p.arc_head, p.arc_mod, score, p.single_root)
    if arcs is None:
        return _nothing(problem, options)
    heads = heads_of(p, arcs)
    scores = rescore(p, arcs[np.newaxis], heads[np.newaxis])
    best = no_trees(1, n)._replace(scores=scores[0])
    work = np.array([1.0, 1.0, 1.0, 0.0])
    found = Called(heads[np.newaxis], arcs[np.newaxis], scores, 0.0, None, best, work)
    return _solved(p, found, options)


def _solved(problem: Problem, found: Called, options: Options) -> Answer:
    heads, arcs, (scores, *_) = found.heads, found.arcs, found.scores
    calls, work, tried, slack = found.counters.tolist()
    stats: dict[str, float | int] = {
        "nodes": 1, "dp_calls": int(calls), "dp_work": work, "trees_tried": int(tried),
        "closed_at_root": 1, "edges": int(found.full_size),
        "upper_bound": float(found.best.scores[0]),
    }  # fmt: skip
    if not len(scores):
        return _nothing(problem, options, stats)
    if options.k_best == 1 and len(problem.factor_ptr) == len(problem.count_ptr) == 1:
        slack *= not problem.projective  # one pass finds the best tree, without a bound
    if len(scores) > 1 and (scores[1:] > scores[:-1]).any():  # out of order by rounding only
        order = np.argsort(-scores, kind="stable")
        heads, arcs, scores = heads[order], arcs[order], scores[order]
    stats["seconds"] = clock() - options.started
    proved = _ONE if len(scores) == 1 else np.ones(len(scores), np.bool_)
    solution = Solution.trusted(heads, arcs, scores, scores, proved, "optimal", stats)
    return Answer(solution, slack, found.scores[1:])


def _solution(problem: Problem, outcome: Outcome, options: Options, slack: float) -> Answer:
    """Convert the outcome of a search to a ranked solution with recomputed scores."""
    if outcome.status == "infeasible":
        return _nothing(problem, options, outcome.stats, told=True)
    arcs = outcome.trees
    scores = rescore(problem, arcs, heads_of(problem, arcs))
    stats = {**outcome.stats, "seconds": clock() - options.started}
    solution = ranked(problem, arcs, scores[0], outcome.bound, outcome.status, stats)
    return Answer(solution, slack, scores[1:])


def _nothing(
    problem: Problem, options: Options, stats: dict[str, float | int] | None = None,
    told: bool = False,
) -> Answer:  # fmt: skip
    if options.observer is not None and not told:
        options.observer.finished(Finished("infeasible", -np.inf, -np.inf, 0, 0))
    stats = {**(stats or {}), "seconds": clock() - options.started}
    solution = ranked(problem, [], [], -np.inf, "optimal", stats)
    return Answer(solution, 0.0, np.empty((2, 0)))
