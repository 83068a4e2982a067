"""Explanations of a best tree: its arcs, its rivals, its score, its proof, and a page of all."""

from __future__ import annotations

from bbparse.apps.explain.explanation import ArcLoss, Explanation, arc_losses, explain
from bbparse.apps.explain.page import page
from bbparse.apps.explain.terms import Feature, Term, terms_of
from bbparse.apps.explain.trace import Trace, trace_search

__all__ = [
    "ArcLoss", "Explanation", "Feature", "Term", "Trace", "arc_losses", "explain", "page",
    "terms_of", "trace_search",
]
