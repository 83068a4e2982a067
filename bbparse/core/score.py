"""Scores φ and constraints of trees, directly from the definitions in `Problem`.

A search adds the same terms in a different order at every node. Scores computed here do not depend
on how a tree was found, nor on the order of parts and factors.
"""

from __future__ import annotations

import math

import numpy as np

from bbparse.core.parts import ProblemArrays
from bbparse.core.score_kernels import count_members, mark_parts, score_rows
from bbparse.core.tree import heads_of
from bbparse.runtime.arrays import Flags, Float64s, Ints


def fired_parts(problem: ProblemArrays, heads: Ints) -> list[Flags]:
    """Return which parts of each kind are in a tree, in the order of the fields of `Parts`."""
    words, _, kind_ptr = problem.part_table
    return np.split(mark_parts(words, kind_ptr, heads), kind_ptr[1:-1])


def fired_factors(problem: ProblemArrays, trees: Ints) -> Flags:
    """Return which factors fire in trees int32[K, n] of arcs, bool[K, F]."""
    p = problem
    if not len(p.factor_score):
        return np.zeros((len(trees), 0), np.bool_)
    numbers = count_members(trees, p.arc_mod, p.factor_ptr, p.factor_arcs)
    return numbers == np.diff(p.factor_ptr)


def count_terms(problem: ProblemArrays, trees: Ints) -> Float64s:
    """Return the scores of the count factors in trees int32[K, n] of arcs, float64[K, C]."""
    p = problem
    if len(p.count_ptr) == 1:
        return np.zeros((len(trees), 0))
    numbers = count_members(trees, p.arc_mod, p.count_ptr, p.count_arcs)
    return p.count_score[p.count_score_ptr[:-1] + numbers]


def _rows(trees: Ints) -> Ints:
    """Return one tree, or several, as the array int32[K, n] that kernels take."""
    return np.array(trees, np.int32, order="C", ndmin=2)


def tree_score(problem: ProblemArrays, arcs: Ints) -> float:
    """Return φ of a tree given by the arc of each word, correctly rounded; -inf if forbidden."""
    return math.fsum(tree_terms(problem, arcs))


def tree_terms(problem: ProblemArrays, arcs: Ints) -> list[float]:
    """Return the terms of φ of a tree."""
    p, tree = problem, _rows(arcs)
    terms = [p.arc_score[tree[0]], p.factor_score[fired_factors(p, tree)[0]]]
    terms.append(count_terms(p, tree)[0])
    words, scores, kind_ptr = p.part_table
    if len(scores):
        terms.append(scores[mark_parts(words, kind_ptr, heads_of(p, tree[0]))])
    values: list[float] = np.concatenate(terms).tolist()
    return values


def score_trees(problem: ProblemArrays, trees: Ints) -> Float64s:
    """Return the scores float64[3, K] of trees int32[K, n] of arcs.

    The rows are φ, the sum of the magnitudes of all terms of a tree, and the smallest nonzero
    magnitude (inf: there is none): they determine how exact a score has to be.
    """
    p, rows = problem, _rows(trees)
    others = np.empty((len(rows), 0))
    if len(p.factor_score):
        others = np.where(fired_factors(p, rows), p.factor_score, 0.0)
    if len(p.count_ptr) > 1:
        others = np.concatenate((others, count_terms(p, rows)), axis=1)
    return score_rows(rows, p.arc_head, p.arc_score, p.part_table, others)


def broken_constraint(problem: ProblemArrays, arcs: Ints) -> str:
    """Describe what makes a tree (the arc index of each word) infeasible; "" if nothing does."""
    p = problem
    n = p.n_words
    for m, arc in enumerate(arcs, start=1):
        if p.arc_state[arc] == -1:
            return f"arc {p.arc_head[arc]} -> {m} is forbidden"
    missing = np.setdiff1d(np.flatnonzero(p.arc_state == 1), arcs)
    if len(missing):
        return f"arc {p.arc_head[missing[0]]} -> {p.arc_mod[missing[0]]} is required"
    heads = heads_of(p, arcs)
    roots = int((heads == 0).sum())
    if p.single_root and roots != 1:
        return f"the root has {roots} modifiers"
    reached = np.zeros(n + 1, dtype=np.bool_)
    reached[0] = True
    for _ in range(n):
        reached[1:] |= reached[heads[1:]]
    if not reached.all():
        return f"word {int(np.flatnonzero(~reached)[0])} is not reachable from the root"
    if p.projective:
        spans = [(min(m, int(heads[m])), max(m, int(heads[m]))) for m in range(1, n + 1)]
        for i, (a, b) in enumerate(spans):
            for c, d in spans[:i]:
                if a < c < b < d or c < a < d < b:
                    return f"arcs {a}-{b} and {c}-{d} cross"
    tree = _rows(arcs)
    for f in np.flatnonzero(fired_factors(p, tree)[0]):
        if p.factor_score[f] == -np.inf:
            return f"factor {f} of weight -inf fires"
    violated = np.flatnonzero(count_terms(p, tree)[0] == -np.inf)
    if len(violated):
        c = int(violated[0])
        number = int(np.isin(p.counts.members(c), arcs).sum())
        return f"count factor {c} scores -inf for {number} arcs"
    return ""
