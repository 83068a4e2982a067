"""Bounding one node of the search, over any oracle.

A node consists of its alive arcs (those with ``base`` above -inf), the state of its oracle, and its
factors. `bound_node` minimizes the bound over multipliers, offers every tree that it finds to the
incumbents, eliminates arcs that provably are in no better tree, and chooses the branching arc.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.inference.oracles.calls import (
    best,
    eliminate,
    hold,
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
    tree_score,
    tree_scores,
)
from bbparse.inference.relaxation.listing import LATE, TreeBound, try_trees
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
from bbparse.runtime.arrays import NEG, Float64s, Ints
from bbparse.runtime.clock import is_over
from bbparse.runtime.jit import kernel

#: Status of a node: no tree of it can change the k best; it needs branching; its best tree is
#: known; it is not bounded yet.
CLOSED, OPEN, SOLVED, WAITS = 0, 1, 2, 3
PAPER, MIXED = 0, 1
#: Number of calls without a better bound before steps are shortened, for oracles whose components
#: must agree. Their bound rises as often as it falls: steps that shrink each time would stop short
#: of the minimum.
PATIENCE = 15
#: Enumeration of k trees if bounds are not scores: first k // _FIRST_PART trees are enumerated, to
#: estimate how many are needed; at most _MOST_LISTED * k are; about _SAMPLED choose the branching
#: arc.
_FIRST_PART, _MOST_LISTED, _SAMPLED = 4, 8.0, 16
#: Cost of enumerating a tree for each word, in visited positions of the oracle.
_LISTED = 3.0
#: Number of calls that no search makes.
_NO_END = 1 << 60


class Verdict(NamedTuple):
    """The result of bounding a node."""

    status: int  # ``CLOSED``, ``OPEN`` or ``SOLVED``
    bound: float  # on every tree of the node that is not among the incumbents
    arc: int  # to branch on; -1: none
    lower: float  # score of the best tree found
    tree: Ints  # [n], the last tree found; if the node is solved, its best tree
    slack: float  # maximum rounding error of the bound


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
def _note(node, bound, incumbents, counters, record):
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


@kernel
def _worth_listing(values, least, k):
    """Return how many trees to enumerate next, or 0 if branching is better.

    The estimate is the number of trees whose value is at least ``least``. It assumes that the
    number of trees keeps growing at the rate of the second half of the trees enumerated so far.
    """
    n = values.shape[0]
    if least == NEG:  # fewer than k trees are known
        return k
    step = values[n // 2] - values[n - 1]
    expected = n * 2.0 ** ((values[n - 1] - least) / step) if step > 0.0 else np.inf
    if expected > _MOST_LISTED * k:
        return 0
    return min(4 * n, max(int(expected) + 1, n + n // 4 + 1))


@kernel
def _branching_arc(node, scratch, limits, trees, k, marks):
    """Return the free arc with the largest sum of gaps over some trees, int32[T, n]; -1: none.

    If one tree is wanted (k = 1), these are the first trees up to one with a gap. ``marks`` are
    room for the copies of count factors, and for the arcs of a tree.
    """
    n_trees, n_words = trees.shape
    copy, chosen = marks
    n_arcs = node.base.shape[0]
    alive = choices_of(n_words, node.arc_mod, node.base)
    gaps, own = np.zeros(n_arcs), np.empty(n_arcs)
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


class Room(NamedTuple):
    """Arrays that the calls of a node write, besides the oracle's."""

    arc_score: Float64s  # [A], of arcs under the multipliers
    each: Float64s  # [A], bounds on the trees with each arc
    lead: Float64s  # [A], max-marginal differences
    times: Float64s  # [A]
    simplex: Float64s  # [n + 2]
    chosen: NDArray[np.int8]  # [A], 1 for the arcs of the last tree
    copy: NDArray[np.int8]  # copies of the arcs of count factors
    tree: Ints  # [n], the last tree


#: What changes from call to call. ``bound``: the best one so far, on every tree of the node that is
#: not among the incumbents; ``lower``: score of the best tree found; ``shift``: constant of the
#: last bound; ``last``, ``value``: the last bound and its tree's score; ``fell``: by how much the
#: bound fell in the last call; ``alpha``: the paper's first step length, max_c 1 / |φ_c| (QL13
#: §3.2); ``damping``: of Polyak steps; ``rises``, ``waited``: calls in which the bound rose, and
#: since it last fell; ``listed``: work of enumerating one tree.
PROGRESS = np.dtype((np.record, [
    *((name, np.float64) for name in (
        "bound", "lower", "shift", "last", "value", "fell", "alpha", "damping", "listed",
    )),
    *((name, np.int64) for name in ("call", "rises", "waited")),
]))  # fmt: skip


@kernel
def _start(node, incumbents, limits):
    """Return the `Room` of a node, and its progress: `PROGRESS`[1]."""
    n_arcs, factors = node.base.shape[0], node.factors
    n_words = incumbents.trees.shape[1]
    progress = np.zeros(1, PROGRESS)
    progress[0].bound = progress[0].last = np.inf
    progress[0].lower = NEG
    progress[0].damping = 1.0
    progress[0].listed = _LISTED * max(1, n_words) / limits.full_size
    for c in range(factors.size[0]):
        if factors.weight[c] != 0.0:
            progress[0].alpha = max(progress[0].alpha, 1.0 / abs(factors.weight[c]))
    room = Room(
        np.empty(n_arcs), np.empty(n_arcs), np.empty(n_arcs), np.empty(n_arcs),
        np.empty(n_words + 2), np.zeros(n_arcs, np.int8),
        np.zeros(node.counts.arcs.shape[0], np.int8), np.empty(n_words, np.int32),
    )  # fmt: skip
    return room, progress


@kernel
def _is_linear(node):
    """Return True if the bound is the score of a tree: exact oracle, no factors left."""
    return is_exact(node.oracle) and node.factors.size[0] + node.counts.size[0] == 0


@kernel
def _try_primal(node, scratch, room, progress, incumbents, limits, counters):
    """Call the oracle under the multipliers, and offer its tree; return True if no tree is left.

    The first call for k trees also offers the k best: without a k-th score no arc can be
    eliminated.
    """
    oracle, arc_score, tree = node.oracle, room.arc_score, room.tree
    k, n_words = incumbents.trees.shape
    progress[0].shift = _bound_scores(node, room.copy, arc_score)
    goal = best(oracle, scratch, arc_score)
    share = size_of(oracle) / limits.full_size
    counters[0] += 1.0
    counters[1] += share
    if goal == NEG:
        progress[0].bound = NEG
        return True
    bound = goal + progress[0].shift
    progress[0].fell, progress[0].last = progress[0].last - bound, bound
    if bound >= floor_to_beat(incumbents, limits.quantum, limits.slack):
        linear = _is_linear(node)
        first = progress[0].call == 0 and incumbents.found[0] < k
        if is_exact(oracle) and not linear and first and k > 1:
            many, _, part_scores, _ = k_best(
                oracle, scratch, arc_score, n_words, k, NEG, limits.until
            )
            counters[1] += share + many.shape[0] * progress[0].listed
            counters[2] += many.shape[0]
            scores = tree_scores(node, many, part_scores, limits.hard)
            insert_trees(incumbents, many, scores, limits.slack)
        part_score = tree_of(oracle, scratch, arc_score, tree)
        value = tree_score(node, tree, part_score, limits.hard, room.chosen)
        if value > NEG:
            insert_tree(incumbents, tree, value, limits.slack)
        counters[2] += 1.0
        progress[0].value = value
        progress[0].lower = max(progress[0].lower, value)
        floor = floor_to_beat(incumbents, limits.quantum, limits.slack)
        if bound >= floor and not (linear and k == 1):
            progress[0].bound = min(progress[0].bound, bound)
            return False
    progress[0].bound = min(progress[0].bound, bound)
    return True


@kernel
def _eliminate(node, scratch, room, progress, fewest, incumbents, limits, counters):
    """Eliminate what is in no better tree; return True if no such tree is left."""
    oracle, each = node.oracle, room.each
    n_words, shift, call = incumbents.trees.shape[1], progress[0].shift, progress[0].call
    with_each(oracle, scratch, room.arc_score, each)
    counters[0] += 2.0
    counters[1] += 2.0 * size_of(oracle) / limits.full_size
    if limits.method == MIXED:
        arc_leads(n_words, node.arc_mod, each, room.lead)
    tree_bound = TreeBound(room.arc_score, each, shift, limits.slack)
    if try_trees(oracle, scratch, node, tree_bound, (call, fewest), limits, incumbents, counters):
        return True
    least = floor_to_beat(incumbents, limits.quantum, limits.slack) - shift
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
    if call >= LATE:
        hold(oracle, scratch, node.base, node.factors, limits.hard)
    return False


@kernel
def _step_paper(node, scratch, room, progress, limits):
    """Take a step of the paper's length; return True if the bound has stopped falling."""
    if 0.0 <= progress[0].fell <= limits.precision:
        return True
    progress[0].rises += progress[0].fell < 0.0
    shortening = 0.5 ** progress[0].rises
    step_subgradient(
        node.factors, room.chosen, progress[0].alpha * shortening, True, room.simplex
    )
    norm = disagreement(node.counts, room.copy, room.chosen)
    norm += inner_norm(node.oracle, scratch, room.chosen)
    if norm > 0.0:  # not in the paper: Polyak's length, shortened as the paper's steps are
        bound, lower = progress[0].last, progress[0].lower
        gap = bound - lower if lower > NEG else abs(bound)
        length = shortening * max(gap, limits.slack) / norm
        step_counts(node.counts, room.copy, room.chosen, length)
        inner_step(node.oracle, scratch, room.chosen, length)
    return False


@kernel
def _step_mixed(node, scratch, room, progress, by_leads, incumbents, limits):
    """Take a step by max-marginal differences, or else of Polyak's length; return True at the end.

    The end is a bound that is the score of its tree.
    """
    factors, counts = node.factors, node.counts
    exact, bound = is_exact(node.oracle), progress[0].last
    if by_leads and factors.size[0] > 0:
        if progress[0].value > NEG and bound - progress[0].value <= limits.slack:
            return True
        step_leads(factors, room.lead, room.times, room.simplex)
    if exact and by_leads and counts.size[0] == 0:
        return False
    if exact:
        if progress[0].fell < 0.0:
            progress[0].damping *= 0.7
    elif bound <= progress[0].bound:
        progress[0].waited, progress[0].damping = 0, min(1.1 * progress[0].damping, 1.5)
    else:
        progress[0].waited += 1
        if progress[0].waited == PATIENCE:
            progress[0].waited, progress[0].damping = 0, 0.5 * progress[0].damping
    norm = disagreement(counts, room.copy, room.chosen)
    norm += inner_norm(node.oracle, scratch, room.chosen)
    if not by_leads:
        norm += subgradient_norm(factors, room.chosen)
    if norm == 0.0:
        return not by_leads
    found = min(incumbents.scores.shape[0], incumbents.found[0])
    target = incumbents.scores[found - 1] if found > 0 else bound - abs(bound)
    length = progress[0].damping * max(bound - target, limits.slack) / norm
    if not by_leads:
        step_subgradient(factors, room.chosen, length, False, room.simplex)
    step_counts(counts, room.copy, room.chosen, length)
    inner_step(node.oracle, scratch, room.chosen, length)
    return False


@kernel
def _finish(node, scratch, room, progress, incumbents, limits, counters):
    """Enumerate the trees that remain under the bound; return status and branching arc.

    The multipliers do not change any more.
    """
    oracle, slack, listed = node.oracle, limits.slack, progress[0].listed
    k, n_words = incumbents.trees.shape
    shift = _bound_scores(node, room.copy, room.arc_score)
    wanted = max(k, limits.close_k)
    if k > 1 and node.factors.size[0] + node.counts.size[0] > 0:
        wanted = max(k // _FIRST_PART, limits.close_k)
    tried = 0
    while True:
        floor = floor_to_beat(incumbents, limits.quantum, slack)
        many, values, part_scores, rest = k_best(
            oracle, scratch, room.arc_score, n_words, wanted, floor - shift, limits.until
        )
        counters[0] += 1.0
        counters[1] += size_of(oracle) / limits.full_size + many.shape[0] * listed
        counters[2] += many.shape[0] - tried
        scores = tree_scores(node, many[tried:], part_scores[tried:], limits.hard)
        insert_trees(incumbents, many[tried:], scores, slack)
        for value in scores:
            progress[0].lower = max(progress[0].lower, value)
        floor = floor_to_beat(incumbents, limits.quantum, slack)
        if rest == NEG or rest + shift < floor:
            return CLOSED, -1
        tried = many.shape[0]
        wanted = _worth_listing(values, floor - shift, k)
        if not is_exact(oracle) or k == 1 or wanted <= tried or is_over(limits.until):
            break
        wanted = int(min(float(wanted), (limits.work - counters[1]) / listed))
        if wanted <= tried:
            break
    progress[0].bound = min(progress[0].bound, values[0] + shift)
    if progress[0].bound < floor:
        return CLOSED, -1
    arc = _branching_arc(node, scratch, limits, many[:tried], k, (room.copy, room.chosen))
    return (OPEN if arc >= 0 else CLOSED), arc


@kernel
def _bound_by_calls(node, scratch, room, progress, incumbents, limits, counters, record):
    """Call the oracle again and again, and change the multipliers; return the node's status.

    The status is WAITS if trees that may be better are left, and SOLVED if the last tree is the
    node's best one.
    """
    k, exact = incumbents.scores.shape[0], is_exact(node.oracle)
    fewest = np.full(1, np.inf)
    for call in range(limits.calls if not exact or k > 1 else _NO_END):
        if call > 0 and (
            counters[1] >= limits.work
            or is_over(limits.until)
            or (call >= limits.calls and not _is_linear(node))
        ):
            break
        progress[0].call = call
        if _try_primal(node, scratch, room, progress, incumbents, limits, counters):
            return CLOSED
        tight = progress[0].value > NEG and progress[0].last - progress[0].value <= limits.slack
        if tight and not exact:
            return CLOSED if k == 1 else SOLVED
        floor = floor_to_beat(incumbents, limits.quantum, limits.slack)
        eliminates = (
            limits.eliminate_every > 0 and floor > NEG and call % limits.eliminate_every == 0
        )
        if eliminates and _eliminate(
            node, scratch, room, progress, fewest, incumbents, limits, counters
        ):
            return CLOSED
        _note(node, progress[0].bound, incumbents, counters, record)
        if _is_linear(node):
            if k > 1:
                break
        elif limits.method == PAPER:
            if _step_paper(node, scratch, room, progress, limits):
                break
        elif _step_mixed(node, scratch, room, progress, eliminates, incumbents, limits):
            break
    return WAITS


@kernel(stage="branch and bound")
def bound_node(node, incumbents, limits, counters, record):
    """Bound a `bbparse.inference.relaxation.state.Node` in place; return the fields of a `Verdict`.

    ``counters`` float64[3] counts oracle calls, full-size calls and trees tried; it is updated.
    """
    room, progress = _start(node, incumbents, limits)
    n_words, arc = room.tree.shape[0], -1
    if size_of(node.oracle) == 0 or not _simplify(n_words, node, limits.hard):
        return CLOSED, NEG, arc, NEG, room.tree, limits.slack
    scratch = scratch_of(node.oracle)
    status = _bound_by_calls(
        node, scratch, room, progress, incumbents, limits, counters, record
    )
    if status == WAITS:
        status, arc = _finish(node, scratch, room, progress, incumbents, limits, counters)
    return status, progress[0].bound, arc, progress[0].lower, room.tree, limits.slack
