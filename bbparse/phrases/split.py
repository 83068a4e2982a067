"""Categories split by what is around them and in them, so that a grammar tells them apart.

``NP~B^S`` is an NP within an S that has words only for children. Johnson (1998) annotates parents;
Collins (1999) sets apart noun phrases without phrases in them.
"""

from __future__ import annotations

from bbparse.phrases.heads import JOIN, SPLIT, Phrase

__all__ = ["split"]


def split(phrase: Phrase, parent: str = "") -> None:
    """Write what splits a phrase and all in it into their labels."""
    if phrase.head is None:
        return
    children = phrase.left + [phrase.head] + phrase.right
    base = phrase.label.rpartition(JOIN)[2]
    for child in children:
        split(child, base)
    mark = "B" if base == "NP" and all(child.head is None for child in children) else ""
    phrase.label += f"{SPLIT}{mark}^{parent}"
