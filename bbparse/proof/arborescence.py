"""The checker's own maximum arborescence: Chu-Liu and Edmonds, in plain Python.

It shares no code with the solver and is meant to be read rather than to be fast: each word takes
its best arc; a cycle becomes one new word, into which an arc costs what the arc that it drives out
of the cycle was worth; and so on with fewer words.

That the root has a single modifier is kept exactly. An arc weighs (-1, score) from the root and
(0, score) from elsewhere; weights are added by component and compared from the left. The best tree
then has the fewest root arcs that any tree has, and among such trees the highest score.
"""

from __future__ import annotations

from collections.abc import Sequence

from bbparse.problem.base import ProblemArrays
from bbparse.proof.spans import NONE

#: Root arcs (negative), and score.
Weight = tuple[int, float]
#: Of an arc: head, modifier, weight, and the index in the problem.
Arc = tuple[int, int, Weight, int]


class Arborescences:
    """Best non-projective trees over the arcs of one problem; nothing else of it is used."""

    def __init__(self, problem: ProblemArrays) -> None:
        self.n = problem.n_words
        self.single_root = problem.single_root
        self.head: list[int] = problem.arc_head.tolist()
        self.mod: list[int] = problem.arc_mod.tolist()

    def best(self, alive: Sequence[bool], score: Sequence[float], needed: int = -1) -> float:
        """The best score of a tree over the arcs alive (bool[A]), one of them needed; -inf: there
        is none.
        """
        given: list[Arc] = []
        word = self.mod[needed] if needed >= 0 else 0
        for a, (head, mod) in enumerate(zip(self.head, self.mod)):
            if alive[a] and (mod != word or a == needed):
                level = -1 if self.single_root and head == 0 else 0
                given.append((head, mod, (level, score[a]), a))
        chosen = best_arcs(list(range(1, self.n + 1)), given)
        if chosen is None:
            return NONE
        if self.single_root and sum(self.head[a] == 0 for a in chosen) != 1:
            return NONE
        return sum(score[a] for a in chosen)


def best_arcs(words: list[int], arcs: list[Arc]) -> list[int] | None:
    """Indices of the arcs of the best tree that hangs all words from 0; None if there is none."""
    best: dict[int, Arc] = {}
    for arc in arcs:
        head, mod, weight, _ = arc
        if head != mod and (mod not in best or weight > best[mod][2]):
            best[mod] = arc
    if len(best) < len(words):
        return None
    cycle = _cycle(words, best)
    if not cycle:
        return [arc[3] for arc in best.values()]
    # The words of the cycle become one; an arc into it stands for one that drives out another.
    merged = max(words) + 1
    smaller: list[Arc] = []
    for head, mod, weight, a in arcs:
        if mod in cycle and head not in cycle:
            lost = best[mod][2]
            smaller.append((head, merged, (weight[0] - lost[0], weight[1] - lost[1]), a))
        elif mod not in cycle:
            smaller.append((merged if head in cycle else head, mod, weight, a))
    entered = {a: mod for _, mod, _, a in arcs if mod in cycle}
    tree = best_arcs([w for w in words if w not in cycle] + [merged], smaller)
    if tree is None:
        return None
    into = next(entered[a] for a in tree if a in entered)
    return tree + [best[w][3] for w in cycle if w != into]


def _cycle(words: list[int], best: dict[int, Arc]) -> set[int]:
    """The words of one cycle among the best arcs; empty if there is none."""
    clear = {0}
    for word in words:
        path: list[int] = []
        while word not in clear and word not in path:
            path.append(word)
            word = best[word][0]
        if word not in clear:
            return set(path[path.index(word) :])
        clear.update(path)
    return set()
