"""Bounding one node of the search, over any oracle.

A node consists of its alive arcs (those with ``base`` above -inf), the state of its oracle, and its
factors. `bound_node` minimizes the bound over multipliers, offers every tree that it finds to the
incumbents, eliminates arcs that provably are in no better tree, and chooses the branching arc.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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
from bbparse.runtime.arrays import NEG, Ints
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


@kernel(stage="branch and bound")
def bound_node(node, incumbents, limits, counters, record):  # noqa: C901, PLR0915 – one loop of calls; its state is all local
    """Bound a `bbparse.inference.relaxation.state.Node` in place; return the fields of a `Verdict`.

    ``counters`` float64[3] counts oracle calls, full-size calls and trees tried; it is updated.
    """
    n_arcs = node.base.shape[0]
    k, n_words = incumbents.trees.shape
    oracle, factors, counts = node.oracle, node.factors, node.counts
    method, slack = limits.method, limits.slack
    tree = np.empty(n_words, np.int32)
    if size_of(oracle) == 0 or not _simplify(n_words, node, limits.hard):
        return (CLOSED, NEG, -1, NEG, tree, slack)
    scratch = scratch_of(oracle)
    arc_score, each = np.empty(n_arcs), np.empty(n_arcs)
    lead, times = np.empty(n_arcs), np.empty(n_arcs)
    chosen = np.zeros(n_arcs, np.int8)
    simplex = np.empty(n_words + 2)
    copy = np.zeros(counts.arcs.shape[0], np.int8)
    best_bound = previous = np.inf
    lower = NEG
    mild = 1.0  # damping of Polyak steps
    waited = 0
    rises = 0
    alpha = 0.0  # the paper's first step length, max_c 1 / |φ_c| (QL13 §3.2)
    for c in range(factors.size[0]):
        if factors.weight[c] != 0.0:
            alpha = max(alpha, 1.0 / abs(factors.weight[c]))
    exact = is_exact(oracle)
    listed = _LISTED * max(1, n_words) / limits.full_size  # work of enumerating one tree
    fewest = np.full(1, np.inf)
    call = -1
    while call < 0 or (
        counters[1] < limits.work
        and not is_over(limits.until)
        and (
            call + 1 < limits.calls
            or (exact and factors.size[0] + counts.size[0] == 0 and k == 1)
        )
    ):
        call += 1
        shift = _bound_scores(node, copy, arc_score)
        goal = best(oracle, scratch, arc_score)
        share = size_of(oracle) / limits.full_size
        counters[0] += 1.0
        counters[1] += share
        if goal == NEG:
            return (CLOSED, NEG, -1, lower, tree, slack)
        bound = goal + shift
        if bound < floor_to_beat(incumbents, limits.quantum, slack):
            return (CLOSED, min(best_bound, bound), -1, lower, tree, slack)
        linear = exact and factors.size[0] + counts.size[0] == 0
        if exact and not linear and call == 0 and k > 1 and incumbents.found[0] < k:
            # k trees first: without a k-th score nothing can be eliminated
            many, _, part_scores, _ = k_best(
                oracle, scratch, arc_score, n_words, k, NEG, limits.until
            )
            counters[1] += share + many.shape[0] * listed
            counters[2] += many.shape[0]
            scores = tree_scores(node, many, part_scores, limits.hard)
            insert_trees(incumbents, many, scores, limits.slack)
        part_score = tree_of(oracle, scratch, arc_score, tree)
        value = tree_score(node, tree, part_score, limits.hard, chosen)
        if value > NEG:
            insert_tree(incumbents, tree, value, slack)
        counters[2] += 1.0
        lower = max(lower, value)
        floor = floor_to_beat(incumbents, limits.quantum, slack)
        if bound < floor:
            return (CLOSED, min(best_bound, bound), -1, lower, tree, slack)
        if linear and k == 1:
            # the bound is the score of the tree just found
            return (CLOSED, min(best_bound, bound), -1, lower, tree, slack)
        best_bound = min(best_bound, bound)
        tight = value > NEG and bound - value <= slack
        if tight and not exact:
            return (CLOSED if k == 1 else SOLVED, best_bound, -1, lower, tree, slack)
        eliminates = (
            limits.eliminate_every > 0 and floor > NEG and call % limits.eliminate_every == 0
        )
        by_leads = method == MIXED and eliminates
        if eliminates:
            with_each(oracle, scratch, arc_score, each)
            counters[0] += 2.0
            counters[1] += 2.0 * share
            if by_leads:
                arc_leads(n_words, node.arc_mod, each, lead)
            tree_bound = TreeBound(arc_score, each, shift, slack)
            turn = (call, fewest)
            if try_trees(oracle, scratch, node, tree_bound, turn, limits, incumbents, counters):
                return (CLOSED, best_bound, -1, lower, tree, slack)
            floor = floor_to_beat(incumbents, limits.quantum, slack)
            before = size_of(oracle)
            if not eliminate(oracle, scratch, floor - shift):
                return (CLOSED, best_bound, -1, lower, tree, slack)
            died = _drop_arcs(node, each, floor - shift)
            if (died or size_of(oracle) < before) and not _simplify(n_words, node, limits.hard):
                return (CLOSED, best_bound, -1, lower, tree, slack)
            if died:  # the tree may have lost arcs, and their factors have changed
                for a in range(n_arcs):
                    if node.base[a] == NEG:
                        chosen[a] = 0
            if call >= LATE:
                hold(oracle, scratch, node.base, factors, limits.hard)
        _note(node, best_bound, incumbents, counters, record)
        fell = previous - bound
        previous = bound
        if exact and factors.size[0] + counts.size[0] == 0:
            if k > 1:
                break
            continue
        if method == PAPER:
            if 0.0 <= fell <= limits.precision:
                break
            rises += fell < 0.0
            step_subgradient(factors, chosen, alpha * 0.5**rises, True, simplex)
            norm = disagreement(counts, copy, chosen) + inner_norm(oracle, scratch, chosen)
            if norm > 0.0:  # not in the paper: Polyak's length, shortened as the paper's steps are
                gap = bound - lower if lower > NEG else abs(bound)
                length = 0.5**rises * max(gap, slack) / norm
                step_counts(counts, copy, chosen, length)
                inner_step(oracle, scratch, chosen, length)
            continue
        if by_leads and factors.size[0] > 0:
            if tight:
                break
            step_leads(factors, lead, times, simplex)
        if exact and by_leads and counts.size[0] == 0:
            continue
        found = min(k, incumbents.found[0])
        target = incumbents.scores[found - 1] if found > 0 else bound - abs(bound)
        if exact:
            if fell < 0.0:
                mild *= 0.7
        elif bound <= best_bound:
            waited, mild = 0, min(1.1 * mild, 1.5)
        else:
            waited += 1
            if waited == PATIENCE:
                waited, mild = 0, 0.5 * mild
        norm = disagreement(counts, copy, chosen) + inner_norm(oracle, scratch, chosen)
        if not by_leads:
            norm += subgradient_norm(factors, chosen)
        if norm == 0.0:
            if by_leads:
                continue
            break
        alpha = mild * max(bound - target, slack) / norm
        if not by_leads:
            step_subgradient(factors, chosen, alpha, False, simplex)
        step_counts(counts, copy, chosen, alpha)
        inner_step(oracle, scratch, chosen, alpha)

    # The multipliers do not change any more: enumerate the trees that remain under the bound.
    shift = _bound_scores(node, copy, arc_score)
    wanted = max(k, limits.close_k)
    if k > 1 and factors.size[0] + counts.size[0] > 0:
        wanted = max(k // _FIRST_PART, limits.close_k)
    tried = 0
    while True:
        floor = floor_to_beat(incumbents, limits.quantum, slack)
        many, values, part_scores, rest = k_best(
            oracle, scratch, arc_score, n_words, wanted, floor - shift, limits.until
        )
        counters[0] += 1.0
        counters[1] += size_of(oracle) / limits.full_size + many.shape[0] * listed
        counters[2] += many.shape[0] - tried
        scores = tree_scores(node, many[tried:], part_scores[tried:], limits.hard)
        insert_trees(incumbents, many[tried:], scores, limits.slack)
        for value in scores:
            lower = max(lower, value)
        floor = floor_to_beat(incumbents, limits.quantum, slack)
        if rest == NEG or rest + shift < floor:
            return (CLOSED, best_bound, -1, lower, tree, slack)
        tried = many.shape[0]
        wanted = _worth_listing(values, floor - shift, k)
        if not exact or k == 1 or wanted <= tried or is_over(limits.until):
            break
        wanted = int(min(float(wanted), (limits.work - counters[1]) / listed))
        if wanted <= tried:
            break
    best_bound = min(best_bound, values[0] + shift)
    if best_bound < floor:
        return (CLOSED, best_bound, -1, lower, tree, slack)
    arc = _branching_arc(node, scratch, limits, many[:tried], k, (copy, chosen))
    return (OPEN if arc >= 0 else CLOSED, best_bound, arc, lower, tree, slack)
