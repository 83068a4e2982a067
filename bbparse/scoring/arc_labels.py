"""The best few labels of every candidate arc, as arcs of their own: the labelled mode.

A copy of an arc scores what the arc scores, less how much likelier the guide finds the arc's best
label: without factors that speak of labels the best tree is the one without labels, its labels
those of the guide. Parts of the backbone are by words and fire whatever the labels are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.problem import Problem

__all__ = ["ArcLabels", "best_columns", "in_quanta"]


@dataclass(frozen=True, slots=True, eq=False)
class ArcLabels:
    """Labels of candidate arcs.

    Attributes
    ----------
    first : int64[A + 1]
        Copies first[a] to first[a + 1] - 1 are those of arc a.
    number : int32[first[A]]
        The label of each copy, ascending for each arc.
    score : float64[first[A]]
        What each adds to the arc's score, whole quanta; 0 for the best label, less for others.
    """

    first: NDArray[np.int64]
    number: NDArray[np.int32]
    score: NDArray[np.float64]

    @classmethod
    def best(
        cls,
        log_probabilities: NDArray[np.float64],
        per_arc: int,
        weight: float,
        quantum: float,
        must: NDArray[np.int32] | None = None,
    ) -> ArcLabels:
        """The best labels of each arc.

        Parameters
        ----------
        log_probabilities : float64[A, L]
            As `Guide.log_probabilities` gives them.
        per_arc : int
            How many of each arc, if there are so many; of equal ones those with smaller numbers.
        weight : float
            What a difference of 1 in log-probability is worth.
        quantum : float
            Scores are rounded to multiples of it.
        must : int32[A], optional
            A label that each arc must have, too; -1 for none.
        """
        chosen = best_columns(log_probabilities, per_arc)
        if must is not None:
            has = np.flatnonzero(must >= 0)
            chosen[has, must[has]] = True
        first = np.zeros(len(chosen) + 1, np.int64)
        np.cumsum(chosen.sum(axis=1), out=first[1:])
        arc, number = np.nonzero(chosen)
        behind = log_probabilities[arc, number] - log_probabilities.max(axis=1)[arc]
        return cls(first, number.astype(np.int32), in_quanta(weight * behind, quantum))

    def onto(self, problem: Problem) -> Problem:
        """The problem with the copies in place of its arcs.

        Parameters
        ----------
        problem : Problem
            Over the plain arcs, without factors.
        """
        copies = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))
        return problem.changed(
            arc_head=problem.arc_head[copies],
            arc_mod=problem.arc_mod[copies],
            arc_score=problem.arc_score[copies] + self.score,
            arc_state=problem.arc_state[copies],
            arc_label=self.number,
        )


@kernel
def best_columns(scores: NDArray[np.float64], number: int) -> NDArray[np.bool_]:
    """Which columns have the largest scores of each row: so many, if there are; of equal ones the
    first. None of -inf, unless a row has no others.

    Parameters
    ----------
    scores : float64[R, C]
    number : int

    Returns
    -------
    bool[R, C]
    """
    chosen = np.zeros(scores.shape, np.bool_)
    for row in range(scores.shape[0]):
        for rank in range(min(number, scores.shape[1])):
            best = -1
            for column in range(scores.shape[1]):
                if not chosen[row, column] and (
                    best < 0 or scores[row, column] > scores[row, best]
                ):
                    best = column
            if rank and scores[row, best] == -np.inf:
                break
            chosen[row, best] = True
    return chosen


def in_quanta(values: NDArray[np.float64], quantum: float) -> NDArray[np.float64]:
    """Values rounded to multiples of a quantum; no -0."""
    return np.rint(values / quantum) * quantum + 0.0
