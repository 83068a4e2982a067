"""Properties of trees as lists of heads: item i is the head of word i+1, and 0 is the root."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def find_cycle(heads: Sequence[int]) -> list[int]:
    """Return the words of one cycle, each followed by its head, or nothing; O(n)."""
    n = len(heads)
    visited_from = [0] * (n + 1)  # 0: not yet visited; k: visited on the path from word k
    for start in range(1, n + 1):
        word = start
        while word > 0 and visited_from[word] == 0:
            visited_from[word] = start
            word = heads[word - 1]
        if word > 0 and visited_from[word] == start:
            cycle = [word]
            word = heads[word - 1]
            while word != cycle[0]:
                cycle.append(word)
                word = heads[word - 1]
            return cycle
    return []


def is_projective(heads: Sequence[int]) -> bool:
    """Return True if no two arcs cross, the arcs of the root (position 0) included.

    Words with head -1 have no arc, and words that are their own head cross nothing. One pass from
    left to right, O(n log n): the open arcs at a position must be nested, so a new arc may not end
    after the arc that was opened last.
    """
    n = len(heads)
    arc_ends: list[list[int]] = [[] for _ in range(n + 1)]
    for modifier, head in enumerate(heads, 1):
        if head < 0 or head == modifier:
            continue
        if head < modifier:
            arc_ends[head].append(modifier)
        else:
            arc_ends[modifier].append(head)
    open_ends: list[int] = []
    for position in range(n + 1):
        while open_ends and open_ends[-1] == position:
            open_ends.pop()
        for end in sorted(arc_ends[position], reverse=True):
            if open_ends and open_ends[-1] < end:
                return False
            open_ends.append(end)
    return True


def crossing_words(heads: Sequence[int]) -> set[int]:
    """Return the words whose arc crosses another, the root's arcs included; O(n²) if any does."""
    if is_projective(heads):
        return set()
    spans = [
        (min(head, modifier), max(head, modifier), modifier)
        for modifier, head in enumerate(heads, 1)
        if head >= 0
    ]
    return {
        modifier
        for low, high, modifier in spans
        if any(a < low < b < high or low < a < high < b for a, b, _ in spans)
    }


def changed_words(new: Sequence[Any], old: Sequence[Any]) -> list[int]:
    """Return the words, from 1, whose heads or labels differ."""
    return [m for m, (a, b) in enumerate(zip(new, old), start=1) if a != b]
