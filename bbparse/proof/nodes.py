"""The nodes of a proof while it is being written."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bbparse.problem import Problem
from bbparse.problem.proof import SPLIT, Proof, digest
from bbparse.proof.automata import pairs_of

Floats = NDArray[np.float64]


class Nodes:
    """Nodes in pre-order, and the rows of multipliers that they share."""

    def __init__(self) -> None:
        self._kind: list[int] = []
        self._ptr = [0]
        self._arcs: list[int] = []
        self._bound: list[float] = []
        self._vector: list[int] = []
        self._rows: dict[tuple[bytes, ...], int] = {}

    def split(self, arcs: Iterable[int]) -> None:
        """Ask whether a tree has one of these arcs."""
        self._arcs += np.asarray(arcs).tolist()
        self._add(SPLIT, 0.0, -1)

    def leaf(self, kind: int, bound: float, multipliers: tuple[Floats, ...] = ()) -> None:
        """Close a subspace, with multipliers of factors, counts and pairs or without."""
        row = -1
        if multipliers:
            key = tuple(lam.tobytes() for lam in multipliers)
            row = self._rows.setdefault(key, len(self._rows))
        self._add(kind, bound, row)

    def _add(self, kind: int, bound: float, row: int) -> None:
        self._kind.append(kind)
        self._ptr.append(len(self._arcs))
        self._bound.append(bound)
        self._vector.append(row)

    def proof(
        self, problem: Problem, k_best: int, order: NDArray[np.int64] | None = None
    ) -> Proof:
        """The proof that these nodes are; order: the problem's arc for each arc they name."""
        widths = (len(problem.factor_arcs), len(problem.count_arcs), 2 * len(pairs_of(problem)))
        multipliers = [
            np.frombuffer(b"".join(row[i] for row in self._rows)).reshape(len(self._rows), width)
            for i, width in enumerate(widths)
        ]
        arcs = np.array(self._arcs, np.int32)
        return Proof(
            digest(problem), k_best, np.array(self._kind, np.int8), np.array(self._ptr, np.int64),
            arcs if order is None else order[arcs].astype(np.int32), np.array(self._bound),
            np.array(self._vector, np.int32), *multipliers,
        )  # fmt: skip
