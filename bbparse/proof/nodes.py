"""The nodes of a proof while it is being written."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bbparse.problem import Problem
from bbparse.problem.proof import SPLIT, Proof, digest

Floats = NDArray[np.float64]


class Nodes:
    """Nodes in pre-order, and the rows of multipliers that they share.

    Parameters
    ----------
    n_parts : int
        How many of a row's multipliers are of parts; those of factors come next.
    """

    def __init__(self, n_parts: int) -> None:
        self._n_parts = n_parts
        self._kind: list[int] = []
        self._ptr = [0]
        self._arcs: list[int] = []
        self._bound: list[float] = []
        self._vector: list[int] = []
        self._rows: dict[tuple[bytes, bytes], int] = {}

    def split(self, arcs: Iterable[int]) -> None:
        """Ask whether a tree has one of these arcs."""
        self._arcs += np.asarray(arcs).tolist()
        self._add(SPLIT, 0.0, -1)

    def leaf(
        self, kind: int, bound: float, lam: Floats | None = None, count_lam: Floats | None = None
    ) -> None:
        """Close a subspace, with multipliers or without."""
        row = -1
        if lam is not None and count_lam is not None:
            key = (lam.tobytes(), count_lam.tobytes())
            row = self._rows.setdefault(key, len(self._rows))
        self._add(kind, bound, row)

    def _add(self, kind: int, bound: float, row: int) -> None:
        self._kind.append(kind)
        self._ptr.append(len(self._arcs))
        self._bound.append(bound)
        self._vector.append(row)

    def proof(self, problem: Problem, k_best: int) -> Proof:
        """The proof that these nodes are."""
        widths = (self._n_parts + len(problem.factor_arcs), len(problem.count_arcs))
        lam, count_lam = (
            np.frombuffer(b"".join(row[i] for row in self._rows)).reshape(len(self._rows), width)
            for i, width in enumerate(widths)
        )
        return Proof(
            digest(problem), k_best, np.array(self._kind, np.int8), np.array(self._ptr, np.int64),
            np.array(self._arcs, np.int32), np.array(self._bound), np.array(self._vector, np.int32),
            lam[:, self._n_parts :], count_lam, lam[:, : self._n_parts],
        )  # fmt: skip
