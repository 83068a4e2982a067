"""Kernels that bound one node of the search, over any oracle.

A node consists of its alive arcs (those with ``base`` above -inf), the state of its oracle, and its
factors. `call_oracle` minimizes the bound over multipliers by Polyak steps, offers every tree that
it finds to the incumbents, and eliminates arcs that provably are in no better tree, which closes
most nodes. `list_best` then enumerates trees under the bound, and `branching_arc` chooses an arc.
Each is compiled when a node first needs it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.inference.oracles.calls import (
    best,
    eliminate,
    inner_gaps,
    inner_norm,
    inner_step,
    is_exact,
    k_best,
    max_marginals,
    scratch_of,
    size_of,
    tree_of,
)
from bbparse.inference.relaxation.counts import (
    apply_counts,
    count_gaps,
    disagreement,
    simplify_counts,
    step_counts,
)
from bbparse.inference.relaxation.incumbents import floor_to_beat, insert_tree, tree_score
from bbparse.inference.relaxation.multipliers import (
    apply_multipliers,
    choices_of,
    factor_gaps,
    simplify_factors,
    step_subgradient,
    subgradient_norm,
)
from bbparse.inference.relaxation.state import LISTED
from bbparse.runtime.arrays import NEG, Float64s, Ints
from bbparse.runtime.clock import is_over
from bbparse.runtime.jit import kernel

#: Status of a node: no tree of it can change the k best; it needs branching; its best tree is
#: known; it is not bounded yet.
CLOSED, OPEN, SOLVED, WAITS = 0, 1, 2, 3


@kernel
def _simplify(n_words, node, hard):
    """Simplify factors and count factors in turn; return False if the node has no tree."""
    while True:
        if not simplify_factors(
            n_words, node.arc_mod, node.base, node.factors, node.constant, hard
        ):
            return False
        if node.counts.size[0] == 0:
            return True
        status = simplify_counts(n_words, node.arc_mod, node.base, node.counts, node.constant)
        if status < 2:
            return status == 1


@kernel
def _bound_scores(node, copy, arc_score):
    """Fill ``arc_score`` with the arc scores for the oracle; return the bound's constant."""
    shift = node.constant[0] + apply_multipliers(node.base, node.factors, arc_score)
    return shift + apply_counts(node.counts, copy, arc_score)


@kernel
def _drop_arcs(node, marginals, least):
    """Remove arcs whose max-marginal is below ``least``; return True if any were."""
    base = node.base
    died = False
    for a in range(base.shape[0]):
        if base[a] > NEG and marginals[a] < least:
            base[a] = NEG
            died = True
    return died


class Room(NamedTuple):
    """Arrays that the calls of a node write, besides the oracle's."""

    arc_score: Float64s  # [A], of arcs under the multipliers
    marginals: Float64s  # [A], bounds on the trees with each arc
    chosen: NDArray[np.int8]  # [A], 1 for the arcs of the last tree
    copy: NDArray[np.int8]  # copies of the arcs of count factors
    tree: Ints  # [n], the last tree


#: What changes from call to call. ``bound``: the best one so far, on every tree of the node that is
#: not among the incumbents; ``shift``: constant of the last bound; ``last``, ``value``: the last
#: bound and its tree's score; ``damping``: the factor of the next Polyak step.
PROGRESS = np.dtype(
    (np.record, [(name, np.float64) for name in ("bound", "shift", "last", "value", "damping")])
)


@kernel
def _is_linear(node):
    """Return True if the bound is the score of a tree: exact oracle, no factors left."""
    return is_exact(node.oracle) and node.factors.size[0] + node.counts.size[0] == 0


@kernel
def _try_primal(node, scratch, room, progress, incumbents, limits, counters):
    """Call the oracle under the multipliers, and offer its tree.

    Returns CLOSED if no tree is left, OPEN if some may be, and WAITS if time is over before.
    """
    oracle, arc_score, tree = node.oracle, room.arc_score, room.tree
    progress[0].shift = _bound_scores(node, room.copy, arc_score)
    goal = best(oracle, scratch, arc_score, limits.until)
    counters[0] += 1.0
    counters[1] += size_of(oracle) / limits.full_size
    if goal == NEG:
        progress[0].bound = NEG
        return CLOSED
    if goal != goal:
        return WAITS
    bound = goal + progress[0].shift
    progress[0].last = bound
    progress[0].bound = min(progress[0].bound, bound)
    if bound < floor_to_beat(incumbents, limits.margin):
        return CLOSED
    part_score = tree_of(oracle, scratch, arc_score, tree)
    value = tree_score(node, tree, part_score, limits.hard, room.chosen)
    if value > NEG:
        insert_tree(incumbents, tree, value, limits.slack)
    counters[2] += 1.0
    progress[0].value = value
    if incumbents.scores.shape[0] == 1 and _is_linear(node):
        return CLOSED
    return CLOSED if bound < floor_to_beat(incumbents, limits.margin) else OPEN


@kernel
def _eliminate(node, scratch, room, progress, incumbents, limits, counters):
    """Eliminate arcs and hyperedges by max-marginals; return True if no better tree is left."""
    oracle, marginals = node.oracle, room.marginals
    max_marginals(oracle, scratch, room.arc_score, marginals)
    counters[0] += 2.0
    counters[1] += 2.0 * size_of(oracle) / limits.full_size
    least = floor_to_beat(incumbents, limits.margin) - progress[0].shift
    before = size_of(oracle)
    if not eliminate(oracle, scratch, least):
        return True
    died = _drop_arcs(node, marginals, least)
    if (died or size_of(oracle) < before) and not _simplify(room.tree.shape[0], node, limits.hard):
        return True
    if died:  # the tree may have lost arcs, and their factors have changed
        for a in range(marginals.shape[0]):
            if node.base[a] == NEG:
                room.chosen[a] = 0
    return False


@kernel
def _step(node, scratch, room, progress, incumbents, limits):
    """Take a Polyak step, shorter if the bound did not fall; return True if it changes nothing."""
    factors, counts, chosen = node.factors, node.counts, room.chosen
    if progress[0].last <= progress[0].bound:
        progress[0].damping = min(1.1 * progress[0].damping, 1.5)
    else:  # components that must agree have bounds that rise as often as they fall
        progress[0].damping *= 0.7 if is_exact(node.oracle) else 0.85
    norm = disagreement(counts, room.copy, chosen) + inner_norm(node.oracle, scratch)
    norm += subgradient_norm(factors, chosen)
    if norm == 0.0:
        return True
    bound, found = progress[0].last, incumbents.found[0]
    gap = bound - incumbents.scores[found - 1] if found > 0 else abs(bound)
    length = progress[0].damping * max(gap, limits.slack) / norm
    step_subgradient(factors, chosen, length, room.marginals)
    step_counts(counts, room.copy, chosen, length)
    inner_step(node.oracle, scratch, length)
    return False


@kernel
def _start(node, n_words):
    """Return the `Room` of a node, and its progress: `PROGRESS`[1]."""
    n_arcs = node.base.shape[0]
    progress = np.zeros(1, PROGRESS)
    progress[0].bound = np.inf
    progress[0].damping = 1.0
    room = Room(
        np.empty(n_arcs),
        np.empty(n_arcs),
        np.zeros(n_arcs, np.int8),
        np.zeros(node.counts.arcs.shape[0], np.int8),
        np.empty(n_words, np.int32),
    )
    return room, progress


@kernel
def _bound_by_calls(node, room, progress, incumbents, limits, counters, record):
    """Call the oracle again and again, and change the multipliers; return the node's status.

    The status is WAITS if trees that may be better are left, and SOLVED if the last tree is the
    node's best one.
    """
    k, exact = incumbents.scores.shape[0], is_exact(node.oracle)
    scratch = scratch_of(node.oracle)
    for call in range(limits.calls):
        if call > 0 and (counters[1] >= limits.work or is_over(limits.until)):
            break
        status = _try_primal(node, scratch, room, progress, incumbents, limits, counters)
        if status != OPEN:
            return status
        tight = progress[0].value > NEG and progress[0].last - progress[0].value <= limits.slack
        if tight and not exact:
            return CLOSED if k == 1 else SOLVED
        floor = floor_to_beat(incumbents, limits.margin)
        if limits.eliminate_every > 0 and floor > NEG and call % limits.eliminate_every == 0:
            if _eliminate(node, scratch, room, progress, incumbents, limits, counters):
                return CLOSED
        if call < record.shape[0]:
            record[call, 0], record[call, 1] = counters[0], progress[0].bound
            record[call, 2] = incumbents.scores[0] if incumbents.found[0] > 0 else NEG
        if _is_linear(node):
            if k > 1:
                break
        elif _step(node, scratch, room, progress, incumbents, limits):
            break
    return WAITS


@kernel(stage="branch and bound")
def call_oracle(node, incumbents, limits, counters, record):
    """Bound a node in place by calls of its oracle; return status, bound and last tree.

    The bound is on every tree that could change the k best. ``counters`` float64[3] counts oracle
    calls, full-size calls and trees tried; it is updated. ``record`` float64[calls, 3] receives the
    number of calls, the bound and the best known score after each call, as far as it has rows.
    """
    room, progress = _start(node, incumbents.trees.shape[1])
    if size_of(node.oracle) == 0 or not _simplify(room.tree.shape[0], node, limits.hard):
        return CLOSED, NEG, room.tree
    status = _bound_by_calls(node, room, progress, incumbents, limits, counters, record)
    return status, progress[0].bound, room.tree


@kernel(stage="branch and bound")
def list_best(node, incumbents, limits, counters):
    """Enumerate the best trees under the multipliers, as many as are wanted, at least ``close_k``.

    Returns the trees int32[K, n], their scores, and a bound on all trees that are not listed: those
    that could not change the k best may be left out. No trees and inf: time is over.
    """
    oracle, n_words, n_arcs = node.oracle, incumbents.trees.shape[1], node.base.shape[0]
    k = max(incumbents.scores.shape[0], limits.close_k)
    floor = floor_to_beat(incumbents, limits.margin)
    arc_score, copy = np.empty(n_arcs), np.zeros(node.counts.arcs.shape[0], np.int8)
    shift = _bound_scores(node, copy, arc_score)
    trees, values, part_scores, rest = k_best(
        oracle, scratch_of(oracle), arc_score, n_words, k, floor - shift, limits.until
    )
    counters[0] += 1.0
    counters[1] += (size_of(oracle) + LISTED * n_words * trees.shape[0]) / limits.full_size
    counters[2] += trees.shape[0]
    scores, chosen = np.empty(values.shape[0]), np.zeros(n_arcs, np.int8)
    for t in range(values.shape[0]):
        scores[t] = tree_score(node, trees[t], part_scores[t], limits.hard, chosen)
    return trees, scores, rest + shift


@kernel(stage="branch and bound")
def branching_arc(node, limits, trees, k):
    """Return the free arc with the largest sum of gaps over some trees, int32[T, n]; -1: none.

    If one tree is wanted (k = 1), these are the first trees up to one with a gap. Also -1 if time
    is over.
    """
    n_trees, n_words = trees.shape
    n_arcs = node.base.shape[0]
    copy, chosen = np.zeros(node.counts.arcs.shape[0], np.int8), np.zeros(n_arcs, np.int8)
    alive = choices_of(n_words, node.arc_mod, node.base)
    gaps, own, scratch = np.zeros(n_arcs), np.empty(n_arcs), scratch_of(node.oracle)
    if not is_exact(node.oracle):  # gaps of its components are those of its last call
        _bound_scores(node, copy, own)
        if not best(node.oracle, scratch, own, limits.until) > NEG:
            return -1
    arc, widest = -1, 0.0
    for t in range(n_trees):
        chosen[:] = 0
        for a in trees[t]:
            chosen[a] = 1
        factor_gaps(node.factors, chosen, own)
        count_gaps(node.counts, copy, chosen, limits.hard, own)
        inner_gaps(node.oracle, scratch, own)
        for a in range(n_arcs):
            gaps[a] += own[a]
            if node.base[a] > NEG and alive[node.arc_mod[a]] > 1 and gaps[a] > widest:
                widest = gaps[a]
                arc = a
        if k == 1 and widest > limits.slack:
            break
    if arc < 0:  # no gap, yet trees are missing: branch on the word with the most arcs
        most = 1
        for a in range(n_arcs):
            if node.base[a] > NEG and alive[node.arc_mod[a]] > most:
                most = alive[node.arc_mod[a]]
                arc = a
    return arc
