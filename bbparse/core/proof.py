"""`Proof`: a certificate that the trees of a solution are the best.

A proof is a binary decision tree over the trees of a problem. Each inner node asks one question,
"is at least one of these arcs in the tree?", and has two children: yes, then no. Each leaf shows
why no tree of its subspace is missing from the solution. Nodes are in arrays in pre-order, so that
they prove the whole space exactly if reading them once, from the root, uses all of them.

With T the k-th score, or -inf if fewer than k trees exist, the leaves are

* ``BOUND``: under the multipliers of the leaf no tree of the subspace scores more than
  ``node_bound``, which is at most T;
* ``TREE``: one candidate arc is left for each word, and they make a tree of the solution or one
  that scores at most T;
* ``EMPTY``: no feasible tree is left, as under the multipliers of the leaf the bound is negative
  when every finite score is replaced by zero.

With z the arcs of a tree and lam the row
``node_vector`` of the multipliers, aligned with ``factor_arcs``, ``count_arcs`` and the literals of
the parts (QL13 §3.2):

* a factor of weight φ ≥ 0 scores at most Σ_e lam_e z_e, where lam_e ≥ 0 and Σ_e lam_e = φ;
* one of weight φ < 0 scores at most -lam (Σ_e z_e - (r - 1)) for its r arcs, where lam stands in
  its first place and 0 ≤ lam ≤ |φ|, or 0 ≤ lam if φ is -inf;
* a count factor scores at most Σ_e lam_e z_e + max_C (f(|C|) - Σ_{e∈C} lam_e), for any lam, where C
  is any set of its arcs that includes those in all trees of the leaf, and excludes those in none of
  them;
* the parts of a projective problem are scored exactly, with the best tree. Those of another are
  scored by automata, one for each head (`inference.proof.crossing`), which need not agree with
  the tree: it is paid u + v for an arc, and for each modifier m of its choice the automaton of head
  h pays u of the pair (h, m), and for its choice of a head g, v of (g, h) (Koo et al. 2010). Pairs
  are sorted by head and modifier; u of all of them comes first. Any u and v will do.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.core.check import as_numbers, check_lengths, error_context, off_quantum
from bbparse.core.parts import FIELDS, ProblemArrays
from bbparse.runtime.arrays import Float64s, Ints, Longs
from bbparse.runtime.errors import ProblemError

SPLIT, BOUND, TREE, EMPTY = 0, 1, 2, 3

#: Bounds and scores are compared up to the first fraction of the terms of the last tree. If these
#: are all 0, they are compared up to the first fraction of the least score that a tree could have,
#: but at most up to the second fraction of the largest.
TOLERANCE, ZERO_TOLERANCE = 1e-9, 1e-13

#: Name → dtype and number of dimensions.
ARRAYS: dict[str, tuple[type, int]] = {
    "node_kind": (np.int8, 1),
    "node_ptr": (np.int64, 1),
    "node_arcs": (np.int32, 1),
    "node_bound": (np.float64, 1),
    "node_vector": (np.int32, 1),
    "factor_multipliers": (np.float64, 2),
    "count_multipliers": (np.float64, 2),
    "pair_multipliers": (np.float64, 2),
}


@dataclass(frozen=True, eq=False, slots=True)
class Proof:
    """Nodes and multipliers of a proof; see the text of the module.

    ``problem`` is its `digest`; ``k_best`` trees were asked for. ``node_kind[N]`` is SPLIT, BOUND,
    TREE or EMPTY, in pre-order: after a split come the trees that have one of its arcs, then those
    that have none. Node i asks for the arcs ``node_arcs[node_ptr[i]:node_ptr[i + 1]]``; leaves have
    none. No tree of a leaf scores more than ``node_bound[N]`` (-inf for EMPTY, the score for TREE,
    0 for SPLIT). ``node_vector[N]`` is the row of a leaf's multipliers, or -1; V rows each of
    ``factor_multipliers`` [V, len(factor_arcs)], ``count_multipliers`` [V, len(count_arcs)] and
    ``pair_multipliers`` [V, 2 P], P being the number of candidate pairs of head and modifier; 0 for
    problems that are projective or have no parts. `ARRAYS` has the dtypes.

    Raises
    ------
    ProblemError
        If dtypes or lengths do not match. `verify` checks the numbers.
    """

    problem: str
    k_best: int
    node_kind: NDArray[np.int8]
    node_ptr: Longs
    node_arcs: Ints
    node_bound: Float64s
    node_vector: Ints
    factor_multipliers: Float64s
    count_multipliers: Float64s
    pair_multipliers: Float64s

    def __post_init__(self) -> None:
        with error_context("proof"):
            for name, (dtype, ndim) in ARRAYS.items():
                array = as_numbers(name, getattr(self, name), dtype, ndim)
                array.setflags(write=False)
                object.__setattr__(self, name, array)
            ptr = self.node_ptr
            columns: dict[str, NDArray[Any]] = {
                "node_bound": self.node_bound,
                "node_vector": self.node_vector,
                "node_ptr[1:]": ptr[1:],
            }
            check_lengths(columns, len(self.node_kind), "node_kind")
            if ptr[0] != 0 or ptr[-1] != len(self.node_arcs) or bool((ptr[1:] < ptr[:-1]).any()):
                raise ProblemError(
                    f"node_ptr does not rise from 0 to {len(self.node_arcs)}, the number of"
                    " elements of node_arcs"
                )
            others = {x: getattr(self, x) for x in ("count_multipliers", "pair_multipliers")}
            check_lengths(others, len(self.factor_multipliers), "factor_multipliers")

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int((self.node_kind != SPLIT).sum())

    def __repr__(self) -> str:
        return (
            f"Proof(k_best={self.k_best}, {len(self.node_kind)} nodes, {self.n_leaves} leaves,"
            f" {len(self.factor_multipliers)} vectors of multipliers)"
        )


def digest(problem: ProblemArrays) -> str:
    """Return the SHA-256 of all fields of a problem, in hexadecimal."""
    state = hashlib.sha256()
    for name in FIELDS:
        value = getattr(problem, name)
        state.update(name.encode())
        if isinstance(value, np.ndarray):
            little = value.astype(value.dtype.newbyteorder("<"), copy=False)
            state.update(f"{little.dtype.str}{little.shape}".encode())
            state.update(little.tobytes())
        else:
            plain = value.item() if isinstance(value, np.generic) else value
            state.update(repr(plain).encode())
    return state.hexdigest()


def rounding_of(terms: list[float]) -> float:
    """Bound the rounding error for a tree whose score these terms add up to."""
    return TOLERANCE * math.fsum(map(abs, terms))


def largest_score(problem: ProblemArrays) -> float:
    """Bound the magnitude of the scores of trees.

    This is the sum over words of their largest arc score and part scores, and over factors of their
    largest scores; 1 if all are 0.
    """
    p = problem
    largest = 0.0
    usable = p.arc_state != -1
    arcs = (p.arc_mod[usable], p.arc_score[usable])
    for words, scores in (arcs, *((part.mod, part.score) for part in p.parts)):
        largest += float(_peaks(p, words, np.abs(scores)).sum())
    largest += float(np.abs(_finite(p.factor_score)).sum())
    if len(p.count_score):
        tables = np.abs(_finite(p.count_score))
        largest += float(np.maximum.reduceat(tables, p.count_score_ptr[:-1]).sum())
    return largest or 1.0


def _peaks(p: ProblemArrays, mod: Ints, scores: Float64s) -> Float64s:
    """Return the largest score by modifier, float64[n + 1], at least 0."""
    peaks = np.zeros(p.n_words + 1)
    np.maximum.at(peaks, mod, scores)
    return peaks


def _finite(scores: Float64s) -> Float64s:
    return np.where(np.isfinite(scores), scores, 0.0)


def _scores(p: ProblemArrays) -> Float64s:
    """Return all scores that a tree may have, 0 for -inf."""
    usable = p.arc_score[p.arc_state != -1]
    parts = (part.score for part in p.parts)
    return _finite(np.concatenate([usable, *parts, p.factor_score, p.count_score]))


def tolerances(problem: ProblemArrays, terms: list[float]) -> tuple[float, float]:
    """Bound the rounding error, and the excess of a bound over T that may remain.

    The first is `TOLERANCE` times the sum of the magnitudes of the k-th tree's terms; if they are
    all 0, or there are none, see `TOLERANCE` and `ZERO_TOLERANCE`. The second is the same; but if
    all scores are integer multiples of ``problem.quantum``, it is half of that if this is more,
    because the next score above T is a quantum higher.
    """
    p = problem
    rounding = rounding_of(terms)
    if rounding == 0.0:
        sizes = np.abs(_scores(p))
        least = float(sizes[sizes > 0.0].min(initial=np.inf))
        rounding = min(TOLERANCE * least, ZERO_TOLERANCE * largest_score(p))
    if p.quantum <= 4.0 * rounding:
        return rounding, rounding
    scores = _scores(p)
    # of each term of a tree, as far as it is a rounded multiple
    deviation = 2.0**-51 * float(np.abs(scores).max(initial=0.0))
    count = 5 * p.n_words + len(p.factor_ptr) + len(p.count_ptr)
    if off_quantum(scores, p.quantum).any() or deviation * count > p.quantum / 4.0:
        return rounding, rounding
    return rounding, p.quantum / 2.0
