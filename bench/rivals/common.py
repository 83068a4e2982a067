"""What the encodings share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.problem import Problem


class Unsupported(Exception):
    """The problem has parts that an encoding does not know."""


@dataclass(slots=True)
class Answer:
    """What a solver gave.

    Attributes
    ----------
    arcs : int32[n] or None
        The tree found.
    proved : bool
        Whether the solver says that no tree is better.
    seconds : float
        The solver's own work; putting the problem into its terms is not counted.
    building : float
        Seconds for that.
    """

    arcs: NDArray[np.int32] | None
    proved: bool
    seconds: float
    building: float


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


def rows_of(*columns: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    """Parts, from the arrays of their words and scores."""
    return zip(*(column.tolist() for column in columns))


def sides_of_siblings(p: Problem) -> set[tuple[int, bool]]:
    """Heads that have parts of siblings, and whether these are on the right."""
    of = ((p.sib_head, p.sib_outer), (p.gsib_head, p.gsib_outer))
    return {(h, m > h) for heads, mods in of for h, m in rows_of(heads, mods)}


def arcs_of_heads(problem: Problem, heads: list[int]) -> NDArray[np.int32]:
    """The arc of each word, from its head."""
    index = {
        pair: a for a, pair in enumerate(zip(problem.arc_head.tolist(), problem.arc_mod.tolist()))
    }
    return np.array([index[h, m] for m, h in enumerate(heads, start=1)], np.int32)


def counts(problem: Problem) -> list[tuple[list[int], list[float]]]:
    """The arcs of each count factor, and its score for each number of them."""
    p = problem
    return [
        (
            p.count_arcs[p.count_ptr[c] : p.count_ptr[c + 1]].tolist(),
            p.count_score[p.count_score_ptr[c] : p.count_score_ptr[c + 1]].tolist(),
        )
        for c in range(len(p.count_ptr) - 1)
    ]


def check_plain(problem: Problem, *kinds: str) -> None:
    """Refuse labels, and parts of kinds that are not named."""
    if problem.arc_label is not None or not problem.projective:
        raise Unsupported("labels and non-projective trees are not encoded")
    for kind in ("sib", "gc", "ogc", "gsib"):
        if kind not in kinds and len(getattr(problem, f"{kind}_score")):
            raise Unsupported(f"parts of kind {kind} are not encoded")
