"""Bounding of a node in one jitted call; for the root, from the problem to scored trees.

Nearly all sentences are closed at the root of the search tree: for them this call does all the
work. If the root stays open, the call returns the state that the search continues from. The same
kernel bounds the other nodes, because it is long and should be compiled only once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bbparse.arrays import NEG, Floats, Ints
from bbparse.bounding.incumbents import floor_to_beat, lower_bound_start, margin_of
from bbparse.bounding.multipliers import start_multipliers
from bbparse.bounding.node import CLOSED, WAITS, Verdict, bound_node
from bbparse.bounding.state import (
    Incumbents,
    Limits,
    Node,
    NodeCounts,
    NodeFactors,
    Record,
    copy_node,
    empty_node,
    hard_weight,
    named_node,
    no_trees,
    plain_node,
    score_spread,
    slack_of,
)
from bbparse.jit import kernel
from bbparse.oracle.calls import make, size_of, weights_of
from bbparse.oracle.nonprojective.automata import Automata
from bbparse.oracle.nonprojective.calls import Nonprojective
from bbparse.oracle.projective.build import Chart
from bbparse.oracle.projective.calls import Projective
from bbparse.oracle.projective.weights import index_groups, take_factors, weight_tables
from bbparse.problem import Problem
from bbparse.problem.parts import Arcs, Counts, Factors, Part, Parts
from bbparse.search.lagrangian import NO_ARCS, BoundedNode, Called
from bbparse.search.observer import NOT_RECORDED
from bbparse.solving.factors import possible_factors
from bbparse.solving.rescore import rescore_trees


class Choices(NamedTuple):
    """What a call is to do, and the flags of its problem.

    A call makes a root, or restricts its parent's state; or if it has neither to make nor to bound
    a node, it looks for first trees (:func:`bbparse.bounding.incumbents.lower_bound_start`).
    """

    make: bool  # make a root
    bound: bool  # bound the node
    keep: bool  # return the node even if it is closed
    n_words: int
    labelled: bool
    projective: bool
    single_root: bool


class Given(NamedTuple):
    """The records of a problem, as `Problem.plain` has them as tuples."""

    arcs: Arcs
    parts: Parts
    factors: Factors
    counts: Counts


class Made(NamedTuple):
    """A root that is not bounded yet."""

    node: Node
    order: Ints  # this and the next three fields: see `BoundedNode`
    slack: float
    hard: float
    moved: int


@kernel
def _alive(n, arcs):
    """Return the arcs that are neither forbidden nor rivals of required arcs, in order."""
    required = np.full(n + 1, -1, np.int32)
    for a in range(arcs.state.shape[0]):
        if arcs.state[a] == 1:
            required[arcs.mod[a]] = a
    order = np.empty(arcs.state.shape[0], np.int32)
    count = 0
    for a in range(arcs.state.shape[0]):
        only = required[arcs.mod[a]]
        if arcs.state[a] != -1 and (only < 0 or only == a):
            order[count] = a
            count += 1
    return order[:count].copy()


@kernel
def _groups(head, mod):
    """Return where the arcs of each pair of words begin; arcs of a pair differ in label only."""
    ptr = np.empty(head.shape[0] + 1, np.int32)
    groups = 0
    for a in range(head.shape[0]):
        if a == 0 or head[a] != head[a - 1] or mod[a] != mod[a - 1]:
            ptr[groups] = a
            groups += 1
    ptr[groups] = head.shape[0]
    return ptr[: groups + 1].copy()


@kernel
def _node_counts(counts, place):
    """Return the count factors over the oracle's arcs; dead arcs are in no tree."""
    n_sets = counts.ptr.shape[0] - 1
    ptr, score_ptr = np.zeros(n_sets + 1, np.int64), np.zeros(n_sets + 1, np.int64)
    arcs, score = np.empty(counts.arcs.shape[0], np.int32), np.empty(counts.score.shape[0])
    used = 0
    for c in range(n_sets):
        for i in range(counts.ptr[c], counts.ptr[c + 1]):
            if place[counts.arcs[i]] >= 0:
                arcs[used] = place[counts.arcs[i]]
                used += 1
        ptr[c + 1] = used
        score_ptr[c + 1] = used + c + 1
        for j in range(used - ptr[c] + 1):
            score[score_ptr[c] + j] = counts.score[counts.score_ptr[c] + j]
    left = score[: score_ptr[n_sets]]  # trimmed: `score_spread` reads the whole array
    return NodeCounts(ptr, arcs, score_ptr, left, np.zeros(used), np.full(1, n_sets))


@kernel
def _given(problem):
    """Name the records of a problem."""
    arcs, parts, factors, counts = problem
    sib, gc, ogc, gsib = parts
    named = Parts(Part(*sib), Part(*gc), Part(*ogc), Part(*gsib))
    return Given(Arcs(*arcs), named, Factors(*factors), Counts(*counts))


@kernel
def _made(kind, problem, choices):
    """Make the root of a problem's search."""
    arcs, parts, factors, counts = problem
    n, single_root = choices.n_words, choices.single_root
    order = _alive(n, arcs)
    if order.shape[0] < n:  # some word has no arc: an oracle without arcs has no tree
        order = order[:0].copy()
    n_arcs = order.shape[0]
    place = np.full(arcs.head.shape[0], np.int32(-1))
    head, mod = np.empty(n_arcs, np.int32), np.empty(n_arcs, np.int32)
    base = np.empty(n_arcs)
    for i in range(n_arcs):
        place[order[i]] = i
        head[i], mod[i], base[i] = arcs.head[order[i]], arcs.mod[order[i]], arcs.score[order[i]]
    left = possible_factors(head, mod, place, factors, choices.projective, single_root)
    group_ptr = _groups(head, mod)
    group_head, group_mod = head, mod
    if group_ptr.shape[0] <= n_arcs:
        group_head, group_mod = head[group_ptr[:-1]], mod[group_ptr[:-1]]
    index = index_groups(n, group_head, group_mod)
    weights = weight_tables(n, group_head, group_mod, kind.mode, index, parts)
    n_factors = moved = left.score.shape[0]
    if not choices.labelled:
        n_factors = take_factors(head, mod, kind.mode, index, weights, left)
    moved -= n_factors
    fac_ptr, fac_arcs, fac_weight = left.ptr[: n_factors + 1], left.arcs, left.score[:n_factors]
    oracle = make(kind, n, group_head, group_mod, single_root, index, weights, group_ptr)
    node_counts = _node_counts(counts, place)
    size = score_spread(n, base, weights_of(oracle), fac_weight, node_counts.score)
    slack, hard = slack_of(size), hard_weight(size)
    for f in range(n_factors):
        if fac_weight[f] == NEG:
            fac_weight[f] = -hard
    lam = np.empty(fac_ptr[n_factors])
    start_multipliers(fac_ptr, fac_weight, lam)
    node = Node(
        oracle, mod, base, np.zeros(1),
        NodeFactors(fac_ptr, fac_arcs, fac_weight, lam, np.full(1, n_factors)), node_counts,
    )  # fmt: skip
    return Made(node, order, slack, hard, moved)


@kernel
def _lacking(parent, dead):
    """Copy a node without some of its arcs."""
    node = copy_node(parent)
    for a in dead:
        node.base[a] = NEG
    return node


@kernel
def _call(kind, problem, choices, parent, dead, best, limits, watched):
    """See :func:`call_projective`; ``kind`` selects the oracle."""
    n = choices.n_words
    counters, record = watched
    node, order, slack, hard, moved = Made(parent, dead, limits.slack, limits.hard, 0)
    work, full_size = limits.work, limits.full_size
    if choices.make:
        node, order, slack, hard, moved = _made(kind, problem, choices)
        full_size = float(size_of(node.oracle))
        counters[3] = slack
        work /= max(1.0, full_size)
    elif choices.bound:
        node = _lacking(parent, dead)
    else:
        lower_bound_start(node, best, limits, counters)
    verdict = Verdict(WAITS, np.inf, -1, NEG, best.trees[0], slack)
    closed = False
    if choices.bound:
        verdict = bound_node(
            node, best, Limits(
                limits.method, limits.calls, work, limits.until, limits.eliminate_every,
                limits.close_k, limits.precision, limits.quantum, slack, hard, max(1.0, full_size),
            ), counters, record,
        )  # fmt: skip
        floor = floor_to_beat(best, limits.quantum, verdict.slack)
        closed = verdict.status == CLOSED or verdict.bound < floor
    found = best.found[0] if closed and choices.make else 0
    heads = np.full((found, n + 1), np.int32(-1))
    trees, exact = np.empty((found, n), np.int32), np.empty((3, found))
    for t in range(found):
        for m in range(1, n + 1):
            a = order[best.trees[best.place[t], m - 1]]
            heads[t, m] = problem.arcs.head[a]
            trees[t, m - 1] = a
    if found > 0:
        rescore_trees(
            n, problem.arcs, problem.parts, problem.factors, problem.counts, heads, trees, exact
        )
    scored = (heads, trees, exact)
    if (closed and not choices.keep) or not (choices.make or choices.bound):
        return scored, full_size, None
    if not closed:
        node = copy_node(node)  # trimmed, to save memory while the node waits
    return scored, full_size, (
        plain_node(node), order, verdict.status, verdict.bound, verdict.arc, verdict.lower,
        verdict.tree, margin_of(limits.quantum, verdict.slack), slack, hard, moved,
    )  # fmt: skip


@kernel
def call_projective(mode, problem, choices, parent, best, limits, counters, record):
    """Make and bound the root of a projective problem, or bound one of its nodes.

    Arguments are plain tuples of the fields of records, because numba spends microseconds on each
    named tuple: ``problem`` is `Problem.plain`; the others are :class:`Choices` and those of
    :mod:`bbparse.bounding.state`. ``mode`` selects the recurrence. ``parent`` is the state of a
    node's parent, from `plain_node`, which does not change, and int32[] the parent's arcs that die.
    At the root, slack, hard weight and full size are computed here, and the work limit counts
    positions of the oracle. ``counters`` float64[4] are those of `bound_node`, and the slack.

    The first result is the trees, if the root is closed: heads int32[K, n + 1], arcs of the problem
    int32[K, n], and the scores of `rescore_trees` float64[3, K], best tree first. The second is the
    size of the oracle at the root, 0 if some word has no arc. The last has the fields of a
    `BoundedNode`; None if the node is closed and not to be kept, or
    neither made nor bounded.
    """
    node, dead = parent
    made = named_node(Chart(*node[0]), node)
    return _call(
        Projective(mode), _given(problem), Choices(*choices), made, dead, Incumbents(*best),
        Limits(*limits), (counters, Record(*record)),
    )  # fmt: skip


@kernel
def call_nonprojective(mode, problem, choices, parent, best, limits, counters, record):
    """Do the same as :func:`call_projective` for a problem that allows crossing arcs."""
    node, dead = parent
    made = named_node(Automata(*node[0]), node)
    return _call(
        Nonprojective(mode), _given(problem), Choices(*choices), made, dead, Incumbents(*best),
        Limits(*limits), (counters, Record(*record)),
    )  # fmt: skip


# The kernel, and a placeholder for the parent of a root, by whether trees are projective.
_KERNELS = {True: call_projective, False: call_nonprojective}
NO_NODE = {True: empty_node(Chart), False: empty_node(Automata, ("place",))}
_NO_PROBLEM = Problem.trusted(0, NO_ARCS.copy(), NO_ARCS.copy(), np.empty(0)).plain()


def call_root(p: Problem, mode: int, waits: bool, k: int, limits: Limits) -> Called:
    """Make the root of a problem's search; bound it unless ``waits``."""
    best = no_trees(k, p.n_words)
    counters = np.zeros(4)
    choices = Choices(
        True, not waits, False, p.n_words, p.arc_label is not None, p.projective, p.single_root
    )
    (heads, arcs, scores), full_size, left = _KERNELS[p.projective](
        mode, p.plain(), tuple(choices), (NO_NODE[p.projective], NO_ARCS), tuple(best),
        tuple(limits), counters, NOT_RECORDED,
    )  # fmt: skip
    open_root = None if left is None else BoundedNode(*left)
    return Called(heads, arcs, scores, full_size, open_root, best, counters)


def call_node(
    projective: bool, tasks: tuple[bool, bool], parent: tuple[tuple[Any, ...], Ints],
    best: Incumbents, limits: Limits, counters: Floats, record: tuple[Any, ...],
) -> BoundedNode | None:  # fmt: skip
    """Bound the child of a node in which some arcs are dead; None: the child is closed.

    ``tasks`` are `bound` and `keep` of `Choices`; ``parent`` is the node's state, and those arcs.
    """
    *_, left = _KERNELS[projective](
        0, _NO_PROBLEM, (False, *tasks, 0, False, True, True), parent, tuple(best),
        tuple(limits), counters, record,
    )  # fmt: skip
    return None if left is None else BoundedNode(*left)
