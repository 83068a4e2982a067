"""Layout of an arc diagram: words on a line, arcs above or below them, and no overlaps.

The line runs in the direction of the script, from left to right or from right to left.

Every arc has two ports of its own. At a word, the ports of arcs to the left come first, with the
shortest leftmost, then the root's, then those of arcs to the right, with the longest leftmost. So
the arcs of a projective tree never touch. Words are moved apart until each label fits into its arc.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


def levels(spans: Sequence[tuple[int, int]], *, apart: bool = False) -> list[int]:
    """Return the height, from 1, of each arc (left, right): arcs that overlap differ in height.

    An arc lies above every shorter one with which it shares more than an endpoint, so the arcs of a
    projective tree nest: they neither cross nor lie on each other. With `apart`, arcs that only
    share an endpoint have different heights, too.
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
    """Escape control and invisible characters of a text, but not joiners and direction marks."""
    if text.isprintable():
        return text
    return "".join(
        c
        if c.isprintable() or c in "\u200c\u200d\u200e\u200f" or unicodedata.category(c) == "Zs"
        else c.encode("unicode_escape").decode("ascii")
        for c in text
    )


def in_english(form: str) -> str:
    """Return a word for an English text: right-to-left letters do not reorder what follows it."""
    has_letters = any(unicodedata.bidirectional(c) in ("R", "AL") for c in form)
    return f"{form}\u200e" if has_letters else form


def columns(text: str) -> int:
    """Return the number of terminal columns that a printable text takes."""
    return sum(_columns(c) for c in text)


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


_BROAD = frozenset("mwMW@%&—…")


def text_width(text: str, size: float) -> float:
    """Estimate the width of a text in a proportional sans-serif type, rather too wide."""
    widths = (0.0, 0.66, 1.0)  # by the columns of a terminal
    return size * sum(
        0.95 if c in _BROAD else 0.72 if c.isupper() else widths[_columns(c)] for c in text
    )


FORM_SIZE, TAG_SIZE, LABEL_SIZE = 16.0, 10.0, 11.0
LEVEL = 25.0  # distance between the heights of arcs
FIRST = 30.0  # distance from the words to the lowest arc
RADIUS = 9.0
_PORT = 9.0
_GAP = 18.0
_MARGIN = 14.0
_LONG, _NEAR = 520.0, 70.0  # an arc beyond what fits on a screen; from its label to the modifier


@dataclass(slots=True)
class Arc:
    """An arc to draw."""

    head: int  #: 0 for the root.
    mod: int
    label: str = ""
    classes: str = ""  #: CSS classes, beside ``bbp-arc``.
    tip: str = ""  #: Text of the tooltip.
    below: bool = False  #: True if drawn below the words.


@dataclass(slots=True)
class PlacedArc:
    """An arc with the positions of its endpoints and its height; y grows downwards."""

    arc: Arc
    start: float
    end: float
    foot: float
    top: float

    @property
    def middle(self) -> float:
        """Horizontal position of the label."""
        if self.arc.head == 0:
            return self.end
        span = self.start - self.end
        if abs(span) > _LONG:
            return self.end + math.copysign(_NEAR, span)
        return (self.start + self.end) / 2.0


@dataclass(slots=True)
class Layout:
    """Positions of the words and arcs of a diagram."""

    width: float = 0.0
    height: float = 0.0
    centres: list[float] = field(default_factory=list)  #: Middle of each word.
    baseline: float = 0.0  #: Vertical position of the forms.
    arcs: list[PlacedArc] = field(default_factory=list)


def label_width(label: str) -> float:
    """Return the width of the gap that an arc leaves for its label."""
    return text_width(label, LABEL_SIZE) + 8.0 if label else 0.0


def _ports(n: int, arcs: Sequence[Arc]) -> list[tuple[float, float]]:
    """Return the offsets of both endpoints of each arc from the middle of their words."""
    ports_of_word: list[list[tuple[tuple[int, int], int, int]]] = [[] for _ in range(n + 1)]
    for i, arc in enumerate(arcs):
        for side, (word, far_word) in enumerate(((arc.head, arc.mod), (arc.mod, arc.head))):
            if word == 0:
                continue
            # left arcs (shortest first), the root's, right arcs (longest first)
            place = 1 if far_word == 0 else 0 if far_word < word else 2
            ports_of_word[word].append(((place, word - far_word), i, side))
    offsets = [[0.0, 0.0] for _ in arcs]
    for entries in ports_of_word:
        entries.sort()
        for i_port, (_, i, side) in enumerate(entries):
            offsets[i][side] = (i_port - (len(entries) - 1) / 2.0) * _PORT
    return [(a, b) for a, b in offsets]


def lay_out(forms: Sequence[str], arcs: Sequence[Arc], tags: Sequence[str] = ()) -> Layout:  # noqa: PLR0915 – one step after the other
    """Place words and arcs: each word may have one arc into it above the words and one below."""
    n = len(forms)
    widths = [text_width(form, FORM_SIZE) for form in forms]
    if tags:
        widths = [max(w, text_width(tag, TAG_SIZE)) for w, tag in zip(widths, tags)]
    ports: dict[int, tuple[float, float]] = {}
    heights: dict[int, int] = {}
    rooms: list[float] = []
    for below in (False, True):
        group = [arc for arc in arcs if arc.below == below]
        ports.update(zip(map(id, group), _ports(n, group)))
        counts = Counter(word for arc in group for word in (arc.head, arc.mod))
        widths = [max(w, counts[i] * _PORT) for i, w in enumerate(widths, start=1)]
        inner = [arc for arc in group if arc.head]
        arc_heights = levels([(min(arc.head, arc.mod), max(arc.head, arc.mod)) for arc in inner])
        depth, has_root = max(arc_heights, default=0), len(inner) < len(group)
        heights.update({id(arc): depth + 1 for arc in group})
        heights.update(zip(map(id, inner), arc_heights))
        steps = max(depth, 1) - 1 + has_root
        rooms.append(FIRST + LEVEL * steps + 10.0 if group else 0.0)
    gaps = [_GAP] * max(0, n - 1)
    for arc in sorted(arcs, key=lambda arc: abs(arc.head - arc.mod)):
        if not arc.label:
            continue
        if arc.head == 0:
            missing = label_width(arc.label) - widths[arc.mod - 1] - _GAP
            around = [g for g in (arc.mod - 2, arc.mod - 1) if 0 <= g < n - 1]
            for g in around if missing > 0 else ():
                gaps[g] = max(gaps[g], _GAP + missing / 2.0)
            continue
        a, b = sorted((arc.head - 1, arc.mod - 1))
        first, second = ports[id(arc)]
        left, right = (first, second) if arc.head < arc.mod else (second, first)
        span = sum(widths[a : b + 1]) - (widths[a] + widths[b]) / 2.0 + sum(gaps[a:b])
        missing = label_width(arc.label) + 2.0 * RADIUS + 4.0 - (span + right - left)
        if missing > 0:
            for g in range(a, b):
                gaps[g] += missing / (b - a)
    layout = Layout()
    x = _MARGIN
    for i, width in enumerate(widths):
        layout.centres.append(x + width / 2.0)
        x += width + (gaps[i] if i < n - 1 else 0.0)
    layout.width = x + _MARGIN
    ceiling = rooms[0] + 4.0
    layout.baseline = ceiling + FORM_SIZE + 2.0
    bottom = layout.baseline + (TAG_SIZE + 6.0 if tags else 0.0) + 6.0
    layout.height = bottom + rooms[1] + 4.0
    for arc in arcs:
        start, end = ports[id(arc)]
        middle = layout.centres[arc.mod - 1] + end
        begin = layout.centres[arc.head - 1] + start if arc.head else middle
        lift = FIRST + LEVEL * (heights[id(arc)] - 1)
        foot, top = (bottom, bottom + lift) if arc.below else (ceiling, ceiling - lift)
        layout.arcs.append(PlacedArc(arc, begin, middle, foot, top))
    _widen_for_labels(layout)
    if runs_to_the_left(forms):
        _move(layout, lambda x: layout.width - x)  # the first word on the right
    return layout


def runs_to_the_left(forms: Sequence[str]) -> bool:
    """Return True if most words with letters are in a script that is written from right to left."""
    balance = 0
    for form in forms:
        strong = (unicodedata.bidirectional(c) for c in form)
        first = next((kind for kind in strong if kind in ("L", "R", "AL")), "")
        balance += (first in ("R", "AL")) - (first == "L")
    return balance > 0


def _move(layout: Layout, moved: Callable[[float], float]) -> None:
    """Move words and arcs along the line."""
    layout.centres = list(map(moved, layout.centres))
    for placed in layout.arcs:
        placed.start, placed.end = moved(placed.start), moved(placed.end)


def _widen_for_labels(layout: Layout) -> None:
    """Make room for labels that reach beyond the first or last word."""
    left = min((p.middle - label_width(p.arc.label) / 2.0 for p in layout.arcs), default=0.0)
    if left < 2.0:
        shift = 2.0 - left
        _move(layout, lambda x: x + shift)
        layout.width += shift
    right = max((p.middle + label_width(p.arc.label) / 2.0 for p in layout.arcs), default=0.0)
    layout.width = max(layout.width, right + 2.0)
