"""Max-marginals of a projective problem: the score of the best tree with each arc."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.oracle.projective.build import build_chart
from bbparse.oracle.projective.calls import chart_best, chart_scratch, chart_with_each
from bbparse.oracle.projective.recurrences import recurrence_for
from bbparse.oracle.projective.weights import index_groups, weight_tables
from bbparse.problem import Problem
from bbparse.problem.parts import (
    Arcs,
    Counts,
    Factors,
    Grandchildren,
    GrandSiblings,
    OuterGrandchildren,
    Parts,
    Siblings,
)
from bbparse.solving.rescore import rescore_trees

Floats = NDArray[np.float64]
NEG = -np.inf


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


@kernel
def _marginals(mode, n, single_root, arcs, parts, factors, heads, trees):
    """Compute `max_marginals` of a tree: ``heads`` int32[1, n + 1], ``trees`` int32[1, n].

    The other records are plain tuples.
    """
    given = Arcs(*arcs)
    sib, gc, ogc, gsib = parts
    named = Parts(
        Siblings(*sib), Grandchildren(*gc), OuterGrandchildren(*ogc), GrandSiblings(*gsib)
    )
    n_arcs = given.head.shape[0]
    own = factors_as_arcs(n_arcs, Factors(*factors), trees[0])
    required = np.zeros(n + 1, np.int32)
    for a in range(n_arcs):
        required[given.mod[a]] += given.state[a] == 1
    score = np.empty(n_arcs)
    for a in range(n_arcs):
        rivals = required[given.mod[a]]
        dead = given.state[a] == -1 or rivals > 1 or (rivals == 1 and given.state[a] != 1)
        score[a] = NEG if dead else given.score[a] + own[a]
    index = index_groups(n, given.head, given.mod)
    weights = weight_tables(n, given.head, given.mod, mode, index, named)
    chart = build_chart(
        n, given.head, given.mod, mode, single_root, index, weights,
        np.arange(n_arcs + 1).astype(np.int32),
    )  # fmt: skip
    scratch, each = chart_scratch(chart), np.full(n_arcs, NEG)
    if chart_best(chart, scratch, score) > NEG:
        chart_with_each(chart, scratch, score, each)
    rest, nothing = np.empty((3, 1)), np.empty(0, np.int32)
    rescore_trees(
        n, given, named, Factors(np.zeros(1, np.int64), nothing, np.empty(0)),
        Counts(np.zeros(1, np.int64), nothing, np.zeros(1, np.int64), np.empty(0)),
        heads, trees, rest,
    )  # fmt: skip
    return own, each, rest[0, 0]


def max_marginals(problem: Problem, arcs: NDArray[np.int32]) -> Marginals:
    """Compute max-marginals with factors replaced by arc scores (`factors_as_arcs`).

    The problem must be projective and without labels, its arcs sorted by head and modifier.
    ``arcs`` int32[n] are the arcs of the tree in which the replacement is exact. Count factors are
    ignored.
    """
    p = problem
    heads = np.full((1, p.n_words + 1), np.int32(-1))
    heads[0, 1:] = p.arc_head[arcs]
    plain_arcs, parts, factors, _ = p.plain()
    own, each, rest = _marginals(
        recurrence_for(p, None).mode, p.n_words, p.single_root, plain_arcs, parts, factors,
        heads, arcs[np.newaxis].copy(),
    )  # fmt: skip
    return Marginals(each, float(own[arcs].sum()) + float(rest))
