"""Best arborescences of a problem under changed arc scores, as an `Oracle`; parts are ignored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.oracle.nonprojective.arborescence import best_arborescence
from bbparse.oracle.protocol import Best, OracleError
from bbparse.oracle.restrict import restricted
from bbparse.problem import Problem

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Arborescences:
    """Trees over the arcs of a problem, crossing or not, which are its coordinates; exact.

    Parameters
    ----------
    problem : Problem
        Its required and forbidden arcs are kept to.
    scored : bool
        Whether arcs have the problem's scores for their own, else none.
    """

    def __init__(self, problem: Problem, scored: bool = True) -> None:
        p = problem
        self.n_coordinates = len(p.arc_head)
        self._order = np.lexsort((np.arange(self.n_coordinates), p.arc_mod)).astype(np.int32)
        self._mod = p.arc_mod
        self._head = p.arc_head[self._order]
        self._ptr = np.searchsorted(
            p.arc_mod[self._order], np.arange(p.n_words + 2)
        ).astype(np.int32)  # fmt: skip
        self._single_root = p.single_root
        scores = p.arc_score if scored else np.zeros(self.n_coordinates)
        self._base = restricted(scores, p.arc_mod, p.arc_state == 1, p.arc_state == -1)

    def best(self, scores: Floats) -> Best:
        """See `Oracle.best`."""
        value, tree, _ = self._search(scores)
        on = np.zeros(self.n_coordinates, np.bool_)
        if value > -np.inf:
            on[self._order[tree]] = True
        return Best(value, on)

    def with_each(self, scores: Floats) -> Floats:
        """See `Oracle.with_each`; bounds from the dual of the tree's linear program."""
        value, _, reduced = self._search(scores)
        each = np.full(self.n_coordinates, -np.inf)
        if value > -np.inf:
            each[self._order] = value + reduced
        return each

    def k_best(self, scores: Floats, k: int) -> list[Best]:
        """Not offered."""
        raise OracleError("arborescences cannot be listed")

    def restrict(self, required: Flags, forbidden: Flags) -> Arborescences:
        """See `Oracle.restrict`."""
        other = object.__new__(Arborescences)
        other.__dict__.update(self.__dict__)
        other._base = restricted(self._base, self._mod, required, forbidden)
        return other

    def _search(self, scores: Floats) -> tuple[float, NDArray[np.int32], Floats]:
        tree = np.empty(len(self._ptr) - 2, np.int32)
        reduced = np.empty(self.n_coordinates)
        value = best_arborescence(
            self._ptr, self._head, (self._base + scores)[self._order], self._single_root, tree,
            reduced, np.empty(1),
        )  # fmt: skip
        return float(value), tree, reduced
