"""Bounding of nodes in jitted calls; for roots, from problems to scored trees, many in one call.

Nearly all sentences are closed at the root of the search tree: for them this call does all the
work. If a root stays open, the call returns the state that its search continues from. The same
kernel bounds the other nodes, because it is long and should be compiled only once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bbparse.core import Problem
from bbparse.inference.oracles.calls import make, size_of, weights_of
from bbparse.inference.oracles.nonprojective.automata import Automata
from bbparse.inference.oracles.nonprojective.calls import Nonprojective
from bbparse.inference.oracles.projective.build import Chart
from bbparse.inference.oracles.projective.calls import Projective
from bbparse.inference.oracles.projective.weights import index_groups, take_factors, weight_tables
from bbparse.inference.relaxation.incumbents import floor_to_beat, lower_bound_start, margin_of
from bbparse.inference.relaxation.multipliers import start_multipliers
from bbparse.inference.relaxation.node import CLOSED, WAITS, Verdict, bound_node
from bbparse.inference.relaxation.state import (
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
from bbparse.inference.search.factors import possible_factors
from bbparse.inference.search.lagrangian import NO_ARCS, BoundedNode, OpenRoot
from bbparse.inference.search.observer import NOT_RECORDED
from bbparse.inference.search.packed import (
    HEADS,
    TREES,
    TURN,
    Size,
    Told,
    Written,
    alive_arcs,
    named,
    pack_one,
    problem_at,
)
from bbparse.inference.search.rescore import rescore_trees
from bbparse.runtime.arrays import NEG, Float64s, Ints
from bbparse.runtime.clock import now
from bbparse.runtime.jit import kernel


class Task(NamedTuple):
    """What a call is to do.

    It makes the roots of problems; or it restricts a parent's state; or if it has neither to make
    nor to bound a node, it looks for first trees
    (:func:`bbparse.inference.relaxation.incumbents.lower_bound_start`).
    """

    start: int  # the first problem whose root is made
    make: bool  # make roots
    bound: bool  # bound the node
    keep: bool  # return the node even if it is closed


class Made(NamedTuple):
    """A root that is not bounded yet."""

    node: Node
    order: Ints  # this and the next three fields: see `BoundedNode`
    slack: float
    hard: float
    moved: int


@kernel
def _sort_stably(keys, before, after, first):
    """Write the arcs ``before`` into ``after``, sorted by their keys; equal ones stay in order."""
    first[:] = 0
    for a in before:
        first[keys[a] + 1] += 1
    for key in range(1, first.shape[0]):
        first[key] += first[key - 1]
    for a in before:
        after[first[keys[a]]] = a
        first[keys[a]] += 1


@kernel
def _sorted_arcs(n, arcs):
    """Return `alive_arcs` by head, then by modifier; arcs between the same words stay in order."""
    order = alive_arcs(n, arcs)
    for i in range(1, order.shape[0]):
        a, b = order[i - 1], order[i]
        if arcs.head[a] > arcs.head[b] or (
            arcs.head[a] == arcs.head[b] and arcs.mod[a] > arcs.mod[b]
        ):
            by_mod, first = np.empty_like(order), np.empty(n + 2, np.int64)
            _sort_stably(arcs.mod, order, by_mod, first)
            _sort_stably(arcs.head, by_mod, order, first)
            break
    return order


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
def _made(kind, problem, size):
    """Make the root of a problem's search."""
    arcs, parts, factors, counts = problem
    n, single_root = size.n_words, size.single_root == 1
    order = _sorted_arcs(n, arcs)
    if order.shape[0] < n:  # some word has no arc: an oracle without arcs has no tree
        order = order[:0].copy()
    n_arcs = order.shape[0]
    place = np.full(arcs.head.shape[0], np.int32(-1))
    head, mod = np.empty(n_arcs, np.int32), np.empty(n_arcs, np.int32)
    base = np.empty(n_arcs)
    for i in range(n_arcs):
        place[order[i]] = i
        head[i], mod[i], base[i] = arcs.head[order[i]], arcs.mod[order[i]], arcs.score[order[i]]
    left = possible_factors(head, mod, place, factors, size.projective == 1, single_root)
    group_ptr = _groups(head, mod)
    group_head, group_mod = head, mod
    if group_ptr.shape[0] <= n_arcs:
        group_head, group_mod = head[group_ptr[:-1]], mod[group_ptr[:-1]]
    index = index_groups(n, group_head, group_mod)
    weights = weight_tables(n, group_head, group_mod, kind.mode, index, parts)
    n_factors = moved = left.score.shape[0]
    if size.labelled == 0:
        n_factors = take_factors(head, mod, kind.mode, index, weights, left)
    moved -= n_factors
    fac_ptr, fac_arcs, fac_weight = left.ptr[: n_factors + 1], left.arcs, left.score[:n_factors]
    oracle = make(kind, n, group_head, group_mod, single_root, index, weights, group_ptr)
    node_counts = _node_counts(counts, place)
    spread = score_spread(n, base, weights_of(oracle), fac_weight, node_counts.score)
    slack, hard = slack_of(spread), hard_weight(spread)
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
def _write_trees(s, packed, problem, order, best, written):
    """Write the trees of a closed root, and their scores."""
    n, found = packed.sizes[s, 0], best.found[0]
    row, at = packed.ptr[s, TREES], packed.ptr[s, HEADS]
    heads = written.heads[at : at + found * (n + 1)].reshape((found, n + 1))
    trees = written.arcs[at - row : at - row + found * n].reshape((found, n))
    exact = written.scores[3 * row : 3 * (row + found)].reshape((3, found))
    for t in range(found):
        heads[t, 0] = -1
        for m in range(1, n + 1):
            a = order[best.trees[best.place[t], m - 1]]
            heads[t, m] = problem.arcs.head[a]
            trees[t, m - 1] = a
    rescore_trees(
        n, problem.arcs, problem.parts, problem.factors, problem.counts, heads, trees, exact
    )


@kernel
def _call(kinds, packed, task, parent, best, limits, watched, written):
    """See :func:`call_projective`; ``kinds`` are the oracles of all modes."""
    counters, record = watched
    begun = now() if task.make else 0.0
    n_tasks = packed.sizes.shape[0] if task.make else task.start + 1
    for s in range(task.start, n_tasks):
        node, order, slack, hard, moved = Made(parent[0], parent[1], limits.slack, limits.hard, 0)
        work, until, quantum = limits.work, limits.until, limits.quantum
        full_size, started = limits.full_size, 0.0
        if task.make:
            started = now()
            row = packed.sizes[s]
            size = Size(row[0], row[1], row[2], row[3], row[4], row[5])
            best = Incumbents(
                np.zeros((size.k_best, size.n_words), np.int32), np.full(size.k_best, NEG),
                np.zeros(1, np.int64), np.arange(size.k_best),
            )  # fmt: skip
            counters = np.zeros(4)
            problem = problem_at(packed, s)
            node, order, slack, hard, moved = _made(kinds[size.mode], problem, size)
            full_size = float(size_of(node.oracle))
            counters[3] = slack
            allowed = packed.allowed[s]
            work, quantum = allowed[0] / max(1.0, full_size), allowed[2]
            until = min(until, started + allowed[1])
        elif task.bound:
            node = _lacking(parent[0], parent[1])
        else:
            lower_bound_start(node, best, limits, counters)
        verdict = Verdict(WAITS, np.inf, -1, NEG, best.trees[0], slack)
        closed = False
        if task.bound:
            verdict = bound_node(
                node, best, Limits(
                    limits.method, limits.calls, work, until, limits.eliminate_every,
                    limits.close_k, limits.precision, quantum, slack, hard, max(1.0, full_size),
                ), counters, record,
            )  # fmt: skip
            floor = floor_to_beat(best, quantum, verdict.slack)
            closed = verdict.status == CLOSED or verdict.bound < floor
        if task.make:
            if closed:
                _write_trees(s, packed, problem_at(packed, s), order, best, written)
            told = written.told[s]
            for i in range(4):
                told[i] = counters[i]
            told[4], told[5] = full_size, best.scores[0]
            told[6] = best.found[0] if closed else -1
            told[7], told[8] = started, now()
            if closed:
                if told[8] - begun > TURN:
                    return s + 1, None
                continue
        elif not task.bound or (closed and not task.keep):
            return s + 1, None
        if not closed:
            node = copy_node(node)  # trimmed, to save memory while the node waits
        return s + 1, ((
            plain_node(node), order, verdict.status, verdict.bound, verdict.arc, verdict.lower,
            verdict.tree, margin_of(quantum, verdict.slack), slack, hard, moved,
        ), (best.trees, best.scores, best.found, best.place), counters)  # fmt: skip
    return n_tasks, None


@kernel
def call_projective(packed, task, parent, best, limits, counters, record, written):
    """Make and bound the roots of projective problems, or bound one of the nodes of a search.

    Arguments are plain tuples of the fields of records, because numba spends microseconds on each
    named tuple: ``packed`` is that of `pack`; the others are :class:`Task`, :class:`Written`, and
    those of :mod:`bbparse.inference.relaxation.state`. ``parent`` is the state of a
    node's parent, from `plain_node`, which does not change, and int32[] the parent's arcs that die.
    At a root, slack, hard weight and full size are computed here, the work limit counts positions
    of the oracle, and the problem's limits hold. ``counters`` float64[4] are those of `bound_node`,
    and the slack.

    Roots are made one after the other, up to one that stays open. Returns the number of the problem
    after the last one, and None or an open root: the fields of a `BoundedNode`, those of
    `Incumbents`, and the counters. Of a node, the second is None if it is closed and not to be
    kept, or not bounded.
    """
    node, dead = parent
    made = named_node(Chart(*node[0]), node)
    kinds = (Projective(0), Projective(1), Projective(2), Projective(3))
    return _call(
        kinds, named(packed), Task(*task), (made, dead), Incumbents(*best), Limits(*limits),
        (counters, Record(*record)), Written(*written),
    )


@kernel
def call_nonprojective(packed, task, parent, best, limits, counters, record, written):
    """Do the same as :func:`call_projective` for problems that allow crossing arcs."""
    node, dead = parent
    made = named_node(Automata(*node[0]), node)
    kinds = (Nonprojective(0), Nonprojective(1), Nonprojective(2), Nonprojective(3))
    return _call(
        kinds, named(packed), Task(*task), (made, dead), Incumbents(*best), Limits(*limits),
        (counters, Record(*record)), Written(*written),
    )


# The kernel, and a placeholder for the parent of a root, by whether trees are projective.
_KERNELS = {True: call_projective, False: call_nonprojective}
NO_NODE = {True: empty_node(Chart), False: empty_node(Automata, ("place",))}
_NO_PROBLEM = pack_one(
    Problem.trusted(0, NO_ARCS.copy(), NO_ARCS.copy(), np.empty(0)), 0, 0, np.zeros((1, 3))
)
_NOTHING = tuple(Written(NO_ARCS, NO_ARCS, np.empty(0), np.empty((0, 9))))
NO_TREES = no_trees(1, 0)


def call_roots(
    projective: bool, packed: tuple[Any, ...], waits: bool, limits: Limits, written: Written,
) -> Iterator[tuple[int, OpenRoot]]:
    """Make the roots of packed problems and bound them, unless ``waits``.

    Yields the number of each problem whose root stays open, and the root; ``written`` has the trees
    of those before it, and after the last one of all others.
    """
    at, n_problems = 0, len(packed[0][0])
    while at < n_problems:
        at, left = _KERNELS[projective](
            packed, (at, True, not waits, False), (NO_NODE[projective], NO_ARCS), tuple(NO_TREES),
            tuple(limits), np.zeros(4), NOT_RECORDED, tuple(written),
        )  # fmt: skip
        if left is not None:
            node, best, counters = left
            size = Told(*written.told[at - 1].tolist()).full_size
            yield at - 1, OpenRoot(BoundedNode(*node), Incumbents(*best), counters, size)


def call_node(
    projective: bool, tasks: tuple[bool, bool], parent: tuple[tuple[Any, ...], Ints],
    best: Incumbents, limits: Limits, counters: Float64s, record: tuple[Any, ...],
) -> BoundedNode | None:  # fmt: skip
    """Bound the child of a node in which some arcs are dead; None: the child is closed.

    ``tasks`` are `bound` and `keep` of `Task`; ``parent`` is the node's state, and those arcs.
    """
    _, left = _KERNELS[projective](
        _NO_PROBLEM, (0, False, *tasks), parent, tuple(best), tuple(limits), counters, record,
        _NOTHING,
    )
    return None if left is None else BoundedNode(*left[0])
