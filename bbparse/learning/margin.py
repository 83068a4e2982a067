"""What both stages of learning ask of a training sentence's problem: costs, and the gold score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.problem import Problem
from bbparse.problem.quantum import QUANTUM
from bbparse.solving.rescore import rescore

__all__ = ["gold_score", "with_cost"]


def with_cost(problem: Problem, right: NDArray[np.bool_], cost: float) -> Problem:
    """The problem with a cost, rounded to whole quanta, added to every wrong arc.

    Parameters
    ----------
    problem : Problem
    right : bool[A]
        Which arcs are in the gold tree.
    cost : float
    """
    quanta = round(cost / QUANTUM) * QUANTUM  # the problem says that all its scores are such
    if not quanta:
        return problem
    return problem.changed(arc_score=problem.arc_score + np.where(right, 0.0, quanta))


def gold_score(problem: Problem, gold: NDArray[np.int32], right: NDArray[np.bool_]) -> float:
    """φ of the gold tree in a problem that has all its arcs."""
    arcs = np.empty((1, problem.n_words), np.int32)
    own = np.flatnonzero(right).astype(np.int32)
    arcs[0, problem.arc_mod[own] - 1] = own
    return float(rescore(problem, arcs, gold[np.newaxis])[0])
