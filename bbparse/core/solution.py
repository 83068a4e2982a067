"""`Solution`: the trees that a solver found, with bounds, proofs and statistics."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bbparse.core.check import as_floats, as_ints, error_context
from bbparse.core.files import read_solution, write_solution
from bbparse.core.proof import Proof
from bbparse.runtime.arrays import Flags, Float64s, Ints


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """The best trees of a problem, best first, with bounds and statistics.

    Parameters
    ----------
    heads : int32[K, n + 1]
        heads[k, m] is the head of word m in the k-th best tree; heads[k, 0] is -1.
    arcs : int32[K, n]
        arcs[k, m - 1] is the index of the arc of word m in the problem.
    scores : float64[K]
        φ of each tree, descending.
    upper_bounds : float64[K]
        The k-th best tree of the problem scores at most upper_bounds[k].
    proved : bool[K]
        True if the k-th tree is proved to be the k-th best.
    status : str
        Reason for the end of the search: "optimal", "infeasible", "gap", "time_limit",
        "node_limit", "work_limit" or "tree_limit".
    stats : dict
        Counts and times of the search, by name.
    proof : Proof, optional
        Certificate that these are the best trees, for `bbparse.inference.proof.verify`.
    conflict : tuple of str
        If there is no tree: a set of constraints, in words, that no tree satisfies (see
        `bbparse.explain_infeasible`); empty if it was not requested or not found within the limits.
    labels : int32[K, n], optional
        Labels of the arcs, if the problem has labels. They are not saved, since they equal
        ``problem.arc_label[solution.arcs]``.
    """

    heads: Ints
    arcs: Ints
    scores: Float64s
    upper_bounds: Float64s
    proved: Flags
    status: str
    stats: dict[str, float | int] = field(default_factory=dict)
    proof: Proof | None = None
    conflict: tuple[str, ...] = ()
    labels: Ints | None = None

    def __post_init__(self) -> None:
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @property
    def upper_bound(self) -> float:
        """Upper bound on the scores of all trees of the problem; -inf if there is no tree."""
        if len(self.upper_bounds):
            return float(self.upper_bounds[0])
        return -np.inf if self.status == "infeasible" else np.inf

    @property
    def work(self) -> float:
        """Hyperedges that the search has visited."""
        return self.stats.get("dp_work", 0.0) * self.stats.get("edges", 0)

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.scores)

    def __repr__(self) -> str:
        if not len(self):
            reason = f": {'; '.join(self.conflict)}" if self.conflict else ""
            return f"Solution(no tree, {self.status}{reason})"
        best = f"best {self.scores[0]:.6g} <= {self.upper_bounds[0]:.6g}"
        return (
            f"Solution({len(self)} trees, {int(self.proved.sum())} proved, {best}, {self.status})"
        )

    def first(self, count: int) -> Solution:
        """Return the first trees, when the time was too short for the others."""
        if count >= len(self):
            return self
        arrays = {k: v for k, v in self.__dict__.items() if isinstance(v, np.ndarray)}
        rows: dict[str, Any] = {name: array[:count] for name, array in arrays.items()}
        return replace(self, **rows, status="time_limit", proof=None)

    def stopped(self, status: str, unproved: bool = False) -> Solution:
        """Return this solution with the status of a limit, and without its proof if `unproved`."""
        proved, bounds = self.proved & (not unproved), self.upper_bounds
        bounds = np.where(proved, bounds, np.inf) if unproved else bounds
        return replace(self, status=status, proved=proved, upper_bounds=bounds, proof=None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an .npz file; see `Problem.save`."""
        names = [name for name in self.__dataclass_fields__ if name != "labels"]
        write_solution(path, {name: getattr(self, name) for name in names})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Solution:
        """Read a file written by `save`; see `Problem.load`."""
        values = read_solution(path)
        with error_context(os.fspath(path)):
            for name in ("heads", "arcs"):
                values[name] = as_ints(name, values[name], np.int32, ndim=2)
            for name in ("scores", "upper_bounds"):
                values[name] = as_floats(name, values[name])
        return cls(**{**values, "conflict": tuple(values["conflict"])})
