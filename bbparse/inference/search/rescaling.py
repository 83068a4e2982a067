"""Re-solve numerically unbalanced problems at the scale of their best trees.

A search is exact up to a fraction of the largest sum of scores that a tree could have. If the terms
of the best trees are far smaller than that sum, as with masks of -1e12, this tolerance can hide
differences between them. Such a problem is solved again at the scale of the worst tree found
(:mod:`bbparse.core.scale`), as long as that gets smaller. Some more trees are listed, and all are
compared exactly. What remains is the difference of bound and score, and the status says ``gap``.
``stats`` and observers report the first search.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.core.proof import TOLERANCE
from bbparse.core.scale import grain_of, scaled
from bbparse.core.score import tree_terms
from bbparse.core.tree import heads_of
from bbparse.inference.relaxation.state import RELATIVE_SLACK
from bbparse.runtime.arrays import Float64s, Ints

#: Maximum error of a tree found, as a multiple of the slack of its search.
_SHORT = 4.0
#: Number of trees, beyond those asked for, that are compared exactly.
_MORE = 32


class Answer(NamedTuple):
    """The solution of a problem by one method, and its accuracy."""

    solution: Solution
    slack: float  # maximum error of bounds; 0: no more than the rounding error of a sum
    sizes: Float64s  # [2, K], the last two rows of the scores of `score_trees`


def rounding_matters(slack: float, size: float, least: float) -> bool:
    """Return True if an error of a search could hide a term of a tree, or a billionth of all."""
    return _SHORT * slack > min(TOLERANCE * size, least)


def resolves(problem: Problem, size: float) -> bool:
    """Return True if sums of this size do not hide differences between the scores of a problem."""
    return bool(problem.quantum) or size * RELATIVE_SLACK < grain_of(problem)


def resolved_at_scale(
    problem: Problem, answer: Answer, run: Callable[[Problem, Any], Answer], options: Any
) -> Solution:
    """Re-solve at the incumbents' scale until rounding cannot change the ranking."""
    first, k = answer.solution, len(answer.solution)
    trees = _best(problem, {}, first.arcs, k)
    grain = grain_of(problem)  # scores differ by multiples of it
    # maximum errors of the first, the first two, … trees
    errors = np.maximum(first.upper_bounds - first.scores, 0.0) + _SHORT * answer.slack
    errors[errors < grain] = 0.0
    status, searches, at_scale, loss, count = first.status, 1, problem, math.inf, k
    while status in ("optimal", "gap") and not all(map(_is_resolved, trees.values(), errors)):
        worst = list(trees.values())[-1]
        scale = scaled(at_scale, worst)
        if scale.loss > loss / 4.0:
            if count > k:
                break
            count = k + _MORE
        loss, excess = min(loss, scale.loss), 0.0
        if scale.loss:
            search = replace(options, k_best=count, gap=0.0, observer=None)
            solution, slack, _ = run(scale.problem, search)
            searches += 1
            if solution.status not in ("optimal", "infeasible"):
                status = solution.status
                break
            trees = _best(problem, trees, solution.arcs, k)
            worst = list(trees.values())[-1]
            if len(solution) == count:  # no tree that is not listed exceeds the last one
                last = math.fsum(tree_terms(scale.problem, solution.arcs[-1])) + _SHORT * slack
                terms = [last * scale.unit, *scale.constants, *(-x for x in worst)]
                excess = max(0.0, math.fsum(terms))
        excess = excess if excess >= grain else 0.0
        above = [math.fsum([excess, *worst, *(-x for x in own)]) for own in trees.values()]
        errors = np.minimum(errors, np.maximum(above, 0.0))
        state = np.where(scale.poor, -1, at_scale.arc_state).astype(np.int8)
        at_scale = at_scale.changed(arc_state=state)
    arcs, scores = np.array(list(trees), np.int32), np.array(list(map(math.fsum, trees.values())))
    # terms may cancel out, and a fraction of their size would hide trees without them
    proved = errors <= TOLERANCE * np.abs(scores)
    bounds = np.where(proved, scores, scores + errors)
    bounds = np.maximum.accumulate(bounds[::-1])[::-1]
    # no tree scores more than a proved tree before it
    bounds = np.minimum(bounds, np.minimum.accumulate(np.where(proved, scores, np.inf)))
    if status in ("optimal", "gap"):
        status = "optimal" if proved.all() else "gap"
    stats = {**first.stats, "upper_bound": float(bounds[0]), "searches": searches}
    return Solution(heads_of(problem, arcs), arcs, scores, bounds, proved, status, stats)


def _is_resolved(terms: list[float], error: float) -> bool:
    """Return True if an error hides no term of a tree, nor a billionth of its score."""
    least = min((abs(x) for x in terms if x), default=0.0)
    return error <= min(TOLERANCE * abs(math.fsum(terms)), least)


def _best(
    problem: Problem, known: dict[tuple[int, ...], list[float]], arcs: Ints, k: int
) -> dict[tuple[int, ...], list[float]]:
    """Return the k best of the known trees and some more, compared exactly, with their terms."""
    terms = dict(known)
    terms |= {tuple(tree.tolist()): tree_terms(problem, tree) for tree in arcs}
    order = sorted(terms, key=lambda tree: -sum(map(Fraction, terms[tree])))
    return {tree: terms[tree] for tree in order[:k]}
