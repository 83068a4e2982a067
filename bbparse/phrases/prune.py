"""Charts of the grammars without words: what of them can be part of a good tree.

Max-plus inside and outside over all spans, in the head-driven order: a phrase begins as its head
child, takes modifiers on the right from the head outwards, stops there, takes them on the left and
stops. Without words a pair x (phrase and head child) goes through this as it is, so a modifier is
weighed once for a span, whatever it joins: O(n²·R + n³·X) for R rules and X pairs. What is kept is
in a tree that scores at most `margin` less than the best one (Charniak & Johnson 2005 prune by sums
instead): the best tree is always among it.

Categories of a finer grammar are those of a coarser one divided further (Charniak et al. 2006), so
a tree of the one is a tree of the other, and its chart is made within what is kept of the other's.
Spans have lists of the pairs that they can have: most have few or none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.phrases.grammar import Grammar, Pairs
from bbparse.phrases.trees import SPLIT, HeadRules, merged

NEG = np.float32(-np.inf)

# What is asked of a pair over a span: just its head child; modifiers on the right; done with the
# right and none on the left; modifiers on the left.
BARE, RIGHT, AFTER, LEFT = 0, 1, 2, 3

Ints = NDArray[np.int32]


class Division(NamedTuple):
    """How the symbols and pairs of a coarser grammar are divided.

    The coarser symbol of each is ``symbol``, int32[S]; a coarser pair y is divided into
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
    inside: NDArray[np.float32]  # [4, E], by what is asked of the pair
    outside: NDArray[np.float32]
    hooks: Ints  # place of a span's hooks; -1 where it has no phrase


@kernel
def cell(n, i, j):
    """Number of the span from word i to before word j."""
    return i * n - i * (i - 1) // 2 + j - i - 1


@kernel
def _raise_to(out, at, value):
    if value > out[at]:
        out[at] = value


@kernel
def _join(pair, first, more, hook, best):
    """Pairs over a span with one more modifier, the first one or another."""
    for e in range(pair.shape[0]):
        x = pair[e]
        a, b = first[e] + hook[0, x], more[e] + hook[1, x]
        value = a if a > b else b
        if value > best[x]:
            best[x] = value


@kernel
def _part(pair, first, more, out_first, out_more, hook, around, over):
    """The reverse: what is around pairs and around the modifiers that join them."""
    for e in range(pair.shape[0]):
        x = pair[e]
        o = over[x]
        if o > NEG:
            _raise_to(out_first, e, o + hook[0, x])
            _raise_to(out_more, e, o + hook[1, x])
            _raise_to(around[0], x, o + first[e])
            _raise_to(around[1], x, o + more[e])


@kernel
def _inside(leaf, pairs, division, kept, kept_pair, entries, phrase, hook):
    n, n_tags = leaf.shape
    parent, head, score, stop = pairs.parent, pairs.head, pairs.score, pairs.stop
    bits, here = np.zeros(score.shape[0], np.uint8), np.empty((4, score.shape[0]), np.float32)
    some = np.empty(score.shape[0], np.int32)
    start, end, pair, value, _, hook_of = entries
    n_entries, n_hooks = 0, 0
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            c = cell(n, i, j)
            own, count = phrase[c], 0
            for y in range(kept_pair.shape[1]):
                if kept_pair[c, y] != 0:
                    for d in range(division.ptr[y], division.ptr[y + 1]):
                        x = division.pair[d]
                        some[count], bits[x] = x, kept_pair[c, y]
                        for step in range(4):
                            here[step, x] = NEG
                        count += 1
            for k in range(i + 1, j if count > 0 else i + 1):
                a, b = cell(n, i, k), cell(n, k, j)
                p, q, r, t = start[a], end[a], start[b], end[b]
                if hook_of[b] >= 0 and q > p:
                    _join(pair[p:q], value[BARE, p:q], value[RIGHT, p:q], hook[hook_of[b], 1],
                          here[RIGHT])  # fmt: skip
                if hook_of[a] >= 0 and t > r:
                    _join(pair[r:t], value[AFTER, r:t], value[LEFT, r:t], hook[hook_of[a], 0],
                          here[LEFT])  # fmt: skip
            for x in some[:count]:
                for step in (RIGHT, LEFT):
                    if not bits[x] & (1 << step):
                        here[step, x] = NEG
                if kept[c, division.symbol[parent[x]]]:
                    _raise_to(own, parent[x], here[RIGHT, x] + stop[1, 1, x] + stop[0, 0, x])
                    _raise_to(own, parent[x], here[LEFT, x] + stop[0, 1, x])
            if width == 1:
                for tag in range(n_tags):
                    if kept[c, division.symbol[tag]]:
                        own[tag] = leaf[i, tag]
                for x in some[:count]:
                    if head[x] < n_tags and kept[c, division.symbol[parent[x]]]:
                        over = own[head[x]] + score[x] + stop[1, 0, x] + stop[0, 0, x]
                        _raise_to(own, parent[x], over)
            start[c] = n_entries
            for x in some[:count]:
                if bits[x] & (1 << BARE):
                    here[BARE, x] = own[head[x]] + score[x]
                if bits[x] & (1 << AFTER):
                    _raise_to(here[AFTER], x, here[BARE, x] + stop[1, 0, x])
                    _raise_to(here[AFTER], x, here[RIGHT, x] + stop[1, 1, x])
                if max(here[BARE, x], here[RIGHT, x], here[AFTER, x], here[LEFT, x]) > NEG:
                    pair[n_entries] = x
                    for step in range(4):
                        value[step, n_entries] = here[step, x]
                    n_entries += 1
            end[c] = n_entries
            if own.max() > NEG:
                hook_of[c] = n_hooks
                _offer(pairs, own, hook[n_hooks])
                n_hooks += 1


@kernel
def _offer(pairs, own, hook):
    """What phrases over a span score as modifiers."""
    for m in range(own.shape[0]):
        if own[m] > NEG:
            for r in range(pairs.rule_ptr[m], pairs.rule_ptr[m + 1]):
                x, side = pairs.rule_pair[r], pairs.rule_side[r]
                for far in range(2):
                    _raise_to(hook[side, far], x, own[m] + pairs.rule_score[r, far])


@kernel
def _outside(n, n_tags, pairs, floor, entries, phrase, around, hook, o_hook, kept, kept_pair):
    parent, head, score, stop = pairs.parent, pairs.head, pairs.score, pairs.stop
    over = np.full((4, score.shape[0]), NEG, np.float32)  # of the span, where it is kept
    count = np.zeros(4, np.int32)
    start, end, pair, value, outside, hook_of = entries
    around[cell(n, 0, n)] = pairs.root
    reached = np.zeros(around.shape[0], np.bool_)  # what nothing is around is in no tree
    reached[cell(n, 0, n)] = True
    for width in range(n, 0, -1):
        for i in range(n - width + 1):
            j = i + width
            c = cell(n, i, j)
            if not reached[c]:
                continue
            own, above = phrase[c], around[c]
            if hook_of[c] >= 0:
                ring = o_hook[hook_of[c]]
                for m in range(own.shape[0]):
                    if own[m] > NEG:
                        for r in range(pairs.rule_ptr[m], pairs.rule_ptr[m + 1]):
                            x, side = pairs.rule_pair[r], pairs.rule_side[r]
                            for far in range(2):
                                _raise_to(above, m, ring[side, far, x] + pairs.rule_score[r, far])
            for tags in range(2):  # phrases over tags are done before the tags
                for e in range(start[c], end[c]):
                    x = pair[e]
                    if (head[x] < n_tags) != (tags == 1):
                        continue
                    if tags == 1 and width == 1 and own[parent[x]] > NEG:
                        up = above[parent[x]] + stop[1, 0, x] + stop[0, 0, x]
                        _raise_to(outside[BARE], e, up)
                    _raise_to(outside[BARE], e, outside[AFTER, e] + stop[1, 0, x])
                    _raise_to(above, head[x], outside[BARE, e] + score[x])
            for m in range(own.shape[0]):
                kept[c, m] = own[m] + above[m] >= floor
            count[:] = 0
            for e in range(start[c], end[c]):
                x = pair[e]
                if own[parent[x]] > NEG:
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
                    _part(
                        pair[p:q], value[BARE, p:q], value[RIGHT, p:q], outside[BARE, p:q],
                        outside[RIGHT, p:q], hook[hook_of[b], 1], o_hook[hook_of[b], 1],
                        over[RIGHT],
                    )  # fmt: skip
                if count[LEFT] > 0 and hook_of[a] >= 0 and t > r:
                    reached[a] = reached[b] = True
                    _part(
                        pair[r:t], value[AFTER, r:t], value[LEFT, r:t], outside[AFTER, r:t],
                        outside[LEFT, r:t], hook[hook_of[a], 0], o_hook[hook_of[a], 0],
                        over[LEFT],
                    )  # fmt: skip
            for e in range(start[c], end[c]):
                for step in range(4):
                    over[step, pair[e]] = NEG


@kernel
def dense_rules(pairs):
    """The scores of all modifiers, float32[S, 2, 2, X]: -inf where there is no rule."""
    out = np.full((pairs.root.shape[0], 2, 2, pairs.score.shape[0]), NEG)
    for m in range(out.shape[0]):
        for r in range(pairs.rule_ptr[m], pairs.rule_ptr[m + 1]):
            out[m, pairs.rule_side[r], :, pairs.rule_pair[r]] = pairs.rule_score[r]
    return out


@kernel
def _narrow(pairs, number, place):
    """The grammar with some pairs only, whose numbers are given; and the places of all."""
    left = np.flatnonzero(place[pairs.rule_pair] >= 0)
    ptr = np.searchsorted(left, pairs.rule_ptr).astype(np.int32)
    stop = np.empty((2, 2, number.shape[0]), np.float32)
    for side in range(2):
        for far in range(2):
            stop[side, far] = pairs.stop[side, far][number]
    return Pairs(
        pairs.parent[number], pairs.head[number], pairs.score[number], stop, ptr,
        place[pairs.rule_pair[left]], pairs.rule_side[left], pairs.rule_score[left], pairs.root,
    )  # fmt: skip


@kernel
def _possible(leaf, pairs):
    """Pairs that some phrase of a sentence with these tags may have."""
    there = np.zeros(pairs.root.shape[0], np.bool_)
    for i in range(leaf.shape[0]):
        for tag in range(leaf.shape[1]):
            there[tag] |= leaf[i, tag] > NEG
    wanted = np.zeros(pairs.score.shape[0], np.bool_)
    more = True
    while more:
        more = False
        for x in range(wanted.shape[0]):
            if there[pairs.head[x]] and not wanted[x]:
                wanted[x] = there[pairs.parent[x]] = more = True
    return wanted


@kernel
def _prune(leaf, pairs, margin, division, coarse_kept, coarse_pair):
    n, n_tags = leaf.shape
    n_cells, n_symbols, n_pairs = coarse_kept.shape[0], pairs.root.shape[0], pairs.score.shape[0]
    wanted = np.zeros(n_pairs, np.bool_)
    room, n_hooks = 0, 0
    for c in range(n_cells):
        n_hooks += 1 if coarse_kept[c].any() else 0
        for y in range(coarse_pair.shape[1]):
            if coarse_pair[c, y] != 0:
                for d in range(division.ptr[y], division.ptr[y + 1]):
                    wanted[division.pair[d]] = True
                    room += 1
    number = np.flatnonzero(wanted).astype(np.int32)
    place = np.full(n_pairs, -1, np.int32)
    place[number] = np.arange(number.shape[0])
    few = _narrow(pairs, number, place)
    values = np.full((2, 4, room), NEG, np.float32)
    entries = _Entries(
        np.zeros(n_cells, np.int32), np.zeros(n_cells, np.int32), np.empty(room, np.int32),
        values[0], values[1], np.full(n_cells, -1, np.int32),
    )  # fmt: skip
    phrase = np.full((2, n_cells, n_symbols), NEG, np.float32)
    # what phrases score as modifiers, by side and by whether the head is adjacent (0) or not
    both = np.full((2, n_hooks, 2, 2, number.shape[0]), NEG, np.float32)
    to_few = Division(division.symbol, division.ptr, place[division.pair])
    _inside(leaf, few, to_few, coarse_kept, coarse_pair, entries, phrase[0], both[0])
    best = (phrase[0, cell(n, 0, n)] + pairs.root).max()
    kept = np.zeros((n_cells, n_symbols), np.bool_)
    kept_pair = np.zeros((n_cells, n_pairs), np.uint8)
    if best > NEG:
        floor = best - np.float32(margin) - np.float32(1e-4) * n
        few_kept = np.zeros((n_cells, number.shape[0]), np.uint8)
        _outside(
            n, n_tags, few, floor, entries, phrase[0], phrase[1], both[0], both[1], kept, few_kept
        )
        for x in range(number.shape[0]):
            kept_pair[:, number[x]] = few_kept[:, x]
    return best, kept, kept_pair


def prune(
    leaf: NDArray[np.float32], pairs: Pairs, margin: float,
    within: tuple[Division, NDArray[np.bool_], NDArray[np.uint8]] | None = None,
) -> tuple[float, NDArray[np.bool_], NDArray[np.uint8]]:  # fmt: skip
    """What trees are made of whose score lies within a margin of the best one's.

    `leaf`, float32[n, T], has the scores of tags, -inf for those that a word cannot have;
    `within` a coarser grammar's division into this one, and what was kept of it. The score of the
    best tree, -inf without one, and what is kept: symbols over spans, bool[cells, S], and as bits
    BARE, RIGHT, AFTER, LEFT pairs over spans, uint8[cells, X].
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
    """Whether some tree has each symbol, bool[S]."""
    used = (np.diff(pairs.rule_ptr) > 0) | (pairs.root > NEG)
    used[pairs.parent] = used[pairs.head] = True
    return used


def divide(coarse: Grammar, fine: Grammar, rules: HeadRules) -> Division:
    """How what a coarser grammar has is divided in a finer one; they have the same tags.

    `KeyError` if the finer one has something of which the coarser one has nothing. That of symbols
    that stand for others, and are in no tree, is 0.
    """
    symbol = list(range(fine.n_tags))
    used = _in_trees(fine.pairs)
    for label, own in zip(fine.symbols[fine.n_tags :], used[fine.n_tags :].tolist()):
        plain = label.split(SPLIT)[0]
        name = plain if plain in coarse.number else merged(plain, rules)
        symbol.append(coarse.number[name] if own else 0)
    pairs = zip(coarse.pairs.parent.tolist(), coarse.pairs.head.tolist())
    of = {pair: y for y, pair in enumerate(pairs)}
    pair = np.array(
        [
            of[symbol[parent], symbol[head]]
            for parent, head in zip(fine.pairs.parent.tolist(), fine.pairs.head.tolist())
        ]
    )
    order = np.argsort(pair, kind="stable").astype(np.int32)
    ptr = np.searchsorted(pair[order], np.arange(len(of) + 1)).astype(np.int32)
    return Division(np.array(symbol, np.int32), ptr, order)
