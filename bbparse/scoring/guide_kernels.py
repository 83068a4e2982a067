"""Kernels of the guide: scores of arcs with labels, probabilities, and marks.

See `bbparse.scoring.guide`. Cost of A candidate arcs with F features each and L labels:
O(A · F · L) additions of small integers, one run of L for each feature.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.scoring.kernels import LABEL_BITS, NO_LABEL, walk_parts
from bbparse.scoring.prefetch import add_rows
from bbparse.scoring.tables import sentence_tables

__all__ = ["arc_features", "arc_label_scores", "marks_of", "odds_step", "sure_marks"]

Ints = NDArray[np.int32]
Hashes = NDArray[np.uint64]


@kernel
def arc_features(
    values: Hashes,
    pad: int,
    head: Ints,
    mod: Ints,
    for_tables: tuple[Any, ...],
    for_parts: tuple[Any, ...],
) -> NDArray[np.int64]:
    """Features of arcs, int64[A · F], arc by arc: every arc has the same number of them."""
    table, masks, words, counts = sentence_tables(values, pad, *for_tables)
    none = np.empty(0, np.int32)
    return walk_parts(
        np.int64(0), np.int64(0), np.int64(3), none, head, none, mod, table, masks, words, counts,
        np.zeros((1, 1), np.uint16), np.zeros(1, np.int8), 0.0, np.zeros(0), *for_parts,
    )  # fmt: skip


@kernel
def arc_label_scores(
    features: NDArray[np.int64], n_arcs: int, weights: NDArray[np.int16]
) -> Ints:
    """Scores of all labels of arcs, int32[A, width], in quanta."""
    scores = np.zeros((n_arcs, weights.shape[1]), np.int32)
    owner = np.empty(features.shape[0], np.int32)
    each = features.shape[0] // max(n_arcs, 1)
    for arc in range(n_arcs):
        for f in range(arc * each, (arc + 1) * each):
            owner[f] = arc
    add_rows(features, owner, weights, scores)
    return scores


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
def log_sums(scores: Ints, n_labels: int, quantum: float) -> NDArray[np.float64]:
    """Logarithm of the sum over labels of exp(score), float64[A]."""
    out = np.empty(scores.shape[0])
    for arc in range(scores.shape[0]):
        top = scores[arc, 0]
        for label in range(1, n_labels):
            top = max(top, scores[arc, label])
        total = 0.0
        for label in range(n_labels):
            difference = (scores[arc, label] - top) * quantum
            if difference > -12.0:  # the others are worth nothing
                total += np.exp(difference)
        out[arc] = top * quantum + np.log(total)
    return out


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

#: One more than the highest step.
_SURE = 12


@kernel
def sure_marks(marks: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Marks of arcs each of which is the only candidate of its modifier.

    The best label of an arc does not depend on which other arcs there are, and alone it has
    probability 1. Given the marks among all candidates, those of the arcs of any tree over them.
    """
    out = np.empty_like(marks)
    for h in range(marks.shape[0]):
        for m in range(marks.shape[1]):
            out[h, m] = (marks[h, m] & NO_LABEL) | (_SURE << LABEL_BITS)
    return out
