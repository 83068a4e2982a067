"""Making proofs: a branch and bound of its own, which knows the k best trees already.

It walks the subspaces depth first and writes the nodes of a :class:`bbparse.proof.proof.Proof` as
it goes. In each it lowers the Lagrangian bound by Polyak's steps (:mod:`bbparse.bounding`),
aiming at the k-th score; takes out at once all arcs that are in no better tree, which the
max-marginals under the same multipliers show; and then branches: on the arc with the largest
factor gap, or, where the best tree is one of the solution, by Lawler's partition around it.

Bounds refer to the problem as it was given: there is no presolve, and what is fixed in a subspace
only moves multipliers (:mod:`bbparse.proof.settle`).

Where fewer than k trees exist, there is no k-th score, and what has to be shown is that nothing
else is feasible. All finite scores are then replaced by zero, and bounds are lowered until they
are negative.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from bbparse.backbone.chart import build
from bbparse.backbone.passes import (
    backtrace,
    group_marginals,
    group_scores,
    inside_pass,
    outside_pass,
)
from bbparse.bounding.counts import apply_counts, count_gaps, disagreement, step_counts
from bbparse.bounding.multipliers import (
    apply_multipliers,
    factor_gaps,
    start_multipliers,
    step_polyak,
)
from bbparse.problem import Problem, Solution
from bbparse.problem.tree import broken_constraint, tree_score
from bbparse.proof.nodes import Nodes
from bbparse.proof.proof import BOUND, EMPTY, TREE, Proof, digest, tolerances
from bbparse.proof.settle import Hard, settle

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Viterbi passes at the root and at other nodes, and how many lie between two eliminations.
ROOT_CALLS, NODE_CALLS, EVERY = 60, 15, 4
#: Without scores bounds are lowered towards -1, and are low enough here.
CLEARLY_NEGATIVE = -1e-3


def certify(
    problem: Problem,
    solution: Solution,
    k_best: int,
    *,
    time_limit: float | None = None,
    node_limit: int | None = None,
) -> tuple[Proof | None, str]:
    """Prove that the trees of a solution are the k best of a problem.

    Parameters
    ----------
    problem : Problem
        A projective problem; there are no proofs for others.
    solution : Solution
        Its k best trees, or all there are.
    k_best : int
        How many trees were asked for.
    time_limit : float, optional
        Seconds; looked at between subspaces.
    node_limit : int, optional
        Most subspaces.

    Returns
    -------
    proof : Proof or None
    reason : str
        Why there is no proof; "" if there is one.
    """
    if not problem.projective:
        return None, "there are no proofs for non-projective problems"
    return _Certifier(problem, solution, k_best).run(time_limit, node_limit)


def with_proof(
    problem: Problem, solution: Solution, k_best: int, *, time_limit: float | None = None
) -> tuple[Solution, str]:
    """The solution with its proof, if it has one, and why if it has none.

    Arguments as for :func:`certify`. ``stats`` gain ``proof_seconds`` and, with a proof,
    ``proof_leaves``. A search that a limit stopped has nothing to prove.
    """
    started = time.perf_counter()
    if solution.status in ("optimal", "infeasible"):
        proof, reason = certify(problem, solution, k_best, time_limit=time_limit)
    else:
        proof, reason = None, f"the search ended with the status {solution.status}"
    stats = dict(solution.stats)
    stats["proof_seconds"] = time.perf_counter() - started
    if proof is not None:
        stats["proof_leaves"] = proof.n_leaves
    return replace(solution, proof=proof, stats=stats), reason


@dataclass(slots=True)
class _Space:
    """A subspace, in chart arcs, with the multipliers that were good for the one around it."""

    alive: Flags
    lam: Floats
    count_lam: Floats

    def copy(self) -> _Space:
        return _Space(self.alive.copy(), self.lam.copy(), self.count_lam.copy())


@dataclass(slots=True)
class _Bound:
    """A Viterbi pass: the bound, its tree and what the next passes need."""

    value: float
    shift: float
    tree: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))


class _BetterTree(Exception):
    """A tree that the solution lacks."""


class _Certifier:
    def __init__(self, problem: Problem, solution: Solution, k_best: int) -> None:
        self.problem = problem
        self.k_best = k_best
        self.chart = chart = build(problem)
        self.place = np.empty(len(chart.order), np.int32)
        self.place[chart.order] = np.arange(len(chart.order), dtype=np.int32)
        self.arc_mod = np.repeat(chart.group_mod, np.diff(chart.group_ptr))
        self.group_of = np.repeat(np.arange(len(chart.group_mod)), np.diff(chart.group_ptr))
        rounding, above = tolerances(problem)
        self.all_trees = len(solution) < k_best
        self.known = {tuple(arcs) for arcs in solution.arcs.tolist()}
        self.trees = self.place[solution.arcs]
        self.scores = solution.scores
        self.tree_limit = -math.inf if self.all_trees else float(self.scores[-1]) + rounding
        self.base = chart.arc_score
        self.weight = chart.weight
        weights = problem.factor_score
        table = problem.count_score
        self.hard = 4.0 * rounding / 1e-9
        if self.all_trees:
            self.limit, self.target, self.hard = CLEARLY_NEGATIVE, -1.0, 8.0
            self.precision = 1e-3
            self.base = np.where(np.isfinite(self.base), 0.0, self.base)
            self.weight = np.zeros_like(self.weight)
            weights = np.where(np.isfinite(weights), 0.0, weights)
            table = np.where(np.isfinite(table), 0.0, table)
            self.scores = np.zeros_like(self.scores)
        else:
            # half the tolerance, so that the checker's rounding has the other half
            self.target = float(self.scores[-1])
            self.precision = 0.5 * rounding
            self.limit = self.target + max(0.5 * rounding, above - rounding)
        self.fac_ptr, self.fac_arcs = problem.factor_ptr, self.place[problem.factor_arcs]
        self.fac_weight = np.where(np.isfinite(weights), weights, -self.hard)
        self.cnt_ptr, self.cnt_arcs = problem.count_ptr, self.place[problem.count_arcs]
        self.cnt_score_ptr, self.cnt_score = problem.count_score_ptr, table
        self.n_factors, self.n_sets = len(weights), len(self.cnt_ptr) - 1
        self.copy = np.zeros(len(self.cnt_arcs), np.int8)
        self.chosen = np.zeros(len(chart.order), np.int8)
        self.arc_score = np.empty(len(chart.order))
        self.gscore = np.empty(len(chart.group_mod))
        self.inside = np.empty(chart.n_items)
        self.outside = np.empty(chart.n_items)
        self.marginal = np.empty(len(chart.group_mod))
        self.scratch = np.empty(int(np.diff(self.fac_ptr).max(initial=0)) + 2)
        self.rules = Hard(problem, self.place, self.arc_mod)
        self.nodes = Nodes(chart.order, problem)

    def run(self, time_limit: float | None, node_limit: int | None) -> tuple[Proof | None, str]:
        deadline = math.inf if time_limit is None else time.monotonic() + time_limit
        lam = np.empty(len(self.fac_arcs))
        start_multipliers(self.n_factors, self.fac_ptr, self.fac_weight, lam)
        waiting = [_Space(self.base > -np.inf, lam, np.zeros(len(self.cnt_arcs)))]
        done = 0
        while waiting:
            if node_limit is not None and done >= node_limit:
                return None, f"the node limit of {node_limit} was reached"
            if time.monotonic() >= deadline:
                return None, f"the time limit of {time_limit} s was reached"
            space = waiting.pop()
            done += 1
            try:
                waiting += self._prove(space, ROOT_CALLS if done == 1 else NODE_CALLS)
            except _BetterTree as better:
                return None, str(better)
        return self.nodes.proof(digest(self.problem), self.k_best), ""

    # ---- one subspace --------------------------------------------------------------------------

    def _prove(self, space: _Space, calls: int) -> list[_Space]:
        """Write the node of a subspace; the subspaces that are left to prove, the last first."""
        if self.chart.n_items <= 1 or not self._propagate(space):
            self.nodes.leaf(EMPTY, -math.inf)
            return []
        inside = [t for t, tree in enumerate(self.trees) if space.alive[tree].all()]
        target = max([self.target, *(float(self.scores[t]) for t in inside)])
        best = previous = math.inf
        mild = 1.0
        call = 0
        while True:
            bound = self._viterbi(space)
            if bound.value == -math.inf:
                self.nodes.leaf(EMPTY, -math.inf)
                return []
            if bound.value <= self.limit:
                self._bound_leaf(space, bound.value)
                return []
            call += 1
            best = min(best, bound.value)
            last = call >= calls or bound.value <= target + self.precision
            if (last or call % EVERY == 1) and self._eliminate(space, bound):
                if not self._propagate(space):
                    self.nodes.leaf(EMPTY, -math.inf)
                    return []
                continue
            if last:
                break
            if bound.value > previous:
                mild *= 0.7
            previous = bound.value
            if not self._step(space, mild * (bound.value - target)):
                break
        return self._branch(space, bound)

    def _propagate(self, space: _Space) -> bool:
        """Follow what hard constraints force; False where they contradict the subspace."""
        while True:
            forced = self.rules.forced(space.alive)
            if forced is None:
                return False
            if not forced:
                break
            for arc in forced:
                self.nodes.split([arc])
                self.nodes.leaf(EMPTY, -math.inf)
                space.alive[arc] = False
        self._settle(space)
        return True

    def _settle(self, space: _Space) -> None:
        settle(
            space.alive, self._choices(space), self.arc_mod, self.hard,
            self.n_factors, self.fac_ptr, self.fac_arcs, self.fac_weight, space.lam,
            self.n_sets, self.cnt_ptr, self.cnt_arcs, space.count_lam,
        )  # fmt: skip

    def _choices(self, space: _Space) -> NDArray[np.int64]:
        """int64[n + 1]: how many arcs into each word are alive."""
        return np.bincount(self.arc_mod[space.alive], minlength=self.problem.n_words + 1)

    def _viterbi(self, space: _Space) -> _Bound:
        c = self.chart
        base = np.where(space.alive, self.base, -np.inf)
        shift = apply_multipliers(
            base, self.n_factors, self.fac_ptr, self.fac_arcs, self.fac_weight, space.lam,
            self.arc_score,
        ) + apply_counts(
            self.n_sets, self.cnt_ptr, self.cnt_arcs, self.cnt_score_ptr, self.cnt_score,
            space.count_lam, self.copy, self.arc_score,
        )  # fmt: skip
        group_scores(c.group_ptr, self.arc_score, self.gscore)
        goal = inside_pass(
            c.n_items, c.item_ptr, c.item_group, c.left, c.right, self.weight, self.gscore,
            self.inside,
        )  # fmt: skip
        if goal == -np.inf or shift == -np.inf:
            return _Bound(float(goal), float(shift))
        tree = np.empty(c.n_words, np.int32)
        backtrace(
            c.n_items, c.item_ptr, c.item_group, c.left, c.right, self.weight, c.group_ptr,
            self.arc_score, c.group_mod, self.inside, tree,
        )  # fmt: skip
        self.chosen[:] = 0
        self.chosen[tree] = 1
        return _Bound(float(goal + shift), float(shift), tree)

    def _eliminate(self, space: _Space, bound: _Bound) -> bool:
        """Take out the arcs that are in no tree above the limit; whether there were any."""
        c = self.chart
        outside_pass(
            c.n_items, c.item_ptr, c.item_group, c.left, c.right, self.weight, self.gscore,
            self.inside, self.outside,
        )  # fmt: skip
        group_marginals(c.n_items, c.item_group, self.inside, self.outside, self.marginal)
        reached = space.alive & (self.marginal > -np.inf)[self.group_of]
        value = np.full(len(self.base), -np.inf)
        group = self.group_of[reached]
        value[reached] = (
            self.marginal[group] - self.gscore[group] + self.arc_score[reached] + bound.shift
        )
        free = space.alive & (self._choices(space) > 1)[self.arc_mod]
        poor = np.flatnonzero(free & (value <= self.limit) & (self.chosen == 0))
        if not len(poor):
            return False
        self.nodes.split(poor)
        most = float(value[poor].max())
        if len(poor) == 1:
            # the arc is required in its leaf, which fixes more: bound the leaf as it is
            self._close(self._without_and_with(space.copy(), int(poor[0]))[1])
        elif most == -math.inf:
            self.nodes.leaf(EMPTY, most)
        else:
            self._bound_leaf(space, most)
        space.alive[poor] = False
        return True

    def _close(self, space: _Space) -> None:
        """Write the leaf of a subspace that is known to have no tree above the limit."""
        if self.rules.forced(space.alive) is None:
            self.nodes.leaf(EMPTY, -math.inf)
            return
        self._settle(space)
        bound = self._viterbi(space)
        if bound.value == -math.inf:
            self.nodes.leaf(EMPTY, -math.inf)
        else:
            self._bound_leaf(space, bound.value)

    def _bound_leaf(self, space: _Space, bound: float) -> None:
        free = space.alive & (self._choices(space) > 1)[self.arc_mod]
        count_lam = np.where(free[self.cnt_arcs], space.count_lam, 0.0)
        kind, claim = (EMPTY, -math.inf) if self.all_trees else (BOUND, bound)
        self.nodes.leaf(kind, claim, space.lam, count_lam)

    def _step(self, space: _Space, gap: float) -> bool:
        """One step of Polyak's; False where the best tree makes all bounds exact."""
        apart = disagreement(self.n_sets, self.cnt_ptr, self.cnt_arcs, self.copy, self.chosen)
        norm = step_polyak(
            self.n_factors, self.fac_ptr, self.fac_arcs, self.fac_weight, space.lam, self.chosen,
            gap, apart, self.scratch,
        )  # fmt: skip
        if apart > 0.0:
            step_counts(
                self.n_sets, self.cnt_ptr, self.cnt_arcs, space.count_lam, self.copy, self.chosen,
                gap / norm,
            )  # fmt: skip
        return bool(norm > 0.0)

    # ---- branching -----------------------------------------------------------------------------

    def _branch(self, space: _Space, bound: _Bound) -> list[_Space]:
        arcs = self.chart.order[bound.tree]
        known = tuple(arcs.tolist()) in self.known
        if not known:
            score = tree_score(self.problem, arcs)
            if score > self.tree_limit and not broken_constraint(self.problem, arcs):
                raise _BetterTree(f"a tree of score {score} is not in the solution")
        free = space.alive & (self._choices(space) > 1)[self.arc_mod]
        if not known:
            gap = np.zeros(len(self.base))
            factor_gaps(
                self.n_factors, self.fac_ptr, self.fac_arcs, self.fac_weight, space.lam,
                self.chosen, gap,
            )  # fmt: skip
            count_gaps(
                self.n_sets, self.cnt_ptr, self.cnt_arcs, self.cnt_score_ptr, self.cnt_score,
                space.count_lam, self.copy, self.chosen, self.hard, gap,
            )  # fmt: skip
            gap[~free] = 0.0
            if gap.max(initial=0.0) > 0.0:
                arc = int(gap.argmax())
                self.nodes.split([arc])
                return self._without_and_with(space, arc)
        # Lawler: the trees that first leave this one at its i-th free arc, for each i
        spaces: list[_Space] = []
        for arc in bound.tree[free[bound.tree]].tolist():
            self.nodes.split([arc])
            without, space = self._without_and_with(space, arc)
            spaces.append(without)
        score = tree_score(self.problem, arcs)
        if broken_constraint(self.problem, arcs):
            self.nodes.leaf(EMPTY, -math.inf)
        else:
            self.nodes.leaf(TREE, score)
        return spaces

    def _without_and_with(self, space: _Space, arc: int) -> list[_Space]:
        without = space.copy()
        without.alive[arc] = False
        rivals = self.arc_mod == self.arc_mod[arc]
        rivals[arc] = False
        space.alive[rivals] = False
        return [without, space]
