"""Explanations of a best tree: its arcs, its rivals, its score, its proof, and a page of all."""

from bbparse.apps.explain.explanation import explain
from bbparse.apps.explain.page import page

__all__ = ["explain", "page"]
