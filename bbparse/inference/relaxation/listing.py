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

from bbparse.inference.oracles.calls import by_type
from bbparse.inference.oracles.nonprojective.automata import Automata, parts_of
from bbparse.inference.oracles.projective.build import Chart
from bbparse.inference.relaxation.climbing import climb
from bbparse.inference.relaxation.incumbents import floor_to_beat, insert_tree, tree_score
from bbparse.inference.relaxation.multipliers import factor_gap
from bbparse.runtime.arrays import NEG, Float64s
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


@kernel
def _list_trees(o, s, node, bound, most, limits, incumbents, counters):  # noqa: C901, PLR0915 – one depth-first search, with undo
    """Enumerate better trees of a node, after `with_each`; return True if complete.

    Trees are inserted into the incumbents. ``bound`` is a `TreeBound`. The kernel gives up, and
    returns False, after settling ``most`` words.
    """
    arc_score, _, shift, slack = bound
    least = floor_to_beat(incumbents, limits.quantum, slack) - shift
    single, parts, factors = o.flags[0], o.flags[1], node.factors
    n, size, value = o.in_ptr.shape[0] - 2, arc_score.shape[0], s.value
    total = value[n + 1]
    if parts:
        for h in range(n + 1):
            total += value[h]
    first = np.zeros(n + 2, np.int64)
    which, loss = np.empty((4, size), np.int64), np.empty((4, size))
    if not _candidates(o, s, arc_score, total, least, first, which, loss):
        return True
    heads = which[_HEAD]
    arc_pair = np.empty(size, np.int64)
    for c in range(o.head.shape[0]):
        for a in range(o.group_ptr[c], o.group_ptr[c + 1]):
            arc_pair[a] = c
    last, before = np.empty(n + 1, np.int64), np.empty(factors.size[0], np.int64)
    _factors_by_head(factors, arc_pair, o.head, last, before)

    # Words with one candidate are settled. A head waits for its free candidates and its own head.
    above = np.full(n + 1, -1, np.int64)  # head of each word; ``up``: index of its pair in in_list
    up = np.full(n + 1, -1, np.int64)
    waits = np.zeros(n + 1, np.int64)
    lost = np.zeros(n + 1)
    picked, chosen = np.zeros(o.head.shape[0], np.int8), np.zeros(size, np.int8)
    tree, trial = np.empty(n, np.int32), np.empty(size, np.int8)
    gone = 0.0
    roots = free = 0
    for m in range(1, n + 1):
        lo = first[m]
        if first[m + 1] - lo > 1:
            free += 1
            waits[m] += 1
            for q in range(lo, first[m + 1]):
                waits[heads[q]] += 1
            continue
        h = heads[lo]
        above[m], up[m], tree[m - 1] = h, which[_PLACE, lo], which[_ARC, lo]
        while h > 0:
            if h == m:
                return True
            h = above[h]
        h = heads[lo]
        picked[which[_PAIR, lo]] = chosen[tree[m - 1]] = 1
        gone += loss[_TREE, lo]
        roots += h == 0
        lost[h] = max(lost[h], loss[_AS_MOD, lo])
        lost[m] = max(lost[m], loss[_AS_HEAD, lo])
    if single and roots > 1:
        return True
    for h in range(n + 1):
        if waits[h] == 0:
            if parts:
                lost[h] = _own_loss(o, value[h], h, up[h], picked)
            lost[h] += _factor_loss(factors, last[h], before, chosen)
        gone += lost[h]
    order = np.empty(free, np.int64)
    _in_order(first, heads, waits, order)

    # Depth first; the changes of each step are recorded, so that they can be undone.
    steps = depth = 0
    choice, start = np.zeros(free + 1, np.int64), np.zeros(free + 2, np.int64)
    so_far = np.empty(free + 1)
    changed, old = np.empty(2 * free + n + 1, np.int64), np.empty(2 * free + n + 1)
    if free > 0:
        choice[0] = first[order[0]]
    while depth >= 0:
        if depth == free:
            if total - gone >= least:
                score = 0.0
                if parts:
                    for h in range(n + 1):
                        score += parts_of(o, h, up[h], picked)
                score = tree_score(node, tree, score, limits.hard, trial)
                if score > NEG:
                    insert_tree(incumbents, tree, score, limits.slack)
                    least = floor_to_beat(incumbents, limits.quantum, slack) - shift
                counters[2] += 1.0
            depth -= 1
            continue
        m = order[depth]
        lo, hi = first[m], first[m + 1]
        if above[m] >= 0:  # undo the last choice
            q = choice[depth]
            picked[which[_PAIR, q]] = chosen[which[_ARC, q]] = 0
            roots -= heads[q] == 0
            above[m] = -1
            for i in range(start[depth + 1] - 1, start[depth] - 1, -1):
                lost[changed[i]] = old[i]
            waits[m] += 1
            for q in range(lo, hi):
                waits[heads[q]] += 1
            gone = so_far[depth]
            choice[depth] += 1
        q = choice[depth]
        if q == hi or total - gone < least:
            depth -= 1
            continue
        h = heads[q]
        ahead = h
        while ahead > 0 and ahead != m:
            ahead = above[ahead]
        if ahead == m or (single and h == 0 and roots > 0):
            choice[depth] += 1
            continue
        steps += 1
        if steps > most:
            return False
        so_far[depth] = gone
        above[m], up[m], tree[m - 1] = h, which[_PLACE, q], which[_ARC, q]
        picked[which[_PAIR, q]] = chosen[tree[m - 1]] = 1
        roots += h == 0
        end = start[depth]
        changed[end], old[end] = h, lost[h]
        changed[end + 1], old[end + 1] = m, lost[m]
        end += 2
        gone += loss[_TREE, q] - lost[h] - lost[m]
        lost[h], lost[m] = max(lost[h], loss[_AS_MOD, q]), max(lost[m], loss[_AS_HEAD, q])
        gone += lost[h] + lost[m]
        for p in range(lo - 1, hi):
            done = m if p < lo else heads[p]
            waits[done] -= 1
            if waits[done] == 0:
                changed[end], old[end] = done, lost[done]
                end += 1
                gone -= lost[done]
                if parts:
                    lost[done] = _own_loss(o, value[done], done, up[done], picked)
                if last[done] >= 0:
                    lost[done] += _factor_loss(factors, last[done], before, chosen)
                gone += lost[done]
        start[depth + 1] = end
        if total - gone >= least:
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
