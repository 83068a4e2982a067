"""HanLP's scores: those of its biaffine parser, as `feed_batch` returns them.

Tried with HanLP 2.1.7.
"""

from __future__ import annotations

from typing import Any

from bbparse.adapters import supar
from bbparse.adapters.scores import SentenceScores


def scores(arc_scores: Any, rel_scores: Any, mask: Any, vocab: Any) -> list[SentenceScores]:
    """Split arcs and labels by sentence, as SuPar's; vocab is ``parser.vocabs["rel"]``."""
    return supar.scores(arc_scores, rel_scores, mask, getattr(vocab, "idx_to_token", vocab))
