"""`ScoredTree`: a tree that a parser found, as a plain record."""

from __future__ import annotations

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
