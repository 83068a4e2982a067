"""Max-marginals of a problem: the score of the best tree with each arc."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bbparse.arrays import Floats, Ints
from bbparse.jit import kernel
from bbparse.oracle.trees import Arborescences, ProjectiveTrees
from bbparse.problem import Problem
from bbparse.problem.parts import set_fields
from bbparse.problem.tree import heads_of
from bbparse.solving.rescore import rescore


class Marginals(NamedTuple):
    """Max-marginals of a problem whose factors are replaced by arc scores."""

    each: Floats  #: float64[A], score of the best tree with each arc; -inf: there is none.
    tree: float  #: Score of the tree that was passed to `max_marginals`.


@kernel
def factors_as_arcs(n_arcs, factors, tree):
    """Return arc scores float64[A] that replace all factors: exact in a tree, up to a constant.

    A positive factor that fires in the tree is shared among its arcs; a negative one counts in full
    for each of its arcs. A factor that does not fire is shared among its arcs outside the tree.
    """
    own = np.zeros(n_arcs)
    on = np.zeros(n_arcs, np.bool_)
    for a in tree:
        on[a] = True
    for f in range(factors.score.shape[0]):
        low, high, weight = factors.ptr[f], factors.ptr[f + 1], factors.score[f]
        if not np.isfinite(weight):
            continue
        missing = 0
        for i in range(low, high):
            missing += not on[factors.arcs[i]]
        gain, loss = max(weight, 0.0), min(weight, 0.0)
        share = gain / (high - low) + loss if missing == 0 else gain / missing
        for i in range(low, high):
            if missing == 0 or not on[factors.arcs[i]]:
                own[factors.arcs[i]] += share
    return own


def max_marginals(problem: Problem, arcs: Ints) -> Marginals:
    """Compute max-marginals with factors replaced by arc scores (`factors_as_arcs`).

    ``arcs`` int32[n] are the arcs of the tree in which the replacement is exact. Count factors are
    ignored. So are the parts of a problem that allows crossing arcs, for which the results are
    upper bounds.
    """
    p = problem
    own = factors_as_arcs(len(p.arc_head), p.factors, arcs)
    if not p.projective:
        each = Arborescences(p).with_each(own)
        return Marginals(each, float(own[arcs].sum()) + float(p.arc_score[arcs].sum()))
    plain = p.changed(**set_fields("factor", ()), **set_fields("count", ()))
    tree = arcs[np.newaxis]
    rest = float(rescore(plain, tree, heads_of(p, tree))[0, 0])
    return Marginals(ProjectiveTrees(p).with_each(own), float(own[arcs].sum()) + rest)
