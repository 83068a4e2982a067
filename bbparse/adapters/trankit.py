"""Trankit's scores: arcs, and the best label of each arc."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bbparse.adapters.scores import SentenceScores, from_batch
from bbparse.errors import ProblemError
from bbparse.solving.matrix import as_array, cut

#: Versions whose source the shapes are from.
TRIED = ("1.1.2",)


def scores(
    dep_preds: Sequence[Any], lengths: Sequence[int], vocab: Mapping[str, int]
) -> list[SentenceScores]:
    """Take ``dep_preds`` of `PosDepClassifier.predict` apart, whose padding is not masked.

    Parameters
    ----------
    dep_preds : (float[b, L, L], int[b, L, L])
        Log-probabilities of heads, and the best label of each arc: no other label is possible.
    lengths : sequence of b int
        Number of words of each sentence.
    vocab : mapping
        ``classifier.vocabs["deprel"]``: number of each label.
    """
    if len(dep_preds) != 2:
        raise ProblemError(f"dep_preds has {len(dep_preds)} arrays, expected arcs and labels")
    labels = as_array("dep_preds[1]", dep_preds[1], (3,), "(b, L, L): sentence, dependent, head")
    names = [""] * (1 + max(vocab.values(), default=-1))
    for name, number in vocab.items():
        names[number] = "" if name.startswith("<") else name
    sentences = []
    for arcs, best in zip(from_batch(dep_preds[0], lengths), cut("labels", [*labels], lengths)):
        if best.max() >= len(names):
            raise ProblemError(f"dep_preds[1] has label {best.max()}, expected 0..{len(names) - 1}")
        one = np.where(best[:, :, None] == np.arange(len(names)), 0.0, -np.inf)
        sentences.append(SentenceScores(arcs.arcs, one, names))
    return sentences
