"""Trees for terminals: one line for each word, with arcs beside it in box characters.

::

    ╭►──── The     DET   det
    │ ╭►── small   ADJ   amod
    ╰─┴─╭► cat     NOUN  nsubj

Each arc has a column of its own. The arrow is at the modifier, right behind the corner of its arc,
so that every line except that of the root has exactly one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from bbparse.treebank.drawing.layout import columns, levels, printable

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_BOXES = {
    0: " ",
    _UP | _DOWN: "│",
    _LEFT | _RIGHT: "─",
    _DOWN | _RIGHT: "╭",
    _UP | _RIGHT: "╰",
    _UP | _DOWN | _RIGHT: "├",
    _DOWN | _LEFT | _RIGHT: "┬",
    _UP | _LEFT | _RIGHT: "┴",
    _UP | _DOWN | _LEFT | _RIGHT: "┼",
    _RIGHT: "╶",
}
#: Codes of the sixteen standard colours, whose shades the theme of the terminal decides.
_COLOURS = {"arcs": "2", "tag": "2", "label": "36", "root": "1;32", "changed": "1;33"}


def painted(text: str, kind: str, colour: bool) -> str:
    """Colour a text by its kind, with escape sequences of the terminal."""
    return f"\x1b[{_COLOURS[kind]}m{text}\x1b[0m" if colour and text.strip() else text


def wants_colour(stream: IO[str] | None) -> bool:
    """Return True if a stream is a terminal and NO_COLOR (https://no-color.org) is not set."""
    is_off = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    with suppress(ValueError):  # closed
        return not is_off and stream is not None and stream.isatty()
    return False


def draw_text(
    forms: Sequence[str],
    heads: Sequence[int],
    labels: Sequence[str] = (),
    tags: Sequence[str] = (),
    *,
    changed: Sequence[int] = (),
    colour: bool = False,
) -> str:
    """Draw a tree as text, one line for each word; words in `changed` (from 1) are marked."""
    n = len(forms)
    words = [printable(form) for form in forms]
    form_width = max(map(columns, words), default=0)
    tag_texts = ["" if tag == "_" else printable(tag) for tag in tags] or [""] * n
    tag_width = max(map(columns, tag_texts), default=0)
    label_texts = ["" if label == "_" else printable(label) for label in labels] or [""] * n
    marked = set(changed)
    lines = []
    for i, gutter in enumerate(_gutters(heads)):
        is_root = heads[i] == 0
        kind = "changed" if i + 1 in marked else "root" if is_root else ""
        word = painted(words[i], kind, colour) if kind else words[i]
        cells = [
            painted(gutter, kind or "arcs", colour),
            word + " " * (form_width - columns(words[i])),
        ]
        if tag_width:
            space = " " * (tag_width - columns(tag_texts[i]) + 1)
            cells.append(painted(tag_texts[i], "tag", colour) + space)
        mark = " *" if i + 1 in marked else ""
        cells.append(painted(label_texts[i] + mark, kind or "label", colour))
        lines.append(" ".join(cells).rstrip() + "\n")
    return "".join(lines)


def _gutters(heads: Sequence[int]) -> list[str]:
    """Return the arcs left of each word: two characters for each level, outermost first."""
    n = len(heads)
    arcs = [(min(m, h), max(m, h), m) for m, h in enumerate(heads, start=1) if h]
    height = levels([(a, b) for a, b, _ in arcs], apart=True)
    deepest = max(height, default=0)
    sides = [[0] * (deepest + 1) for _ in range(n + 1)]
    level_into = [0] * (n + 1)  # level of the arc into each word
    outermost = [0 if head else deepest + 1 for head in (-1, *heads)]
    for (a, b, m), level in zip(arcs, height):
        for row in range(a, b + 1):
            sides[row][level] |= (_DOWN if row < b else 0) | (_UP if row > a else 0)
        for row in (a, b):
            sides[row][level] |= _RIGHT
            outermost[row] = max(outermost[row], level)
        level_into[m] = level
    texts = []
    for row in range(1, n + 1):
        pieces = ["  " if heads[row - 1] else "●─"]
        for level in range(deepest, 0, -1):
            side = sides[row][level] | (_LEFT | _RIGHT if level < outermost[row] else 0)
            end = "►" if level == level_into[row] else "─" if side & _RIGHT else " "
            pieces.append(_BOXES[side] + end)
        texts.append("".join(pieces))
    return texts
