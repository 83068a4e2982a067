"""`Solution`: the trees that a solver found, with bounds, proofs and statistics."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bbparse.core import check
from bbparse.core.files import read_solution, write_solution
from bbparse.core.proof import Proof
from bbparse.runtime.arrays import Flags, Float64s, Ints
from bbparse.runtime.errors import ProblemError

#: Reasons for the end of a search.
STATUSES = ("optimal", "gap", "time_limit", "node_limit", "work_limit", "infeasible", "tree_limit")


@dataclass(frozen=True, eq=False, init=False)
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
        One of `STATUSES`.
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

    Raises
    ------
    ProblemError
        If shapes or dtypes are wrong, scores increase, or the status is unknown.
    """

    heads: Ints
    arcs: Ints
    scores: Float64s
    upper_bounds: Float64s
    proved: Flags
    status: str
    stats: dict[str, float | int]
    proof: Proof | None
    conflict: tuple[str, ...]
    labels: Ints | None

    def __init__(  # noqa: PLR0913 – public keywords
        self,
        heads: ArrayLike,
        arcs: ArrayLike,
        scores: ArrayLike,
        upper_bounds: ArrayLike,
        proved: ArrayLike,
        status: str,
        stats: Mapping[str, float | int] | None = None,
        proof: Proof | None = None,
        conflict: Iterable[str] = (),
        labels: ArrayLike | None = None,
    ) -> None:
        flags = np.array(proved)
        if (flags.size and flags.dtype != np.bool_) or flags.ndim != 1:
            raise ProblemError(
                f"proved has dtype {flags.dtype} and shape {flags.shape},"
                " expected bool and one dimension"
            )
        self._fill(
            heads=check.as_ints("heads", heads, np.int32, ndim=2),
            arcs=check.as_ints("arcs", arcs, np.int32, ndim=2),
            scores=check.as_floats("scores", scores),
            upper_bounds=check.as_floats("upper_bounds", upper_bounds),
            proved=flags.astype(np.bool_), status=status, stats=dict(stats or {}), proof=proof,
            conflict=tuple(conflict),
            labels=None if labels is None else check.as_ints("labels", labels, np.int32, ndim=2),
        )
        self._check()

    def _fill(self, **values: Any) -> None:
        for value in values.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self.__dict__.update(values)

    @classmethod
    def trusted(cls, *values: Any, **others: Any) -> Solution:
        """Make a solution from valid arrays: nothing is checked or copied.

        Arguments are those of the class, ``stats`` among them.
        """
        solution = object.__new__(cls)
        fields = {**dict(zip(cls.__dataclass_fields__, values)), **others}
        solution._fill(**{"proof": None, "conflict": (), "labels": None, **fields})
        return solution

    def _check(self) -> None:
        count = len(self.scores)
        others = {"heads": self.heads, "arcs": self.arcs}
        check.check_lengths(
            {**others, "upper_bounds": self.upper_bounds, "proved": self.proved}, count, "scores"
        )
        n = self.heads.shape[1] - 1
        if self.arcs.shape[1] != n:
            raise ProblemError(
                f"arcs has shape {self.arcs.shape}, expected {(count, n)} as heads has"
                f" {self.heads.shape}"
            )
        for k in range(count):
            if self.heads[k, 0] != -1:
                raise ProblemError(f"heads[{k}, 0] is {self.heads[k, 0]}, expected -1")
            check.check_range(f"heads[{k}, 1:]", self.heads[k, 1:], 0, n)
            check.check_range(f"arcs[{k}]", self.arcs[k], 0, np.iinfo(np.int32).max)
        check.refuse(
            ~np.isfinite(self.scores),
            lambda i: f"scores[{i}] is {self.scores[i]}, expected a finite number",
        )
        check.refuse(
            np.isnan(self.upper_bounds), lambda i: f"upper_bounds[{i}] is nan, expected a number"
        )
        check.refuse(
            np.diff(self.scores) > 0,
            lambda i: f"scores[{i + 1}] is {self.scores[i + 1]}, expected at most scores[{i}] ="
            f" {self.scores[i]}",
        )
        if self.status not in STATUSES:
            raise ProblemError(f"status is {self.status!r}, expected one of {', '.join(STATUSES)}")
        if self.conflict and self.status != "infeasible":
            raise ProblemError(f"conflict is given, but status is {self.status!r}")
        for i, line in enumerate(self.conflict):
            if not isinstance(line, str):
                raise ProblemError(f"conflict[{i}] is {line!r}, expected a text")
        for name, value in self.stats.items():
            if not isinstance(name, str) or not isinstance(value, int | float | np.number):
                raise ProblemError(f"stats[{name!r}] is {value!r}, expected a number by name")

    @property
    def upper_bound(self) -> float:
        """Upper bound on the scores of all trees of the problem; -inf if there is no tree."""
        if len(self.upper_bounds):
            return float(self.upper_bounds[0])
        return -np.inf if self.status == "infeasible" else np.inf

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

    def with_labels(self, labels: Ints) -> Solution:
        """Return this solution with the labels int32[K, n] of its arcs, which are not checked."""
        return Solution.trusted(**{**self.__dict__, "labels": labels})

    def first(self, count: int) -> Solution:
        """Return only the first trees, if the time limit left no time for the others."""
        if count >= len(self):
            return self
        names = ("heads", "arcs", "scores", "upper_bounds", "proved", "labels")
        arrays = {name: getattr(self, name) for name in names}
        cut = {name: None if array is None else array[:count] for name, array in arrays.items()}
        return Solution.trusted(**{**self.__dict__, **cut, "status": "time_limit", "proof": None})

    def stopped(self, status: str, unproved: bool = False) -> Solution:
        """Return this solution with the status of a limit, and without its proof if `unproved`."""
        proved, bounds = self.proved & (not unproved), self.upper_bounds
        bounds = np.where(proved, bounds, np.inf) if unproved else bounds
        changed = {"status": status, "proved": proved, "upper_bounds": bounds, "proof": None}
        return Solution.trusted(**{**self.__dict__, **changed})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an .npz file; see `Problem.save`."""
        names = [name for name in self.__dataclass_fields__ if name != "labels"]
        write_solution(path, {name: getattr(self, name) for name in names})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Solution:
        """Read a file written by `save`; see `Problem.load`."""
        values = read_solution(path)
        with check.naming(os.fspath(path)):
            return cls(**values)
