"""`solve`: from a `Problem` to a `Solution`, whichever solver does the work; `solve_batch`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from bbparse.errors import BBParseError, ProblemError
from bbparse.options import check_options, check_type
from bbparse.problem import Problem, Solution
from bbparse.proof.certify import with_proof
from bbparse.search.observer import Observer
from bbparse.search.settings import DEFAULT, SearchSettings
from bbparse.solving.conflict import explain_infeasible
from bbparse.solving.in_order import in_order
from bbparse.solving.trees import Options, check_request, find_trees

# Problems that a thread takes at a time: most take less time than passing them on does.
_PER_TASK = 8


def solve(
    problem: Problem,
    *,
    k_best: int = 1,
    time_limit: float | None = None,
    node_limit: int | None = None,
    work_limit: float | None = None,
    gap: float = 0.0,
    method: str = "auto",
    backbone: str | None = None,
    settings: SearchSettings = DEFAULT,
    observer: Observer | None = None,
    explain: bool = True,
    proof: bool = False,
) -> Solution:
    """Find the k best trees of a problem and prove that they are.

    Parameters
    ----------
    problem : Problem
    k_best : int
        How many trees, at most 1,000,000, and 20,000,000 words in all of them; all trees there are
        where fewer exist.
    time_limit : float, optional
        Seconds. What kernels do looks at the clock, too, after one call of the oracle at least:
        milliseconds for a sentence, up to a second for 2,000 words. Of k trees fewer come then.
    node_limit : int, optional
        Most search nodes.
    work_limit : float, optional
        Most hyperedges of a chart, or places of automata, that are visited: about 30 million a
        second. What it stops is the same on every machine. It and the options from backbone on to
        observer are for the branch and bound only.
    gap : float
        Stop as soon as the bound is within this share of the k-th score: when
        bound - score <= gap · max(\\|score\\|, \\|bound\\|).
    method : {"auto", "bb", "ilp", "price-and-cut"}
        Branch and bound; an integer program on HiGHS (`bbparse.ilp`); or linear programs that grow
        where they must (`bbparse.pricing`), for dense grandchildren and non-projective trees. The
        last two need highspy and prove to tolerances only. auto takes branch and bound, which can
        solve every problem.
    backbone : {"first", "sibling", "carreras", "grandsib"}, optional
        Which parts the branch and bound's dynamic programs hold; default the cheapest that holds
        the problem's parts. A richer one takes over pair factors it can hold.
    settings : SearchSettings
        How the branch and bound searches.
    observer : Observer, optional
        Is told what happens in the branch and bound (:mod:`bbparse.search.observer`).
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
        * gap, time_limit, node_limit, work_limit: what ended the search before all trees were
          proved; the best trees found, with valid bounds.

    Raises
    ------
    ProblemError
        Where an argument is impossible or not one that the method takes, or the backbone cannot
        hold the problem's parts.
    BBParseError
        Where a method needs highspy, and it is not installed.
    """
    options = Options(k_best, time_limit, node_limit, work_limit, gap, backbone, settings, observer)
    check_request(problem, method, options)
    found = find_trees(problem, method, options)
    if proof:
        found, _ = with_proof(problem, found, k_best, time_limit=options.deadline.limit())
    if found.status != "infeasible" or not explain:
        if problem.arc_label is not None:
            found = found.with_labels(problem.arc_label[found.arcs])
        return found
    conflict = explain_infeasible(problem, time_limit=options.deadline.limit())
    return replace(found, conflict=tuple(conflict))


def solve_batch(
    problems: Iterable[Problem], *, threads: int = 1, **options: Any
) -> list[Solution]:
    """Solve many problems.

    Parameters
    ----------
    problems : iterable of Problem
    threads : int
        How many problems are solved side by side. The trees, scores and bounds are the same
        whatever the number, unless a time limit stops a search.
    options
        As for :func:`solve`, for each problem.

    Returns
    -------
    list of Solution
        In the order of the problems.

    Raises
    ------
    BBParseError
        As :func:`solve`, with the place of the problem; the first in order if there are several.
    """
    check_options({"threads": threads}, ProblemError)
    check_type("problems", problems, Iterable, "problems", ProblemError)
    given = list(problems)

    def some(start: int) -> list[Solution]:
        found = []
        for i in range(start, min(start + _PER_TASK, len(given))):
            try:
                found.append(solve(given[i], **options))
            except BBParseError as error:
                raise type(error)(f"problems[{i}]: {error}") from error
        return found

    starts = range(0, len(given), _PER_TASK)
    return [solution for found in in_order(some, starts, threads) for solution in found]
