"""Pruning by the unlexicalized grammar: retain the items of good trees.

This is max-plus inside-outside over all spans, in head-driven order: a phrase starts as its head
child, takes modifiers on the right from the head outwards, stops there, takes modifiers on the
left, and stops. Without words, the pair x (phrase and head child) stays the same throughout, so a
modifier is scored once per span, whatever pairs it joins: O(n²·R + n³·X) for R rules and X pairs.
An item is retained if some tree with it scores at most `margin` below the best one, so the best
tree is never lost (Charniak & Johnson 2005 prune by sums instead). Pruning by coarser categories
first saves a third of the time here, but loses trees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.runtime.arrays import Ints
from bbparse.runtime.jit import kernel

NEG = np.float32(-np.inf)

# Progress of a pair over a span: head child only; modifiers on the right; right side complete and
# nothing on the left; modifiers on the left.
BARE, RIGHT, AFTER, LEFT = 0, 1, 2, 3


class _Entries(NamedTuple):
    """Pairs over spans: those of span c are ``start[c]:end[c]``."""

    start: Ints
    end: Ints
    pair: Ints
    inside: NDArray[np.float32]  # [4, E], by the progress of the pair
    outside: NDArray[np.float32]
    hooks: Ints  # index of the hooks of a span; -1 if it has no phrase


@kernel
def cell(n, i, j):
    """Return the number of the span from word i to before word j."""
    return i * n - i * (i - 1) // 2 + j - i - 1


@kernel
def _raise_to(out, at, value):
    if value > out[at]:
        out[at] = value


@kernel
def _join(pair, first, more, hook, best):
    """Update the values of pairs over a span by adding a first or further modifier."""
    for e in range(pair.shape[0]):
        x = pair[e]
        a, b = first[e] + hook[0, x], more[e] + hook[1, x]
        value = a if a > b else b
        if value > best[x]:
            best[x] = value


@kernel
def _part(entries, rows, steps, hooks, at, over):
    """Reverse `_join`: update the outside values of pairs (entries `rows`) and of modifiers."""
    value, outside = entries.inside, entries.outside
    first, more = value[steps[0]], value[steps[1]]
    out_first, out_more = outside[steps[0]], outside[steps[1]]
    hook, around = hooks[0, at[0], at[1]], hooks[1, at[0], at[1]]
    for e in range(rows[0], rows[1]):
        x = entries.pair[e]
        o = over[x]
        if o > NEG:
            _raise_to(out_first, e, o + hook[0, x])
            _raise_to(out_more, e, o + hook[1, x])
            _raise_to(around[0], x, o + first[e])
            _raise_to(around[1], x, o + more[e])


@kernel
def _inside(leaf, pairs, entries, phrase, hook):
    n, n_tags = leaf.shape
    parent, head, score, stop = pairs.parent, pairs.head, pairs.score, pairs.stop
    best = np.empty((4, score.shape[0]), np.float32)
    start, end, pair, value, _, hook_of = entries
    n_entries, n_hooks = 0, 0
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            c = cell(n, i, j)
            inner = phrase[c]
            best[:] = NEG
            for k in range(i + 1, j):
                a, b = cell(n, i, k), cell(n, k, j)
                p, q, r, t = start[a], end[a], start[b], end[b]
                if hook_of[b] >= 0 and q > p:
                    _join(
                        pair[p:q],
                        value[BARE, p:q],
                        value[RIGHT, p:q],
                        hook[hook_of[b], 1],
                        best[RIGHT],
                    )
                if hook_of[a] >= 0 and t > r:
                    _join(
                        pair[r:t],
                        value[AFTER, r:t],
                        value[LEFT, r:t],
                        hook[hook_of[a], 0],
                        best[LEFT],
                    )
            for x in range(score.shape[0]):
                _raise_to(inner, parent[x], best[RIGHT, x] + stop[1, 1, x] + stop[0, 0, x])
                _raise_to(inner, parent[x], best[LEFT, x] + stop[0, 1, x])
            if width == 1:
                for tag in range(n_tags):
                    inner[tag] = leaf[i, tag]
                for x in range(score.shape[0]):
                    if head[x] < n_tags:
                        over = inner[head[x]] + score[x] + stop[1, 0, x] + stop[0, 0, x]
                        _raise_to(inner, parent[x], over)
            start[c] = n_entries
            for x in range(score.shape[0]):
                best[BARE, x] = inner[head[x]] + score[x]
                _raise_to(best[AFTER], x, best[BARE, x] + stop[1, 0, x])
                _raise_to(best[AFTER], x, best[RIGHT, x] + stop[1, 1, x])
                if best[AFTER, x] > NEG or best[LEFT, x] > NEG:
                    pair[n_entries] = x
                    for step in range(4):
                        value[step, n_entries] = best[step, x]
                    n_entries += 1
            end[c] = n_entries
            if inner.max() > NEG:
                hook_of[c] = n_hooks
                _offer(pairs, inner, hook[n_hooks])
                n_hooks += 1
    return n_entries


@kernel
def _offer(pairs, symbols, hook):
    """Compute the scores of phrases over a span as modifiers."""
    for m in range(symbols.shape[0]):
        if symbols[m] > NEG:
            for r in range(pairs.rule_ptr[m], pairs.rule_ptr[m + 1]):
                x, side = pairs.rule_pair[r], pairs.rule_side[r]
                for far in range(2):
                    _raise_to(hook[side, far], x, symbols[m] + pairs.rule_score[r, far])


@kernel
def _take(pairs, symbols, hook, above):
    """Compute the outside scores of phrases as modifiers."""
    for m in range(symbols.shape[0]):
        if symbols[m] > NEG:
            for r in range(pairs.rule_ptr[m], pairs.rule_ptr[m + 1]):
                x, side = pairs.rule_pair[r], pairs.rule_side[r]
                for far in range(2):
                    _raise_to(above, m, hook[side, far, x] + pairs.rule_score[r, far])


@kernel
def _outside(shape, pairs, floor, entries, phrases, hooks, kept, kept_pair):  # noqa: C901 – one recurrence
    parent, head, score, stop = pairs.parent, pairs.head, pairs.score, pairs.stop
    over = np.full((4, score.shape[0]), NEG, np.float32)  # outside values of retained pairs
    count = np.zeros(4, np.int32)
    (n, n_tags), phrase, around = shape, phrases[0], phrases[1]
    start, end, pair, value, outside, hook_of = entries
    around[cell(n, 0, n)] = pairs.root
    reached = np.zeros(around.shape[0], np.bool_)  # cells that are in some tree
    reached[cell(n, 0, n)] = True
    for width in range(n, 0, -1):
        for i in range(n - width + 1):
            j = i + width
            c = cell(n, i, j)
            if not reached[c]:
                continue
            symbols, above = phrase[c], around[c]
            if hook_of[c] >= 0:
                _take(pairs, symbols, hooks[1, hook_of[c]], above)
            for tags in range(2):  # phrases first, then the tags below them
                for e in range(start[c], end[c]):
                    x = pair[e]
                    if (head[x] < n_tags) != (tags == 1):
                        continue
                    if tags == 1 and width == 1 and symbols[parent[x]] > NEG:
                        up = above[parent[x]] + stop[1, 0, x] + stop[0, 0, x]
                        _raise_to(outside[BARE], e, up)
                    _raise_to(outside[BARE], e, outside[AFTER, e] + stop[1, 0, x])
                    _raise_to(above, head[x], outside[BARE, e] + score[x])
            for m in range(symbols.shape[0]):
                kept[c, m] = symbols[m] + above[m] >= floor
            count[:] = 0
            for e in range(start[c], end[c]):
                x = pair[e]
                if symbols[parent[x]] > NEG:
                    up = above[parent[x]]
                    _raise_to(outside[LEFT], e, up + stop[0, 1, x])
                    _raise_to(outside[RIGHT], e, up + stop[1, 1, x] + stop[0, 0, x])
                _raise_to(outside[RIGHT], e, outside[AFTER, e] + stop[1, 1, x])
                for step in range(4):
                    if value[step, e] + outside[step, e] >= floor:
                        kept_pair[c, x] |= 1 << step
                        over[step, x] = outside[step, e]
                        count[step] += 1
            for k in range(i + 1, j):
                a, b = cell(n, i, k), cell(n, k, j)
                p, q, r, t = start[a], end[a], start[b], end[b]
                if count[RIGHT] > 0 and hook_of[b] >= 0 and q > p:
                    reached[a] = reached[b] = True
                    _part(entries, (p, q), (BARE, RIGHT), hooks, (hook_of[b], 1), over[RIGHT])
                if count[LEFT] > 0 and hook_of[a] >= 0 and t > r:
                    reached[a] = reached[b] = True
                    _part(entries, (r, t), (AFTER, LEFT), hooks, (hook_of[a], 0), over[LEFT])
            for e in range(start[c], end[c]):
                for step in range(4):
                    over[step, pair[e]] = NEG


@kernel
def possible_rules(pairs):
    """Return which combinations of modifier, side and pair have a rule, bool[S, 2, X]."""
    possible = np.zeros((pairs.root.shape[0], 2, pairs.score.shape[0]), np.bool_)
    for m in range(possible.shape[0]):
        for r in range(pairs.rule_ptr[m], pairs.rule_ptr[m + 1]):
            possible[m, pairs.rule_side[r], pairs.rule_pair[r]] = True
    return possible


@kernel
def prune(leaf, pairs, margin):
    """Find the items of trees whose score is within a margin of the best one.

    ``leaf`` float32[n, T] are scores of tags, -inf for impossible ones. Returns the score of the
    best tree (-inf if there is none), the retained symbols bool[cells, S], and the retained pairs
    uint8[cells, X] as bits BARE, RIGHT, AFTER and LEFT.
    """
    n, n_symbols, n_pairs = leaf.shape[0], pairs.root.shape[0], pairs.score.shape[0]
    n_cells = n * (n + 1) // 2
    room = n_cells * n_pairs
    start, end, hook_of = np.zeros((3, n_cells), np.int32)
    hook_of[:] = -1
    pair, value = np.empty(room, np.int32), np.empty((4, room), np.float32)
    phrase = np.full((2, n_cells, n_symbols), NEG, np.float32)
    # scores of phrases as modifiers, by side and by adjacency to the head (0: adjacent)
    hooks = np.full((2, n_cells, 2, 2, n_pairs), NEG, np.float32)
    entries = _Entries(start, end, pair, value, value[:, :0], hook_of)
    n_entries = _inside(leaf, pairs, entries, phrase[0], hooks[0])
    best = (phrase[0, cell(n, 0, n)] + pairs.root).max()
    kept = np.zeros((n_cells, n_symbols), np.bool_)
    kept_pair = np.zeros((n_cells, n_pairs), np.uint8)
    if best > NEG:
        floor = best - np.float32(margin) - np.float32(1e-4) * n
        outside = np.full((4, n_entries), NEG, np.float32)
        entries = _Entries(start, end, pair, value, outside, hook_of)
        _outside(leaf.shape, pairs, floor, entries, phrase, hooks, kept, kept_pair)
    return best, kept, kept_pair
