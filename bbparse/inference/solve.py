"""`solve` and `solve_batch`: from a `Problem` to a `Solution`, by any of the solvers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from bbparse.core import Problem, Solution
from bbparse.inference.methods import Options, check_request, find_trees
from bbparse.inference.search.lagrangian import Observer
from bbparse.inference.search.settings import DEFAULT, SearchSettings
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
        Number of trees: at most 1,000,000, with at most 20,000,000 words in total. If fewer trees
        exist, all of them are returned.
    time_limit : float, optional
        Time limit in seconds; fewer than k trees may be returned when it is reached. The clock is
        checked between calls of the oracle, of which at least one is made (milliseconds for a
        sentence); with hundreds of thousands of arcs, it is also checked within calls.
    node_limit : int, optional
        Maximum number of search nodes.
    work_limit : float, optional
        Maximum number of visited hyperedges of charts, or positions of automata, about 30 million
        of which are visited in a second. The search ends at the same point on every machine. This
        option, ``backbone``, ``settings`` and ``observer`` are for branch and bound only.
    gap : float
        Relative gap: stop as soon as
        bound - score <= gap · max(\\|score\\|, \\|bound\\|) for the k-th score.
    method : {"auto", "bb", "ilp", "price-and-cut"}
        ``bb``: branch and bound. ``ilp``: an integer program on HiGHS (`inference.programs`).
        ``price-and-cut``: linear programs with delayed columns and rows (`inference.programs`), for
        dense grandchildren and non-projective trees. The last two need highspy and are exact only
        up to a tolerance; where that could hide a term of a tree, branch and bound decides, and
        ``stats["searches"]`` is above 1. ``auto`` is branch and bound, which can solve every
        problem.
    backbone : {"first", "sibling", "carreras", "grandsib"}, optional
        The parts that the dynamic programs of branch and bound score; by default the cheapest
        backbone that covers the problem's parts. A richer backbone absorbs the pair factors that it
        covers.
    settings : SearchSettings
        Settings of the branch and bound.
    observer : callable, optional
        Function of the progress of branch and bound: it is called with the number of oracle calls
        so far, an upper bound on all trees, and the score of the best known tree (-inf: none):
        after each call at the root that leaves it open, and then before each branching.
    explain : bool
        If there is no tree, find conflicting constraints within the remaining time and return them
        as ``conflict`` (`bbparse.explain_infeasible`).
    proof : bool
        Make a ``proof`` of the solution within the remaining time, which `bbparse.verify` can
        check. It is None if a limit was reached, or if scores differ so much in magnitude that
        rounding hides too much (`inference.proof.certify.certify` returns the reason).
    tree_score : callable, optional
        Score of a whole tree, which is added to the tree's score in the problem: a function of its
        heads int32[n + 1] (a row of ``Solution.heads``) and of its labels int32[n] (None if the
        problem has none). -inf forbids the tree. Trees are enumerated by their score in the problem
        until no later one can be among the k best; ``stats["trees_scored"]`` is their number. Not
        supported together with a proof or an observer.
    at_most : float, optional
        Upper bound on all values of ``tree_score``, 0 by default. The tighter it is, the fewer
        trees are enumerated.
    tree_limit : int, optional
        Maximum number of trees to enumerate for ``tree_score``; by default the maximum of k_best.

    Returns
    -------
    Solution
        Trees best first, trees of equal score in the order of their heads. They depend only on the
        content of the problem, not on the order of its arrays (:mod:`bbparse.core.order` has the
        rule). ``status`` is one of

        * optimal: every tree is proved, so upper bounds equal scores;
        * infeasible: there is no tree;
        * gap, time_limit, node_limit, work_limit, tree_limit: the limit that ended the search
          before all trees were proved; the trees are the best ones found, with valid bounds.
          ``gap`` is also the status if the scores of these trees are too small, compared with
          other scores in the problem, for float64 to tell which tree is the best.

    Raises
    ------
    ProblemError
        If an argument is invalid or not supported by the method, if the backbone does not cover the
        problem's parts, or if ``tree_score`` fails or does not return a number of at most
        ``at_most``.
    BBParseError
        If the method needs highspy and it is not installed.
    """
    options = Options(k_best, time_limit, node_limit, work_limit, gap, backbone, settings, observer)
    check_request(problem, method, options)
    if tree_score is None:
        if at_most is not None or tree_limit is not None:
            raise ProblemError("at_most and tree_limit are only valid with a tree_score")
        solution = find_trees(problem, method, options)
    else:
        if proof or observer is not None:
            raise ProblemError("a proof or an observer is not supported with a tree_score")
        score = TreeScore(tree_score, 0.0 if at_most is None else at_most, tree_limit)
        solution = find_whole_trees(problem, method, options, score)
    if proof:
        from bbparse.inference.proof.certify import with_proof  # imported when needed

        solution, _ = with_proof(problem, solution, k_best, time_limit=options.deadline.limit())
    return _complete(problem, solution, options, explain)


def _complete(problem: Problem, solution: Solution, options: Options, explain: bool) -> Solution:
    """Add the labels of trees to a solution, or the reasons why there is none."""
    if problem.arc_label is not None:
        solution = replace(solution, labels=problem.arc_label[solution.arcs])
    if solution.status != "infeasible" or solution.conflict or not explain:
        return solution
    from bbparse.inference.conflict import explain_infeasible  # imported when needed

    conflict = explain_infeasible(problem, time_limit=options.deadline.limit())
    return replace(solution, conflict=tuple(conflict))


def solve_batch(problems: Iterable[Problem], *, threads: int = 1, **options: Any) -> list[Solution]:
    """Solve many problems.

    Parameters
    ----------
    problems : iterable of Problem
        The problems to solve.
    threads : int
        Number of threads. Results do not depend on it, unless a time limit stops a search.
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
