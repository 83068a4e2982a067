"""Check solutions and their proofs independently: slow, simple, without the solver's code.

Everything that follows from the problem is recomputed: the scores of trees, the validity of the
multipliers, and the bound of every leaf. Bounds (`inference.proof.bounds`) are exact; they come
from the dynamic program of `inference.proof.spans`, or from `inference.proof.crossing` for
crossing trees. The check also confirms that the leaves cover all trees. Only the records and errors
of the package are imported.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bbparse.core.parts import ProblemArrays
from bbparse.core.proof import BOUND, EMPTY, SPLIT, TREE, Proof, digest, rounding_of, tolerances
from bbparse.inference.proof.bounds import Bounds, Row, Subspace
from bbparse.inference.proof.crossing import pairs_of
from bbparse.inference.proof.exact import to_float, to_units
from bbparse.inference.proof.spans import Trees
from bbparse.runtime.errors import VerificationError

if TYPE_CHECKING:
    from bbparse.core import Problem, Solution

#: Arrays of a solution: the kind of their numbers, and their number of dimensions.
_ARRAYS = {
    "heads": ("i", 2),
    "arcs": ("i", 2),
    "scores": ("f", 1),
    "upper_bounds": ("f", 1),
    "proved": ("b", 1),
}
#: Words for these kinds in messages.
_NUMBERS = {"i": "integers", "f": "floats", "b": "booleans"}


def verify(problem: Problem, solution: Solution) -> None:
    """Check that the trees of a solution are the best ones of a problem, given its proof.

    If the check passes, the trees are feasible, distinct, correctly scored and in order, with the
    labels of their arcs (or none, as in a solution from a file), and no other tree of the problem
    scores more than the last one, up to three times the rounding of `tolerances`. If the proof is
    for more trees than the solution has, no other tree exists. Status, ``proved`` and
    ``upper_bounds`` say just that: every bound is the score of its tree. What
    cannot be checked without a search is not: the words of ``conflict`` (that there is no tree is
    checked, and that nothing is in conflict if there is one), and ``stats``.

    Parameters
    ----------
    problem : Problem
        The problem.
    solution : Solution
        The solution, with its ``proof``.

    Raises
    ------
    VerificationError
        If the check fails; the message names the first fault.
    """
    if not isinstance(problem, ProblemArrays):
        raise VerificationError(f"problem is of type {type(problem).__name__}, expected Problem")
    names = (*_ARRAYS, "status", "proof", "labels", "conflict")
    if not all(hasattr(solution, name) for name in names):
        raise VerificationError(f"solution is of type {type(solution).__name__}, expected Solution")
    proof = solution.proof
    if proof is None:
        raise VerificationError("the solution has no proof")
    if not isinstance(proof, Proof):
        raise VerificationError(f"the proof is of type {type(proof).__name__}, expected Proof")
    if proof.problem != digest(problem):
        raise VerificationError("the proof belongs to another problem")
    for name, (kind, ndim) in _ARRAYS.items():
        array = getattr(solution, name)
        if not (isinstance(array, np.ndarray) and array.dtype.kind == kind and array.ndim == ndim):
            expected = f"{ndim}-dimensional array of {_NUMBERS[kind]}"
            raise VerificationError(f"{name} is not a {expected}")
    trees = Trees(problem)
    _check_trees(trees, solution, proof)
    _check_claims(problem, solution)
    is_last = len(solution.scores) == proof.k_best
    terms = trees.terms(solution.arcs[-1].tolist()) if is_last else []
    _Check(problem, trees, solution, proof, *tolerances(problem, terms)).run()


def _check_trees(trees: Trees, solution: Solution, proof: Proof) -> None:
    count, n = len(solution.scores), trees.n
    if count > proof.k_best or proof.k_best < 1:
        raise VerificationError(
            f"the solution has {count} trees, but the proof is for {proof.k_best}"
        )
    if solution.status != ("optimal" if count else "infeasible"):
        raise VerificationError(f"the status is {solution.status}, but there are {count} trees")
    shapes: dict[str, tuple[int, ...]] = {"heads": (count, n + 1), "arcs": (count, n)}
    shapes |= {"upper_bounds": (count,), "proved": (count,)}
    for name, expected in shapes.items():
        shape = getattr(solution, name).shape
        if shape != expected:
            raise VerificationError(f"{name} has shape {shape}, expected {expected}")
    seen: dict[tuple[int, ...], int] = {}
    last = math.inf
    for t in range(count):
        arcs: list[int] = solution.arcs[t].tolist()
        for m, a in enumerate(arcs, start=1):
            if not 0 <= a < len(trees.mod) or trees.mod[a] != m:
                raise VerificationError(f"tree {t}: arc {a} is not an arc into word {m}")
        if solution.heads[t].tolist() != [-1] + [trees.head[a] for a in arcs]:
            raise VerificationError(f"tree {t}: its heads are not those of its arcs")
        fault = trees.fault(arcs)
        if fault:
            raise VerificationError(f"tree {t} {fault}")
        score, phi = float(solution.scores[t]), trees.phi(arcs)
        rounding = rounding_of(trees.terms(arcs))
        if not abs(score - phi) <= rounding:
            raise VerificationError(f"tree {t}: its score is {phi}, not {score}")
        if not score <= last:
            raise VerificationError(f"tree {t} scores more than the one before it")
        last = score
        if tuple(arcs) in seen:
            raise VerificationError(f"tree {t} is tree {seen[tuple(arcs)]} again")
        seen[tuple(arcs)] = t


def _check_claims(problem: Problem, solution: Solution) -> None:
    """Check what a solution says of its trees, whose arcs and scores are right."""
    count, known, labels = len(solution.scores), problem.arc_label, solution.labels
    if solution.conflict and count:
        raise VerificationError(f"there are {count} trees, but the solution names a conflict")
    for t in range(count):
        score, bound = float(solution.scores[t]), float(solution.upper_bounds[t])
        if bound != score:  # of optimal trees they are the same number
            where = "above" if bound > score else "below"
            raise VerificationError(
                f"tree {t}: its upper bound {bound} is {where} its score {score}"
            )
        if not solution.proved[t]:
            raise VerificationError(f"tree {t} is not proved, but the status is optimal")
    if labels is None:
        return
    if known is None:
        raise VerificationError("the solution has labels, but the problem has none")
    if not isinstance(labels, np.ndarray) or labels.shape != solution.arcs.shape:
        raise VerificationError(f"labels is no array of the shape {solution.arcs.shape} of arcs")
    for t, m in np.argwhere(labels != known[solution.arcs]).tolist():
        own = known[solution.arcs[t, m]]
        raise VerificationError(f"tree {t}: word {m + 1} has label {labels[t, m]}, its arc {own}")


class _Check:
    """One pass over the nodes of a proof."""

    def __init__(
        self,
        problem: Problem,
        trees: Trees,
        solution: Solution,
        proof: Proof,
        rounding: float,
        above: float,
    ) -> None:
        self.trees, self.proof, self.rounding, self.above = trees, proof, rounding, above
        all_trees = len(solution.scores) < proof.k_best
        self.threshold = -math.inf if all_trees else float(solution.scores[-1])
        self.known = {tuple(arcs) for arcs in solution.arcs.tolist()}
        self.bounds = {scored: Bounds(problem, trees, scored) for scored in (True, False)}
        self.into = self.bounds[True].into
        widths = {
            "factor_multipliers": len(problem.factor_arcs),
            "count_multipliers": len(problem.count_arcs),
            "pair_multipliers": 2 * len(pairs_of(problem)),
        }
        for name, width in widths.items():
            if getattr(proof, name).shape[1] != width:
                raise VerificationError(
                    f"{name} of the proof has {getattr(proof, name).shape[1]} columns, and the"
                    f" problem has {width}"
                )
        self.rows: dict[tuple[int, bool], Row] = {}

    def run(self) -> None:
        """Read the nodes once, in order, and check every leaf for its subspace."""
        proof = self.proof
        kinds, ptr = proof.node_kind.tolist(), proof.node_ptr.tolist()
        arcs = proof.node_arcs.tolist()
        waiting = [self._whole()]
        for node, kind in enumerate(kinds):
            if not waiting:
                raise VerificationError(f"node {node} of the proof belongs to no subspace")
            space = waiting.pop()
            asked = arcs[ptr[node] : ptr[node + 1]]
            if kind == SPLIT:
                waiting += self._halves(node, space, asked)
            elif asked:
                raise VerificationError(f"leaf {node} has arcs to split on")
            elif kind == BOUND:
                self._check_bound(node, space)
            elif kind == TREE:
                self._check_tree(node, space)
            elif kind == EMPTY:
                self._check_empty(node, space)
            else:
                raise VerificationError(f"node {node} is of the unknown kind {kind}")
        if waiting:
            raise VerificationError(
                f"the leaves do not cover all trees: {len(waiting)} subspaces have none"
            )

    def _whole(self) -> Subspace:
        """Return the space of all trees: forbidden arcs and rivals of required arcs are dead."""
        alive = [state != -1 for state in self.trees.state]
        for a, state in enumerate(self.trees.state):
            if state == 1:
                self._require(alive, a)
        return Subspace(alive)

    def _require(self, alive: list[bool], arc: int) -> None:
        for rival in self.into[self.trees.mod[arc]]:
            if rival != arc:
                alive[rival] = False

    def _halves(self, node: int, space: Subspace, asked: list[int]) -> list[Subspace]:
        """Return the subspaces without and with one of the arcs ``asked``; the latter is last."""
        if not asked:
            raise VerificationError(f"node {node} splits on no arc")
        if space.some:
            raise VerificationError(f"node {node} splits below a choice of several arcs")
        for a in asked:
            if not 0 <= a < len(space.alive):
                raise VerificationError(f"node {node} splits on arc {a}, which does not exist")
        without, having = list(space.alive), list(space.alive)
        for a in asked:
            without[a] = False
        if len(asked) > 1:
            return [Subspace(without), Subspace(having, frozenset(asked))]
        self._require(having, asked[0])
        return [Subspace(without), Subspace(having)]

    # ---- leaves --------------------------------------------------------------------------------

    def _check_bound(self, node: int, space: Subspace) -> None:
        claimed = float(self.proof.node_bound[node])
        if not claimed <= self.threshold + self.above:
            raise VerificationError(
                f"leaf {node}: its bound {claimed} is above the last tree's score {self.threshold}"
            )
        bound = self._bound(node, space, scored=True)
        if bound > to_units(claimed) + to_units(self.rounding):
            raise VerificationError(f"leaf {node}: its bound is {to_float(bound)}, not {claimed}")

    def _check_tree(self, node: int, space: Subspace) -> None:
        arcs: list[int] = []
        for m in range(1, self.trees.n + 1):
            left = [a for a in self.into[m] if space.alive[a]]
            if len(left) != 1:
                raise VerificationError(
                    f"leaf {node}: {len(left)} arcs into word {m} are left, not one tree"
                )
            arcs += left
        fault = self.trees.fault(arcs)
        if fault:
            raise VerificationError(f"leaf {node}: its tree {fault}")
        claimed, phi = float(self.proof.node_bound[node]), self.trees.phi(arcs)
        if not abs(claimed - phi) <= self.rounding:
            raise VerificationError(f"leaf {node}: its tree's score is {phi}, not {claimed}")
        if tuple(arcs) not in self.known and not phi <= self.threshold + self.rounding:
            raise VerificationError(
                f"leaf {node}: its tree scores {phi} and is not in the solution, whose last tree"
                f" scores {self.threshold}"
            )

    def _check_empty(self, node: int, space: Subspace) -> None:
        if float(self.proof.node_bound[node]) != -math.inf:
            raise VerificationError(f"leaf {node} is empty, and its bound is not -inf")
        if self._bound(node, space, scored=False) >= 0:
            raise VerificationError(f"leaf {node}: its multipliers do not show that it is empty")

    def _bound(self, node: int, space: Subspace, scored: bool) -> int:
        """Compute the bound of a space under the multipliers of a leaf."""
        row = int(self.proof.node_vector[node])
        if not 0 <= row < len(self.proof.factor_multipliers):
            raise VerificationError(f"leaf {node}: there is no row {row} of multipliers")
        if (row, scored) not in self.rows:
            proof = self.proof
            multipliers = (
                proof.factor_multipliers,
                proof.count_multipliers,
                proof.pair_multipliers,
            )
            factors, counts, pairs = (lam[row].tolist() for lam in multipliers)
            name = f"multipliers {row}"
            self.rows[row, scored] = self.bounds[scored].row(factors, counts, pairs, name)
        return self.bounds[scored].bound(space, self.rows[row, scored])
