"""Validation of arrays and numbers, by themselves and together, with a message for each fault."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bbparse.core.parts import ANY, DTYPES, KINDS, PART_NAMES, Part, ProblemArrays, pair_keys
from bbparse.runtime.arrays import Flags, Float64s
from bbparse.runtime.errors import BBParseError, ProblemError

#: Maximum length of a sentence: keys of four word indices must fit 64 bits.
MAX_WORDS = 32_000
#: Maximum magnitude of a score: sums and bounds of larger ones could overflow.
MAX_SCORE = 1e100
#: Maximum magnitude of a score that is an integer: a float64 holds all up to it.
MAX_EXACT = 1 << 53


#: Axes of a matrix of arc scores, for messages.
AXES = "rows are dependents, columns are heads, 0 is the root"


@contextmanager
def error_context(place: str) -> Iterator[None]:
    """Name a file, or a sentence of a batch, in errors about it."""
    try:
        yield
    except ProblemError as error:
        raise ProblemError(f"{place}: {error}") from None


def refuse(bad: Flags, message: Callable[[int], str]) -> None:
    """Raise a ProblemError for the first true element; `message` takes its index."""
    if bad.any():
        raise ProblemError(message(int(bad.argmax())))


def off_quantum(scores: Float64s, quantum: float) -> Flags:
    """Return which finite scores are not integer multiples of the quantum.

    A multiple may be rounded, like 0.3 for a quantum of 0.1, but no sum of them: what is left where
    large terms cancel out is a score like any other, though it be far smaller than the quantum.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.where(np.isfinite(scores), scores, 0.0)
        errors = np.abs(values - np.round(values / quantum) * quantum)
        is_near: Flags = errors <= 2.0**-51 * np.abs(values)
    return ~is_near


def common_quantum(quantum: float, *scores: Float64s) -> float:
    """Return the quantum of a problem that gets more scores: 0 if they are no multiples of it."""
    return 0.0 if quantum and any(off_quantum(x, quantum).any() for x in scores) else quantum


def as_ints(name: str, values: ArrayLike, dtype: type, ndim: int = 1) -> NDArray[Any]:
    """Copy `values` to a C-contiguous integer array; ProblemError if they do not fit."""
    array = _as_array(name, values, ndim)
    if array.size == 0:
        return np.zeros(array.shape, dtype=dtype)
    if array.dtype.kind not in "iu":
        raise ProblemError(f"{name} has dtype {array.dtype}, expected integers")
    limits = np.iinfo(dtype)
    if array.dtype != dtype and (array.min() < limits.min or array.max() > limits.max):
        flat = array.ravel()
        i = int(np.flatnonzero((flat < limits.min) | (flat > limits.max))[0])
        index = "".join(f"[{j}]" for j in np.unravel_index(i, array.shape))
        raise ProblemError(
            f"{name}{index} is {flat[i]}, expected {limits.min}..{limits.max} ({np.dtype(dtype)})"
        )
    return np.array(array, dtype=dtype, order="C")


def as_floats(name: str, values: ArrayLike, ndim: int = 1) -> Float64s:
    """Copy `values` to a C-contiguous float64 array; ProblemError if they are not real numbers."""
    array = _as_array(name, values, ndim)
    if array.size and array.dtype.kind not in "iuf":
        raise ProblemError(f"{name} has dtype {array.dtype}, expected real numbers")
    check_exact(name, array)
    return np.array(array, dtype=np.float64, order="C")


def as_numbers(name: str, values: ArrayLike, dtype: type, ndim: int = 1) -> NDArray[Any]:
    """Copy `values` to an array of a dtype, by `as_floats` for float64, else by `as_ints`."""
    if dtype is np.float64:
        return as_floats(name, values, ndim)
    return as_ints(name, values, dtype, ndim)


def check_exact(name: str, values: NDArray[Any]) -> None:
    """Refuse the first integer that float64 cannot represent exactly."""
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        flat = values.ravel()
        refuse(
            (flat > MAX_EXACT) | ((flat < 0) & (flat < -MAX_EXACT)),
            lambda i: (
                f"{name}[{', '.join(map(str, np.unravel_index(i, values.shape)))}] is"
                f" {flat[i]}, expected at most 2**53, beyond which digits are lost, or a float"
            ),
        )


def unmasked(values: Any) -> Any:
    """Return arc scores with -inf (no such arc) for masked elements."""
    if not np.ma.is_masked(values):
        return values
    check_exact("scores", values.filled(0))
    return values.astype(np.float64).filled(-np.inf)


def _as_array(name: str, values: ArrayLike, ndim: int) -> NDArray[Any]:
    if np.ma.is_masked(values):
        raise ProblemError(f"{name} is an array with masked elements, expected a number for each")
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise ProblemError(f"{name} is not an array: {error}") from error
    if array.ndim != ndim:
        expected = "one dimension" if ndim == 1 else f"{ndim} dimensions"
        raise ProblemError(f"{name} has shape {array.shape}, expected {expected}")
    return array


def as_count(name: str, value: Any, low: int, high: int) -> int:
    """Return `value` as an int in low..high; ProblemError otherwise."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ProblemError(f"{name} is {value!r}, expected an integer")
    if not low <= int(value) <= high:
        raise ProblemError(f"{name} is {value}, expected {low}..{high}")
    return int(value)


def as_flag(name: str, value: Any) -> bool:
    """Return `value` as a bool; ProblemError for anything but True and False."""
    if not isinstance(value, bool | np.bool_):
        raise ProblemError(f"{name} is {value!r}, expected True or False")
    return bool(value)


def check_lengths(arrays: dict[str, NDArray[Any]], length: int, like: str) -> None:
    """Refuse the first array that does not have `length` elements, as `like` has."""
    for name, array in arrays.items():
        if len(array) != length:
            raise ProblemError(f"{name} has {len(array)} elements, expected {length} as in {like}")


def check_range(name: str, values: NDArray[Any], low: int, high: int) -> None:
    """Refuse the first value outside low..high."""
    refuse(
        (values < low) | (values > high),
        lambda i: f"{name}[{i}] is {values[i]}, expected {low}..{high}",
    )


def is_score(values: NDArray[Any]) -> Flags:
    """Return which numbers are -inf, or finite and at most `MAX_SCORE` in magnitude."""
    is_valid: Flags = (np.abs(values) <= MAX_SCORE) | (values == -np.inf)
    return is_valid


def check_scores(name: str, scores: Float64s, allow_minus_inf: bool = False) -> None:
    """Refuse NaN, magnitudes above `MAX_SCORE` and (unless allowed) -inf."""

    def message(i: int) -> str:
        expected = "a finite number or -inf" if allow_minus_inf else "a finite number"
        if np.isfinite(scores[i]):
            expected += f" of magnitude <= {MAX_SCORE:g}"
        hint = ""
        if scores[i] < -MAX_SCORE and not allow_minus_inf:
            hint = " (leave the arc out instead)" if name == "arc_score" else " (use a factor)"
        return f"{name}[{i}] is {scores[i]}, expected {expected}{hint}"

    is_valid = is_score(scores) if allow_minus_inf else np.abs(scores) <= MAX_SCORE
    refuse(~is_valid, message)


def check_matrix(name: str, arcs: NDArray[Any]) -> None:
    """Refuse arc scores [d, h] that are not the matrix of a sentence, or are transposed."""
    size = len(arcs)
    if arcs.shape != (size, size) or size < 2:
        raise ProblemError(
            f"{name} has shape {arcs.shape}, expected (n + 1, n + 1) for n >= 1 words: {AXES}"
        )
    is_fine = is_score(arcs)
    is_fine[0] = True
    np.fill_diagonal(is_fine, True)
    if not is_fine.all():
        d, h = np.argwhere(~is_fine)[0]
        raise ProblemError(
            f"{name}[{d}, {h}] is {arcs[d, h]}, expected a number of magnitude <="
            f" {MAX_SCORE:g} or -inf in shape {arcs.shape}: {AXES}"
        )
    if (arcs[1:, 0] == -np.inf).all() and np.isfinite(arcs[0, 1:]).any():
        raise ProblemError(
            f"{name} has shape {arcs.shape} and column 0 is -inf, so no word can depend on the"
            f" root: transpose the matrix; {AXES}"
        )


def first_repeat(keys: NDArray[Any]) -> tuple[int, int] | None:
    """Return the index of the first repeated key, and of its first occurrence; None: no repeat."""
    order = np.argsort(keys, kind="stable")
    repeats = order[1:][keys[order[1:]] == keys[order[:-1]]]
    if not len(repeats):
        return None
    i = int(repeats.min())
    return i, int(np.flatnonzero(keys == keys[i])[0])


def check_problem(p: ProblemArrays) -> None:
    """Refuse the first violation of the `Problem` contract but of dtypes and dimensions."""
    _check_arcs(p)
    for kind in KINDS:
        _check_parts(p, kind)
    _check_factors(p)
    _check_counts(p)
    if not (np.isfinite(p.quantum) and p.quantum >= 0):
        raise ProblemError(f"quantum is {p.quantum}, expected a finite number >= 0")
    if p.quantum > 0:
        for name in (name for name in DTYPES if name.endswith("_score")):
            values = getattr(p, name)
            refuse(
                off_quantum(values, p.quantum),
                lambda i: (
                    f"{name}[{i}] is {values[i]}, expected a multiple of"  # noqa: B023
                    f" quantum = {p.quantum}"
                ),
            )


def _check_distinct(name: str, other: str, values: NDArray[Any], excluded: NDArray[Any]) -> None:
    refuse(
        values == excluded, lambda i: f"{name}[{i}] is {values[i]}, the same word as {other}[{i}]"
    )


def _check_arcs(p: ProblemArrays) -> None:
    n, count = p.n_words, len(p.arc_head)
    arrays: dict[str, NDArray[Any]] = {
        "arc_mod": p.arc_mod,
        "arc_score": p.arc_score,
        "arc_state": p.arc_state,
    }
    if p.arc_label is not None:
        arrays["arc_label"] = p.arc_label
    check_lengths(arrays, count, "arc_head")
    if not count:
        return
    check_range("arc_head", p.arc_head, 0, n)
    check_range("arc_mod", p.arc_mod, 1, n)
    check_range("arc_state", p.arc_state, -1, 1)
    _check_distinct("arc_mod", "arc_head", p.arc_mod, p.arc_head)
    check_scores("arc_score", p.arc_score)
    keys = pair_keys(n, p.arc_head, p.arc_mod)
    if p.arc_label is not None:
        check_range("arc_label", p.arc_label, 0, np.iinfo(np.int32).max)
        keys = (keys << 31) + p.arc_label
    if repeat := first_repeat(keys):
        i, j = repeat
        labelled = "" if p.arc_label is None else f" with label {p.arc_label[i]}"
        raise ProblemError(
            f"arc_mod[{i}] repeats the arc {p.arc_head[i]} -> {p.arc_mod[i]}{labelled} of"
            f" arc_mod[{j}]"
        )
    required = np.flatnonzero(p.arc_state == 1)
    if repeat := first_repeat(p.arc_mod[required]):
        i = int(required[repeat[0]])
        raise ProblemError(f"arc_state[{i}] requires a second head of word {p.arc_mod[i]}")


def _check_repeats(kind: str, n: int, part: Part) -> None:
    keys = np.zeros(len(part.head), np.int64)
    for column in part[:-1]:
        keys = keys * (n + 3) + (column - ANY)
    if repeat := first_repeat(keys):
        i, j = repeat
        words = ", ".join(str(column[i]) for column in part[:-1] if column[i] != ANY)
        raise ProblemError(
            f"{kind}_score[{i}] scores the part ({words}) of {kind}_score[{j}] again"
        )


def _check_parts(p: ProblemArrays, kind: str) -> None:
    names = PART_NAMES[kind]
    part: Part = getattr(p.parts, kind)
    name = {column.rpartition("_")[2]: column for column in names}
    grand, head, inner = (name.get(role, "") for role in ("grand", "head", "inner"))
    mod = names[-2]
    arrays = {column: getattr(p, column) for column in names}
    check_lengths(arrays, len(part.head), head)
    if not len(part.head):
        return
    lowest = {inner: -1, grand: -1 if inner else 0, head: 0 if inner else 1, mod: 1}
    for column in names[:-1]:
        check_range(column, arrays[column], lowest[column], p.n_words)
    _check_distinct(mod, head, part.mod, part.head)
    if inner:
        _check_inner(part, inner, head, mod)
    if grand and inner:
        refuse(
            (part.grand == -1) != (part.head == 0),
            lambda i: (
                f"{grand}[{i}] is {part.grand[i]},"
                f" expected {'0..' + str(p.n_words) if part.head[i] else -1}"
                f" as {head}[{i}] is {part.head[i]}"
            ),
        )
        _check_distinct(grand, head, part.grand, part.head)
        _check_distinct(grand, mod, part.grand, part.mod)
        _check_distinct(inner, grand, np.where(part.inner == -1, -2, part.inner), part.grand)
    elif grand:
        _check_distinct(head, grand, part.head, part.grand)
        _check_distinct(mod, grand, part.mod, part.grand)
    check_scores(names[-1], part.score)
    _check_repeats(kind, p.n_words, part)


def _check_inner(part: Part, inner: str, head: str, mod: str) -> None:
    low, high = np.minimum(part.head, part.mod), np.maximum(part.head, part.mod)
    between = (low < part.inner) & (part.inner < high)
    refuse(
        (part.inner != -1) & ~between,
        lambda i: (
            f"{inner}[{i}] is {part.inner[i]}, expected -1 or a word strictly between"
            f" {head}[{i}] = {part.head[i]} and {mod}[{i}] = {part.mod[i]}"
        ),
    )


def _check_sets(p: ProblemArrays, kind: str, title: str, min_arcs: int) -> None:
    """Check the sets of arcs of factors or count factors, which have at least `min_arcs` arcs."""
    ptr, arcs = getattr(p, f"{kind}_ptr"), getattr(p, f"{kind}_arcs")
    if not len(ptr):
        raise ProblemError(f"{kind}_ptr is empty, expected one element more than {title}s")
    if ptr[0] != 0:
        raise ProblemError(f"{kind}_ptr[0] is {ptr[0]}, expected 0")
    sizes = np.diff(ptr)
    refuse(
        (sizes < 0) | (ptr[1:] > len(arcs)),
        lambda f: (
            f"{kind}_ptr[{f + 1}] is {ptr[f + 1]}, expected {ptr[f] + min_arcs}..{len(arcs)}"
            f" after {kind}_ptr[{f}] = {ptr[f]}"
        ),
    )
    refuse(
        sizes < min_arcs,
        lambda f: (
            f"{kind}_ptr[{f + 1}] is {ptr[f + 1]}: {title} {f} has {sizes[f]} arcs,"
            f" expected at least {min_arcs}"
        ),
    )
    if ptr[-1] != len(arcs):
        raise ProblemError(
            f"{kind}_ptr[{len(ptr) - 1}] is {ptr[-1]}, expected {len(arcs)}:"
            f" the number of elements of {kind}_arcs"
        )
    check_range(f"{kind}_arcs", arcs, 0, len(p.arc_head) - 1)
    keys = np.repeat(np.arange(len(sizes)), sizes) * max(1, len(p.arc_head)) + arcs
    if repeat := first_repeat(keys):
        i = repeat[0]
        raise ProblemError(f"{kind}_arcs[{i}] is {arcs[i]}, which repeats an arc of its factor")


def _check_factors(p: ProblemArrays) -> None:
    if len(p.factor_score) != len(p.factor_ptr) - 1 and len(p.factor_ptr):
        raise ProblemError(
            f"factor_score has {len(p.factor_score)} elements, expected {len(p.factor_ptr) - 1}:"
            " one fewer than factor_ptr"
        )
    _check_sets(p, "factor", "factor", 2)
    check_scores("factor_score", p.factor_score, allow_minus_inf=True)


def _check_counts(p: ProblemArrays) -> None:
    _check_sets(p, "count", "count factor", 1)
    ptr = p.count_score_ptr
    check_lengths({"count_score_ptr": ptr}, len(p.count_ptr), "count_ptr")
    # A set of r arcs has a score for each of the numbers 0..r.
    expected = p.count_ptr + np.arange(len(ptr))
    sizes = np.diff(p.count_ptr)
    refuse(
        ptr != expected,
        lambda i: (
            f"count_score_ptr[{i}] is {ptr[i]}, expected {expected[i]}"
            + (f": count factor {i - 1} has {sizes[i - 1]} arcs" if i else "")
        ),
    )
    if len(p.count_score) != ptr[-1]:
        raise ProblemError(
            f"count_score has {len(p.count_score)} elements, expected {ptr[-1]} ="
            f" count_score_ptr[{len(ptr) - 1}]"
        )
    check_scores("count_score", p.count_score, allow_minus_inf=True)


def checked_score(
    where: str,
    value: Any,
    most: float = MAX_SCORE,
    or_never: bool = False,
    error: type[BBParseError] = ProblemError,
) -> float:
    """Return a number as a float; raise `error` unless it is in range, or -inf if that may be."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise error(f"{where} is {value!r:.60}, expected a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not (-MAX_SCORE <= number <= most or (or_never and number == -math.inf)):
        never = ", or -inf for a tree that is forbidden" if or_never else ""
        raise error(
            f"{where} is {number}, expected a number from {-MAX_SCORE:g} to {most:g}{never}"
        )
    return number
