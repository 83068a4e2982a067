"""A problem's backbone as a chart, and the plain questions one can ask of it.

A :class:`Chart` ignores factors: it is the dynamic program alone, over arcs and the part kinds its
recurrence holds. The search bounds factors into arc scores and runs the same passes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbparse.oracle.projective.build import build_chart
from bbparse.oracle.projective.passes import (
    backtrace,
    group_marginals,
    group_scores,
    inside_pass,
    k_best_pass,
    outside_pass,
)
from bbparse.oracle.projective.recurrences import RECURRENCES, Recurrence, cheapest
from bbparse.oracle.projective.weights import index_groups, weight_tables
from bbparse.problem import Problem
from bbparse.problem.parts import KINDS

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


def parts_of(problem: Problem) -> frozenset[str]:
    """The part kinds a problem has scores for."""
    return frozenset(kind for kind, part in zip(KINDS, problem.parts) if len(part[-1]))


@dataclass(slots=True)
class Chart:
    """All spans and hyperedges of a problem's projective dynamic program.

    Attributes
    ----------
    n_words : int
        Number of words n.
    order : int32[A]
        Original index of each arc of the chart; chart arcs are sorted by (head, mod, label).
    group_ptr : int32[B+1]
        Chart arcs of each head-modifier pair.
    group_mod : int32[B]
        Modifier of each pair.
    arc_score : float64[A]
        Scores in chart order; -inf for forbidden arcs and rivals of required ones.
    item_ptr, item_group, left, right, weight
        The hypergraph, see :func:`bbparse.oracle.projective.build.build_chart`.
    """

    n_words: int
    order: Ints
    group_ptr: Ints
    group_mod: Ints
    arc_score: Floats
    item_ptr: Ints
    item_group: Ints
    left: Ints
    right: Ints
    weight: Floats

    @property
    def n_items(self) -> int:
        """Number of items, the empty one included; 1 where no tree exists."""
        return int(self.item_group.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of hyperedges."""
        return int(self.left.shape[0])

    def _inside(self) -> tuple[Floats, Floats, float]:
        scores = np.empty(self.group_mod.shape[0])
        group_scores(self.group_ptr, self.arc_score, scores)
        inside = np.empty(self.n_items)
        goal = inside_pass(
            self.n_items, self.item_ptr, self.item_group, self.left, self.right, self.weight,
            scores, inside,
        )  # fmt: skip
        return scores, inside, float(goal)

    def viterbi(self) -> tuple[float, Ints]:
        """Best score and its arcs (original index of the arc of word m at position m-1).

        The score is -inf, and the arcs are empty, where no tree exists.
        """
        _, inside, goal = self._inside()
        if goal == -np.inf:
            return goal, np.empty(0, np.int32)
        tree = np.empty(self.n_words, np.int32)
        backtrace(
            self.n_items, self.item_ptr, self.item_group, self.left, self.right, self.weight,
            self.group_ptr, self.arc_score, self.group_mod, inside, tree,
        )  # fmt: skip
        return goal, self.order[tree]

    def k_best(self, k: int) -> tuple[Floats, Ints]:
        """Scores float64[K] and arcs int32[K, n] of the k best trees, best first (K <= k)."""
        trees, scores, _ = k_best_pass(
            self.n_items, self.item_ptr, self.item_group, self.left, self.right, self.weight,
            self.group_ptr, self.arc_score, self.group_mod, self.n_words, k,
        )  # fmt: skip
        return scores, self.order[trees]

    def max_marginals(self) -> Floats:
        """float64[A]: for each arc (original index) the best score of a tree that has it."""
        scores, inside, goal = self._inside()
        out = np.full(self.order.shape[0], -np.inf)
        if goal == -np.inf:
            return out
        outside = np.empty(self.n_items)
        outside_pass(
            self.n_items, self.item_ptr, self.item_group, self.left, self.right, self.weight,
            scores, inside, outside,
        )  # fmt: skip
        by_group = np.empty(self.group_mod.shape[0])
        group_marginals(self.n_items, self.item_group, inside, outside, by_group)
        group_of = np.repeat(np.arange(by_group.shape[0]), np.diff(self.group_ptr))
        alive = (self.arc_score > -np.inf) & (by_group[group_of] > -np.inf)
        chosen = group_of[alive]
        out[self.order[alive]] = by_group[chosen] - scores[chosen] + self.arc_score[alive]
        return out


def sort_arcs(problem: Problem) -> tuple[Ints, Ints, Ints]:
    """Chart order of a problem's arcs.

    Returns
    -------
    order : int32[A]
        Arc indices sorted by (head, mod, label).
    group_ptr : int32[B+1]
        Start of each head-modifier pair in that order.
    group_first : int32[B]
        Original index of the first arc of each pair.
    """
    head, mod = problem.arc_head, problem.arc_mod
    key = head.astype(np.int64) * (problem.n_words + 1) + mod
    if problem.arc_label is None:
        if key.shape[0] == 0 or bool((key[1:] > key[:-1]).all()):
            order = np.arange(key.shape[0], dtype=np.int32)
        else:
            order = np.argsort(key, kind="stable").astype(np.int32)
        return order, np.arange(key.shape[0] + 1, dtype=np.int32), order
    order = np.lexsort((problem.arc_label, key)).astype(np.int32)
    key = key[order]
    fresh = np.ones(len(key), bool)
    fresh[1:] = key[1:] != key[:-1]
    starts = np.flatnonzero(fresh)
    group_ptr = np.append(starts, key.shape[0]).astype(np.int32)
    return order, group_ptr, order[group_ptr[:-1]]


def live_scores(problem: Problem, order: Ints) -> Floats:
    """Arc scores in chart order, -inf for forbidden arcs and for rivals of required arcs."""
    scores = problem.arc_score[order].copy()
    state = problem.arc_state[order]
    if state.any():
        mod = problem.arc_mod[order]
        fixed = np.zeros(problem.n_words + 1, bool)
        fixed[mod[state == 1]] = True
        scores[(state == -1) | (fixed[mod] & (state != 1))] = -np.inf
        # two required arcs of one word contradict each other
        twice = np.bincount(mod[state == 1], minlength=problem.n_words + 1) > 1
        scores[twice[mod]] = -np.inf
    return scores


def recurrence_for(problem: Problem, backbone: Recurrence | str | None) -> Recurrence:
    """A recurrence, by itself or its name, that can score a problem; None: the cheapest that can.

    Raises
    ------
    ValueError
        Where there is none of that name, or it cannot hold a part kind the problem has.
    """
    parts = parts_of(problem)
    if backbone is None:
        return cheapest(parts)
    if isinstance(backbone, str):
        if backbone not in RECURRENCES:
            raise ValueError(f"unknown backbone {backbone!r}: one of {', '.join(RECURRENCES)}")
        backbone = RECURRENCES[backbone]
    if not parts <= backbone.holds:
        missing = ", ".join(sorted(parts - backbone.holds))
        raise ValueError(f"the {backbone.name} backbone cannot score parts of kind {missing}")
    return backbone


def build(problem: Problem, recurrence: Recurrence | str | None = None) -> Chart:
    """Build the chart of a projective problem.

    Parameters
    ----------
    problem : Problem
        ``problem.projective`` must hold.
    recurrence : Recurrence or str, optional
        Default: the cheapest that holds every part of the problem.

    Raises
    ------
    ValueError
        Where the recurrence cannot hold a part kind the problem has, or the problem is not
        projective.
    """
    if not problem.projective:
        raise ValueError("the charts are projective; this problem allows crossing arcs")
    recurrence = recurrence_for(problem, recurrence)
    order, group_ptr, group_first = sort_arcs(problem)
    head = problem.arc_head[group_first]
    mod = problem.arc_mod[group_first]
    index = index_groups(problem.n_words, head, mod)
    p = problem
    weights = weight_tables(p.n_words, head, mod, recurrence.mode, index, p.parts)
    item_ptr, item_group, left, right, weight = build_chart(
        p.n_words, head, mod, recurrence.mode, p.single_root, index, weights
    )
    return Chart(
        p.n_words, order, group_ptr, mod, live_scores(p, order),
        item_ptr, item_group, left, right, weight,
    )  # fmt: skip
