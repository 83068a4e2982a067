"""Scores of whole trees as rules of a parser: for the benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bbparse.factors import FactorView, TreeFamily


def depth(heads: Any) -> int:
    """Return the number of arcs from the root to the word that is farthest."""
    deepest = 0
    for word in range(1, len(heads)):
        steps = 0
        while word > 0:
            word, steps = int(heads[word]), steps + 1
        deepest = max(deepest, steps)
    return deepest


class Depth(TreeFamily):
    """A tree deeper than nine costs 4 for each level below."""

    name = "depth"
    summary = "levels below the ninth"
    cost, most = 4.0, 9

    def tree_score(self, view: FactorView, heads: Any, labels: Sequence[str]) -> float:
        """Return the penalty of the deepest word."""
        return -self.cost * max(0, depth(heads) - self.most)


class Balanced(TreeFamily):
    """A coordination whose sides have modifiers of different kinds has a cost."""

    name = "balanced"
    summary = "coordinations whose sides have modifiers of different kinds"
    cost = 1.0

    def tree_score(self, view: FactorView, heads: Any, labels: Sequence[str]) -> float:
        """Return the number of such coordinations, negated."""
        kinds: list[set[str]] = [set() for _ in heads]
        seconds = {int(heads[m]) for m in range(1, len(heads)) if view.upos[m] == "CCONJ"} - {0}
        for word in range(1, len(heads)):
            if word not in seconds and view.upos[word] not in ("CCONJ", "PUNCT"):
                kinds[heads[word]].add(view.upos[word])
        return -self.cost * sum(kinds[heads[word]] != kinds[word] for word in seconds)
