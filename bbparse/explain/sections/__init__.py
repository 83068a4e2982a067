"""The sections of the page, as HTML. Every text that comes from outside goes through `markup`."""

from __future__ import annotations

from bbparse.explain.sections.score import losses, makeup
from bbparse.explain.sections.search import elimination, search
from bbparse.explain.sections.trees import best_tree, runners_up

__all__ = ["best_tree", "elimination", "losses", "makeup", "runners_up", "search"]
