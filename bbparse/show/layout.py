"""Where arcs lie: the heights that keep them apart, and the width of text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def levels(spans: Sequence[tuple[int, int]], *, apart: bool = False) -> list[int]:
    """The height of each arc (left, right), from 1: arcs over the same place have different ones.

    An arc lies above every shorter one that it shares more than an end with, so the arcs of a
    projective tree nest: neither do they cross nor do two lie on each other. With `apart`, arcs
    that only meet, one ending where the other begins, have different heights, too.
    """
    placed: list[tuple[int, int, int]] = []
    heights = [0] * len(spans)
    for i in sorted(range(len(spans)), key=lambda i: (spans[i][1] - spans[i][0], spans[i])):
        left, right = spans[i]
        below = [
            height
            for a, b, height in placed
            if (left <= b and a <= right if apart else left < b and a < right)
        ]
        heights[i] = 1 + max(below, default=0)
        placed.append((left, right, heights[i]))
    return heights


def printable(text: str) -> str:
    """Text without characters that control a terminal or hide: these become escapes."""
    if text.isprintable():
        return text
    return "".join(
        c
        if c.isprintable() or c in "\u200c\u200d" or unicodedata.category(c) == "Zs"
        else c.encode("unicode_escape").decode("ascii")
        for c in text
    )


def columns(text: str) -> int:
    """How many columns of a terminal a printable text takes."""
    return sum(_columns(c) for c in text)


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


_NARROW = frozenset("ijl.,;:'!|I`’‘")
_SLIM = frozenset("ftr()[]{}-/\\\" “”*")
_BROAD = frozenset("mwMW@%&—…")


def text_width(text: str, size: float) -> float:
    """About how wide a text is in a proportional sans-serif type of this size; rather too wide.

    The page that shows the text has type of its own, which cannot be measured here.
    """
    total = 0.0
    for c in text:
        if c in _NARROW:
            total += 0.31
        elif c in _SLIM:
            total += 0.4
        elif c in _BROAD:
            total += 0.95
        elif c.isascii():
            total += 0.72 if c.isupper() else 0.6
        else:
            total += (0.0, 0.66, 1.0)[_columns(c)]
    return total * size


def check_tree_columns(
    n: int, heads: Sequence[int], labels: Sequence[str], tags: Sequence[str] = ()
) -> None:
    """Refuse, by `ValueError`, what cannot be drawn over n words.

    There must be n heads, in 0..n and not the word itself; and n labels and n tags, or none.
    """
    for title, values in (("heads", heads), ("labels", labels), ("tags", tags)):
        if len(values) != n and (len(values) or title == "heads"):
            raise ValueError(f"{title}: expected {n} values, found {len(values)}")
    for i, head in enumerate(heads):
        if not 0 <= head <= n or head == i + 1:
            raise ValueError(f"heads[{i}]: expected 0 to {n} and not the word itself, found {head}")
