"""The nodes of a search: what waits in the queue, and how a node is divided.

Where the bound is the score of a node's best tree and more trees are wanted, the rest of the node
is divided by that tree (Lawler 1972): child i has the tree's arcs of the words before the i-th free
word and lacks its arc of that word, so no tree is in two children and the tree itself in none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
NO_ARCS = np.empty(0, np.int32)

#: What is asked of a node: a bound; a bound, and what is left of it though it may be closed; first
#: trees of it (:func:`bbparse.bounding.incumbents.lower_bound_start`).
BOUND, WATCH, START = 2, 3, 4


class Left(NamedTuple):
    """What is left of a node, as :mod:`bbparse.solving.root` gives it."""

    node: tuple[Any, ...]  # as :func:`bbparse.bounding.state.plain_node` makes it
    order: Ints  # of a root, the problem's arc at each place of the oracle's
    status: int  # this and the next four: what bounding said, a `Verdict`
    bound: float
    arc: int
    lower: float
    tree: Ints
    margin: float  # by how much a tree must be better than the k-th one to change the k best
    slack: float  # this and the next: see :class:`bbparse.bounding.state.Limits`
    hard: float
    moved_factors: int  # of a root, factors that the oracle took over


@dataclass(slots=True)
class Open:
    """A node that waits, or is to be bounded."""

    state: tuple[Any, ...]  # what is left of it, or of its parent where it is to be bounded
    number: int = 1
    parent: int = 0
    depth: int = 0
    branched: tuple[int, bool] = (-1, False)  # arc and whether it is present; -1: no one arc
    dead: Ints = field(default_factory=lambda: NO_ARCS)  # the parent's arcs that it lacks
    bound: float = np.inf  # its own, or its parent's
    arc: int = -1  # to branch on
    lower: float = -np.inf  # score of the best tree that was met in it
    tree: Ints | None = None  # its best one, where that is known
    margin: float = 0.0  # by how much the bound must be above the k-th score for it to matter


class Part(NamedTuple):
    """A part of a node: the arcs that it lacks, and an arc that its trees have, or lack."""

    dead: Ints
    arc: int
    present: bool


def divided(node: Open, arc: int) -> list[Part]:
    """The parts of a node: by its best tree where that is known, else with an arc and without.

    None where the arc is not free.
    """
    _, arc_mod, base, *_ = node.state
    alive = base > -np.inf

    def rivals(own: int) -> Ints:
        return np.flatnonzero((arc_mod == arc_mod[own]) & alive).astype(np.int32)

    if node.tree is None:
        choices = rivals(arc)
        if len(choices) == 1 or not alive[arc]:
            return []
        others = choices[choices != arc]
        return [Part(others, arc, True), Part(np.array([arc], np.int32), arc, False)]
    parts = []
    fixed = NO_ARCS
    for own in node.tree.tolist():
        choices = rivals(own)
        if len(choices) > 1:
            parts.append(Part(np.append(fixed, np.int32(own)), own, False))
            fixed = np.append(fixed, choices[choices != own])
    return parts
