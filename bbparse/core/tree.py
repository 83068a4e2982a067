"""Scores and constraints of one tree, directly from the definitions in `Problem`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bbparse.core.check import as_ints, check_range
from bbparse.core.parts import ANY, OUTERMOST, ProblemArrays
from bbparse.runtime.arrays import Flags, Float64s, Ints, Longs
from bbparse.runtime.errors import ProblemError


def arcs_of(problem: ProblemArrays, tree: ArrayLike) -> Ints:
    """Return the arc index int32[n_words] of each word of a tree given by its heads or its arcs."""
    n = problem.n_words
    values = as_ints("tree", tree, np.int32)
    if len(values) == n:
        check_range("tree", values, 0, len(problem.arc_head) - 1)
        wrong = np.flatnonzero(problem.arc_mod[values] != np.arange(1, n + 1))
        if len(wrong):
            i = int(wrong[0])
            raise ProblemError(
                f"tree[{i}] is arc {values[i]} into word {problem.arc_mod[values[i]]},"
                f" expected an arc into word {i + 1}"
            )
        return values
    if len(values) != n + 1:
        raise ProblemError(
            f"tree has {len(values)} elements, expected {n + 1} heads (the first for the root)"
            f" or {n} arc indices"
        )
    hits = np.flatnonzero(problem.arc_head == values[problem.arc_mod])
    counts = np.bincount(problem.arc_mod[hits], minlength=n + 1)[1:]
    bad = np.flatnonzero(counts != 1)
    if len(bad):
        m = int(bad[0]) + 1
        if counts[m - 1] == 0:
            raise ProblemError(f"tree[{m}] is {values[m]}: no candidate arc {values[m]} -> {m}")
        raise ProblemError(
            f"tree[{m}] is {values[m]}: {counts[m - 1]} arcs {values[m]} -> {m} differ in their"
            " labels; give arc indices"
        )
    arcs = np.empty(n, dtype=np.int32)
    arcs[problem.arc_mod[hits] - 1] = hits
    return arcs


def heads_of(problem: ProblemArrays, arcs: Ints) -> Ints:
    """Return heads int32[..., n + 1] of trees given by the arc of each word; the first is -1."""
    heads = np.full((*arcs.shape[:-1], problem.n_words + 1), -1, dtype=np.int32)
    heads[..., 1:] = problem.arc_head[arcs]
    return heads


def arcs_left(mod: Ints, required: Flags, forbidden: Flags) -> Flags:
    """Return the arcs that are neither forbidden nor rivals of required ones, bool[A].

    Two required arcs into one word exclude each other. ``mod`` has the modifier of each arc.
    """
    number = np.bincount(mod[required], minlength=int(mod.max(initial=0)) + 1)
    return ~forbidden & (number[mod] == required)


def rivals(mod: Ints, arcs: Any) -> Flags:
    """Return the other arcs into the words of some arcs, bool[A]."""
    words = np.zeros(int(mod.max(initial=0)) + 1, np.bool_)
    words[mod[arcs]] = True
    others = words[mod]
    others[arcs] = False
    return others


def most_trees(problem: ProblemArrays) -> int:
    """Bound the number of trees by the number of ways to give each word one of its arcs."""
    choices = np.bincount(problem.arc_mod[problem.arc_state != -1], minlength=problem.n_words + 1)
    return math.prod(choices[1:].tolist())


def _neighbours(heads: Ints) -> tuple[Ints, Flags]:
    """Return each word's next sibling towards the head (-1: none), and whether it is outermost."""
    words = np.arange(len(heads))
    right = words > heads
    order = np.lexsort((np.abs(words - heads), right, heads))
    first, second = order[:-1], order[1:]
    adjacent = (heads[first] == heads[second]) & (right[first] == right[second])
    first, second = first[adjacent], second[adjacent]
    inner, outermost = np.full(len(heads), -1, np.int32), np.ones(len(heads), np.bool_)
    inner[second], outermost[first] = first, False
    return inner, outermost


def fired_parts(problem: ProblemArrays, heads: Ints) -> list[Flags]:
    """Return which parts of each kind are in a tree, in the order of the fields of `Parts`."""
    inner, outermost = _neighbours(heads)
    fired = []
    for kind, (grand, head, before, mod, _) in enumerate(problem.parts):
        # the head of the root is -1 both in `heads` and in the parts
        on = (heads[mod] == head) & ((grand == ANY) | (heads[head] == grand))
        on &= (before == ANY) | (before == inner[mod])
        fired.append(on & outermost[mod] if kind == OUTERMOST else on)
    return fired


def fired_factors(problem: ProblemArrays, arcs: Ints) -> Longs:
    """Return the indices of the factors whose arcs are all among `arcs`."""
    if not len(problem.factor_score):
        return np.zeros(0, dtype=np.int64)
    in_tree = np.zeros(len(problem.arc_head), dtype=np.bool_)
    in_tree[arcs] = True
    fires = np.logical_and.reduceat(in_tree[problem.factor_arcs], problem.factor_ptr[:-1])
    return np.flatnonzero(fires)


def count_terms(problem: ProblemArrays, arcs: Ints) -> Float64s:
    """Return the score of each count factor in the tree of these arcs."""
    if not len(problem.count_arcs):
        return np.zeros(0, dtype=np.float64)
    in_tree = np.zeros(len(problem.arc_head), dtype=np.int64)
    in_tree[arcs] = 1
    numbers = np.add.reduceat(in_tree[problem.count_arcs], problem.count_ptr[:-1])
    return problem.count_score[problem.count_score_ptr[:-1] + numbers]


def tree_score(problem: ProblemArrays, arcs: Ints) -> float:
    """Return φ of a tree given by the arc of each word, correctly rounded; -inf if forbidden."""
    return math.fsum(tree_terms(problem, arcs))


def tree_terms(problem: ProblemArrays, arcs: Ints) -> list[float]:
    """Return the terms of φ of a tree."""
    p = problem
    heads = heads_of(p, arcs)
    terms: list[NDArray[Any]] = [p.arc_score[arcs]]
    if any(len(part[-1]) for part in p.parts):
        terms += [part[-1][on] for part, on in zip(p.parts, fired_parts(p, heads))]
    terms.append(p.factor_score[fired_factors(p, arcs)])
    terms.append(count_terms(p, arcs))
    values: list[float] = np.concatenate(terms).tolist()
    return values


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
    for f in fired_factors(p, arcs):
        if p.factor_score[f] == -np.inf:
            return f"factor {f} of weight -inf fires"
    violated = np.flatnonzero(count_terms(p, arcs) == -np.inf)
    if len(violated):
        c = int(violated[0])
        number = int(np.isin(p.counts.members(c), arcs).sum())
        return f"count factor {c} scores -inf for {number} arcs"
    return ""
