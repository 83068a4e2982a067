"""Pruning by unlexicalized grammars: retain the items of good trees.

This is max-plus inside-outside over all spans, in head-driven order: a phrase starts as its head
child, takes modifiers on the right from the head outwards, stops there, takes modifiers on the
left, and stops. Without words, the pair x (phrase and head child) stays the same throughout, so a
modifier is scored once per span, whatever pairs it joins: O(n²·R + n³·X) for R rules and X pairs.
An item is retained if some tree with it scores at most `margin` below the best one, so the best
tree is never lost (Charniak & Johnson 2005 prune by sums instead).

Pruning is coarse-to-fine (Charniak et al. 2006): categories of a finer grammar refine those of a
coarser one, and the finer chart is built within the retained part of the coarser chart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.grammar.grammar import Grammar, Pairs
from bbparse.grammar.trees import SPLIT, HeadRules, merged
from bbparse.runtime.arrays import Ints
from bbparse.runtime.jit import kernel

NEG = np.float32(-np.inf)

# Progress of a pair over a span: head child only; modifiers on the right; right side complete and
# nothing on the left; modifiers on the left.
BARE, RIGHT, AFTER, LEFT = 0, 1, 2, 3


class Division(NamedTuple):
    """Refinement of a coarser grammar.

    ``symbol``, int32[S], maps each symbol to its coarser one; a coarser pair y is refined into
    ``pair[ptr[y]:ptr[y+1]]``, int32[X].
    """

    symbol: Ints
    ptr: Ints
    pair: Ints


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
def _divided(division, kept, candidates, bits, best):
    """List the pairs that refine retained ones; return their number."""
    count = 0
    for y in range(kept.shape[0]):
        if kept[y] != 0:
            for d in range(division.ptr[y], division.ptr[y + 1]):
                x = division.pair[d]
                candidates[count], bits[x] = x, kept[y]
                for step in range(4):
                    best[step, x] = NEG
                count += 1
    return count


@kernel
def _inside(leaf, pairs, division, kept, kept_pair, entries, phrase, hook):  # noqa: C901 – one recurrence
    n, n_tags = leaf.shape
    parent, head, score, stop = pairs.parent, pairs.head, pairs.score, pairs.stop
    bits, best = (np.zeros(score.shape[0], np.uint8), np.empty((4, score.shape[0]), np.float32))
    candidates = np.empty(score.shape[0], np.int32)
    start, end, pair, value, _, hook_of = entries
    n_entries, n_hooks = 0, 0
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            c = cell(n, i, j)
            inner = phrase[c]
            count = _divided(division, kept_pair[c], candidates, bits, best)
            for k in range(i + 1, j if count > 0 else i + 1):
                a, b = cell(n, i, k), cell(n, k, j)
                p, q, r, t = start[a], end[a], start[b], end[b]
                if hook_of[b] >= 0 and q > p:
                    _join(pair[p:q], value[BARE, p:q], value[RIGHT, p:q], hook[hook_of[b], 1],
                          best[RIGHT])
                if hook_of[a] >= 0 and t > r:
                    _join(pair[r:t], value[AFTER, r:t], value[LEFT, r:t], hook[hook_of[a], 0],
                          best[LEFT])
            for x in candidates[:count]:
                for step in (RIGHT, LEFT):
                    if not bits[x] & (1 << step):
                        best[step, x] = NEG
                if kept[c, division.symbol[parent[x]]]:
                    _raise_to(inner, parent[x], best[RIGHT, x] + stop[1, 1, x] + stop[0, 0, x])
                    _raise_to(inner, parent[x], best[LEFT, x] + stop[0, 1, x])
            if width == 1:
                for tag in range(n_tags):
                    if kept[c, division.symbol[tag]]:
                        inner[tag] = leaf[i, tag]
                for x in candidates[:count]:
                    if head[x] < n_tags and kept[c, division.symbol[parent[x]]]:
                        over = inner[head[x]] + score[x] + stop[1, 0, x] + stop[0, 0, x]
                        _raise_to(inner, parent[x], over)
            start[c] = n_entries
            for x in candidates[:count]:
                if bits[x] & (1 << BARE):
                    best[BARE, x] = inner[head[x]] + score[x]
                if bits[x] & (1 << AFTER):
                    _raise_to(best[AFTER], x, best[BARE, x] + stop[1, 0, x])
                    _raise_to(best[AFTER], x, best[RIGHT, x] + stop[1, 1, x])
                if max(best[BARE, x], best[RIGHT, x], best[AFTER, x], best[LEFT, x]) > NEG:
                    pair[n_entries] = x
                    for step in range(4):
                        value[step, n_entries] = best[step, x]
                    n_entries += 1
            end[c] = n_entries
            if inner.max() > NEG:
                hook_of[c] = n_hooks
                _offer(pairs, inner, hook[n_hooks])
                n_hooks += 1


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
def _narrow(pairs, number, place):
    """Restrict the grammar to the pairs in `number`; `place` has their new index or -1."""
    rules = np.flatnonzero(place[pairs.rule_pair] >= 0)
    ptr = np.searchsorted(rules, pairs.rule_ptr).astype(np.int32)
    stop = np.empty((2, 2, number.shape[0]), np.float32)
    for side in range(2):
        for far in range(2):
            stop[side, far] = pairs.stop[side, far][number]
    return Pairs(
        pairs.parent[number], pairs.head[number], pairs.score[number], stop, ptr,
        place[pairs.rule_pair[rules]], pairs.rule_side[rules], pairs.rule_score[rules], pairs.root,
    )


@kernel
def _possible(leaf, pairs):
    """Return the pairs that are derivable from the tags of a sentence."""
    reachable = np.zeros(pairs.root.shape[0], np.bool_)
    for i in range(leaf.shape[0]):
        for tag in range(leaf.shape[1]):
            reachable[tag] |= leaf[i, tag] > NEG
    possible = np.zeros(pairs.score.shape[0], np.bool_)
    changed = True
    while changed:
        changed = False
        for x in range(possible.shape[0]):
            if reachable[pairs.head[x]] and not possible[x]:
                possible[x] = reachable[pairs.parent[x]] = changed = True
    return possible


@kernel
def _prune(leaf, pairs, margin, division, coarse_kept, coarse_pair):
    n = leaf.shape[0]
    n_cells, n_symbols, n_pairs = coarse_kept.shape[0], pairs.root.shape[0], pairs.score.shape[0]
    is_used = np.zeros(n_pairs, np.bool_)
    room, n_hooks = 0, 0
    for c in range(n_cells):
        n_hooks += 1 if coarse_kept[c].any() else 0
        for y in range(coarse_pair.shape[1]):
            if coarse_pair[c, y] != 0:
                for d in range(division.ptr[y], division.ptr[y + 1]):
                    is_used[division.pair[d]] = True
                    room += 1
    number = np.flatnonzero(is_used).astype(np.int32)
    new_index = np.full(n_pairs, -1, np.int32)
    new_index[number] = np.arange(number.shape[0])
    small = _narrow(pairs, number, new_index)
    values = np.full((2, 4, room), NEG, np.float32)
    entries = _Entries(
        np.zeros(n_cells, np.int32), np.zeros(n_cells, np.int32), np.empty(room, np.int32),
        values[0], values[1], np.full(n_cells, -1, np.int32),
    )
    phrase = np.full((2, n_cells, n_symbols), NEG, np.float32)
    # scores of phrases as modifiers, by side and by adjacency to the head (0: adjacent)
    hooks = np.full((2, n_hooks, 2, 2, number.shape[0]), NEG, np.float32)
    small_division = Division(division.symbol, division.ptr, new_index[division.pair])
    _inside(leaf, small, small_division, coarse_kept, coarse_pair, entries, phrase[0], hooks[0])
    best = (phrase[0, cell(n, 0, n)] + pairs.root).max()
    kept = np.zeros((n_cells, n_symbols), np.bool_)
    kept_pair = np.zeros((n_cells, n_pairs), np.uint8)
    if best > NEG:
        floor = best - np.float32(margin) - np.float32(1e-4) * n
        small_kept = np.zeros((n_cells, number.shape[0]), np.uint8)
        _outside(leaf.shape, small, floor, entries, phrase, hooks, kept, small_kept)
        for x in range(number.shape[0]):
            kept_pair[:, number[x]] = small_kept[:, x]
    return best, kept, kept_pair


def prune(
    leaf: NDArray[np.float32], pairs: Pairs, margin: float,
    within: tuple[Division, NDArray[np.bool_], NDArray[np.uint8]] | None = None,
) -> tuple[float, NDArray[np.bool_], NDArray[np.uint8]]:
    """Find the items of trees whose score is within a margin of the best one.

    ``leaf`` float32[n, T] are scores of tags, -inf for impossible ones. ``within`` is the
    refinement of a coarser grammar into this one, with its retained symbols and pairs.

    Returns the score of the best tree (-inf if there is none), the retained symbols
    bool[cells, S], and the retained pairs uint8[cells, X] as bits BARE, RIGHT, AFTER and LEFT.
    """
    if within is None:
        n = len(leaf)
        symbol = np.arange(len(pairs.root), dtype=np.int32)
        ptr = np.arange(len(pairs.score) + 1, dtype=np.int32)
        kept = np.ones((n * (n + 1) // 2, len(symbol)), np.bool_)
        bits = np.where(_possible(leaf, pairs), np.uint8(15), np.uint8(0))
        within = Division(symbol, ptr, ptr[:-1]), kept, np.tile(bits, (len(kept), 1))
    return _prune(leaf, pairs, margin, *within)


def _in_trees(pairs: Pairs) -> NDArray[np.bool_]:
    """Return which symbols occur in trees, bool[S]."""
    used = (np.diff(pairs.rule_ptr) > 0) | (pairs.root > NEG)
    used[pairs.parent] = used[pairs.head] = True
    return used


def divide(coarse: Grammar, fine: Grammar, rules: HeadRules) -> Division:
    """Map a finer grammar to a coarser one with the same tags.

    `KeyError` if a symbol or pair has no counterpart. Back-off symbols that occur in no tree map
    to 0.
    """
    symbol = list(range(fine.n_tags))
    used = _in_trees(fine.pairs)
    for label, in_tree in zip(fine.symbols[fine.n_tags :], used[fine.n_tags :].tolist()):
        plain = label.split(SPLIT)[0]
        name = plain if plain in coarse.number else merged(plain, rules)
        symbol.append(coarse.number[name] if in_tree else 0)
    pairs = zip(coarse.pairs.parent.tolist(), coarse.pairs.head.tolist())
    number_of_pair = {pair: y for y, pair in enumerate(pairs)}
    pair = np.array(
        [
            number_of_pair[symbol[parent], symbol[head]]
            for parent, head in zip(fine.pairs.parent.tolist(), fine.pairs.head.tolist())
        ]
    )
    order = np.argsort(pair, kind="stable").astype(np.int32)
    ptr = np.searchsorted(pair[order], np.arange(len(number_of_pair) + 1)).astype(np.int32)
    return Division(np.array(symbol, np.int32), ptr, order)
