"""HanLP's scores: those of its biaffine parser, as `feed_batch` returns them.

Tested with HanLP 2.1.7.
"""

from __future__ import annotations

from typing import Any

from bbparse.adapters import supar
from bbparse.adapters.scores import SentenceScores


def scores(arc_scores: Any, rel_scores: Any, mask: Any, vocab: Any) -> list[SentenceScores]:
    """Convert scores of arcs and labels, by sentence; vocab is ``parser.vocabs["rel"]``."""
    return supar.scores(arc_scores, rel_scores, mask, getattr(vocab, "idx_to_token", vocab))
