"""Explanations of a best tree: its arcs, its rivals, its score, its proof, and a page of all."""

from __future__ import annotations

from bbparse.explain.explanation import ArcLoss, Explanation, arc_losses, explain
from bbparse.explain.page import page
from bbparse.explain.terms import Feature, Term, terms_of
from bbparse.explain.trace import Trace, trace_search
from bbparse.explain.whole import WholeScores

__all__ = [
    "ArcLoss",
    "Explanation",
    "Feature",
    "Term",
    "Trace",
    "WholeScores",
    "arc_losses",
    "explain",
    "page",
    "terms_of",
    "trace_search",
]
