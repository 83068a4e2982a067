"""The chart of a grammar within what a coarser grammar has left of its own.

The recurrence is that of `bbparse.phrases.prune`, over lists of the pairs that are left of a span
instead of all pairs: most spans have few or none. Categories of the finer grammar are those of the
coarser one divided further (Charniak et al. 2006), so a tree of the one is a tree of the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.phrases.prune import AFTER, BARE, LEFT, NEG, RIGHT, cell, narrow, raise_to, widen

__all__ = ["Division", "refine"]

Ints = NDArray[np.int32]


class Division(NamedTuple):
    """How the symbols and pairs of a coarser grammar are divided.

    Attributes
    ----------
    symbol : int32[S]
        The coarser one of each symbol.
    ptr : int32[coarser X + 1]
        Pairs that a coarser pair y is divided into: ``pair[ptr[y]:ptr[y+1]]``.
    pair : int32[X]
    """

    symbol: Ints
    ptr: Ints
    pair: Ints


class _Entries(NamedTuple):
    """Pairs over spans.

    Attributes
    ----------
    ptr : int32[cells + 1]
    pair : int32[E]
    bits : uint8[E]
        What the coarser grammar has left.
    inside, outside : float32[E, 4]
        By what is asked of the pair: BARE, RIGHT, AFTER, LEFT.
    hooks : int32[cells + 1]
        The place of a span's hooks; -1 where no phrase is left.
    """

    ptr: Ints
    pair: Ints
    bits: NDArray[np.uint8]
    inside: NDArray[np.float32]
    outside: NDArray[np.float32]
    hooks: Ints


@kernel
def _entries(division, kept, kept_pair, wanted):
    n_cells, n_coarse = kept_pair.shape
    ptr, hooks = np.zeros(n_cells + 1, np.int32), np.full(n_cells + 1, -1, np.int32)
    count, n_hooks = 0, 0
    for c in range(n_cells):
        for y in range(n_coarse):
            if kept_pair[c, y] != 0:
                count += division.ptr[y + 1] - division.ptr[y]
        ptr[c + 1] = count
        for m in range(kept.shape[1]):
            if kept[c, m]:
                hooks[c] = n_hooks
                n_hooks += 1
                break
    hooks[n_cells] = n_hooks
    pair, bits = np.empty(count, np.int32), np.empty(count, np.uint8)
    at = 0
    for c in range(n_cells):
        for y in range(n_coarse):
            if kept_pair[c, y] != 0:
                for d in range(division.ptr[y], division.ptr[y + 1]):
                    pair[at] = division.pair[d]
                    wanted[pair[at]] = True
                    bits[at] = kept_pair[c, y]
                    at += 1
    values = np.full((2, count, 4), NEG, np.float32)
    return _Entries(ptr, pair, bits, values[0], values[1], hooks)


@kernel
def _allowed(bits, step):
    return bits & (1 << step) != 0


@kernel
def _inside(n, n_tags, leaf, pairs, division, kept, entries, phrase, hook):
    parent, head, score, stop = pairs.parent, pairs.head, pairs.score, pairs.stop
    ptr, value = entries.ptr, entries.inside
    place = np.full(score.shape[0], -1, np.int32)
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            c = cell(n, i, j)
            own = phrase[c]
            for e in range(ptr[c], ptr[c + 1]):
                place[entries.pair[e]] = e
            for k in range(i + 1, j):
                a, b = cell(n, i, k), cell(n, k, j)
                right, left = entries.hooks[b], entries.hooks[a]
                if ptr[c] == ptr[c + 1]:
                    break
                for e in range(ptr[a], ptr[a + 1] if right >= 0 else ptr[a]):
                    x = entries.pair[e]
                    t = place[x]
                    if t >= 0 and _allowed(entries.bits[t], RIGHT):
                        raise_to(value[t], RIGHT, value[e, BARE] + hook[right, 1, 0, x])
                        raise_to(value[t], RIGHT, value[e, RIGHT] + hook[right, 1, 1, x])
                for e in range(ptr[b], ptr[b + 1] if left >= 0 else ptr[b]):
                    x = entries.pair[e]
                    t = place[x]
                    if t >= 0 and _allowed(entries.bits[t], LEFT):
                        raise_to(value[t], LEFT, value[e, AFTER] + hook[left, 0, 0, x])
                        raise_to(value[t], LEFT, value[e, LEFT] + hook[left, 0, 1, x])
            for e in range(ptr[c], ptr[c + 1]):
                x = entries.pair[e]
                place[x] = -1
                if kept[c, division.symbol[parent[x]]]:
                    raise_to(own, parent[x], value[e, RIGHT] + stop[1, 1, x] + stop[0, 0, x])
                    raise_to(own, parent[x], value[e, LEFT] + stop[0, 1, x])
            if width == 1:
                for tag in range(n_tags):
                    if kept[c, division.symbol[tag]]:
                        own[tag] = leaf[i, tag]
                for e in range(ptr[c], ptr[c + 1]):
                    x = entries.pair[e]
                    if head[x] < n_tags and kept[c, division.symbol[parent[x]]]:
                        over = own[head[x]] + score[x] + stop[1, 0, x] + stop[0, 0, x]
                        raise_to(own, parent[x], over)
            for e in range(ptr[c], ptr[c + 1]):
                x = entries.pair[e]
                if _allowed(entries.bits[e], BARE):
                    value[e, BARE] = own[head[x]] + score[x]
                if _allowed(entries.bits[e], AFTER):
                    raise_to(value[e], AFTER, value[e, BARE] + stop[1, 0, x])
                    raise_to(value[e], AFTER, value[e, RIGHT] + stop[1, 1, x])
            if entries.hooks[c] >= 0:
                _offer(pairs, own, hook[entries.hooks[c]])


@kernel
def _offer(pairs, own, hook):
    """What phrases over a span score as modifiers."""
    for m in range(own.shape[0]):
        if own[m] > NEG:
            for r in range(pairs.rule_ptr[m], pairs.rule_ptr[m + 1]):
                x, side = pairs.rule_pair[r], pairs.rule_side[r]
                for far in range(2):
                    raise_to(hook[side, far], x, own[m] + pairs.rule_score[r, far])


@kernel
def _outside(n, n_tags, pairs, floor, entries, phrase, hook, o_phrase, o_hook, kept, kept_pair):
    parent, head, score, stop = pairs.parent, pairs.head, pairs.score, pairs.stop
    ptr, value, around = entries.ptr, entries.inside, entries.outside
    place = np.full(score.shape[0], -1, np.int32)
    o_phrase[cell(n, 0, n)] = pairs.root
    for width in range(n, 0, -1):
        for i in range(n - width + 1):
            j = i + width
            c = cell(n, i, j)
            own, over = phrase[c], o_phrase[c]
            if entries.hooks[c] >= 0:
                ring = o_hook[entries.hooks[c]]
                for m in range(own.shape[0]):
                    if own[m] > NEG:
                        for r in range(pairs.rule_ptr[m], pairs.rule_ptr[m + 1]):
                            x, side = pairs.rule_pair[r], pairs.rule_side[r]
                            for far in range(2):
                                raise_to(over, m, ring[side, far, x] + pairs.rule_score[r, far])
            for tags in range(2):  # phrases over tags are done before the tags
                for e in range(ptr[c], ptr[c + 1]):
                    x = entries.pair[e]
                    if (head[x] < n_tags) != (tags == 1):
                        continue
                    if tags == 1 and width == 1 and own[parent[x]] > NEG:
                        up = over[parent[x]] + stop[1, 0, x] + stop[0, 0, x]
                        raise_to(around[e], BARE, up)
                    raise_to(around[e], BARE, around[e, AFTER] + stop[1, 0, x])
                    raise_to(over, head[x], around[e, BARE] + score[x])
            for m in range(own.shape[0]):
                kept[c, m] = own[m] + over[m] >= floor
            open_right, open_left = False, False
            for e in range(ptr[c], ptr[c + 1]):
                x = entries.pair[e]
                if own[parent[x]] > NEG:
                    up = over[parent[x]]
                    raise_to(around[e], LEFT, up + stop[0, 1, x])
                    raise_to(around[e], RIGHT, up + stop[1, 1, x] + stop[0, 0, x])
                raise_to(around[e], RIGHT, around[e, AFTER] + stop[1, 1, x])
                for step in range(4):
                    if value[e, step] + around[e, step] >= floor:
                        kept_pair[c, x] |= 1 << step
                if kept_pair[c, x] & (1 << RIGHT):
                    place[x], open_right = e, True
                if kept_pair[c, x] & (1 << LEFT):
                    place[x], open_left = e, True
            for k in range(i + 1, j):
                a, b = cell(n, i, k), cell(n, k, j)
                right, left = entries.hooks[b], entries.hooks[a]
                for e in range(ptr[a], ptr[a + 1] if open_right and right >= 0 else ptr[a]):
                    x = entries.pair[e]
                    t = place[x]
                    if t >= 0 and kept_pair[c, x] & (1 << RIGHT):
                        o = around[t, RIGHT]
                        raise_to(around[e], BARE, o + hook[right, 1, 0, x])
                        raise_to(around[e], RIGHT, o + hook[right, 1, 1, x])
                        raise_to(o_hook[right, 1, 0], x, o + value[e, BARE])
                        raise_to(o_hook[right, 1, 1], x, o + value[e, RIGHT])
                for e in range(ptr[b], ptr[b + 1] if open_left and left >= 0 else ptr[b]):
                    x = entries.pair[e]
                    t = place[x]
                    if t >= 0 and kept_pair[c, x] & (1 << LEFT):
                        o = around[t, LEFT]
                        raise_to(around[e], AFTER, o + hook[left, 0, 0, x])
                        raise_to(around[e], LEFT, o + hook[left, 0, 1, x])
                        raise_to(o_hook[left, 0, 0], x, o + value[e, AFTER])
                        raise_to(o_hook[left, 0, 1], x, o + value[e, LEFT])
            for e in range(ptr[c], ptr[c + 1]):
                place[entries.pair[e]] = -1


@kernel
def refine(leaf, pairs, division, coarse_kept, coarse_pair, margin):
    """What good trees of the finer grammar are made of; see `bbparse.phrases.prune.prune`.

    Parameters
    ----------
    leaf, pairs, margin
        Of the finer grammar.
    division : Division
    coarse_kept, coarse_pair : bool[cells, S], uint8[cells, X]
        What is left of the coarser one.

    Returns
    -------
    best, kept, kept_pair
    """
    n, n_tags = leaf.shape
    n_cells, n_symbols, n_pairs = coarse_kept.shape[0], pairs.root.shape[0], pairs.score.shape[0]
    wanted = np.zeros(n_pairs, np.bool_)
    entries = _entries(division, coarse_kept, coarse_pair, wanted)
    few, number = narrow(pairs, wanted)
    place = np.full(n_pairs, -1, np.int32)
    place[number] = np.arange(number.shape[0])
    for e in range(entries.pair.shape[0]):
        entries.pair[e] = place[entries.pair[e]]
    phrase = np.full((2, n_cells, n_symbols), NEG, np.float32)
    hook = np.full((2, entries.hooks[n_cells], 2, 2, number.shape[0]), NEG, np.float32)
    _inside(n, n_tags, leaf, few, division, coarse_kept, entries, phrase[0], hook[0])
    best = NEG
    for m in range(n_symbols):
        best = max(best, phrase[0, cell(n, 0, n), m] + pairs.root[m])
    kept = np.zeros((n_cells, n_symbols), np.bool_)
    kept_pair = np.zeros((n_cells, n_pairs), np.uint8)
    if best > NEG:
        floor = best - np.float32(margin) - np.float32(1e-4) * n
        few_kept = np.zeros((n_cells, number.shape[0]), np.uint8)
        _outside(
            n, n_tags, few, floor, entries, phrase[0], hook[0], phrase[1], hook[1], kept, few_kept
        )
        widen(few_kept, number, kept_pair)
    return best, kept, kept_pair
