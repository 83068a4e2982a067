"""Output of trees: drawings for terminals, SVG, JSON lines. Nothing here searches or scores."""

from __future__ import annotations

from bbparse.treebank.drawing.formats import FORMATS, json_line, sentence_record
from bbparse.treebank.drawing.svg import draw_svg
from bbparse.treebank.drawing.text import draw_text

__all__ = ["FORMATS", "draw_svg", "draw_text", "json_line", "sentence_record"]
