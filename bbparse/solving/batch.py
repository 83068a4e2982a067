"""`solve_batch`: many problems, on several threads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bbparse.errors import BBParseError
from bbparse.problem import Problem, Solution
from bbparse.solving.in_order import in_order
from bbparse.solving.options import check_whole
from bbparse.solving.solve import solve

# Problems that a thread takes at a time: most take less time than passing them on does.
_PER_TASK = 8


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
    check_whole("threads", threads)
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
