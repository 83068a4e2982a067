"""`solve`: from a `Problem` to a `Solution`, whichever solver does the work."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from bbparse.errors import ProblemError
from bbparse.problem import Problem, Solution
from bbparse.proof.certify import with_proof
from bbparse.search.settings import DEFAULT, SearchSettings
from bbparse.solvers import METHODS, find_trees, time_left
from bbparse.solving.conflict import explain_infeasible

__all__ = ["METHODS", "check_whole", "solve"]


def solve(
    problem: Problem,
    *,
    k_best: int = 1,
    time_limit: float | None = None,
    node_limit: int | None = None,
    gap: float = 0.0,
    method: str = "auto",
    backbone: str | None = None,
    settings: SearchSettings = DEFAULT,
    explain: bool = True,
    proof: bool = False,
) -> Solution:
    """Find the k best trees of a problem and prove that they are.

    Parameters
    ----------
    problem : Problem
    k_best : int
        How many trees, at most 1,000,000; all there are where fewer exist.
    time_limit : float, optional
        Seconds; looked at between nodes.
    node_limit : int, optional
        Most search nodes. Not for the integer program.
    gap : float
        Stop as soon as the bound is within this share of the k-th score: when
        bound - score <= gap · max(\\|score\\|, \\|bound\\|).
    method : {"auto", "bb", "ilp", "price-and-cut"}
        Branch and bound; an integer program on HiGHS (`bbparse.ilp`); or linear programs that grow
        where they must (`bbparse.pricing`), for dense grandchildren and non-projective trees. The
        last two need highspy and prove to tolerances only. auto takes branch and bound, which can
        solve every problem.
    backbone : {"first", "sibling", "carreras", "grandsib"}, optional
        Recurrence of the branch and bound over projective trees; default the cheapest that holds
        the problem's parts. A richer one takes over pair factors it can hold.
    settings : SearchSettings
        How the branch and bound searches.
    explain : bool
        Where there is no tree, look for constraints that conflict, in what is left of the time
        limit, and give them as ``conflict`` (`bbparse.solving.conflict.explain_infeasible`).
    proof : bool
        Make a ``proof`` of the solution, in what is left of the time limit, that `bbparse.verify`
        can check. It stays None where a limit was reached (`bbparse.proof.certify.certify` says
        why).

    Returns
    -------
    Solution
        Trees best first, and trees of equal score in the order of their heads. They depend on what
        the problem says alone, not on the order in which it says it (:mod:`bbparse.problem.order`
        has the rule). ``status`` is

        * optimal: every tree is proved, so that the upper bounds are the scores;
        * infeasible: there is no tree;
        * time_limit, node_limit: the best trees found, with valid bounds. A search that ``gap``
          ended before all trees were proved has the status node_limit too, and
          ``stats["gap_limit"]`` is 1.

    Raises
    ------
    ProblemError
        Where an argument is impossible, or the backbone cannot hold the problem's parts.
    BBParseError
        Where a method needs highspy, and it is not installed.
    """
    started = time.perf_counter()
    _check(problem, k_best, time_limit, node_limit, gap, method, settings)
    found = find_trees(
        problem, k_best, time_limit, node_limit, gap, method, backbone, settings
    )
    if proof:
        left = time_left(time_limit, started)
        found, _ = with_proof(problem, found, k_best, time_limit=left)
    if found.status != "infeasible" or not explain:
        if problem.arc_label is not None:
            found = found.with_labels(problem.arc_label[found.arcs])
        return found
    left = time_left(time_limit, started)
    return replace(found, conflict=tuple(explain_infeasible(problem, time_limit=left)))


def check_whole(name: str, value: Any) -> None:
    """Raise ProblemError unless an argument is a whole number of at least 1."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ProblemError(f"{name} is {value!r}, expected a whole number")
    if value < 1:
        raise ProblemError(f"{name} is {value}, expected at least 1")


def _check_real(name: str, value: Any) -> None:
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | np.integer | np.floating
    ):
        raise ProblemError(f"{name} is {value!r}, expected a number")
    if not value >= 0:
        raise ProblemError(f"{name} is {value}, expected at least 0")


def _check(
    problem: Any,
    k_best: Any,
    time_limit: Any,
    node_limit: Any,
    gap: Any,
    method: Any,
    settings: Any,
) -> None:
    """Refuse impossible arguments."""
    if not isinstance(problem, Problem):
        raise ProblemError(f"problem is of type {type(problem).__name__}, expected a Problem")
    check_whole("k_best", k_best)
    if time_limit is not None:
        _check_real("time_limit", time_limit)
    if node_limit is not None:
        check_whole("node_limit", node_limit)
    _check_real("gap", gap)
    if method not in METHODS:
        raise ProblemError(f"unknown method {method!r}: one of {', '.join(METHODS)}")
    if not isinstance(settings, SearchSettings):
        raise ProblemError(
            f"settings is of type {type(settings).__name__}, expected SearchSettings"
        )
