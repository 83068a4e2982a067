"""Weights of many labels side by side: a row for each feature, a column for each label.

A feature costs one random access to memory, and adding its row is a matter of vector instructions.
Rows are a whole number of memory lines long, and weights have 16 bits: what limits speed is the
number of lines read. Files hold the weights without the zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ModelError
from bbparse.storage.archive import INTS, TEXT, Rule

__all__ = [
    "LABEL_QUANTUM", "MAX_LABELS", "aligned_rows", "array_rules", "checked_labels", "in_quanta",
    "rows_from_arrays", "rows_to_arrays",
]  # fmt: skip

#: What a weight of 1 is worth: 16 bits reach from -8 to 8; trained weights stay between -5 and 5.
LABEL_QUANTUM = 2.0**-12
#: Labels that there may be: there is memory for all of them in each row.
MAX_LABELS = 512

_LINE = 64  # bytes of a line of memory
_PER_LINE = _LINE // 2
# Weights below this are left out: half of those that are not 0, and worth nothing.
_LEAST_WEIGHT = 0.03


def aligned_rows(n_rows: int, n_labels: int) -> NDArray[np.int16]:
    """Zeros, int16[n_rows, whole lines of memory], that start on a line of memory."""
    width = -(-n_labels // _PER_LINE) * _PER_LINE
    raw = np.zeros(n_rows * width * 2 + _LINE, np.uint8)
    offset = -raw.ctypes.data % _LINE
    return raw[offset : offset + n_rows * width * 2].view(np.int16).reshape(n_rows, width)


def in_quanta(weights: NDArray[np.float32]) -> NDArray[np.int16]:
    """Weights in quanta of `LABEL_QUANTUM`, small ones left out."""
    limits = np.iinfo(np.int16)
    quanta = np.rint(weights / np.float32(LABEL_QUANTUM))
    quanta[np.abs(weights) < _LEAST_WEIGHT] = 0.0
    return np.clip(quanta, limits.min, limits.max).astype(np.int16)


def checked_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """The labels, if a model can have them.

    Raises
    ------
    ModelError
        If there are none or too many, or they are not sorted, or not each a word of text.
    """
    if not 1 <= len(labels) <= MAX_LABELS:
        raise ModelError(f"labels: found {len(labels)}, expected 1 to {MAX_LABELS}")
    for i, label in enumerate(labels):
        if not label or any(c in label for c in "\t\n\r"):
            raise ModelError(f"labels[{i}] is {label!r}, expected text without tabs and breaks")
        if i and labels[i - 1] >= label:
            raise ModelError(
                f"labels[{i}] is {label!r} after {labels[i - 1]!r}, expected sorted labels"
            )
    return labels


def array_rules(prefix: str) -> dict[str, Rule]:
    """Arrays of a model file, with the rules that `read_archive` checks them by."""
    columns = f"{prefix}_columns"
    return {
        f"{prefix}_names": (TEXT, 1, None),
        f"{prefix}_root": (INTS, 0, None),
        f"{prefix}_counts": ("u", 1, None),
        columns: ("u", 1, columns),
        f"{prefix}_weights": ("i", 1, columns),
    }


def rows_to_arrays(
    prefix: str, labels: tuple[str, ...], weights: NDArray[np.int16], root: int = -1
) -> dict[str, NDArray[Any]]:
    """What `rows_from_arrays` reads: the arrays of `array_rules`, zeros left out."""
    rows, columns = np.nonzero(weights)
    return {
        f"{prefix}_names": np.array(labels),
        f"{prefix}_root": np.array(root, np.int32),
        f"{prefix}_counts": np.bincount(rows, minlength=len(weights)).astype(np.uint16),
        f"{prefix}_columns": columns.astype(np.uint16),
        f"{prefix}_weights": weights[rows, columns],
    }


def rows_from_arrays(
    prefix: str, arrays: Mapping[str, NDArray[Any]], size: int, where: str
) -> tuple[tuple[str, ...], NDArray[np.int16], int]:
    """Labels, weights int16[size, whole lines of memory], and the root's label.

    Parameters
    ----------
    prefix : str
        Of the arrays' names.
    arrays : mapping of arrays
        With dtypes and dimensions as `array_rules` has them; others may be there too.
    size : int
        Rows expected.
    where : str
        Name of the file, for messages.

    Raises
    ------
    ModelError
        If an array is missing or does not fit the others.
    """
    for name in array_rules(prefix):
        if name not in arrays:
            raise ModelError(f"{where}: array {name} is missing")
    names = tuple(arrays[f"{prefix}_names"].tolist())
    counts, columns = arrays[f"{prefix}_counts"], arrays[f"{prefix}_columns"]
    values = arrays[f"{prefix}_weights"]
    try:
        checked_labels(names)
    except ModelError as error:
        raise ModelError(f"{where}: {error}") from None
    if len(counts) != size:
        raise ModelError(f"{where}: {prefix}_counts has {len(counts)} elements, expected {size}")
    if int(counts.max()) > len(names):
        raise ModelError(
            f"{where}: {prefix}_counts goes up to {int(counts.max())},"
            f" expected at most the {len(names)} labels"
        )
    total = int(counts.sum(dtype=np.uint64))
    if total != len(columns):
        raise ModelError(
            f"{where}: {prefix}_counts adds up to {total}, expected the {len(columns)} elements"
            f" of {prefix}_columns"
        )
    if len(columns) and int(columns.max()) >= len(names):
        raise ModelError(
            f"{where}: {prefix}_columns goes up to {int(columns.max())},"
            f" expected less than {len(names)}"
        )
    if values.dtype != np.int16:
        raise ModelError(f"{where}: {prefix}_weights has dtype {values.dtype}, expected int16")
    weights = aligned_rows(size, len(names))
    place = np.repeat(np.arange(size) * weights.shape[1], counts)
    place += columns
    weights.reshape(-1)[place] = values
    return names, weights, int(arrays[f"{prefix}_root"])
