"""Best trees under arc scores, for making proofs: projective by the chart, others by Edmonds.

Both offer the same: arcs in an order of their own, the best tree over those that are alive, and
how good a tree with each of them can be.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bbparse.oracle.nonprojective.arborescence import best_arborescence
from bbparse.oracle.projective.chart import build
from bbparse.oracle.projective.passes import (
    backtrace,
    group_marginals,
    group_scores,
    inside_pass,
    outside_pass,
)
from bbparse.problem import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class Backbone(Protocol):
    """What a proof needs of a recurrence.

    Attributes
    ----------
    order : int32[A]
        The problem's arc at each place.
    mod : int32[A]
        Modifier of the arc at each place.
    base : float64[A]
        Scores; -inf for arcs that are forbidden or rivals of required ones.
    """

    order: Ints
    mod: Ints
    base: Floats

    def best(self, score: Floats) -> tuple[float, Ints]:
        """The best score of a tree (-inf: there is none), and its arc into each word."""
        ...

    def with_each(self) -> Floats:
        """No tree with an arc scores more than this, under the scores last given to `best`."""
        ...

    def with_some(self, arcs: Ints) -> float:
        """The best score of a tree that has one of some arcs at least, under the same scores."""
        ...


class Projective:
    """The chart of a problem, parts and all."""

    def __init__(self, problem: Problem, scored: bool) -> None:
        self.chart = c = build(problem)
        self.order = c.order
        self.mod = np.repeat(c.group_mod, np.diff(c.group_ptr)).astype(np.int32)
        self.base = c.arc_score
        self._weight = c.weight if scored else np.zeros_like(c.weight)
        self._group_of = np.repeat(np.arange(len(c.group_mod)), np.diff(c.group_ptr))
        self._group_score = np.empty(len(c.group_mod))
        self._inside, self._outside = np.empty(c.n_items), np.empty(c.n_items)
        self._marginal = np.empty(len(c.group_mod))
        self._score = self.base

    def best(self, score: Floats) -> tuple[float, Ints]:
        """See `Backbone.best`."""
        c = self.chart
        self._score = score
        tree = np.empty(c.n_words, np.int32)
        if c.n_items <= 1:
            return -np.inf, tree
        group_scores(c.group_ptr, score, self._group_score)
        goal = inside_pass(
            c.n_items, c.item_ptr, c.item_group, c.left, c.right, self._weight, self._group_score,
            self._inside,
        )  # fmt: skip
        if goal > -np.inf:
            backtrace(
                c.n_items, c.item_ptr, c.item_group, c.left, c.right, self._weight, c.group_ptr,
                score, c.group_mod, self._inside, tree,
            )  # fmt: skip
        return float(goal), tree

    def with_each(self) -> Floats:
        """See `Backbone.with_each`."""
        c = self.chart
        outside_pass(
            c.n_items, c.item_ptr, c.item_group, c.left, c.right, self._weight, self._group_score,
            self._inside, self._outside,
        )  # fmt: skip
        group_marginals(c.n_items, c.item_group, self._inside, self._outside, self._marginal)
        reached = (self._score > -np.inf) & (self._marginal > -np.inf)[self._group_of]
        value = np.full(len(self._score), -np.inf)
        group = self._group_of[reached]
        value[reached] = self._marginal[group] - self._group_score[group] + self._score[reached]
        return value

    def with_some(self, arcs: Ints) -> float:
        """See `Backbone.with_some`."""
        return float(self.with_each()[arcs].max())


class Nonprojective:
    """Edmonds' algorithm; parts are for multipliers."""

    def __init__(self, problem: Problem) -> None:
        p = problem
        self.order = np.lexsort((np.arange(len(p.arc_mod)), p.arc_mod)).astype(np.int32)
        self.mod = p.arc_mod[self.order]
        dead = p.arc_state == -1
        required = np.zeros(p.n_words + 1, np.bool_)
        required[p.arc_mod[p.arc_state == 1]] = True
        dead |= required[p.arc_mod] & (p.arc_state != 1)
        self.base = np.where(dead, -np.inf, p.arc_score)[self.order]
        self._head = p.arc_head[self.order]
        self._ptr = np.searchsorted(self.mod, np.arange(p.n_words + 2)).astype(np.int32)
        self._single_root = p.single_root
        self._goal, self._score = -np.inf, self.base
        self._reduced = np.empty(len(self.order))

    def best(self, score: Floats) -> tuple[float, Ints]:
        """See `Backbone.best`."""
        tree = np.empty(len(self._ptr) - 2, np.int32)
        self._score = score
        self._goal = float(
            best_arborescence(
                self._ptr, self._head, score, self._single_root, tree, self._reduced, np.empty(1)
            )
        )
        return self._goal, tree

    def with_each(self) -> Floats:
        """See `Backbone.with_each`."""
        return self._goal + self._reduced

    def with_some(self, arcs: Ints) -> float:
        """See `Backbone.with_some`."""
        limit = self.with_each()[arcs]
        found = -np.inf
        tree, reduced = np.empty(len(self._ptr) - 2, np.int32), np.empty(len(self.order))
        for i in np.argsort(-limit, kind="stable"):
            if limit[i] <= found:
                break
            score = self._score.copy()
            rivals = self.mod == self.mod[arcs[i]]
            rivals[arcs[i]] = False
            score[rivals] = -np.inf
            goal = best_arborescence(
                self._ptr, self._head, score, self._single_root, tree, reduced, np.empty(1)
            )
            found = max(found, float(goal))
        return found
