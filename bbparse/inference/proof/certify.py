"""Make proofs of solutions: `certify`, and `with_proof`, which `bbparse.solve` calls.

A proof is found by a search that knows the k best trees already. It visits subspaces depth first,
and `Certifier` writes the nodes of a :class:`bbparse.core.proof.Proof` in that order. In each
subspace it lowers the bound of `inference.proof.relaxation` by Polyak steps towards the k-th score.
It eliminates together all arcs whose max-marginals show that they are in no better tree. Then it
branches: on the arc with the largest gap, or, if the best tree is one of the solution, by Lawler's
partition around that tree.

Bounds are lowered at the scale of the k-th tree (:mod:`bbparse.core.scale`): scores that are cut
off there are larger than the user's, so that a bound holds for both, and multipliers are converted
back. If rounding could still exceed the tolerance of a proof, there is none.

If fewer than k trees exist, there is no k-th score, and the proof must show that no other tree is
feasible. All finite scores are then replaced by zero, and bounds are lowered until they are
negative.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.core.order import sort_arcs
from bbparse.core.proof import BOUND, EMPTY, SPLIT, TREE, Proof, digest, largest_score, tolerances
from bbparse.core.scale import Scaled, scaled
from bbparse.core.score import broken_constraint, tree_score, tree_terms
from bbparse.core.tree import rivals
from bbparse.inference.proof.crossing import pairs_of
from bbparse.inference.proof.relaxation import Bound, Multipliers, Relaxation, Space
from bbparse.runtime.arrays import Float64s, Longs
from bbparse.runtime.deadline import Deadline

#: Number of oracle calls at the root, at other nodes, and from one elimination to the next.
ROOT_CALLS, NODE_CALLS, EVERY = 60, 15, 4
#: Factor on the number of calls if the oracle has components that must agree.
MORE_CALLS = 8
#: Without scores, bounds are lowered towards -1; this value is low enough.
CLEARLY_NEGATIVE = -1e-3
#: Rounding errors of sums stay below this fraction of the largest score that a tree could have.
NOISE = 2e-14


class _NoProof(Exception):
    """The solution lacks a better tree, or rounding hides too much."""


def certify(
    problem: Problem, solution: Solution, k_best: int, *, time_limit: float | None = None
) -> tuple[Proof | None, str]:
    """Prove that the trees of a solution are the k best of a problem, or all that exist.

    Returns the proof, or None and the reason why there is none.
    """
    try:
        return Certifier(problem, solution, k_best).run(time_limit)
    except _NoProof as reason:
        return None, str(reason)


def with_proof(
    problem: Problem, solution: Solution, k_best: int, *, time_limit: float | None = None
) -> tuple[Solution, str]:
    """Return the solution with its proof, and the reason if there is none; see `certify`."""
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


class Certifier:
    """Writer of the proof of one solution."""

    def __init__(self, problem: Problem, solution: Solution, k_best: int) -> None:
        self.given, self.k_best = problem, k_best
        self.problem, self.order = sort_arcs(problem)
        self.trees = solution.arcs
        if self.order is not None:
            self.trees = np.argsort(self.order).astype(np.int32)[solution.arcs]
        self.known = {tuple(arcs) for arcs in self.trees.tolist()}
        self.all_trees = len(solution) < k_best
        self.scale: Scaled[Problem] | None = None
        if self.all_trees:
            self.scores = np.zeros_like(solution.scores)
            self.limit, self.target, self.tree_limit = CLEARLY_NEGATIVE, -1.0, -math.inf
            self.precision = 1e-3
            self.relaxation = Relaxation(self.problem, False, 8.0)
        else:
            self._set_scale(solution)
        sizes = np.diff(self.problem.factor_ptr)
        #: The factor of each multiplier, and True for one of an arc that no tree has.
        self.owner = np.repeat(np.arange(len(sizes)), sizes)
        self.dead = self.relaxation.base[self.problem.factor_arcs] == -math.inf
        self.nodes = Nodes()

    def _set_scale(self, solution: Solution) -> None:
        """Set the relaxation, and the limits of bounds, at the scale of the last tree."""
        terms = tree_terms(self.problem, self.trees[-1])
        rounding, above = tolerances(self.problem, terms)
        scale = self.scale = scaled(self.problem, terms)
        largest = largest_score(scale.problem)
        # without a loss, all scores are 0 there
        if scale.loss and rounding / scale.unit < NOISE * largest:
            raise _NoProof("the scores are too far apart for a proof")
        self.target = scale.score(terms)
        # higher trees may score less at this scale, but not more
        gains = solution.scores - solution.scores[-1]
        self.scores = self.target + gains / scale.unit
        # half of the tolerance: the other half is for rounding
        self.limit = self.target + max(0.5 * rounding, above - rounding) / scale.unit
        self.tree_limit = float(solution.scores[-1]) + rounding
        self.precision = 0.5 * rounding / scale.unit
        self.relaxation = Relaxation(scale.problem, True, 4.0 * largest)

    def run(self, time_limit: float | None) -> tuple[Proof | None, str]:
        """Search depth first; return the proof, and the reason if there is none."""
        deadline, calls = Deadline.after(time_limit), ROOT_CALLS
        waiting = [self.relaxation.whole()]
        while waiting:
            if deadline.is_over():
                return None, "the time limit was reached"
            waiting += self._prove(waiting.pop(), calls)
            calls = NODE_CALLS
        return self.nodes.proof(self.given, self.k_best, self.order), ""

    # ---- one subspace --------------------------------------------------------------------------

    def _prove(self, space: Space, calls: int) -> list[Space]:
        """Write the node of a subspace; return the subspaces left to prove, the last one first."""
        relaxation = self.relaxation
        relaxation.tighten(space)
        inside = [t for t, tree in enumerate(self.trees) if space.alive[tree].all()]
        target = max([self.target, *(float(self.scores[t]) for t in inside)])
        calls *= MORE_CALLS if relaxation.has_multipliers else 1
        previous, damping = math.inf, 1.0
        call = 0
        while True:
            bound = relaxation.bound(space)
            if bound.value <= self.limit:
                self._write_leaf(space, bound.value)
                return []
            call += 1
            last = call >= calls or bound.value <= target + self.precision
            if (last or call % EVERY == 1) and self._eliminate(space, bound):
                continue
            if last:
                return self._branch(space, bound)
            if bound.value > previous:
                damping *= 0.7
            previous = bound.value
            if not relaxation.step(space, damping * (bound.value - target)):
                return self._branch(space, bound)

    def _eliminate(self, space: Space, bound: Bound) -> bool:
        """Remove the arcs that are in no tree above the limit; return True if any were."""
        value = self.relaxation.max_marginals(space, bound)
        poor = np.flatnonzero(self.relaxation.free(space) & (value <= self.limit))
        if not len(poor):
            return False
        self.nodes.split(poor)
        if len(poor) == 1:
            # the leaf requires this arc, which tightens its bound: bound the leaf itself
            having = self._without_and_with(space, int(poor[0]))[1]
            self.relaxation.tighten(having)
            self._write_leaf(having, self.relaxation.bound(having).value)
        else:
            self._write_leaf(space, float(value[poor].max()))
        space.alive[poor] = False
        self.relaxation.tighten(space)
        return True

    def _write_leaf(self, space: Space, bound: float) -> None:
        """Write the leaf of a subspace that has no tree above the limit, or no tree."""
        if bound == -math.inf or self.scale is None:
            self.nodes.leaf(EMPTY, -math.inf, self._multipliers(space))
        else:
            claim = math.fsum([bound * self.scale.unit, *self.scale.constants])
            self.nodes.leaf(BOUND, claim, self._multipliers(space))

    def _multipliers(self, space: Space) -> Multipliers:
        """Return the multipliers of a subspace at the scale of the user's problem."""
        p, scale = self.problem, self.scale
        factors, counts, pairs = self.relaxation.proof_multipliers(space)
        if scale is None:
            return factors, counts, pairs
        factors, counts, pairs = (lam * scale.unit for lam in (factors, counts, pairs))
        # what cutting off and rounding take from a weight goes to an arc that no tree has, or else
        # to the largest multiplier; the gain by a word's parts goes to each arc to the word, if
        # automata score them
        last = np.lexsort((factors, self.dead, self.owner))[p.factor_ptr[1:] - 1]
        factors[self.dead[last][self.owner]] = 0.0  # rounded sums with a large weight count
        kept = np.bincount(self.owner, factors, len(last))
        factors[last] += np.where(p.factor_score > 0.0, p.factor_score - kept, 0.0)
        if pairs.size:
            pairs[0] += scale.part_gain.sum(axis=0)[[m for _, m in pairs_of(p)]]
        most = np.where(p.factor_score < 0.0, -p.factor_score, np.inf)  # but for rounding
        return np.minimum(factors, most[self.owner]), counts, pairs

    # ---- branching -----------------------------------------------------------------------------

    def _branch(self, space: Space, bound: Bound) -> list[Space]:
        arcs, free = bound.tree, self.relaxation.free(space)
        score, fault = tree_score(self.problem, arcs), broken_constraint(self.problem, arcs)
        if tuple(arcs.tolist()) not in self.known:
            if score > self.tree_limit and not fault:
                raise _NoProof(f"a tree of score {score} is not in the solution")
            gap = np.where(free, self.relaxation.gaps(space), 0.0)
            if gap.max(initial=0.0) > 0.0:
                arc = int(gap.argmax())
                self.nodes.split([arc])
                return self._without_and_with(space, arc)
        # Lawler's partition: for each i, the trees that first differ at the i-th free arc
        spaces: list[Space] = []
        for arc in arcs[free[arcs]].tolist():
            self.nodes.split([arc])
            without, space = self._without_and_with(space, arc)
            spaces.append(without)
        if fault:
            self.relaxation.tighten(space)
            self._write_leaf(space, -math.inf)
        else:
            self.nodes.leaf(TREE, score)
        return spaces

    def _without_and_with(self, space: Space, arc: int) -> list[Space]:
        without, having = space.copy(), space.copy()
        without.alive[arc] = False
        having.alive[rivals(self.relaxation.mod, arc)] = False
        return [without, having]


class Nodes:
    """Nodes in pre-order, and the rows of multipliers that they share."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, list[int], float, int]] = []
        self._rows: dict[tuple[bytes, ...], int] = {}

    def split(self, arcs: Iterable[int]) -> None:
        """Split into trees with at least one of these arcs, and trees without any."""
        self._nodes.append((SPLIT, np.asarray(arcs).tolist(), 0.0, -1))

    def leaf(self, kind: int, bound: float, multipliers: tuple[Float64s, ...] = ()) -> None:
        """Close a subspace, with or without multipliers of factors, counts and pairs."""
        row = -1
        if multipliers:
            key = tuple(lam.tobytes() for lam in multipliers)
            row = self._rows.setdefault(key, len(self._rows))
        self._nodes.append((kind, [], bound, row))

    def proof(self, problem: Problem, k_best: int, order: Longs | None = None) -> Proof:
        """Convert the nodes to a proof; ``order`` maps their arcs to those of the problem."""
        widths = (len(problem.factor_arcs), len(problem.count_arcs), 2 * len(pairs_of(problem)))
        multipliers = [
            np.frombuffer(b"".join(row[i] for row in self._rows)).reshape(len(self._rows), width)
            for i, width in enumerate(widths)
        ]
        kinds, asked, bounds, rows = zip(*self._nodes)
        arcs = np.array([a for own in asked for a in own], np.int32)
        return Proof(
            digest(problem),
            k_best,
            np.array(kinds, np.int8),
            np.cumsum([0, *map(len, asked)]),
            arcs if order is None else order[arcs].astype(np.int32),
            np.array(bounds),
            np.array(rows, np.int32),
            *multipliers,
        )
