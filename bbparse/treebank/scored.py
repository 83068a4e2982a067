"""`ScoredTree`: a tree that a parser found, as a plain record."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScoredTree:
    """One tree of a sentence."""

    heads: tuple[int, ...]  #: length n: head of each word, 0 for the root.
    score: float  #: φ of the tree.
    upper_bound: float  #: No tree of this rank scores more.
    proved: bool  #: Whether this is proved to be the tree of its rank.
    #: length n: label of the arc to each word; empty where the parser has no labels.
    labels: tuple[str, ...] = ()
    #: The rules it breaks, in words, where no tree keeps them all or the search was cut short.
    broken: tuple[str, ...] = ()
    #: length n: the chance of each arc, with its label, to be right; empty if not asked for.
    confidences: tuple[float, ...] = ()
    confidence: float = math.nan  #: The chance of the whole tree; nan if not asked for.
    #: length n: the best other head of each word, -1 for none; empty if not asked for.
    rivals: tuple[int, ...] = ()
    #: length n: the chance of the head being this one or its rival; empty if not asked for.
    either: tuple[float, ...] = ()
