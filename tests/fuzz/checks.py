"""What must hold of every answer, and of one that is compared with trees that are known.

Scores are compared up to `TOLERANCE` of the terms that the compared trees themselves contain: a
penalty that neither of them pays excuses nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.core.parts import FIELDS
from tests.oracles.forest import Forest

TOLERANCE = 1e-9
LIMITS = ("time_limit", "node_limit", "work_limit", "tree_limit")


def fault(problem: Problem, answer: Solution, trees: Forest, case: Any) -> str:
    """What is wrong with an answer, all trees being known; or the empty string.

    ``case`` has ``k_best`` and ``options`` of `bbparse.solve`.
    """
    return (
        _tree_fault(problem, answer, trees)
        or _status_fault(problem, answer, len(trees.arcs), case.k_best, case.options)
        or _bound_fault(answer, trees)
    )


def _tree_fault(p: Problem, s: Solution, trees: Forest) -> str:
    """Trees that are none, or score something else, or come in another order."""
    rows = [tuple(row) for row in s.arcs.tolist()]
    if len(set(rows)) < len(rows):
        return "a tree is there twice"
    for row, heads, score in zip(rows, s.heads, s.scores.tolist()):
        if row not in trees.place:
            return f"{row} is no feasible tree"
        if heads.tolist() != [-1, *p.arc_head[list(row)].tolist()]:
            return f"heads {heads.tolist()} are not those of the arcs {row}"
        i = trees.place[row]
        if abs((trees.high[i] - score) + trees.low[i]) > 1e-15 * trees.size[i]:
            return f"tree {row} is said to score {score}, not {trees.high[i]}"
    labels = None if p.arc_label is None else p.arc_label[s.arcs]
    for i in range(1, len(rows)):
        if s.scores[i] > s.scores[i - 1]:
            return f"scores rise at tree {i}: {s.scores[i - 1]}, {s.scores[i]}"
        if s.scores[i] == s.scores[i - 1]:
            keys = [
                (s.heads[j].tolist(), [] if labels is None else labels[j].tolist())
                for j in (i - 1, i)
            ]
            if keys[0] > keys[1]:
                return f"trees {i - 1} and {i}, of one score, are not in the order of their heads"
    return ""


def _status_fault(p: Problem, s: Solution, total: int, k: int, options: dict[str, Any]) -> str:
    """A status that does not fit what was asked or what is there."""
    wanted, status = min(k, total), s.status
    stopped = status in LIMITS
    if stopped and options.get(status) is None:
        return f"status {status} without such a limit"
    if not total and not stopped and status != "infeasible":
        return f"status {status}, but there is no tree"
    if total and status == "infeasible":
        return f"infeasible, but there are {total} trees"
    if not stopped and len(s) != wanted:
        return f"{status} with {len(s)} trees, expected {wanted} of {total}"
    if status == "optimal" and not s.proved.all():
        return "optimal, but not all are proved"
    if not (s.upper_bounds >= s.scores).all() or (np.diff(s.upper_bounds) > 0.0).any():
        return f"bounds {s.upper_bounds} of scores {s.scores}"
    if (s.upper_bounds[s.proved] != s.scores[s.proved]).any():
        return f"proved, but bounds {s.upper_bounds} are not the scores {s.scores}"
    if status == "gap" and options.get("gap", 0.0) > 0.0:
        score, bound = float(s.scores[-1]), float(s.upper_bounds[-1])
        asked = options["gap"] * max(abs(score), abs(bound)) * (1.0 + 1e-12)
        if bound - score > asked + hidden(p):
            return f"gap of {bound - score} between {score} and {bound}, asked {options['gap']}"
    return ""


def hidden(p: Problem) -> float:
    """What the rounding of the largest scores may hide of a tree without them."""
    sizes = np.abs(np.concatenate([getattr(p, name) for name in FIELDS if name.endswith("_score")]))
    return 1e-11 * p.n_words * float(sizes[np.isfinite(sizes)].sum())


def _bound_fault(s: Solution, trees: Forest) -> str:
    """The i-th bound must have at most i - 1 trees above it."""
    if not len(s):
        return ""
    index = [trees.place[tuple(row)] for row in s.arcs.tolist()]
    size = trees.size[index]
    # a tree that beats no bound by its own terms need not be looked at
    above = np.flatnonzero((trees.high - s.upper_bounds[-1]) + trees.low > TOLERANCE * trees.size)
    high, low, sizes = trees.high[above], trees.low[above], trees.size[above]
    for i, bound in enumerate(s.upper_bounds.tolist()):
        slack = TOLERANCE * np.maximum(sizes, size[i])
        better = above[(high - bound) + low > slack]
        if len(better) > i:
            best = sorted(better.tolist(), key=lambda t: (-trees.high[t], -trees.low[t]))
            t = next(t for t in best if t not in index[:i])
            said = "proved" if s.proved[i] else f"bound {bound!r}"
            return (
                f"{s.status}: tree {i + 1} of {len(s)} scores {float(s.scores[i])!r}, {said};"
                f" {trees.arcs[t].tolist()} scores {float(trees.high[t])!r}"
                f" (terms {trees.size[t]:.3g}, those of the answer's {size[i]:.3g})"
            )
    return ""


def exact_sum(terms: Any) -> tuple[float, float]:
    """The sum, correctly rounded, and the sum of the magnitudes."""
    values = list(map(float, terms))
    return math.fsum(values), math.fsum(map(abs, values))
