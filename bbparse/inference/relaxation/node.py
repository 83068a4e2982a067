"""Bounding one node of the search, over any oracle.

A node consists of its alive arcs (those with ``base`` above -inf), the state of its oracle, and its
factors. `bound_node` minimizes the bound over multipliers, offers every tree that it finds to the
incumbents, eliminates arcs that provably are in no better tree, and chooses the branching arc.

It calls three kernels, each compiled when a node first needs it: `call_oracle` changes multipliers,
which closes most nodes; `list_best` enumerates trees, and `branching_arc` chooses an arc.
"""

from __future__ import annotations

from types import NoneType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.inference.oracles.calls import (
    best,
    by_type,
    eliminate,
    inner_gaps,
    inner_norm,
    inner_step,
    is_exact,
    k_best,
    scratch_of,
    size_of,
    tree_of,
    with_each,
)
from bbparse.inference.oracles.projective.build import Chart
from bbparse.inference.relaxation.counts import (
    apply_counts,
    count_gaps,
    disagreement,
    simplify_counts,
    step_counts,
)
from bbparse.inference.relaxation.incumbents import (
    floor_to_beat,
    insert_tree,
    insert_trees,
    margin,
    tree_score,
)
from bbparse.inference.relaxation.multipliers import (
    apply_multipliers,
    arc_leads,
    choices_of,
    factor_gaps,
    simplify_factors,
    step_leads,
    step_subgradient,
    subgradient_norm,
)
from bbparse.inference.relaxation.state import Incumbents, Limits, Node, Record
from bbparse.runtime.arrays import NEG, Float64s, Ints
from bbparse.runtime.clock import is_over
from bbparse.runtime.deadline import Deadline
from bbparse.runtime.jit import kernel

#: Status of a node: no tree of it can change the k best; it needs branching; its best tree is
#: known; it is not bounded yet.
CLOSED, OPEN, SOLVED, WAITS = 0, 1, 2, 3
#: Number of calls without a better bound before steps are shortened, for oracles whose components
#: must agree. Their bound rises as often as it falls: steps that shrink each time would stop short
#: of the minimum.
PATIENCE = 15
#: Number of trees that choose the branching arc if k trees are wanted.
_SAMPLED = 16
#: Cost of enumerating a tree for each word, in visited positions of the oracle.
_LISTED = 3.0
#: Number of calls that no search makes.
_NO_END = 1 << 60


class Verdict(NamedTuple):
    """The result of bounding a node."""

    status: int  # ``CLOSED``, ``OPEN`` or ``SOLVED``
    bound: float  # on every tree of the node that is not among the incumbents
    arc: int  # to branch on; -1: none, or time is over
    tree: Ints  # [n], the last tree found; if the node is solved, its best tree


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
def _write_row(record, node, bound, incumbents, counters):
    """Write one row of the node's record."""
    row = record.used[0]
    if row >= record.rows.shape[0]:
        return
    record.rows[row, 0] = counters[0]
    record.rows[row, 1] = bound
    record.rows[row, 2] = incumbents.scores[0] if incumbents.found[0] > 0 else NEG
    record.rows[row, 3] = size_of(node.oracle)
    record.factors[row] = node.factors.size[0] + node.counts.size[0]
    for a in range(node.base.shape[0]):
        if node.base[a] > NEG:
            record.died[a] = row + 1
    record.used[0] = row + 1


_note = by_type({Record: _write_row, NoneType: None})

@kernel
def _drop_arcs(node, each, least):
    """Remove arcs whose max-marginal is below ``least``; return True if any were."""
    base = node.base
    died = False
    for a in range(base.shape[0]):
        if base[a] > NEG and each[a] < least:
            base[a] = NEG
            died = True
    return died


class Room(NamedTuple):
    """Arrays that the calls of a node write, besides the oracle's."""

    arc_score: Float64s  # [A], of arcs under the multipliers
    each: Float64s  # [A], bounds on the trees with each arc
    lead: Float64s  # [A], max-marginal differences
    chosen: NDArray[np.int8]  # [A], 1 for the arcs of the last tree
    copy: NDArray[np.int8]  # copies of the arcs of count factors
    tree: Ints  # [n], the last tree


#: What changes from call to call. ``bound``: the best one so far, on every tree of the node that is
#: not among the incumbents; ``shift``: constant of the last bound; ``last``, ``value``: the last
#: bound and its tree's score; ``fell``: by how much the bound fell in the last call; ``damping``:
#: of Polyak steps; ``waited``: number of calls since the bound last fell.
PROGRESS = np.dtype((np.record, [
    (name, np.float64)
    for name in ("bound", "shift", "last", "value", "fell", "damping", "waited")
]))  # fmt: skip


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
    progress[0].fell, progress[0].last = progress[0].last - bound, bound
    progress[0].bound = min(progress[0].bound, bound)
    if bound < floor_to_beat(incumbents, limits.quantum, limits.slack):
        return CLOSED
    part_score = tree_of(oracle, scratch, arc_score, tree)
    value = tree_score(node, tree, part_score, limits.hard, room.chosen)
    if value > NEG:
        insert_tree(incumbents, tree, value, limits.slack)
    counters[2] += 1.0
    progress[0].value = value
    if incumbents.scores.shape[0] == 1 and _is_linear(node):
        return CLOSED
    return CLOSED if bound < floor_to_beat(incumbents, limits.quantum, limits.slack) else OPEN


@kernel
def _eliminate(node, scratch, room, progress, incumbents, limits, counters):
    """Eliminate what is in no better tree; return True if no such tree is left."""
    oracle, each = node.oracle, room.each
    n_words = incumbents.trees.shape[1]
    with_each(oracle, scratch, room.arc_score, each)
    counters[0] += 2.0
    counters[1] += 2.0 * size_of(oracle) / limits.full_size
    arc_leads(n_words, node.arc_mod, each, room.lead)
    least = floor_to_beat(incumbents, limits.quantum, limits.slack) - progress[0].shift
    before = size_of(oracle)
    if not eliminate(oracle, scratch, least):
        return True
    died = _drop_arcs(node, each, least)
    if (died or size_of(oracle) < before) and not _simplify(n_words, node, limits.hard):
        return True
    if died:  # the tree may have lost arcs, and their factors have changed
        for a in range(each.shape[0]):
            if node.base[a] == NEG:
                room.chosen[a] = 0
    return False


@kernel
def _damping(exact, progress):
    """Return the factor of the next Polyak step, which is shorter if the bound does not fall."""
    if exact:
        if progress[0].fell < 0.0:
            progress[0].damping *= 0.7
    elif progress[0].last <= progress[0].bound:
        progress[0].waited, progress[0].damping = 0, min(1.1 * progress[0].damping, 1.5)
    else:
        progress[0].waited += 1
        if progress[0].waited == PATIENCE:
            progress[0].waited, progress[0].damping = 0, 0.5 * progress[0].damping
    return progress[0].damping


@kernel
def _step(node, scratch, room, progress, by_leads, incumbents, limits):
    """Change the multipliers; return True if that cannot lower the bound any more.

    Factors move by max-marginal differences if ``by_leads``, and otherwise, as all other
    multipliers, by Polyak steps.
    """
    factors, counts, chosen = node.factors, node.counts, room.chosen
    exact, bound, value = is_exact(node.oracle), progress[0].last, progress[0].value
    if by_leads and factors.size[0] > 0:
        if value > NEG and bound - value <= limits.slack:
            return True
        step_leads(factors, room.lead, room.each, room.arc_score)
    if exact and by_leads and counts.size[0] == 0:
        return False
    damping, found = _damping(exact, progress), incumbents.found[0]
    target = incumbents.scores[found - 1] if found > 0 else NEG
    norm = disagreement(counts, room.copy, chosen) + inner_norm(node.oracle, scratch, chosen)
    if not by_leads:
        norm += subgradient_norm(factors, chosen)
    if norm == 0.0:
        return not by_leads
    gap = bound - target if target > NEG else abs(bound)
    length = damping * max(gap, limits.slack) / norm
    if not by_leads:
        step_subgradient(factors, chosen, length, room.each)
    step_counts(counts, room.copy, chosen, length)
    inner_step(node.oracle, scratch, chosen, length)
    return False


@kernel
def _start(node, n_words):
    """Return the `Room` of a node, and its progress: `PROGRESS`[1]."""
    n_arcs = node.base.shape[0]
    progress = np.zeros(1, PROGRESS)
    progress[0].bound = progress[0].last = np.inf
    progress[0].damping = 1.0
    room = Room(
        np.empty(n_arcs), np.empty(n_arcs), np.empty(n_arcs), np.zeros(n_arcs, np.int8),
        np.zeros(node.counts.arcs.shape[0], np.int8), np.empty(n_words, np.int32),
    )  # fmt: skip
    return room, progress


@kernel
def _bound_by_calls(node, room, progress, incumbents, limits, counters, record):
    """Call the oracle again and again, and change the multipliers; return the node's status.

    The status is WAITS if trees that may be better are left, and SOLVED if the last tree is the
    node's best one.
    """
    k, exact = incumbents.scores.shape[0], is_exact(node.oracle)
    scratch = scratch_of(node.oracle)
    for call in range(limits.calls if not exact or k > 1 else _NO_END):
        if call > 0 and (
            counters[1] >= limits.work
            or is_over(limits.until)
            or (call >= limits.calls and not _is_linear(node))
        ):
            break
        status = _try_primal(node, scratch, room, progress, incumbents, limits, counters)
        if status != OPEN:
            return status
        tight = progress[0].value > NEG and progress[0].last - progress[0].value <= limits.slack
        if tight and not exact:
            return CLOSED if k == 1 else SOLVED
        floor = floor_to_beat(incumbents, limits.quantum, limits.slack)
        eliminates = (
            limits.eliminate_every > 0 and floor > NEG and call % limits.eliminate_every == 0
        )
        if eliminates and _eliminate(
            node, scratch, room, progress, incumbents, limits, counters
        ):
            return CLOSED
        _note(record, node, progress[0].bound, incumbents, counters)
        if _is_linear(node):
            if k > 1:
                break
        elif _step(node, scratch, room, progress, eliminates, incumbents, limits):
            break
    return WAITS


@kernel(stage="branch and bound")
def call_oracle(node, incumbents, limits, counters, record):
    """Bound a node in place by calls of its oracle; return status, bound and last tree."""
    room, progress = _start(node, incumbents.trees.shape[1])
    if size_of(node.oracle) == 0 or not _simplify(room.tree.shape[0], node, limits.hard):
        return CLOSED, NEG, room.tree
    status = _bound_by_calls(node, room, progress, incumbents, limits, counters, record)
    return status, progress[0].bound, room.tree


@kernel(stage="branch and bound")
def list_best(node, incumbents, limits, counters, k, floor):
    """Enumerate the k best trees under the multipliers.

    Returns the trees int32[K, n], the bound on each, their scores, and a bound on all trees that
    are not listed. Those below ``floor`` may be left out.
    """
    oracle, n_words, n_arcs = node.oracle, incumbents.trees.shape[1], node.base.shape[0]
    if size_of(oracle) == 0 or not _simplify(n_words, node, limits.hard):
        return np.empty((0, n_words), np.int32), np.empty(0), np.empty(0), NEG
    arc_score, copy = np.empty(n_arcs), np.zeros(node.counts.arcs.shape[0], np.int8)
    shift = _bound_scores(node, copy, arc_score)
    trees, values, part_scores, rest = k_best(
        oracle, scratch_of(oracle), arc_score, n_words, k, floor - shift, limits.until
    )
    counters[0] += 1.0
    counters[1] += size_of(oracle) / limits.full_size
    counters[2] += trees.shape[0]
    scores, chosen = np.empty(values.shape[0]), np.zeros(n_arcs, np.int8)
    for t in range(values.shape[0]):
        values[t] += shift
        scores[t] = tree_score(node, trees[t], part_scores[t], limits.hard, chosen)
    return trees, values, scores, rest + shift


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
    for t in range(0, n_trees, 1 if k == 1 else max(1, n_trees // _SAMPLED)):
        chosen[:] = 0
        for a in trees[t]:
            chosen[a] = 1
        factor_gaps(node.factors, chosen, own)
        count_gaps(node.counts, copy, chosen, limits.hard, own)
        inner_gaps(node.oracle, scratch, chosen, own)
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


def bound_node(
    node: Node, incumbents: Incumbents, limits: Limits, counters: Float64s, record: Record | None
) -> Verdict:
    """Bound a node in place.

    ``counters`` float64[3] counts oracle calls, full-size calls and trees tried; it is updated.
    """
    k, exact = len(incumbents.scores), isinstance(node.oracle, Chart)
    if k > incumbents.found[0] and k > 1 and exact and _n_factors(node):
        # without a k-th score no arc can be eliminated
        trees, _, scores, rest = list_best(node, incumbents, limits, counters, k, NEG)
        insert_trees(incumbents, trees, scores)
        counters[1] += len(trees) * _listed(incumbents, limits)
        if rest == NEG:  # these are all; a node without trees is simplified in part
            return Verdict(CLOSED, NEG, -1, incumbents.trees[0])
    status, bound, tree = call_oracle(node, incumbents, limits, counters, record)
    if status != WAITS:
        return Verdict(status, bound, -1, tree)
    return Verdict(*_finish(node, incumbents, limits, counters, bound), tree)


def _n_factors(node: Node) -> int:
    return int(node.factors.size[0] + node.counts.size[0])


def _listed(incumbents: Incumbents, limits: Limits) -> float:
    """Return the work of enumerating one tree, in full-size calls."""
    return _LISTED * max(1, incumbents.trees.shape[1]) / limits.full_size


def _finish(
    node: Node, incumbents: Incumbents, limits: Limits, counters: Float64s, bound: float
) -> tuple[int, float, int]:
    """Enumerate the trees that remain under the bound; return status, bound and arc.

    The multipliers do not change any more.
    """
    k = len(incumbents.scores)
    wanted, floor = max(k, limits.close_k), _floor(incumbents, limits)
    trees, values, scores, rest = list_best(node, incumbents, limits, counters, wanted, floor)
    insert_trees(incumbents, trees, scores)
    counters[1] += len(trees) * _listed(incumbents, limits)
    floor = _floor(incumbents, limits)
    if not len(trees) and rest != NEG:  # time is over
        return OPEN, bound, -1
    bound = min(bound, float(values.max(initial=NEG)))
    if rest == NEG or rest < floor or bound < floor:
        return CLOSED, bound, -1
    arc = branching_arc(node, limits, trees, k)
    is_open = arc >= 0 or Deadline(limits.until).is_over()
    return (OPEN if is_open else CLOSED), bound, arc


def _floor(incumbents: Incumbents, limits: Limits) -> float:
    """Return `floor_to_beat`, outside of kernels."""
    if incumbents.found[0] < len(incumbents.scores):
        return NEG
    return float(incumbents.scores[-1]) + margin(limits.quantum, limits.slack)
