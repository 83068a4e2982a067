"""Trankit's scores: arcs, and the best label of each arc.

The shapes are those of Trankit 1.1.2's source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bbparse.adapters.scores import SentenceScores, from_batch, label_names
from bbparse.core.check import MAX_WORDS, as_count
from bbparse.inference.matrix import as_array
from bbparse.runtime.errors import ProblemError
from bbparse.runtime.options import check_type

#: Label of words without one: the first of each vocabulary.
_NONE = "_"


def scores(
    dep_preds: Sequence[Any], lengths: Sequence[int], vocab: Mapping[str, int]
) -> list[SentenceScores]:
    """Convert ``dep_preds`` of `PosDepClassifier.predict`, by sentence; padding is not masked.

    Parameters
    ----------
    dep_preds : (float[b, L, L], int[b, L, L])
        Log-probabilities of heads, and the best label of each arc: no other label is possible.
    lengths : sequence of b int
        Number of words of each sentence.
    vocab : mapping
        ``classifier.vocabs["deprel"]``: number of each label. ``_``, for no label, counts as a
        label only in sentences in which an arc has it.
    """
    check_type("dep_preds", dep_preds, (list, tuple), "a list of arrays", ProblemError)
    if len(dep_preds) != 2:
        raise ProblemError(f"dep_preds has {len(dep_preds)} arrays, expected arcs and labels")
    best = as_array("dep_preds[1]", dep_preds[1], (3,), "(b, L, L): sentence, dependent, head")
    check_type("vocab", vocab, Mapping, "a mapping of labels to their numbers", ProblemError)
    numbers = [as_count(f"vocab[{name!r}]", i, 0, MAX_WORDS) for name, i in vocab.items()]
    names = [""] * (1 + max(numbers, default=-1))
    for name, number in zip(label_names(vocab), numbers):
        names[number] = name
    if not np.isin(best, np.arange(len(names))).all():
        found = best[~np.isin(best, np.arange(len(names)))][0]
        raise ProblemError(f"dep_preds[1] has label {found}, expected 0..{len(names) - 1}")
    labels = np.where(best[..., None] == np.arange(len(names)), 0.0, -np.inf)
    return [*map(_labelled, from_batch(dep_preds[0], lengths, labels=labels, names=names))]


def _labelled(scores: SentenceScores) -> SentenceScores:
    """Return the scores without the label `_`, which no rules know, if no arc has it."""
    names = ["" if name == _NONE else name for name in scores.names]
    missing = [i for i, name in enumerate(scores.names) if name == _NONE]
    labels = scores.labels
    if labels is None or (labels[scores.arcs > -np.inf][:, missing] > -np.inf).any():
        return scores
    return SentenceScores(scores.arcs, labels, names)
