"""What can be asked of a solver besides its problem, and which method takes what."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bbparse.errors import ProblemError
from bbparse.problem import Problem
from bbparse.search.observer import Observer
from bbparse.search.search import WORK_PER_SECOND
from bbparse.search.settings import DEFAULT, SearchSettings


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `bbparse.solve` that a method answers to; said there."""

    k_best: int = 1
    time_limit: float | None = None
    node_limit: int | None = None
    work_limit: float | None = None
    gap: float = 0.0
    backbone: str | None = None
    settings: SearchSettings = DEFAULT
    observer: Observer | None = None
    started: float = field(default_factory=time.perf_counter)

    def time_left(self) -> float | None:
        """What is left of the time limit, in seconds."""
        if self.time_limit is None:
            return None
        return max(0.0, self.time_limit - (time.perf_counter() - self.started))

    def work_left(self) -> float:
        """Work that may be done at the root, by either limit."""
        left = self.time_left()
        most = np.inf if self.work_limit is None else float(self.work_limit)
        return most if left is None else min(most, left * WORK_PER_SECOND)


_USUAL = Options(started=0.0)
_BOOLS, _WHOLE, _REAL = (bool, np.bool_), (int, np.integer), (int, float, np.integer, np.floating)

#: Of each method, what it takes besides ``k_best``, ``time_limit`` and ``gap``, which all take.
#: auto is branch and bound, which can solve every problem.
METHODS: dict[str, frozenset[str]] = {
    "auto": frozenset({"node_limit", "work_limit", "backbone", "settings", "observer"}),
    "bb": frozenset({"node_limit", "work_limit", "backbone", "settings", "observer"}),
    "ilp": frozenset(),
    "price-and-cut": frozenset({"node_limit"}),
}


def check_options(problem: Any, method: Any, options: Options) -> None:
    """Refuse impossible options, and options that a method does not take, with a ProblemError."""
    if not isinstance(problem, Problem):
        raise ProblemError(f"problem is of type {type(problem).__name__}, expected a Problem")
    check_whole("k_best", options.k_best)
    if options.time_limit is not None:
        _check_real("time_limit", options.time_limit)
    if options.node_limit is not None:
        check_whole("node_limit", options.node_limit)
    if options.work_limit is not None:
        _check_real("work_limit", options.work_limit)
    _check_real("gap", options.gap)
    if method not in METHODS:
        raise ProblemError(f"unknown method {method!r}: one of {', '.join(METHODS)}")
    if not isinstance(options.settings, SearchSettings):
        raise ProblemError(
            f"settings is of type {type(options.settings).__name__}, expected SearchSettings"
        )
    for name in ("node_limit", "work_limit", "backbone", "settings", "observer"):
        value = getattr(options, name)
        if name not in METHODS[method] and value != getattr(_USUAL, name):
            raise ProblemError(f"{name} is {value!r}: method {method!r} takes none")


def check_whole(name: str, value: Any) -> None:
    """Raise ProblemError unless an argument is a whole number of at least 1."""
    if isinstance(value, _BOOLS) or not isinstance(value, _WHOLE):
        raise ProblemError(f"{name} is {value!r}, expected a whole number")
    if value < 1:
        raise ProblemError(f"{name} is {value}, expected at least 1")


def _check_real(name: str, value: Any) -> None:
    if isinstance(value, _BOOLS) or not isinstance(value, _REAL):
        raise ProblemError(f"{name} is {value!r}, expected a number")
    if not value >= 0:
        raise ProblemError(f"{name} is {value}, expected at least 0")
