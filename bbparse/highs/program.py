"""Rows and columns of a program: maximise c·x with L <= Ax <= U and l <= x <= u."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import BBParseError

Terms = Sequence[tuple[int, float]]


def load_highspy() -> Any:
    """The module highspy; a BBParseError that names the extra where it is not installed."""
    try:
        import highspy
    except ImportError as error:
        raise BBParseError(
            "linear and integer programs need HiGHS, which is not installed:"
            " pip install 'bbparse[ilp]' (or pip install highspy)"
        ) from error
    return highspy


class Program:
    """A program that grows. Columns start at 0; every entry of the matrix is kept once.

    Attributes
    ----------
    cost, lower, upper : list of float, length C
        What a column is worth, and its bounds.
    whole : list of bool, length C
        Whether it must be a whole number.
    low, high : list of float, length R
        Bounds of the rows, infinite where there is none.
    constant : float
        Added to the objective.
    """

    def __init__(self) -> None:
        self.cost: list[float] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.whole: list[bool] = []
        self.low: list[float] = []
        self.high: list[float] = []
        self.constant = 0.0
        self._row, self._column, self._value = array("i"), array("i"), array("d")

    def column(
        self, cost: float, upper: float, whole: bool = False, rows: Iterable[int] = ()
    ) -> int:
        """A column from 0 to `upper`, with an entry of 1 in some rows; its index."""
        place = len(self.cost)
        self.cost.append(cost)
        self.lower.append(0.0)
        self.upper.append(upper)
        self.whole.append(whole)
        for row in rows:
            self._row.append(row)
            self._column.append(place)
            self._value.append(1.0)
        return place

    def row(self, terms: Terms, low: float, high: float) -> int:
        """low <= Σ terms <= high; its index."""
        place = len(self.low)
        self.low.append(float(low))
        self.high.append(float(high))
        self._row.extend(repeat(place, len(terms)))
        self._column.extend([column for column, _ in terms])
        self._value.extend([value for _, value in terms])
        return place

    def at_most(self, terms: Terms, limit: float) -> int:
        """Σ terms <= limit."""
        return self.row(terms, -math.inf, limit)

    def at_least(self, terms: Terms, limit: float) -> int:
        """Σ terms >= limit."""
        return self.row(terms, limit, math.inf)

    def equal(self, terms: Terms, value: float) -> int:
        """Σ terms = value."""
        return self.row(terms, value, value)

    def impossible(self) -> bool:
        """Whether a row without entries is out of its bounds."""
        empty = set(range(len(self.low))).difference(self._row)
        return any(self.low[row] > 0.0 or self.high[row] < 0.0 for row in empty)

    def entries(
        self, start: int = 0
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """Row, column and value of the entries made from the `start`-th on."""
        return (
            np.array(self._row[start:], np.int32), np.array(self._column[start:], np.int32),
            np.array(self._value[start:], np.float64),
        )  # fmt: skip

    def by_rows(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """The matrix row by row, as HiGHS takes it: starts, columns, values."""
        return compressed(*self.entries(), len(self.low))


def compressed(
    major: NDArray[np.int32], minor: NDArray[np.int32], value: NDArray[np.float64], size: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Entries sorted by `major` in 0..size-1: where each begins (int32[size + 1]), and the rest."""
    order = np.argsort(major, kind="stable")
    starts = np.zeros(size + 1, np.int32)
    np.cumsum(np.bincount(major, minlength=size), out=starts[1:])
    return starts, minor[order], value[order]
