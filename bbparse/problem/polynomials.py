"""Count factors as sums of plain factors (QL13 §5.1)."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bbparse.problem.base import ProblemArrays
from bbparse.problem.check import check_scores
from bbparse.problem.edit import P, with_sets
from bbparse.problem.parts import take_sets

#: The largest set that is expanded: r arcs become up to 2^r factors.
MOST_ARCS = 10


def expand_count_factors(problem: P) -> P:
    """The same problem with small count factors written as plain factors.

    A score f(k) of the number k of arcs of a set c that are in the tree is a polynomial in the
    arcs (Newton's forward differences, which solve the system of QL13 §5.1)::

        f(|c ∩ y|) = Σ_j Δ^j f(0) · binomial(|c ∩ y|, j) = Σ_{s ⊆ c} Δ^|s| f(0) · [s ⊆ y]

    so that every subset of two or more arcs becomes a factor, every arc gains Δ f(0), and f(0) is
    added to each arc into word 1, one of which every tree has. OR is z + z' − zz'.

    Parameters
    ----------
    problem : ProblemArrays

    Returns
    -------
    Problem
        With the same score for every tree. Sets of more than `MOST_ARCS` arcs, and those with a
        score of -inf, stay count factors. The very problem that was given, if all do.

    Raises
    ------
    ProblemError
        If a factor's weight would be too large for a problem.

    Notes
    -----
    Subsets with two arcs of one word are left out, as no tree has both. The bound of a count
    factor can be made at least as tight as that of its expansion, as the envelope of a sum lies
    below the sum of the envelopes; this is for other solvers, and to check one with the other.
    """
    p = problem
    sizes = np.diff(p.count_ptr)
    finite = np.array([np.isfinite(table).all() for table in _tables(p)], dtype=np.bool_)
    small = finite & (sizes <= MOST_ARCS)
    if not small.any():
        return problem
    gain = np.zeros(len(p.arc_head), dtype=np.float64)
    constant = 0.0
    sets: list[tuple[int, ...]] = []
    weights: list[float] = []
    for c, table in enumerate(_tables(p)):
        if not small[c]:
            continue
        arcs = p.count_arcs[p.count_ptr[c] : p.count_ptr[c + 1]]
        constant += float(table[0])
        for size in range(1, len(arcs) + 1):
            weight = float(np.diff(table, size)[0])
            if weight == 0.0:
                continue
            if size == 1:
                gain[arcs] += weight
                continue
            for chosen in combinations(arcs.tolist(), size):
                if len({int(p.arc_mod[a]) for a in chosen}) == size:
                    sets.append(chosen)
                    weights.append(weight)
    gain[p.arc_mod == 1] += constant
    check_scores("factor_score", np.array(weights, dtype=np.float64))
    stay = ~small
    count_ptr, count_arcs = take_sets(p.count_ptr, p.count_arcs, stay)
    count_score_ptr, count_score = take_sets(p.count_score_ptr, p.count_score, stay)
    return with_sets(p, sets, weights).changed(
        arc_score=p.arc_score + gain,
        count_ptr=count_ptr,
        count_arcs=count_arcs,
        count_score_ptr=count_score_ptr,
        count_score=count_score,
    )


def _tables(problem: ProblemArrays) -> list[NDArray[np.float64]]:
    if not len(problem.count_arcs):
        return []
    return np.split(problem.count_score, problem.count_score_ptr[1:-1])
