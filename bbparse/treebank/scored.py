"""`ScoredTree`: a tree that a parser found, as a plain record."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ScoredTree"]


@dataclass(frozen=True, slots=True)
class ScoredTree:
    """One tree of a sentence.

    Attributes
    ----------
    heads : tuple of int, length n
        Head of each word, 0 for the root.
    score : float
        φ of the tree.
    upper_bound : float
        No tree of this rank scores more.
    proved : bool
        Whether this is proved to be the tree of its rank.
    labels : tuple of str, length n
        Label of the arc to each word; empty where the parser has no labels.
    """

    heads: tuple[int, ...]
    score: float
    upper_bound: float
    proved: bool
    labels: tuple[str, ...] = ()
