"""Trees of a problem by their heads and by their arcs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bbparse.core.check import as_ints, check_range
from bbparse.core.parts import ProblemArrays
from bbparse.runtime.arrays import Flags, Ints
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
