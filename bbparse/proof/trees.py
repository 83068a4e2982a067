"""The checker's own reading of the contract of `Problem`: feasible trees, and their scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from bbparse.problem.base import ProblemArrays
from bbparse.problem.parts import rows_of

NONE = -math.inf


class Reading:
    """The arcs and parts of a problem as plain Python numbers; parts are tables by words.

    Not ``scored``: all parts count nothing.
    """

    def __init__(self, problem: ProblemArrays, scored: bool = True) -> None:
        self.n = problem.n_words
        self.single_root = problem.single_root
        self.head: list[int] = problem.arc_head.tolist()
        self.mod: list[int] = problem.arc_mod.tolist()
        tables: list[dict[tuple[int, ...], float]] = [{} for _ in problem.parts]
        for table, part in zip(tables, problem.parts if scored else ()):
            for *words, score in rows_of(part):  # parts given twice are added up
                table[tuple(words)] = table.get(tuple(words), 0.0) + score
        self.sib, self.gc, self.ogc, self.gsib = tables


class Trees(Reading):
    """Everything that scores or forbids trees of one problem."""

    def __init__(self, problem: ProblemArrays) -> None:
        super().__init__(problem)
        p = problem
        self.projective = p.projective
        self.score: list[float] = p.arc_score.tolist()
        self.state: list[int] = p.arc_state.tolist()
        arcs, ptr = p.factor_arcs.tolist(), p.factor_ptr.tolist()
        self.factor_ptr: list[int] = ptr
        self.factors: list[list[int]] = [arcs[a:b] for a, b in pairwise(ptr)]
        self.weights: list[float] = p.factor_score.tolist()
        arcs, ptr = p.count_arcs.tolist(), p.count_ptr.tolist()
        self.count_ptr: list[int] = ptr
        self.sets: list[list[int]] = [arcs[a:b] for a, b in pairwise(ptr)]
        scores, ptr = p.count_score.tolist(), p.count_score_ptr.tolist()
        self.tables: list[list[float]] = [scores[a:b] for a, b in pairwise(ptr)]

    def fault(self, arcs: Sequence[int]) -> str:
        """Why arcs, one into each word, are no feasible tree; "" if they are."""
        for a in arcs:
            if self.state[a] == -1:
                return f"uses the forbidden arc {self.head[a]} -> {self.mod[a]}"
        for a, state in enumerate(self.state):
            if state == 1 and a not in arcs:
                return f"lacks the required arc {self.head[a]} -> {self.mod[a]}"
        heads = [-1] + [self.head[a] for a in arcs]
        for m in range(1, self.n + 1):
            above = m
            for _ in range(self.n):
                above = heads[above] if above > 0 else 0
            if above != 0:
                return f"has a cycle above word {m}"
        if self.single_root and heads.count(0) != 1:
            return f"has {heads.count(0)} root words"
        if self.projective:
            for m in range(1, self.n + 1):
                low, high = sorted((heads[m], m))
                for k in range(low + 1, high):
                    if not low <= heads[k] <= high:
                        return f"has crossing arcs: {heads[m]} -> {m} and {heads[k]} -> {k}"
        if self.phi(arcs) == -math.inf:
            return "is ruled out by a factor of score -inf"
        return ""

    def phi(self, arcs: Sequence[int]) -> float:
        """φ of a tree, from its definition."""
        heads = [-1] + [self.head[a] for a in arcs]
        chosen = set(arcs)
        terms = [self.score[a] for a in arcs]
        for m in range(1, self.n + 1):
            h = heads[m]
            g = heads[h]
            mods = [k for k in range(1, self.n + 1) if heads[k] == h and (k < h) == (m < h)]
            nearest_first = sorted(mods, key=lambda k: abs(k - h))
            i = nearest_first.index(m)
            inner = nearest_first[i - 1] if i else -1
            terms.append(self.sib.get((h, inner, m), 0.0))
            terms.append(self.gsib.get((g, h, inner, m), 0.0))
            terms.append(self.gc.get((g, h, m), 0.0))
            if m == nearest_first[-1]:
                terms.append(self.ogc.get((g, h, m), 0.0))
        terms += [w for arcs_of, w in zip(self.factors, self.weights) if chosen.issuperset(arcs_of)]
        terms += [
            table[len(chosen.intersection(arcs_of))]
            for arcs_of, table in zip(self.sets, self.tables)
        ]
        return math.fsum(terms)
