"""spacy-experimental's scores: the words of all sentences in one array, roots on the diagonal.

Tested with spacy-experimental 0.6.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bbparse.adapters.scores import SentenceScores
from bbparse.core.check import error_context
from bbparse.inference.matrix import as_array, as_lengths
from bbparse.runtime.errors import ProblemError


def scores(flat: Any, lengths: Sequence[int]) -> list[SentenceScores]:
    """Convert the output of the model of ``experimental_arc_predicter``, by sentence.

    Parameters
    ----------
    flat : float[Σ n, max n]
        Scores of the heads of each word in its sentence; the word itself stands for the root.
    lengths : sequence of int
        Number of words n of each sentence, in order.
    """
    array = as_array("flat", flat, (2,), "(words of all sentences, heads)")
    numbers = as_lengths("lengths", lengths)
    total, longest = sum(numbers), max(numbers, default=0)
    if len(array) != total or array.shape[1] < longest:
        raise ProblemError(
            f"flat has shape {array.shape}, expected ({total}, {longest}) or wider: the words of"
            " all sentences, and their heads in the sentence"
        )
    sentences = []
    start = 0
    for i, n in enumerate(numbers):
        square = array[start : start + n, :n]
        arcs = np.full((n + 1, n + 1), -np.inf)
        arcs[1:, 1:] = square
        arcs[1:, 0] = square.diagonal()
        with error_context(f"sentence {i} of the batch"):
            sentences.append(SentenceScores(arcs))
        start += n
    return sentences
