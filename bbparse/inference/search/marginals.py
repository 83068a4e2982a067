"""Max-marginals of a problem, or estimates: the score of the best tree with each arc."""

from __future__ import annotations

import numpy as np

from bbparse.core import Problem
from bbparse.core.parts import Factors, set_fields
from bbparse.core.score import score_trees
from bbparse.inference.oracles.tree_oracles import Arborescences, ProjectiveTrees
from bbparse.runtime.arrays import Float64s, Ints


def factors_as_arcs(n_arcs: int, factors: Factors, tree: Ints) -> Float64s:
    """Return arc scores float64[A] that replace all factors: exact in a tree, up to a constant.

    A positive factor that fires in the tree is shared among its arcs; a negative one counts in full
    for each of its arcs. A factor that does not fire is shared among its arcs outside the tree.
    """
    own, off = np.zeros(n_arcs), np.ones(n_arcs, np.bool_)
    off[tree] = False
    sizes = np.diff(factors.ptr)
    missing = np.diff(np.append(0, np.cumsum(off[factors.arcs]))[factors.ptr])
    gain, loss = np.maximum(factors.score, 0.0), np.minimum(factors.score, 0.0)
    share = np.where(missing == 0, gain / sizes + loss, gain / np.maximum(missing, 1))
    shared = np.repeat(missing == 0, sizes) | off[factors.arcs]
    shared &= np.repeat(loss > -np.inf, sizes)
    np.add.at(own, factors.arcs[shared], np.repeat(share, sizes)[shared])
    return own


def max_marginals(problem: Problem, arcs: Ints) -> tuple[Float64s, float]:
    """Estimate the best score with each arc, float64[A], and that of a tree, int32[n] arcs.

    Arc scores that are exact in this tree replace factors (`factors_as_arcs`), so that only the
    differences of the results to the tree's have a meaning. In projective problems these are exact
    without factors, and upper bounds with them. Count factors are ignored, and the parts of
    problems that allow crossing arcs, too: there they are estimates, and no bounds.
    """
    p = problem
    own = factors_as_arcs(len(p.arc_head), p.factors, arcs)
    if not p.projective:
        marginals = Arborescences(p).max_marginals(own)
        return marginals, float(own[arcs].sum()) + float(p.arc_score[arcs].sum())
    plain = p.changed(**set_fields("factor", ()), **set_fields("count", ()))
    rest = float(score_trees(plain, arcs)[0, 0])
    return ProjectiveTrees(p).max_marginals(own), float(own[arcs].sum()) + rest
