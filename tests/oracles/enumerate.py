"""Every tree of a small problem, scored straight from the definition.

Plain Python, seven words at most. Only the arrays of the problem are read: no code is shared with
the package.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

Scored = tuple[float, tuple[int, ...]]


def enumerate_trees(problem: Any) -> list[Scored]:
    """All feasible trees as (score, arc index of word 1, of word 2, …), best first.

    Trees in which a factor of weight -inf fires, or a count factor scores -inf, are left out.
    Equal scores are ordered by arcs.
    """
    score = TreeScorer(problem)
    scored = [(score(arcs), arcs) for arcs in trees(problem)]
    return sorted((s for s in scored if s[0] > -math.inf), key=lambda s: (-s[0], s[1]))


def trees(problem: Any) -> Iterator[tuple[int, ...]]:
    """All trees over the candidate arcs that keep arc_state, single_root and projective."""
    n = problem.n_words
    if n > 7:
        raise ValueError(f"{n} words are too many to enumerate")
    head, mod = problem.arc_head.tolist(), problem.arc_mod.tolist()
    state = problem.arc_state.tolist()
    choices: list[list[int]] = []
    for m in range(1, n + 1):
        into = [a for a in range(len(head)) if mod[a] == m]
        required = [a for a in into if state[a] == 1]
        choices.append(
            [a for a in into if state[a] != -1 and all(a == other for other in required)]
        )

    def extend(arcs: list[int], heads: list[int]) -> Iterator[tuple[int, ...]]:
        m = len(heads)
        if m == n + 1:
            if is_tree(heads) and (not problem.projective or is_projective(heads)):
                yield tuple(arcs)
            return
        for a in choices[m - 1]:
            if problem.single_root and head[a] == 0 and 0 in heads:
                continue
            # Whole trees are checked above; this only saves time.
            if problem.projective and any(_cross(head[a], m, heads[k], k) for k in range(1, m)):
                continue
            yield from extend([*arcs, a], [*heads, head[a]])

    yield from extend([], [-1])


def all_trees(n: int, single_root: bool, projective: bool) -> Iterator[tuple[int, ...]]:
    """The heads of words 1 to n in each tree over all arcs."""
    for heads in product(range(n + 1), repeat=n):
        if single_root and heads.count(0) > 1:
            continue
        if is_tree([-1, *heads]) and (not projective or is_projective([-1, *heads])):
            yield heads


def _cross(a: int, b: int, c: int, d: int) -> bool:
    (a, b), (c, d) = sorted((a, b)), sorted((c, d))
    return a < c < b < d or c < a < d < b


def is_tree(heads: list[int]) -> bool:
    """Whether every word reaches the root 0 by going from head to head."""
    for m in range(1, len(heads)):
        steps = 0
        while m != 0:
            m = heads[m]
            steps += 1
            if steps > len(heads):
                return False
    return True


def is_projective(heads: list[int]) -> bool:
    """Whether each word between a head and its modifier descends from the head."""
    for m in range(1, len(heads)):
        h = heads[m]
        for k in range(min(h, m) + 1, max(h, m)):
            ancestor = k
            while ancestor not in (h, -1):
                ancestor = heads[ancestor]
            if ancestor != h:
                return False
    return True


def neighbour_inside(heads: list[int], m: int) -> int:
    """The modifier next to m, nearer to m's head, of the same head on the same side; -1 if none."""
    h = heads[m]
    between = range(h + 1, m) if m > h else range(h - 1, m, -1)
    inner = -1
    for k in between:
        if k >= 1 and heads[k] == h:
            inner = k
    return inner


def is_outermost(heads: list[int], m: int) -> bool:
    """Whether no modifier of m's head lies farther from the head on m's side."""
    h = heads[m]
    farther = range(m + 1, len(heads)) if m > h else range(1, m)
    return all(heads[k] != h for k in farther)


class TreeScorer:
    """φ of a tree of one problem."""

    def __init__(self, problem: Any) -> None:
        p = problem
        self.head = p.arc_head.tolist()
        self.arc = p.arc_score.tolist()
        self.sib = _table(p.sib_score, p.sib_head, p.sib_inner, p.sib_outer)
        self.gc = _table(p.gc_score, p.gc_grand, p.gc_head, p.gc_mod)
        self.ogc = _table(p.ogc_score, p.ogc_grand, p.ogc_head, p.ogc_mod)
        self.gsib = _table(p.gsib_score, p.gsib_grand, p.gsib_head, p.gsib_inner, p.gsib_outer)
        ptr, arcs = p.factor_ptr.tolist(), p.factor_arcs.tolist()
        self.factors = [
            (frozenset(arcs[ptr[f] : ptr[f + 1]]), weight)
            for f, weight in enumerate(p.factor_score.tolist())
        ]
        ptr, arcs = p.count_ptr.tolist(), p.count_arcs.tolist()
        starts, scores = p.count_score_ptr.tolist(), p.count_score.tolist()
        self.counts = [
            (frozenset(arcs[ptr[c] : ptr[c + 1]]), scores[starts[c] : starts[c + 1]])
            for c in range(len(ptr) - 1)
        ]

    def __call__(self, arcs: tuple[int, ...]) -> float:
        return math.fsum(self.terms(arcs))

    def terms(self, arcs: tuple[int, ...]) -> list[float]:
        """What φ adds up."""
        heads = [-1] + [self.head[a] for a in arcs]
        chosen = set(arcs)
        terms = [self.arc[a] for a in arcs]
        for m in range(1, len(heads)):
            h = heads[m]
            inner = neighbour_inside(heads, m)
            grand = heads[h]
            terms.append(self.sib.get((h, inner, m), 0.0))
            terms.append(self.gsib.get((grand, h, inner, m), 0.0))
            if h != 0:
                terms.append(self.gc.get((grand, h, m), 0.0))
                if is_outermost(heads, m):
                    terms.append(self.ogc.get((grand, h, m), 0.0))
        terms.extend(weight for factor, weight in self.factors if factor <= chosen)
        terms.extend(table[len(arcs & chosen)] for arcs, table in self.counts)
        return terms


def _table(scores: Any, *columns: Any) -> dict[tuple[int, ...], float]:
    return dict(zip(zip(*(column.tolist() for column in columns)), scores.tolist()))
