"""`Agreement`: what several oracles found together, and how good it is."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Agreement", "Moment"]


class Moment(NamedTuple):
    """How far a search was."""

    calls: int  # how often every oracle had been asked
    bound: float  # no joint structure scores more
    value: float  # score of the best one met so far, -inf if none was


@dataclass(frozen=True, eq=False)
class Agreement:
    """The best joint structure that was met, and what is known about it.

    Attributes
    ----------
    status : {"optimal", "infeasible", "time_limit", "node_limit"}
        ``infeasible``: the oracles cannot agree.
    value : float
        Sum of the oracles' scores of `on`; -inf without a structure.
    bound : float
        No joint structure scores more than this.
    on : tuple of bool[C_k]
        Of each oracle, the coordinates of its structure; empty without a structure.
    names : tuple
        The shared coordinates that are on.
    calls, root_calls : int
        How often every oracle was asked, in all and before the first branching.
    nodes : int
        Of the search tree; 1 if the oracles agreed, or the bound met the value, at its root.
    history : tuple of Moment
        After every call at the root, then after every node.
    """

    status: str
    value: float
    bound: float
    on: tuple[NDArray[np.bool_], ...]
    names: tuple[Hashable, ...]
    calls: int
    root_calls: int
    nodes: int
    history: tuple[Moment, ...]

    @property
    def proved(self) -> bool:
        """Whether no joint structure is better."""
        return self.status == "optimal"

    @property
    def gap(self) -> float:
        """By how much a joint structure could be better; inf without a structure."""
        return max(0.0, self.bound - self.value) if self.on else float("inf")
