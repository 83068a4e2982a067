"""SuPar's scores: arcs, labels, and siblings of second-order models.

Tested with SuPar 1.1.4 and the main branch after it. `examples/supar_trees.py` decodes a treebank
with them.
"""

from __future__ import annotations

from typing import Any

from bbparse.adapters.scores import SentenceScores, from_batch, label_names
from bbparse.inference.matrix import as_array
from bbparse.runtime.errors import ProblemError


def scores(
    s_arc: Any, s_rel: Any, mask: Any, vocab: Any, s_sib: Any = None
) -> list[SentenceScores]:
    """Convert the output of ``parser.model(words, feats)``, by sentence.

    Parameters
    ----------
    s_arc : Tensor[b, L, L]
    s_rel : Tensor[b, L, L, R]
    mask : Tensor[b, L]
        True for words; False for the root and padding.
    vocab
        ``parser.REL.vocab``, or the list of its labels. Entries in <> are not labels.
    s_sib : Tensor[b, L, L, L], optional
        Scores of a second-order model: dependent, head, the sibling between them.
    """
    arcs = as_array("s_arc", s_arc, (3,), "(b, L, L): sentence, dependent, head")
    expected = f"bool {arcs.shape[:2]}, False for the root in column 0 and for padding"
    words = as_array("mask", mask, (2,), expected, kinds="b")
    if words.shape != arcs.shape[:2] or words[:, :1].any():
        raise ProblemError(f"mask has shape {words.shape}, expected {expected}")
    lengths = words.sum(axis=1).tolist()
    if any(not row[1 : n + 1].all() for row, n in zip(words, lengths)):
        raise ProblemError(f"mask {words.shape} has gaps, expected padding after the words")
    names = label_names(getattr(vocab, "itos", vocab))
    return from_batch(arcs, lengths, labels=s_rel, names=names, siblings=s_sib)
