"""Marks: what the guide says of an arc, for the templates of the model to build on.

The guide (`bbparse.scoring.network`) sees every arc by itself. Its mark of an arc is the best label
that the arc could have, and how likely the arc is among the candidates of its modifier, in 12
steps. Templates have both as atoms: ``@label`` and ``@odds`` of the arc itself, ``@slabel`` and
``@glabel`` of the arcs to its sibling and to its head. So the model learns which labels go together
(a verb takes one subject, an object's modifiers are other ones than a verb's) although its trees
have no labels, and how far a classifier that saw the arc alone is to be trusted.

This is stacking (Nivre & McDonald 2008; Martins, Das, Smith & Xing 2008) with another kind of
classifier below. It only works if the marks of training sentences are as good as those of new ones:
they come from a guide that was trained on other sentences (`bbparse.learning.candidates`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ProblemError
from bbparse.factors.view import LABEL_BITS, NO_LABEL
from bbparse.jit import kernel

Ints = NDArray[np.int32]

#: Where no template has atoms of the guide. Writable, as every array that a kernel sees: read-only
#: ones are of another type to numba, and would cost a second compilation.
NO_MARKS = np.zeros((1, 1), np.uint16)


def checked_marks(
    marks: NDArray[np.uint16] | None, size: int, needed: bool
) -> NDArray[np.uint16]:
    """Marks as the kernels read them; `ProblemError` if those needed are missing or of another
    size.
    """
    if not needed:
        return NO_MARKS
    if marks is None or marks.shape != (size, size):
        found = "none" if marks is None else f"shape {marks.shape}"
        raise ProblemError(f"marks: found {found}, expected shape {(size, size)}")
    return marks


def steps_of(marks: NDArray[np.uint16]) -> Ints:
    """Steps of the odds of arcs with these marks, 0 to 11."""
    return (marks >> np.uint16(LABEL_BITS)).astype(np.int32) - 1


@kernel
def odds_step(probability: float) -> int:
    """In which of 12 steps a probability lies; finer near 0 and 1."""
    thresholds = (0.001, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.999)
    step = 0
    for threshold in thresholds:
        if probability >= threshold:
            step += 1
    return step


@kernel
def log_shares(mod: Ints, weight: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Logarithm of the probability of each arc among those of its modifier, float64[A]."""
    top = np.full(n + 1, -np.inf)
    for arc in range(mod.shape[0]):
        top[mod[arc]] = max(top[mod[arc]], weight[arc])
    total = np.zeros(n + 1)
    for arc in range(mod.shape[0]):
        total[mod[arc]] += np.exp(weight[arc] - top[mod[arc]])
    out = np.empty(mod.shape[0])
    for arc in range(mod.shape[0]):
        out[arc] = weight[arc] - top[mod[arc]] - np.log(total[mod[arc]])
    return out


@kernel
def marks_of(
    n: int,
    head: Ints,
    mod: Ints,
    weight: NDArray[np.float64],
    labels: NDArray[np.number],
    n_labels: int,
) -> NDArray[np.uint16]:
    """Marks of arcs, uint16[n+1, n+1], 0 where there is no arc; given scores of arcs and labels.

    The lower `LABEL_BITS` bits hold 1 + the number of the best label (of equal ones the first),
    the others 1 + the step of the arc's probability.
    """
    marks = np.zeros((n + 1, n + 1), np.uint16)
    shares = log_shares(mod, weight, n)
    for arc in range(head.shape[0]):
        best = 0
        for label in range(1, n_labels):
            if labels[arc, label] > labels[arc, best]:
                best = label
        step = 1 + odds_step(np.exp(shares[arc]))
        marks[head[arc], mod[arc]] = min(1 + best, NO_LABEL) | (step << LABEL_BITS)
    return marks


def sure_marks(marks: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Marks of arcs each of which is the only candidate of its modifier, given those among all.

    The best label of an arc does not depend on which other arcs there are, and alone it has
    probability 1.
    """
    return marks & np.uint16(NO_LABEL) | np.uint16(12 << LABEL_BITS)
