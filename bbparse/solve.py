"""`solve`: from a `Problem` to a `Solution`, whichever solver does the work."""

from __future__ import annotations

import time

import numpy as np

from bbparse.backbone.chart import build, parts_of
from bbparse.backbone.recurrences import RECURRENCES, cheapest
from bbparse.errors import ProblemError
from bbparse.presolve import presolve
from bbparse.problem import Problem, Solution
from bbparse.rescore import rescore
from bbparse.search.settings import DEFAULT, SearchSettings
from bbparse.search.tree import search


def solve(
    problem: Problem,
    *,
    k_best: int = 1,
    time_limit: float | None = None,
    node_limit: int | None = None,
    gap: float = 0.0,
    backbone: str | None = None,
    settings: SearchSettings = DEFAULT,
) -> Solution:
    """Find the k best trees of a problem and prove that they are.

    Parameters
    ----------
    problem : Problem
        A projective problem.
    k_best : int
        How many trees; all there are where fewer exist.
    time_limit : float, optional
        Seconds; looked at between nodes.
    node_limit : int, optional
        Most search nodes.
    gap : float
        Stop as soon as the bound is within this share of the k-th score.
    backbone : {"first", "sibling", "carreras", "grandsib"}, optional
        Recurrence; default the cheapest that holds the problem's parts. A richer one takes over
        pair factors it can hold.
    settings : SearchSettings
        How to search.

    Returns
    -------
    Solution
        Trees best first. Trees of equal score come in the order in which the search, which is
        deterministic and does not depend on the order of the factors, met them. ``status`` is
        optimal (every tree proved), time_limit, node_limit (the best found, with a valid bound)
        or infeasible (no tree).

    Raises
    ------
    ProblemError
        Where ``k_best`` < 1, the backbone is unknown or cannot hold the problem's parts.
    """
    if k_best < 1:
        raise ProblemError(f"k_best is {k_best}, expected at least 1")
    if not problem.projective:
        raise ProblemError("projective is False: branch and bound here searches projective trees")
    started = time.perf_counter()
    parts = parts_of(problem)
    if backbone is None:
        recurrence = cheapest(parts)
    elif backbone not in RECURRENCES:
        raise ProblemError(f"unknown backbone {backbone!r}: one of {', '.join(RECURRENCES)}")
    else:
        recurrence = RECURRENCES[backbone]
        if not parts <= recurrence.holds:
            missing = ", ".join(sorted(parts - recurrence.holds))
            raise ProblemError(f"the {backbone} backbone cannot score parts of kind {missing}")
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
        quantum=problem.quantum,
        time_limit=time_limit,
        node_limit=node_limit,
        gap=gap,
    )
    if outcome.status == "infeasible":
        return _nothing(problem, started, outcome.stats)
    arcs = info.original_arcs(chart.order[outcome.trees])
    heads = np.full((arcs.shape[0], problem.n_words + 1), -1, np.int32)
    heads[:, 1:] = problem.arc_head[arcs]
    scores = rescore(problem, arcs, heads)
    order = np.argsort(-scores, kind="stable")  # rounding may swap near-equal neighbours
    arcs, heads, scores = arcs[order], heads[order], scores[order]
    if outcome.status == "optimal" and gap <= 0.0:
        bounds = scores.copy()
        proved = np.ones(scores.shape[0], bool)
    else:
        bounds = np.maximum(scores, outcome.bound)
        proved = scores >= outcome.bound
    stats = dict(outcome.stats)
    stats["seconds"] = time.perf_counter() - started
    return Solution._trusted(heads, arcs, scores, bounds, proved, outcome.status, stats)


def _nothing(
    problem: Problem, started: float, stats: dict[str, float | int] | None = None
) -> Solution:
    empty = np.empty(0)
    return Solution._trusted(
        np.empty((0, problem.n_words + 1), np.int32), np.empty((0, problem.n_words), np.int32),
        empty, empty.copy(), np.empty(0, bool), "infeasible",
        {**(stats or {}), "seconds": time.perf_counter() - started},
    )  # fmt: skip
