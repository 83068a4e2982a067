"""The chart of the grammar without words: what of it can be part of a good tree.

Max-plus inside and outside over all spans, in the head-driven order: a phrase begins as its head
child, takes modifiers on the right from the head outwards, stops there, takes them on the left and
stops. Without words a pair x (phrase and head child) goes through this as it is, so a modifier is
weighed once for a span, whatever it joins: O(n²·R + n³·X) for R rules and X pairs, where the inner
loop is over contiguous x. What is kept is in a tree that scores at most `margin` less than the best
one (Charniak & Johnson 2005 prune by sums instead): the best tree is always among it.
"""

from __future__ import annotations

import numpy as np

from bbparse.jit import kernel
from bbparse.phrases.grammar import Pairs

__all__ = [
    "AFTER", "BARE", "LEFT", "NEG", "RIGHT", "cell", "dense_rules", "narrow", "prune", "raise_to",
    "widen",
]  # fmt: skip

NEG = np.float32(-np.inf)

# What is asked of a pair over a span: just its head child; modifiers on the right; done with the
# right and none on the left; modifiers on the left.
BARE, RIGHT, AFTER, LEFT = 0, 1, 2, 3


@kernel
def cell(n, i, j):
    """Number of the span from word i to before word j."""
    return i * n - i * (i - 1) // 2 + j - i - 1


@kernel
def _join(first, second, out):
    for x in range(out.shape[0]):
        value = first[x] + second[x]
        out[x] = value if value > out[x] else out[x]


@kernel
def _offer(score, own, out):
    for side in range(2):
        for far in range(2):
            one, best = score[side, far], out[side, far]
            for x in range(one.shape[0]):
                value = one[x] + own
                best[x] = value if value > best[x] else best[x]


@kernel
def _inside(n, n_tags, leaf, pairs, dense, phrase, pair, hook):
    parent, head, score, stop = pairs.parent, pairs.head, pairs.score, pairs.stop
    n_pairs = score.shape[0]
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            c = cell(n, i, j)
            own, here = phrase[c], pair[c]
            own[:] = NEG
            here[:] = NEG
            hook[c] = NEG
            for k in range(i + 1, j):
                a, b = cell(n, i, k), cell(n, k, j)
                _join(pair[a, BARE], hook[b, 1, 0], here[RIGHT])
                _join(pair[a, RIGHT], hook[b, 1, 1], here[RIGHT])
                _join(pair[b, AFTER], hook[a, 0, 0], here[LEFT])
                _join(pair[b, LEFT], hook[a, 0, 1], here[LEFT])
            for x in range(n_pairs):
                value = max(
                    here[RIGHT, x] + stop[1, 1, x] + stop[0, 0, x], here[LEFT, x] + stop[0, 1, x]
                )
                if value > own[parent[x]]:
                    own[parent[x]] = value
            if width == 1:
                for tag in range(n_tags):
                    own[tag] = leaf[i, tag]
                for x in range(n_pairs):
                    if head[x] < n_tags:
                        value = own[head[x]] + score[x] + stop[1, 0, x] + stop[0, 0, x]
                        if value > own[parent[x]]:
                            own[parent[x]] = value
            for x in range(n_pairs):
                here[BARE, x] = own[head[x]] + score[x]
                here[AFTER, x] = max(here[BARE, x] + stop[1, 0, x], here[RIGHT, x] + stop[1, 1, x])
            for m in range(own.shape[0]):
                if own[m] > NEG:
                    _offer(dense[m], own[m], hook[c])


@kernel
def raise_to(out, at, value):
    if value > out[at]:
        out[at] = value


@kernel
def _outside(
    n, n_tags, pairs, floor, phrase, pair, hook, o_phrase, o_pair, o_hook, kept, kept_pair
):
    parent, head, score, stop = pairs.parent, pairs.head, pairs.score, pairs.stop
    ptr, rule_pair, rule_side = pairs.rule_ptr, pairs.rule_pair, pairs.rule_side
    rule_score = pairs.rule_score
    n_pairs = score.shape[0]
    o_phrase[:] = NEG
    o_pair[:] = NEG
    o_hook[:] = NEG
    top = cell(n, 0, n)
    o_phrase[top] = pairs.root
    reached = np.zeros(o_phrase.shape[0], np.bool_)
    reached[top] = True
    for width in range(n, 0, -1):
        for i in range(n - width + 1):
            j = i + width
            c = cell(n, i, j)
            own, here, ring = phrase[c], pair[c], o_pair[c]
            around = o_phrase[c]
            if not reached[c]:
                continue
            for m in range(own.shape[0]):
                if own[m] > NEG:
                    for r in range(ptr[m], ptr[m + 1]):
                        x, side = rule_pair[r], rule_side[r]
                        for far in range(2):
                            raise_to(around, m, o_hook[c, side, far, x] + rule_score[r, far])
            for tags in range(2):  # phrases over tags are done before the tags
                for x in range(n_pairs):
                    if (head[x] < n_tags) != (tags == 1):
                        continue
                    if tags == 1 and width == 1:
                        over = around[parent[x]]
                        raise_to(ring[BARE], x, over + stop[1, 0, x] + stop[0, 0, x])
                    raise_to(ring[BARE], x, ring[AFTER, x] + stop[1, 0, x])
                    raise_to(around, head[x], ring[BARE, x] + score[x])
            for m in range(own.shape[0]):
                kept[c, m] = own[m] + around[m] >= floor
            for x in range(n_pairs):
                over = around[parent[x]]
                raise_to(ring[LEFT], x, over + stop[0, 1, x])
                raise_to(ring[RIGHT], x, over + stop[1, 1, x] + stop[0, 0, x])
                raise_to(ring[RIGHT], x, ring[AFTER, x] + stop[1, 1, x])
                for step in range(4):
                    if here[step, x] + ring[step, x] >= floor:
                        kept_pair[c, x] |= 1 << step
                if kept_pair[c, x] & (1 << RIGHT):
                    o = ring[RIGHT, x]
                    for k in range(i + 1, j):
                        a, b = cell(n, i, k), cell(n, k, j)
                        reached[a] = reached[b] = True
                        raise_to(o_pair[a, BARE], x, o + hook[b, 1, 0, x])
                        raise_to(o_pair[a, RIGHT], x, o + hook[b, 1, 1, x])
                        raise_to(o_hook[b, 1, 0], x, o + pair[a, BARE, x])
                        raise_to(o_hook[b, 1, 1], x, o + pair[a, RIGHT, x])
                if kept_pair[c, x] & (1 << LEFT):
                    o = ring[LEFT, x]
                    for k in range(i + 1, j):
                        a, b = cell(n, i, k), cell(n, k, j)
                        reached[a] = reached[b] = True
                        raise_to(o_pair[b, AFTER], x, o + hook[a, 0, 0, x])
                        raise_to(o_pair[b, LEFT], x, o + hook[a, 0, 1, x])
                        raise_to(o_hook[a, 0, 0], x, o + pair[b, AFTER, x])
                        raise_to(o_hook[a, 0, 1], x, o + pair[b, LEFT, x])


@kernel
def dense_rules(pairs):
    """The scores of all modifiers, float32[S, 2, 2, X]: -inf where there is no rule."""
    out = np.full((pairs.root.shape[0], 2, 2, pairs.score.shape[0]), NEG)
    for m in range(out.shape[0]):
        for r in range(pairs.rule_ptr[m], pairs.rule_ptr[m + 1]):
            out[m, pairs.rule_side[r], :, pairs.rule_pair[r]] = pairs.rule_score[r]
    return out


@kernel
def narrow(pairs, wanted):
    """The grammar with some pairs only, bool[X], and their numbers in the whole one."""
    number = np.flatnonzero(wanted).astype(np.int32)
    place = np.full(wanted.shape[0], -1, np.int32)
    place[number] = np.arange(number.shape[0])
    left = np.flatnonzero(place[pairs.rule_pair] >= 0)
    ptr = np.searchsorted(left, pairs.rule_ptr).astype(np.int32)
    stop = np.empty((2, 2, number.shape[0]), np.float32)
    for side in range(2):
        for far in range(2):
            stop[side, far] = pairs.stop[side, far][number]
    return (
        Pairs(
            pairs.parent[number], pairs.head[number], pairs.score[number], stop, ptr,
            place[pairs.rule_pair[left]], pairs.rule_side[left], pairs.rule_score[left],
            pairs.root,
        ),
        number,
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
def prune(leaf, pairs, margin):
    """What good trees are made of.

    Parameters
    ----------
    leaf : float32[n, T]
        Scores of tags, -inf for those that a word cannot have.
    pairs : Pairs
        See `bbparse.phrases.grammar`.
    margin : float
        In the logarithm of probabilities.

    Returns
    -------
    best : float
        Of the best tree; -inf where there is none.
    kept : bool[cells, S]
        Whether a symbol over a span is in a good tree.
    kept_pair : uint8[cells, X]
        Bit BARE, RIGHT, AFTER, LEFT of a pair over a span.
    """
    n, n_tags = leaf.shape
    n_cells, n_symbols = n * (n + 1) // 2, pairs.root.shape[0]
    few, number = narrow(pairs, _possible(leaf, pairs))
    phrase = np.empty((2, n_cells, n_symbols), np.float32)
    pair = np.empty((2, n_cells, 4, number.shape[0]), np.float32)
    hook = np.empty((2, n_cells, 2, 2, number.shape[0]), np.float32)
    _inside(n, n_tags, leaf, few, dense_rules(few), phrase[0], pair[0], hook[0])
    best = NEG
    for m in range(n_symbols):
        best = max(best, phrase[0, cell(n, 0, n), m] + pairs.root[m])
    kept = np.zeros((n_cells, n_symbols), np.bool_)
    kept_pair = np.zeros((n_cells, pairs.score.shape[0]), np.uint8)
    if best > NEG:
        floor = best - np.float32(margin) - np.float32(1e-4) * n
        few_kept = np.zeros((n_cells, number.shape[0]), np.uint8)
        _outside(
            n, n_tags, few, floor, phrase[0], pair[0], hook[0], phrase[1], pair[1], hook[1],
            kept, few_kept,
        )  # fmt: skip
        widen(few_kept, number, kept_pair)
    return best, kept, kept_pair


@kernel
def widen(few, number, out):
    """What is kept of a narrow grammar, in the numbers of the whole one."""
    for c in range(few.shape[0]):
        for x in range(few.shape[1]):
            if few[c, x] != 0:
                out[c, number[x]] = few[c, x]
