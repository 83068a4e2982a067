"""`solve`: from a `Problem` to a `Solution`, whichever solver does the work; `solve_batch`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from bbparse.core import Problem, Solution
from bbparse.inference.conflict import explain_infeasible
from bbparse.inference.proof.certify import with_proof
from bbparse.inference.search.observer import Observer
from bbparse.inference.search.settings import DEFAULT, SearchSettings
from bbparse.inference.trees import Options, check_request, find_trees
from bbparse.inference.whole_trees import Function, TreeScore, find_whole_trees
from bbparse.runtime.errors import BBParseError, ProblemError
from bbparse.runtime.options import check_options, check_type
from bbparse.runtime.pool import map_in_threads


def solve(  # noqa: PLR0913 – public keywords
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
    tree_score: Function | None = None,
    at_most: float | None = None,
    tree_limit: int | None = None,
) -> Solution:
    """Find the k best trees of a problem and prove that they are.

    Parameters
    ----------
    problem : Problem
        The candidate arcs with their scores, parts, factors and constraints.
    k_best : int
        Number of trees, at most 1,000,000, and at most 20,000,000 words in all of them. If fewer
        trees exist, all of them are returned.
    time_limit : float, optional
        Time limit in seconds. Kernels check the clock between calls of the oracle, and make at
        least one call, milliseconds for a sentence; over hundreds of thousands of arcs, calls end
        at the limit, too. If it is reached, fewer than k trees may be returned.
    node_limit : int, optional
        Maximum number of search nodes.
    work_limit : float, optional
        Maximum number of visited hyperedges of a chart, or positions of automata: about 30 million
        are visited in a second. The search ends at the same point on every machine. This option and
        those from backbone to observer are for the branch and bound only.
    gap : float
        Relative gap: stop as soon as
        bound - score <= gap · max(\\|score\\|, \\|bound\\|) for the k-th score.
    method : {"auto", "bb", "ilp", "price-and-cut"}
        ``bb``: branch and bound. ``ilp``: an integer program on HiGHS (`inference.programs`).
        ``price-and-cut``: linear programs with delayed columns and rows (`inference.programs`), for
        dense grandchildren and non-projective trees. The last two need highspy and are exact up to
        a tolerance only. ``auto`` takes branch and bound, which can solve every problem.
    backbone : {"first", "sibling", "carreras", "grandsib"}, optional
        The parts that the branch and bound's dynamic programs score; by default the cheapest
        backbone that covers the problem's parts. A richer one absorbs the pair factors that it
        covers.
    settings : SearchSettings
        Settings of the branch and bound.
    observer : Observer, optional
        Receives the events of the branch and bound (:mod:`bbparse.inference.search.observer`).
    explain : bool
        If there is no tree, find constraints that conflict, in the rest of the time limit, and
        return them as ``conflict`` (`bbparse.inference.conflict.explain_infeasible`).
    proof : bool
        Make a ``proof`` of the solution that `bbparse.verify` can check, in the rest of the time
        limit. It is None if a limit was reached, or scores are so far apart that rounding hides
        too much (`inference.proof.certify.certify` returns the reason).
    tree_score : callable, optional
        Score g of a whole tree, which is added to the tree's score: a function of its heads
        int32[n + 1] (a row of ``Solution.heads``) and of its labels int32[n] (None if the problem
        has none). -inf forbids the tree. Trees are listed by their score in the
        problem until no later one can be among the k best; ``stats`` says how many were looked at
        (``trees_scored``). No proof and no observer then.
    at_most : float, optional
        Upper bound on all values of ``tree_score``, 0 by default. The tighter it is, the fewer
        trees are looked at.
    tree_limit : int, optional
        Maximum number of trees that ``tree_score`` looks at; by default, as many as k_best may be.

    Returns
    -------
    Solution
        Trees best first, trees of equal score in the order of their heads. They depend only on the
        content of the problem, not on the order of its arrays (:mod:`bbparse.core.order` has the
        rule). ``status`` is one of

        * optimal: every tree is proved, so that the upper bounds are the scores;
        * infeasible: there is no tree;
        * gap, time_limit, node_limit, work_limit, tree_limit: the limit that ended the search
          before all trees were proved; the trees are the best ones found, with valid bounds.
          ``gap`` is also the end where the scores of these trees are too small, beside others
          that some tree could have, for float64 to tell which is the best.

    Raises
    ------
    ProblemError
        If an argument is impossible, if the method does not support it, or if the backbone does not
        cover the problem's parts; if ``tree_score`` fails or returns something other than a number
        of at most ``at_most``.
    BBParseError
        If a method needs highspy and it is not installed.
    """
    options = Options(k_best, time_limit, node_limit, work_limit, gap, backbone, settings, observer)
    check_request(problem, method, options)
    if tree_score is None:
        if at_most is not None or tree_limit is not None:
            raise ProblemError("at_most and tree_limit are only valid with a tree_score")
        found = find_trees(problem, method, options)
    else:
        if proof or observer is not None:
            raise ProblemError("a proof or an observer is not supported with a tree_score")
        score = TreeScore(tree_score, 0.0 if at_most is None else at_most, tree_limit)
        found = find_whole_trees(problem, method, options, score)
    if proof:
        found, _ = with_proof(problem, found, k_best, time_limit=options.deadline.limit())
    return _complete(problem, found, options, explain)


def _complete(problem: Problem, found: Solution, options: Options, explain: bool) -> Solution:
    """Add the labels of trees to a solution, or the reasons why there is none."""
    if problem.arc_label is not None:
        found = found.with_labels(problem.arc_label[found.arcs])
    if found.status != "infeasible" or found.conflict or not explain:
        return found
    conflict = explain_infeasible(problem, time_limit=options.deadline.limit())
    return replace(found, conflict=tuple(conflict))


def solve_batch(problems: Iterable[Problem], *, threads: int = 1, **options: Any) -> list[Solution]:
    """Solve many problems.

    Parameters
    ----------
    problems : iterable of Problem
        The problems to solve.
    threads : int
        Number of threads. The trees, scores and bounds do not depend on it, unless a time limit
        stops a search.
    options
        Options of :func:`solve`, for each problem.

    Returns
    -------
    list of Solution
        Solutions in the order of the problems.

    Raises
    ------
    BBParseError
        The errors of :func:`solve`, with the index of the problem. If several problems fail, the
        error of the first one is raised.
    """
    check_options({"threads": threads}, ProblemError)
    check_type("problems", problems, Iterable, "problems", ProblemError)
    numbered = enumerate(problems)
    return list(map_in_threads(lambda item: _numbered(*item, options), numbered, threads))


def _numbered(i: int, problem: Problem, options: dict[str, Any]) -> Solution:
    """Solve a problem; an error has its number."""
    try:
        return solve(problem, **options)
    except BBParseError as error:
        raise type(error)(f"problems[{i}]: {error}") from error
