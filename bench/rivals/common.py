"""Shared by the other solvers of bench/decode.py, which have one module each.

Each imports its package when it is used; each is run in a process of its own, as some of them do
not bear one another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Problem
from bbparse.core.parts import rows_of


class Unsupported(Exception):
    """The problem has parts that an encoding does not know."""


@dataclass(slots=True)
class Answer:
    """What a solver gave."""

    arcs: NDArray[np.int32] | None  #: The tree found, int32[n].
    proved: bool  #: Whether the solver says that no tree is better.
    #: The solver's own work; putting the problem into its terms is not counted.
    seconds: float
    building: float  #: Seconds for that.


def crossing(problem: Problem) -> list[tuple[int, int]]:
    """Pairs of candidate arcs with different modifiers that cannot be in one projective tree.

    Arcs that cross, and pairs of words that are each other's heads.
    """
    low = np.minimum(problem.arc_head, problem.arc_mod)
    high = np.maximum(problem.arc_head, problem.arc_mod)
    pairs = []
    for a in range(len(low)):
        cross = (low[a] < low) & (low < high[a]) & (high[a] < high)
        loop = (problem.arc_head == problem.arc_mod[a]) & (problem.arc_mod == problem.arc_head[a])
        loop[: a + 1] = False
        pairs += [(a, int(b)) for b in np.flatnonzero(cross | loop)]
    return pairs


def parts_of(problem: Problem, *kinds: str) -> Iterator[tuple[Any, ...]]:
    """Grand, head, inner, mod and score of the parts of some kinds, as in `bbparse.core.parts`.

    Labels, and parts of other kinds, are refused.
    """
    if problem.arc_label is not None or not problem.projective:
        raise Unsupported("labels and non-projective trees are not encoded")
    for kind, part in problem.parts._asdict().items():
        if kind in kinds:
            yield from rows_of(part)
        elif len(part.score):
            raise Unsupported(f"parts of kind {kind} are not encoded")


def sides_of_siblings(problem: Problem) -> set[tuple[int, bool]]:
    """Heads that have parts of siblings, and whether these are on the right."""
    of = (problem.parts.sib, problem.parts.gsib)
    return {(h, m > h) for part in of for _, h, _, m, _ in rows_of(part)}
