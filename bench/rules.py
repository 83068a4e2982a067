"""Scores of whole trees, with their bounds, as rules of a parser: for the benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.factors import FactorView, TreeFamily


def levels(allowed: NDArray[np.bool_]) -> int:
    """Number of arcs on the shortest way from the root to the word that is farthest."""
    reached = np.zeros(len(allowed), np.bool_)
    reached[0] = True
    count = 0
    while not reached.all():
        more = reached | allowed[reached].any(axis=0)
        if (more == reached).all():
            return len(allowed)  # no tree
        reached, count = more, count + 1
    return count


class Depth(TreeFamily):
    """A tree deeper than nine costs 4 for each level below."""

    name = "depth"
    summary = "levels below the ninth"
    cost, most = 4.0, 9

    def tree_score(self, view: FactorView, heads: Any, labels: Sequence[str]) -> float:
        """Return the penalty of the deepest word."""
        allowed = np.zeros((len(heads), len(heads)), np.bool_)
        allowed[heads[1:], range(1, len(heads))] = True
        return self.tree_bound(view, heads, allowed)

    def tree_bound(self, view: FactorView, heads: Any, allowed: Any) -> float:
        """Return the score of the depth that the shortest ways from the root make necessary."""
        return -self.cost * max(0, levels(allowed) - self.most)


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

    def tree_bound(self, view: FactorView, heads: Any, allowed: Any) -> float:
        """Count coordinations where one side has a kind that the other cannot have."""
        conjunctions = [m for m in range(1, len(heads)) if view.upos[m] == "CCONJ"]
        seconds = {int(heads[m]) for m in conjunctions if heads[m] > 0 and heads[heads[m]] >= 0}
        if not seconds:
            return 0.0
        perhaps = set(np.flatnonzero(allowed[:, conjunctions].any(axis=1)).tolist())
        wrong = 0
        for word in seconds:
            certain, possible = [], []
            for side in (word, int(heads[word])):
                others = np.flatnonzero(allowed[side]).tolist()
                own = [m for m in others if view.upos[m] not in ("CCONJ", "PUNCT")]
                possible.append({view.upos[m] for m in own})
                certain.append(
                    {view.upos[m] for m in own if heads[m] == side and m not in perhaps}
                )
            wrong += not (certain[0] <= possible[1] and certain[1] <= possible[0])
        return -self.cost * wrong

