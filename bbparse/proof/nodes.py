"""The nodes of a proof while it is being written."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bbparse.problem import Problem
from bbparse.proof.proof import SPLIT, Proof

Floats = NDArray[np.float64]


class Nodes:
    """Nodes in pre-order, and the rows of multipliers that they share.

    Parameters
    ----------
    order : int32[A]
        Original index of each arc of the chart.
    problem : Problem
        Of which multipliers are.
    """

    def __init__(self, order: NDArray[np.int32], problem: Problem) -> None:
        self._order = order
        self._widths = (len(problem.factor_arcs), len(problem.count_arcs))
        self._kind: list[int] = []
        self._ptr = [0]
        self._arcs: list[int] = []
        self._bound: list[float] = []
        self._vector: list[int] = []
        self._rows: dict[bytes, int] = {}

    def split(self, arcs: Iterable[int]) -> None:
        """Ask whether a tree has one of these arcs (of the chart)."""
        self._arcs += self._order[np.asarray(arcs)].tolist()
        self._add(SPLIT, 0.0, -1)

    def leaf(
        self, kind: int, bound: float, lam: Floats | None = None, count_lam: Floats | None = None
    ) -> None:
        """Close a subspace, with multipliers or without."""
        row = -1
        if lam is not None and count_lam is not None:
            row = self._rows.setdefault(lam.tobytes() + count_lam.tobytes(), len(self._rows))
        self._add(kind, bound, row)

    def _add(self, kind: int, bound: float, row: int) -> None:
        self._kind.append(kind)
        self._ptr.append(len(self._arcs))
        self._bound.append(bound)
        self._vector.append(row)

    def proof(self, problem: str, k_best: int) -> Proof:
        """The proof that these nodes are."""
        rows = np.frombuffer(b"".join(self._rows)).reshape(len(self._rows), sum(self._widths))
        return Proof(
            problem, k_best, np.array(self._kind, np.int8), np.array(self._ptr, np.int64),
            np.array(self._arcs, np.int32), np.array(self._bound), np.array(self._vector, np.int32),
            rows[:, : self._widths[0]], rows[:, self._widths[0] :],
        )  # fmt: skip
