"""Labels of arcs: which ones are valid, the rule about the root, and the best ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bbparse.runtime.arrays import Ints
from bbparse.runtime.errors import ModelError

F = TypeVar("F", bound=np.floating[Any])

#: Most labels of a model.
MAX_LABELS = 512


def check_labels(labels: Sequence[str], root: int) -> None:
    """Raise `ModelError` unless labels are sorted words of text; ``root`` is one, -1: no rule."""
    if len(labels) > MAX_LABELS:
        raise ModelError(f"labels: found {len(labels)}, expected at most {MAX_LABELS}")
    for i, label in enumerate(labels):
        if not label or any(c in label for c in "\t\n\r"):
            raise ModelError(f"labels[{i}] is {label!r}, expected text without tabs and breaks")
        if i and labels[i - 1] >= label:
            raise ModelError(
                f"labels[{i}] is {label!r} after {labels[i - 1]!r}, expected sorted labels"
            )
    if not -1 <= root < len(labels):
        raise ModelError(f"root is {root}, expected the number of a label or -1")


def by_root(scores: NDArray[F], heads: Ints, root: int) -> NDArray[F]:
    """Set label scores, float[A, L], to -inf where the rule about the root excludes the label."""
    if root >= 0:
        scores[np.equal.outer(heads == 0, np.arange(scores.shape[1]) != root)] = -np.inf
    return scores


def best_numbers(scores: NDArray[F]) -> Ints:
    """Return the number of the best label of each arc by its scores; the first of equal ones."""
    return scores.argmax(axis=1).astype(np.int32)


def best_labels(labels: Sequence[str], scores: NDArray[F]) -> list[str]:
    """Return the best label of each arc, as `best_numbers`."""
    return [labels[i] for i in best_numbers(scores).tolist()]
