"""DiaParser's scores: those of SuPar's first-order parser, with -inf for padding and loops."""

from __future__ import annotations

from typing import Any

from bbparse.adapters.scores import SentenceScores
from bbparse.adapters.supar import scores as scores_of_supar

#: Versions whose source the shapes are from.
TRIED = ("1.1.3",)


def scores(s_arc: Any, s_rel: Any, mask: Any, vocab: Any) -> list[SentenceScores]:
    """Take the output of ``parser.model(words, feats)`` apart.

    Parameters
    ----------
    s_arc : Tensor[b, L, L]
    s_rel : Tensor[b, L, L, R]
    mask : Tensor[b, L]
        True for words; False for the root and padding.
    vocab
        ``parser.REL.vocab``.
    """
    return scores_of_supar(s_arc, s_rel, mask, vocab)
