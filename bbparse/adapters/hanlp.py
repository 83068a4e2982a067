"""HanLP's scores: those of its biaffine parser, which `feed_batch` returns."""

from __future__ import annotations

from typing import Any

from bbparse.adapters.scores import SentenceScores
from bbparse.adapters.supar import scores as scores_of_supar

#: Versions whose source the shapes are from.
TRIED = ("2.1.7",)


def scores(arc_scores: Any, rel_scores: Any, mask: Any, vocab: Any) -> list[SentenceScores]:
    """Take the output of ``parser.feed_batch(batch)`` apart.

    Parameters
    ----------
    arc_scores : Tensor[b, L, L]
    rel_scores : Tensor[b, L, L, R]
    mask : Tensor[b, L]
        True for words; False for the root and padding.
    vocab
        ``parser.vocabs["rel"]``, or the list of its labels.
    """
    names = getattr(vocab, "idx_to_token", vocab)
    return scores_of_supar(arc_scores, rel_scores, mask, names)
