"""Arrays and numbers as they must be: conversions and checks, each with a message of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bbparse.errors import ProblemError

#: The largest magnitude of a score: sums and bounds of larger ones could overflow.
MAX_SCORE = 1e100


def refuse(bad: NDArray[np.bool_], say: Callable[[int], str]) -> None:
    """Raise a ProblemError with what is to be said of the first place where something is bad."""
    if bad.any():
        raise ProblemError(say(int(bad.argmax())))


def off_quantum(scores: NDArray[np.float64], quantum: float) -> NDArray[np.bool_]:
    """Which finite scores are no integer multiples of the quantum.

    A sum of many multiples is off by rounding, so a thousandth of the quantum is forgiven.
    """
    ratio = np.where(np.isfinite(scores), scores, 0.0) / quantum
    wrong: NDArray[np.bool_] = np.abs(ratio - np.round(ratio)) > 1e-3 + 1e-12 * np.abs(ratio)
    return wrong


def as_ints(name: str, values: ArrayLike, dtype: type, ndim: int = 1) -> NDArray[Any]:
    """Copy of `values` as a C-contiguous integer array; ProblemError if they are none that fits."""
    array = _as_array(name, values, ndim)
    if array.size == 0:
        return np.zeros(array.shape, dtype=dtype)
    if array.dtype.kind not in "iu":
        raise ProblemError(f"{name} has dtype {array.dtype}, expected integers")
    limits = np.iinfo(dtype)
    if array.dtype != dtype and (array.min() < limits.min or array.max() > limits.max):
        flat = array.ravel()
        i = int(np.flatnonzero((flat < limits.min) | (flat > limits.max))[0])
        place = "".join(f"[{j}]" for j in np.unravel_index(i, array.shape))
        raise ProblemError(
            f"{name}{place} is {flat[i]}, expected {limits.min}..{limits.max} ({np.dtype(dtype)})"
        )
    return np.array(array, dtype=dtype, order="C")


def as_floats(name: str, values: ArrayLike, ndim: int = 1) -> NDArray[np.float64]:
    """Copy of `values` as a C-contiguous float64 array; ProblemError if they are no real numbers.
    """
    array = _as_array(name, values, ndim)
    if array.size and array.dtype.kind not in "iuf":
        raise ProblemError(f"{name} has dtype {array.dtype}, expected real numbers")
    return np.array(array, dtype=np.float64, order="C")


def _as_array(name: str, values: ArrayLike, ndim: int) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise ProblemError(f"{name} is not an array: {error}") from error
    if array.ndim != ndim:
        wanted = "one dimension" if ndim == 1 else f"{ndim} dimensions"
        raise ProblemError(f"{name} has shape {array.shape}, expected {wanted}")
    return array


def as_count(name: str, value: Any, low: int, high: int) -> int:
    """`value` as an int in low..high; ProblemError otherwise."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ProblemError(f"{name} is {value!r}, expected an integer")
    if not low <= int(value) <= high:
        raise ProblemError(f"{name} is {value}, expected {low}..{high}")
    return int(value)


def as_flag(name: str, value: Any) -> bool:
    """`value` as a bool; ProblemError for anything but True and False."""
    if not isinstance(value, bool | np.bool_):
        raise ProblemError(f"{name} is {value!r}, expected True or False")
    return bool(value)


def check_lengths(arrays: dict[str, NDArray[Any]], wanted: int, like: str) -> None:
    """Refuse the first array that does not have `wanted` elements, as `like` has."""
    for name, array in arrays.items():
        if len(array) != wanted:
            raise ProblemError(f"{name} has {len(array)} elements, expected {wanted} as in {like}")


def check_range(name: str, values: NDArray[Any], low: int, high: int) -> None:
    """Refuse the first value outside low..high."""
    refuse(
        (values < low) | (values > high),
        lambda i: f"{name}[{i}] is {values[i]}, expected {low}..{high}",
    )


def check_scores(name: str, scores: NDArray[np.float64], allow_minus_inf: bool = False) -> None:
    """Refuse NaN, what is larger than `MAX_SCORE` and (unless allowed) -inf."""

    def say(i: int) -> str:
        wanted = "a finite number or -inf" if allow_minus_inf else "a finite number"
        if np.isfinite(scores[i]):
            wanted += f" of magnitude <= {MAX_SCORE:g}"
        hint = ""
        if scores[i] < -MAX_SCORE and not allow_minus_inf:
            hint = " (leave the arc out instead)" if name == "arc_score" else " (use a factor)"
        return f"{name}[{i}] is {scores[i]}, expected {wanted}{hint}"

    good = np.abs(scores) <= MAX_SCORE
    refuse(~(good | (scores == -np.inf) if allow_minus_inf else good), say)
