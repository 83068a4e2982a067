"""Enumeration of all trees that beat the incumbents, if the bound leaves few.

A tree's score is the bound minus the loss of each component. The loss of the arborescence is at
least the sum of the reduced scores of the tree's arcs. The loss of an automaton is at least the
max-marginal gap of the worst of its arcs. The enumeration settles one word after the other, words
with the same head together. Once all candidate modifiers of a head are settled, the loss of its
automaton is known exactly, and so is the loss of the factors over its arcs, whose bounds are the
loosest of all. A branch ends when its loss exceeds the difference of the bound and the minimum
score.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.inference.oracles.calls import by_type
from bbparse.inference.oracles.nonprojective.automata import Automata, parts_of
from bbparse.inference.oracles.projective.build import Chart
from bbparse.inference.relaxation.climbing import climb
from bbparse.inference.relaxation.incumbents import floor_to_beat, insert_tree, tree_score
from bbparse.inference.relaxation.multipliers import factor_gap
from bbparse.runtime.arrays import NEG, Float64s, Ints, Longs
from bbparse.runtime.jit import inlined, kernel

#: The first call at which trees are enumerated and factors absorbed; easy nodes close before.
LATE = 5
#: Hill climbing improves the best tree after this call, or at the next call that eliminates.
CLIMBS = 12
#: Enumerate only if at most 2**_MOST_CHOICES choices of heads are left; give up after settling
#: _STEPS words for each call so far.
_MOST_CHOICES, _STEPS = 30.0, 4
#: Rows of the table of candidates: arc, index among the pairs by modifier, pair, and head. Rows of
#: the table of losses: in the arborescence, in the automata of head and modifier, and in total.
_ARC, _PLACE, _PAIR, _HEAD = 0, 1, 2, 3
_TREE, _AS_MOD, _AS_HEAD, _ALONE = 0, 1, 2, 3


@kernel
def _candidates(o, s, arc_score, total, least, first, which, loss):
    """Fill in the candidates of each word, the best first; return False if some word has none."""
    in_ptr, in_list, group_ptr, heads = o.in_ptr, o.in_list, o.group_ptr, o.head
    gscore, reduced, value, parts = s.gscore, s.reduced, s.value, o.flags[1]
    with_mod, with_head = s.with_mod, s.with_head
    used = 0
    for m in range(1, in_ptr.shape[0] - 1):
        first[m] = used
        for i in range(in_ptr[m], in_ptr[m + 1]):
            c = in_list[i]
            if gscore[c] == NEG or reduced[i] == NEG:
                continue
            as_mod = as_head = 0.0
            if parts:
                as_mod = max(0.0, value[heads[c]] - with_mod[c])
                as_head = max(0.0, value[m] - with_head[c])
            for a in range(group_ptr[c], group_ptr[c + 1]):
                own = gscore[c] - arc_score[a] - reduced[i]
                alone = own + as_mod + as_head
                if arc_score[a] == NEG or total - alone < least:
                    continue
                at = used
                while at > first[m] and loss[_ALONE, at - 1] > alone:
                    for row in range(4):
                        which[row, at] = which[row, at - 1]
                        loss[row, at] = loss[row, at - 1]
                    at -= 1
                which[_ARC, at], which[_PLACE, at] = a, i
                which[_PAIR, at], which[_HEAD, at] = c, heads[c]
                loss[_TREE, at], loss[_ALONE, at] = own, alone
                loss[_AS_MOD, at], loss[_AS_HEAD, at] = as_mod, as_head
                used += 1
        if used == first[m]:
            return False
    first[-1] = used
    return True


@kernel
def _factors_by_head(factors, arc_pair, pair_head, last, before):
    """Chain the factors whose arcs share a head: ``last`` by head, ``before`` by factor."""
    ptr, arcs = factors.ptr, factors.arcs
    last[:] = -1
    for f in range(factors.size[0]):
        h = pair_head[arc_pair[arcs[ptr[f]]]]
        same = True
        for i in range(ptr[f] + 1, ptr[f + 1]):
            same = same and pair_head[arc_pair[arcs[i]]] == h
        if same:
            before[f] = last[h]
            last[h] = f


@kernel
def _factor_loss(factors, f, before, chosen):
    """Return the sum of the gaps of a chain of factors."""
    loss = 0.0
    while f >= 0:
        loss += factor_gap(factors, f, chosen)
        f = before[f]
    return loss


@inlined
def _own_loss(o, value, h, up, picked):
    """Return the loss of head h with the picked pairs; ``up`` indexes its own pair in in_list."""
    lost = value
    if h > 0:
        lost += o.v[o.in_list[up]]
    for c in range(o.out_ptr[h], o.out_ptr[h + 1]):
        if picked[c] == 1:
            lost += o.u[c]
    return lost - parts_of(o, h, up, picked)


@kernel
def _in_order(first, heads, waits, order):
    """Order the free words: first those of the head that waits for the fewest."""
    left = waits.copy()
    n = first.shape[0] - 2
    known = 0
    listed = np.zeros(n + 1, np.bool_)
    while known < order.shape[0]:
        best = -1
        for h in range(n + 1):
            if left[h] > 0 and (best < 0 or left[h] < left[best]):
                best = h
        for m in range(1, n + 1):
            lo, hi = first[m], first[m + 1]
            member = m == best
            for q in range(lo, hi):
                member = member or heads[q] == best
            if not member or listed[m] or hi - lo < 2:
                continue
            order[known] = m
            known += 1
            listed[m] = True
            left[m] -= 1
            for q in range(lo, hi):
                left[heads[q]] -= 1


class TreeBound(NamedTuple):
    """A bound on the trees of a node."""

    arc_score: Float64s  # [A], of arcs under the multipliers
    each: Float64s  # [A], the bound on the trees with each arc, without the shift
    shift: float  # what is not the oracle's
    slack: float  # its rounding error


class Listing(NamedTuple):
    """The words that are settled so far, and what that costs."""

    first: Longs  # [n + 2], first candidate of each word in the next two tables
    which: Longs  # [4, A]
    loss: Float64s  # [4, A]
    last: Longs  # [n + 1], chains of factors by head, of `_factors_by_head`
    before: Longs  # [F]
    above: Longs  # [n + 1], head of each word; -1: not settled
    up: Longs  # [n + 1], index of each word's pair in ``in_list``
    waits: Longs  # [n + 1], candidates, and own head, that are not settled
    lost: Float64s  # [n + 1], loss of each head
    picked: NDArray[np.int8]  # [B], 1 for pairs of the tree
    chosen: NDArray[np.int8]  # [A], 1 for arcs of the tree
    tree: Ints  # [n]
    changed: Longs  # heads whose losses steps have changed, for `_pop`
    old: Float64s  # and their losses before
    start: Longs  # [free + 2], where the changes of each step begin
    so_far: Float64s  # [free + 1], loss before each step


#: ``gone``: the loss of all settled words; ``roots``: words that depend on the root.
SUMS = np.dtype((np.record, [("gone", np.float64), ("roots", np.int64)]))


@kernel
def _begin(o, s, node, arc_score, total, least):
    """Return a `Listing` of the candidates of a node, its `SUMS`[1], and the number of free words.

    Words with one candidate are settled. A head waits for its free candidates and its own head. The
    number is -1 if there is no tree.
    """
    factors, n, size = node.factors, o.in_ptr.shape[0] - 2, arc_score.shape[0]
    first = np.zeros(n + 2, np.int64)
    which, loss = np.empty((4, size), np.int64), np.empty((4, size))
    some = _candidates(o, s, arc_score, total, least, first, which, loss)
    free = 0
    for m in range(1, n + 1):
        free += some and first[m + 1] - first[m] > 1
    arc_pair = np.empty(size, np.int64)
    for c in range(o.head.shape[0]):
        for a in range(o.group_ptr[c], o.group_ptr[c + 1]):
            arc_pair[a] = c
    last, before = np.empty(n + 1, np.int64), np.empty(factors.size[0], np.int64)
    _factors_by_head(factors, arc_pair, o.head, last, before)
    listing = Listing(
        first, which, loss, last, before, np.full(n + 1, -1, np.int64),
        np.full(n + 1, -1, np.int64), np.zeros(n + 1, np.int64), np.zeros(n + 1),
        np.zeros(o.head.shape[0], np.int8), np.zeros(size, np.int8), np.empty(n, np.int32),
        np.empty(2 * free + n + 1, np.int64), np.empty(2 * free + n + 1),
        np.zeros(free + 2, np.int64), np.empty(free + 1),
    )  # fmt: skip
    sums = np.zeros(1, SUMS)
    if not some or not _settle_alone(o, listing, sums):
        return listing, sums, -1
    for h in range(n + 1):
        if listing.waits[h] == 0:
            _lose(o, s, node, listing, h)
        sums[0].gone += listing.lost[h]
    return listing, sums, free


@kernel
def _settle_alone(o, listing, sums):
    """Settle the words with one candidate; return False if they are in no tree."""
    first, which, loss, waits = listing.first, listing.which, listing.loss, listing.waits
    lost, above, heads = listing.lost, listing.above, listing.which[_HEAD]
    for m in range(1, above.shape[0]):
        lo = first[m]
        if first[m + 1] - lo > 1:
            waits[m] += 1
            for q in range(lo, first[m + 1]):
                waits[heads[q]] += 1
            continue
        h = heads[lo]
        if _closes_cycle(above, h, m):
            return False
        above[m], listing.up[m] = h, which[_PLACE, lo]
        listing.tree[m - 1] = which[_ARC, lo]
        listing.picked[which[_PAIR, lo]] = listing.chosen[which[_ARC, lo]] = 1
        sums[0].gone += loss[_TREE, lo]
        sums[0].roots += h == 0
        lost[h] = max(lost[h], loss[_AS_MOD, lo])
        lost[m] = max(lost[m], loss[_AS_HEAD, lo])
    return not o.flags[0] or sums[0].roots <= 1


@kernel
def _closes_cycle(above, h, m):
    """Return True if word m is h or above it."""
    while h > 0 and h != m:
        h = above[h]
    return h == m


@kernel
def _lose(o, s, node, listing, h):
    """Compute the loss of a head that waits for no word any more."""
    lost = listing.lost
    if o.flags[1]:
        lost[h] = _own_loss(o, s.value[h], h, listing.up[h], listing.picked)
    if listing.last[h] >= 0:
        lost[h] += _factor_loss(node.factors, listing.last[h], listing.before, listing.chosen)


@kernel
def _push(o, s, node, listing, sums, depth, m, q):
    """Settle word m by candidate q, and the heads that waited for it."""
    which, loss, lost, waits = listing.which, listing.loss, listing.lost, listing.waits
    changed, old, heads = listing.changed, listing.old, listing.which[_HEAD]
    h, lo = heads[q], listing.first[m]
    listing.so_far[depth] = sums[0].gone
    listing.above[m], listing.up[m], listing.tree[m - 1] = h, which[_PLACE, q], which[_ARC, q]
    listing.picked[which[_PAIR, q]] = listing.chosen[which[_ARC, q]] = 1
    sums[0].roots += h == 0
    end = listing.start[depth]
    changed[end], old[end] = h, lost[h]
    changed[end + 1], old[end + 1] = m, lost[m]
    end += 2
    gone = sums[0].gone + (loss[_TREE, q] - lost[h] - lost[m])
    lost[h], lost[m] = max(lost[h], loss[_AS_MOD, q]), max(lost[m], loss[_AS_HEAD, q])
    gone += lost[h] + lost[m]
    for p in range(lo - 1, listing.first[m + 1]):
        head = m if p < lo else heads[p]
        waits[head] -= 1
        if waits[head] == 0:
            changed[end], old[end] = head, lost[head]
            end += 1
            gone -= lost[head]
            _lose(o, s, node, listing, head)
            gone += lost[head]
    sums[0].gone = gone
    listing.start[depth + 1] = end


@kernel
def _pop(listing, sums, depth, m, q):
    """Undo `_push`."""
    which, heads = listing.which, listing.which[_HEAD]
    listing.picked[which[_PAIR, q]] = listing.chosen[which[_ARC, q]] = 0
    sums[0].roots -= heads[q] == 0
    listing.above[m] = -1
    for i in range(listing.start[depth + 1] - 1, listing.start[depth] - 1, -1):
        listing.lost[listing.changed[i]] = listing.old[i]
    listing.waits[m] += 1
    for p in range(listing.first[m], listing.first[m + 1]):
        listing.waits[heads[p]] += 1
    sums[0].gone = listing.so_far[depth]


@kernel
def _offer(o, node, listing, limits, incumbents, marks):
    """Insert the tree of a complete listing into the incumbents."""
    score = 0.0
    if o.flags[1]:
        for h in range(listing.up.shape[0]):
            score += parts_of(o, h, listing.up[h], listing.picked)
    score = tree_score(node, listing.tree, score, limits.hard, marks)
    if score > NEG:
        insert_tree(incumbents, listing.tree, score, limits.slack)


@kernel
def _list_trees(o, s, node, bound, most, limits, incumbents, counters):
    """Enumerate better trees of a node, after `with_each`; return True if complete.

    Trees are inserted into the incumbents. ``bound`` is a `TreeBound`. The kernel gives up, and
    returns False, after settling ``most`` words.
    """
    arc_score, _, shift, slack = bound
    least = floor_to_beat(incumbents, limits.quantum, slack) - shift
    n = o.in_ptr.shape[0] - 2
    total = s.value[n + 1]
    if o.flags[1]:
        for h in range(n + 1):
            total += s.value[h]
    listing, sums, free = _begin(o, s, node, arc_score, total, least)
    if free < 0:
        return True
    first, heads, above = listing.first, listing.which[_HEAD], listing.above
    order = np.empty(free, np.int64)
    _in_order(first, heads, listing.waits, order)
    marks, choice = np.empty(arc_score.shape[0], np.int8), np.zeros(free + 1, np.int64)
    if free > 0:
        choice[0] = first[order[0]]
    steps = depth = 0
    while depth >= 0:
        if depth == free:
            if total - sums[0].gone >= least:
                _offer(o, node, listing, limits, incumbents, marks)
                least = floor_to_beat(incumbents, limits.quantum, slack) - shift
                counters[2] += 1.0
            depth -= 1
            continue
        m = order[depth]
        if above[m] >= 0:
            _pop(listing, sums, depth, m, choice[depth])
            choice[depth] += 1
        q = choice[depth]
        if q == first[m + 1] or total - sums[0].gone < least:
            depth -= 1
            continue
        second_root = o.flags[0] and heads[q] == 0 and sums[0].roots > 0
        if second_root or _closes_cycle(above, heads[q], m):
            choice[depth] += 1
            continue
        steps += 1
        if steps > most:
            return False
        _push(o, s, node, listing, sums, depth, m, q)
        if total - sums[0].gone >= least:
            depth += 1
            if depth < free:
                choice[depth] = first[order[depth]]
    return True


@kernel
def _try_trees(o, s, node, bound, turn, limits, incumbents, counters):
    """Look for better trees of a node, after `with_each`; return True if none remain.

    ``bound`` is a `TreeBound`. ``turn`` is the number of the call, and float64[1]: enumerate only
    if at most 2**that choices of heads are left.
    """
    call, fewest = turn
    if CLIMBS <= call < CLIMBS + limits.eliminate_every:
        climb(o, node, limits, incumbents, counters)
    if call < LATE:
        return False
    each = bound.each
    least = floor_to_beat(incumbents, limits.quantum, bound.slack) - bound.shift
    count = np.zeros(o.in_ptr.shape[0] - 1)
    for a in range(each.shape[0]):
        count[node.arc_mod[a]] += each[a] >= least
    choices = np.log2(np.maximum(count[1:], 1.0)).sum()
    if choices > min(fewest[0], _MOST_CHOICES):
        return False
    fewest[0] = choices - 2.0
    most = _STEPS * (call + 1)
    return _list_trees(o, s, node, bound, most, limits, incumbents, counters)


#: Used by oracles whose components must agree; exact oracles enumerate their k best trees.
try_trees = by_type({Chart: False, Automata: _try_trees})
