"""Problems to solutions by whichever solver takes them: dense arcs, branch and bound, integers.

Nothing is checked, explained or proved here: `bbparse.solve.solve` does that around it.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ProblemError
from bbparse.ilp import solve_ilp
from bbparse.oracle.projective.chart import build, recurrence_for
from bbparse.oracle.projective.dense import best_tree
from bbparse.oracle.projective.recurrences import Recurrence
from bbparse.pricing import price_and_cut
from bbparse.problem import Problem, Solution
from bbparse.problem.order import in_order, in_rank
from bbparse.problem.tree import most_trees
from bbparse.search.nonprojective import search_nonprojective
from bbparse.search.root import UNBALANCED, OpenRoot, solve_root
from bbparse.search.settings import DEFAULT, SearchSettings
from bbparse.search.settings import METHODS as MULTIPLIERS
from bbparse.search.tree import Outcome, Search, search
from bbparse.solving.presolve import presolve
from bbparse.solving.presolve.copies import without_beaten
from bbparse.solving.rescore import rescore

#: How a problem can be solved; auto is branch and bound, which takes every problem.
METHODS = ("auto", "bb", "ilp", "price-and-cut")
#: The largest k_best of a problem that may have so many trees.
MOST_TREES = 1_000_000


def find_trees(
    problem: Problem,
    k_best: int = 1,
    time_limit: float | None = None,
    node_limit: int | None = None,
    gap: float = 0.0,
    method: str = "auto",
    backbone: str | None = None,
    settings: SearchSettings = DEFAULT,
) -> Solution:
    """The trees of a problem with their bounds; takes what `bbparse.solve.solve` takes."""
    started = time.perf_counter()
    if k_best > 1:  # room for all of them is made at once
        wanted, k_best = k_best, min(k_best, max(1, most_trees(problem)))
        if k_best > MOST_TREES:
            raise ProblemError(f"k_best is {wanted}, expected at most {MOST_TREES}")
    ordered, order = in_order(problem)
    kept = None
    if k_best == 1:  # other trees may differ in labels that no best tree has
        ordered, kept = without_beaten(ordered)
    found = _solve(
        ordered, k_best, time_limit, node_limit, gap, method, backbone, settings, started
    )
    if kept is not None:
        order = kept if order is None else order[kept]
    return in_rank(found, problem, order)


def _solve(
    problem: Problem,
    k_best: int,
    time_limit: float | None,
    node_limit: int | None,
    gap: float,
    method: str,
    backbone: str | None,
    settings: SearchSettings,
    started: float,
) -> Solution:
    if method == "ilp":
        for name, value in (("node_limit", node_limit), ("backbone", backbone)):
            if value is not None:
                raise ProblemError(f"{name} is {value!r}: the integer program has none")
        return solve_ilp(problem, k_best, time_limit, gap)
    if method == "price-and-cut":
        if backbone is not None:
            raise ProblemError(f"backbone is {backbone!r}: price and cut has none")
        return price_and_cut(problem, k_best, time_limit, node_limit, gap)
    if not problem.projective:
        if backbone is not None:
            raise ProblemError(f"backbone is {backbone!r}: it is for projective problems only")
        return _solve_nonprojective(
            problem, k_best, time_limit, node_limit, gap, settings, started
        )
    recurrence = _recurrence(problem, backbone)
    if k_best == 1 and recurrence.mode == 0 and _is_dense(problem):
        return _solve_dense(problem, started)
    if problem.arc_label is None and len(problem.count_ptr) == 1 and not settings.lower_start:
        found = _solve_at_root(
            problem, recurrence, k_best, time_limit, node_limit, gap, settings, started
        )
        if found is not None:
            return found
    small, info = presolve(problem, recurrence.holds)
    if info.infeasible:
        return _nothing(problem, started)
    chart = build(small, recurrence)
    chart_place = np.empty(chart.order.shape[0], np.int32)
    chart_place[chart.order] = np.arange(chart.order.shape[0], dtype=np.int32)
    outcome = search(
        chart,
        (small.factor_ptr, chart_place[small.factor_arcs], small.factor_score),
        k_best,
        settings,
        counts=(
            small.count_ptr, chart_place[small.count_arcs], small.count_score_ptr,
            small.count_score,
        ),
        quantum=problem.quantum,
        time_limit=time_left(time_limit, started),
        node_limit=node_limit,
        gap=gap,
    )  # fmt: skip
    arcs = info.original_arcs(chart.order[outcome.trees])
    return _solution(problem, arcs, outcome, k_best, gap, started)


def _is_dense(problem: Problem) -> bool:
    """Whether a problem is arcs and nothing else, and so many that a chart of them costs more."""
    return (
        4 * len(problem.arc_head) >= problem.n_words**2
        and len(problem.factor_ptr) == len(problem.count_ptr) == 1
        and problem.arc_label is None
    )


def _solve_dense(problem: Problem, started: float) -> Solution:
    """Solve a problem of arcs alone; no bound is needed where one pass finds the best tree."""
    p = problem
    heads, arcs = best_tree(
        p.n_words, p.arc_head, p.arc_mod, p.arc_score, p.arc_state, p.single_root
    )
    if len(arcs) < p.n_words:
        return _nothing(p, started)
    scores = rescore(p, arcs[np.newaxis], heads[np.newaxis])
    stats: dict[str, float | int] = {
        "nodes": 1, "dp_calls": 1, "dp_work": 1.0, "trees_tried": 1, "closed_at_root": 1,
        "edges": 0, "upper_bound": float(scores[0]), "seconds": time.perf_counter() - started,
    }  # fmt: skip
    return Solution.trusted(
        heads[np.newaxis], arcs[np.newaxis], scores, scores.copy(), np.ones(1, bool), "optimal",
        stats,
    )  # fmt: skip


def _solve_at_root(
    problem: Problem,
    recurrence: Recurrence,
    k_best: int,
    time_limit: float | None,
    node_limit: int | None,
    gap: float,
    settings: SearchSettings,
    started: float,
) -> Solution | None:
    """Solve with one jitted call, and the search below where that leaves the root open.

    None where the scores want the search's own start (see :func:`bbparse.search.root.solve_root`).
    """
    p, s = problem, settings
    status, heads, arcs, scores, counters, n_edges, left = solve_root(
        p.n_words, p.arcs, p.parts, p.factors, p.counts, p.single_root, p.quantum,
        recurrence.mode, k_best, MULTIPLIERS[s.method], s.root_calls, s.eliminate_every, s.close_k,
        s.precision,
    )  # fmt: skip
    if status == UNBALANCED:
        return None
    if left is not None:
        left = OpenRoot(*left)
        outcome = Search.resume(left, n_edges, counters, settings, p.quantum).go_on(
            time_left(time_limit, started), node_limit, gap
        )
        return _solution(problem, left.order[outcome.trees], outcome, k_best, gap, started)
    if n_edges < 0:
        return _nothing(problem, started)
    calls, work, tried, best = counters.tolist()
    stats: dict[str, float | int] = {
        "nodes": 1, "dp_calls": int(calls), "dp_work": work, "trees_tried": int(tried),
        "closed_at_root": 1, "edges": n_edges, "upper_bound": best,
    }  # fmt: skip
    if not len(scores):
        return _nothing(problem, started, stats)
    if len(scores) > 1 and (scores[1:] > scores[:-1]).any():  # only rounding makes them rise
        order = np.argsort(-scores, kind="stable")
        heads, arcs, scores = heads[order], arcs[order], scores[order]
    stats["seconds"] = time.perf_counter() - started
    return Solution.optimal(heads, arcs, scores, stats)


def _solve_nonprojective(
    problem: Problem,
    k_best: int,
    time_limit: float | None,
    node_limit: int | None,
    gap: float,
    settings: SearchSettings,
    started: float,
) -> Solution:
    small, info = presolve(problem, ())
    if info.infeasible:
        return _nothing(problem, started)
    outcome = search_nonprojective(
        small,
        k_best,
        settings,
        time_limit=time_left(time_limit, started),
        node_limit=node_limit,
        gap=gap,
    )
    arcs = info.original_arcs(outcome.trees)
    return _solution(problem, arcs, outcome, k_best, gap, started)


def _solution(
    problem: Problem,
    arcs: NDArray[np.int32],
    outcome: Outcome,
    k_best: int,
    gap: float,
    started: float,
) -> Solution:
    """What a search found, in the arcs of the problem, scored anew and in order."""
    if outcome.status == "infeasible":
        return _nothing(problem, started, outcome.stats)
    heads = np.full((arcs.shape[0], problem.n_words + 1), -1, np.int32)
    heads[:, 1:] = problem.arc_head[arcs]
    scores = rescore(problem, arcs, heads)
    order = np.argsort(-scores, kind="stable")  # rounding may swap near-equal neighbours
    arcs, heads, scores = arcs[order], heads[order], scores[order]
    status = outcome.status
    stats = dict(outcome.stats)
    bound = outcome.bound
    if status == "optimal" and (gap <= 0.0 or len(arcs) < k_best):
        bound = -np.inf  # nothing is open; a gap ends no search that still lacks trees
    bounds = np.maximum(scores, bound)
    proved = scores >= bound
    if status == "optimal" and not proved.all():
        status = "node_limit"
        stats["gap_limit"] = 1
    stats["seconds"] = time.perf_counter() - started
    return Solution.trusted(heads, arcs, scores, bounds, proved, status, stats)


def _nothing(
    problem: Problem, started: float, stats: dict[str, float | int] | None = None
) -> Solution:
    empty = np.empty(0)
    return Solution.trusted(
        np.empty((0, problem.n_words + 1), np.int32), np.empty((0, problem.n_words), np.int32),
        empty, empty.copy(), np.empty(0, bool), "infeasible",
        {**(stats or {}), "seconds": time.perf_counter() - started},
    )  # fmt: skip


def _recurrence(problem: Problem, backbone: str | None) -> Recurrence:
    try:
        return recurrence_for(problem, backbone)
    except ValueError as error:
        if backbone is None:
            raise
        raise ProblemError(str(error)) from None


def time_left(time_limit: float | None, started: float) -> float | None:
    """What is left of a time limit in seconds since a start (`time.perf_counter`)."""
    if time_limit is None:
        return None
    return max(0.0, time_limit - (time.perf_counter() - started))
