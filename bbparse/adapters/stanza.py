"""Stanza's scores: log-probabilities of heads and labels, for batches sorted by length.

Tested with Stanza 1.14.0 and 1.15.0. `examples/stanza_trees.py` decodes a treebank with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bbparse.adapters.scores import SentenceScores, from_batch, label_names
from bbparse.inference.matrix import as_array, as_lengths
from bbparse.runtime.errors import ProblemError
from bbparse.runtime.options import check_type


def scores(preds: Sequence[Any], sentlens: Sequence[int], vocab: Any) -> list[SentenceScores]:
    """Convert the predictions of ``GraphParser.forward`` in evaluation mode, by sentence.

    Parameters
    ----------
    preds : (float[b, L, L], int[b, L, L], float[b, L, L, R])
        Log-probabilities of heads, best labels (not used), log-probabilities of labels.
    sentlens : sequence of b int
        Number of words of each sentence, plus 1 for the root, in the order of the batch.
    vocab
        ``trainer.vocab["deprel"]``; its first units are not labels.
    """
    check_type("preds", preds, (list, tuple), "a list of arrays", ProblemError)
    if len(preds) < 3:
        raise ProblemError(
            f"preds has {len(preds)} arrays, expected heads, best labels and log-probabilities of"
            " labels [sentence, dependent, head, label]: a version of Stanza before 1.14?"
        )
    labels = as_array("preds[2]", preds[2], (4,), "[sentence, dependent, head, label]")
    count = labels.shape[-1]
    units = vocab.unmap(range(len(vocab))) if hasattr(vocab, "unmap") else vocab
    names = label_names(units)
    first = len(names) - count
    if first < 0 or any(names[:first]):
        raise ProblemError(
            f"vocab has {len(names)} units, {sum(map(bool, names))} of them labels, and preds[2]"
            f" scores of {count}, expected as many: the vocabulary of another model?"
        )
    numbers = [n - 1 for n in as_lengths("sentlens", sentlens)]
    return from_batch(preds[0], numbers, labels=labels, names=names[first:])
