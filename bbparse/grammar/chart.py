"""The chart of a sentence as a hypergraph: items with two tails, for the sweeps of the oracles.

The recurrences are head-driven (Collins 1996, in the form of Eisner & Satta 1999). Over a span,

    a phrase A with head word q      ← its last part, STOP on the left
    a pair x after k modifiers       ← the same with one less, and a phrase next to it

where q is a word with one of its tags. A step has one modifier, so it has at most one arc (q, head
of the modifier), and one coordinate. Only items that `bbparse.grammar.prune` has retained are made,
and only arcs that are allowed. The cost is that of the remaining steps, O(n⁵) in the worst case.

Items are sorted so that tails come first. Item 0 is empty and the last item is the whole sentence,
as the sweeps of `bbparse.inference.oracles.projective.passes` require.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.grammar.counts import Table
from bbparse.grammar.grammar import (
    STATES,
    Forms,
    HeadChild,
    Modifier,
    Pairs,
    head_weight,
    modifier_weight,
    next_state,
)
from bbparse.grammar.prune import AFTER, BARE, LEFT, RIGHT, cell
from bbparse.runtime.arrays import NEG, Flags, Float64s, Ints
from bbparse.runtime.jit import kernel

#: Values instead of a coordinate: the step has none; the step is not allowed.
FREE, FORBIDDEN = -1, -2
#: Kind of an item that is a word or a phrase; that of pairs is RIGHT or LEFT.
WHOLE = 0
# Indices into `_Builder.size`.
_ITEMS, _STEPS = 0, 1


class Leaves(NamedTuple):
    """The words of a sentence with their tags; q, the coordinate of a tag, indexes the pairs."""

    ptr: Ints  # the pairs of word i are ptr[i]:ptr[i+1]
    word: Ints  # index of the word
    tag: Ints
    number: Ints  # number of the form in the vocabulary
    score: Float64s  # score of the tag at this word
    join: Float64s  # [n, J]: score of each join of a word with the next


class ChartGrammar(NamedTuple):
    """A grammar with words as `build_chart` reads it."""

    forms: Forms
    kind: Ints  # kind of each symbol
    n_tags: int  # symbols below are tags, others are categories
    pairs: Pairs
    possible: Flags  # bool[S, 2, X]: see `bbparse.grammar.prune.possible_rules`
    table: Table
    joins: Ints  # int32[2, S, S]: see `bbparse.grammar.tagger.PhraseTagger`
    by_head: Ints  # int32[X]: the pairs with head child m are by_head[head_ptr[m]:head_ptr[m+1]]
    head_ptr: Ints


class Retained(NamedTuple):
    """The items that a chart may have, and its arcs."""

    symbol: Flags  # bool[cells, S]
    pair: NDArray[np.uint8]  # [cells, X]: bits BARE, RIGHT, AFTER and LEFT
    #: int32[n + 1, n]: coordinates of arcs from head (0: the root) to modifier, or FREE, FORBIDDEN
    arc: Ints


class PhraseChart(NamedTuple):
    """A hypergraph of I items and E steps."""

    item_ptr: Ints  # item_ptr[i]:item_ptr[i+1] are the steps that make item i; none make item 0
    left: Ints  # tails of a step; 0 for none
    right: Ints
    weight: Float64s
    coordinate: Ints  # coordinate that a step turns on, or FREE
    symbol: Ints  # symbol of a phrase or a word; x * STATES + s for pair x in state s
    head: Ints  # head q of the item: a word with a tag
    kind: NDArray[np.int8]  # of the item: WHOLE, RIGHT or LEFT
    # The sweeps need the number of items, and groups of items with a common score: there are none.
    size: NDArray[np.int64]
    item_group: Ints
    group_ptr: Ints


class _Bases(NamedTuple):
    """Items over a span to which modifiers can be added: pairs, or phrases as head children."""

    start: Ints  # int32[cells]: the items of cell c are start[c]:end[c]
    end: Ints
    item: Ints
    pair: Ints
    state: Ints
    head: Ints
    extra: Float64s  # weight before the modifier: of a head child, of STOP on the right
    used: Ints  # int32[1]: number of items


class _Builder(NamedTuple):
    """A chart in the making, with room for some number of items and steps."""

    chart: PhraseChart  # its steps are in no order
    made: Ints  # int32[steps]: the item that a step makes
    size: Ints  # numbers of items and steps
    full: Flags  # bool[1]: there was not enough room, so that the chart is useless
    slot: Ints  # int32[keys, Q]: item of a symbol and a head over this span, -1 for none yet
    first: Ints  # int32[cells]: the words and phrases of cell c are first[c]:last[c]
    last: Ints
    right_bases: _Bases
    left_bases: _Bases
    scratch: NDArray[np.uint64]  # room for contexts


def _builder(n: int, n_leaves: int, n_keys: int, room: int) -> _Builder:
    def zeros(size: int = n * (n + 1) // 2) -> Ints:
        return np.zeros(size, np.int32)

    def ints() -> Ints:
        return np.empty(room, np.int32)

    def bases() -> _Bases:
        return _Bases(zeros(), zeros(), ints(), ints(), ints(), ints(), np.empty(room), zeros(1))

    chart = PhraseChart(
        zeros(0),
        ints(),
        ints(),
        np.empty(room),
        ints(),
        np.full(room, -1, np.int32),
        zeros(room),
        np.zeros(room, np.int8),
        *_no_groups(0),
    )
    return _Builder(
        chart,
        ints(),
        np.array([1, 0], np.int32),
        np.zeros(1, np.bool_),
        np.full((n_keys, n_leaves), -1, np.int32),
        zeros(),
        zeros(),
        bases(),
        bases(),
        np.empty(7, np.uint64),
    )


def build_chart(
    leaves: Leaves, grammar: ChartGrammar, retained: Retained, room: int
) -> PhraseChart | None:
    """Build the chart of a sentence; None if it has no tree.

    ``room`` is the expected number of steps: with more, the chart is built again.
    """
    n_keys = max(len(grammar.pairs.score) * STATES, len(grammar.pairs.root))
    while True:
        builder = _builder(len(leaves.ptr) - 1, len(leaves.word), n_keys, room)
        has_tree = _fill(builder, leaves, grammar, retained)
        if not builder.full[0]:
            break
        room *= 4
    if not has_tree:
        return None
    chart, (n_items, n_steps) = builder.chart, builder.size.tolist()
    made = builder.made[:n_steps]
    order = np.argsort(made, kind="stable")
    item_ptr = np.searchsorted(made[order], np.arange(n_items + 1)).astype(np.int32)
    return PhraseChart(
        item_ptr,
        chart.left[order],
        chart.right[order],
        chart.weight[order],
        chart.coordinate[order],
        chart.symbol[:n_items],
        chart.head[:n_items],
        chart.kind[:n_items],
        *_no_groups(n_items),
    )


def _no_groups(n_items: int) -> tuple[NDArray[np.int64], Ints, Ints]:
    return np.array([n_items]), np.full(n_items, -1, np.int32), np.zeros(1, np.int32)


@kernel
def _push(builder, kind, symbol, head, tails, weight, coordinate):
    """Add a step, and the item that it makes if no step over this span has made it yet."""
    chart, slot, size = builder.chart, builder.slot, builder.size
    n_items, step = size[_ITEMS], size[_STEPS]
    if n_items == chart.symbol.shape[0] or step == chart.left.shape[0]:
        builder.full[0] = True
        return
    if slot[symbol, head] < 0:
        slot[symbol, head] = n_items
        chart.symbol[n_items], chart.head[n_items], chart.kind[n_items] = symbol, head, kind
        size[_ITEMS] = n_items + 1
    builder.made[step] = slot[symbol, head]
    chart.left[step], chart.right[step] = tails
    chart.weight[step], chart.coordinate[step] = weight, coordinate
    size[_STEPS] = step + 1


@kernel
def _close(builder, begin):
    """End the steps that make the items from `begin` on; return the number of items."""
    chart, end = builder.chart, builder.size[_ITEMS]
    for i in range(begin, end):
        builder.slot[chart.symbol[i], chart.head[i]] = -1
    return end


@kernel
def _add_base(builder, side, item, pair, state, head, extra):
    """Add an item to which modifiers can be added on a side."""
    bases = builder.right_bases if side == 1 else builder.left_bases
    at = bases.used[0]
    if at == bases.item.shape[0]:
        builder.full[0] = True
        return
    bases.item[at], bases.pair[at] = item, pair
    bases.state[at], bases.head[at] = state, head
    bases.extra[at] = extra
    bases.used[0] = at + 1


@kernel
def _stop_weight(builder, leaves, grammar, side, pair, state, q):
    """Return the weight of STOP on a side of a pair."""
    parent, head = grammar.pairs.parent[pair], grammar.pairs.head[pair]
    child = HeadChild(side, parent, head, state, leaves.tag[q], leaves.number[q])
    return modifier_weight(grammar.table, child, Modifier(-1, 0, 0), grammar.forms, builder.scratch)


@kernel
def _modify(builder, leaves, grammar, side, base, phrase, border, coordinate):
    """Add a phrase as the next modifier of a base, if some rule has it."""
    bases = builder.right_bases if side == 1 else builder.left_bases
    pair, state, q = bases.pair[base], bases.state[base], bases.head[base]
    label, modifier_q = builder.chart.symbol[phrase], builder.chart.head[phrase]
    if not grammar.possible[label, side, pair]:
        return
    parent, head, forms = grammar.pairs.parent[pair], grammar.pairs.head[pair], grammar.forms
    child = HeadChild(side, parent, head, state, leaves.tag[q], leaves.number[q])
    modifier = Modifier(label, leaves.tag[modifier_q], leaves.number[modifier_q])
    weight = bases.extra[base]
    weight += modifier_weight(grammar.table, child, modifier, forms, builder.scratch)
    weight += leaves.join[border, grammar.joins[side, forms.plain[parent], forms.plain[label]]]
    key = pair * STATES + next_state(state, grammar.kind[label])
    tails = (bases.item[base], phrase) if side == 1 else (phrase, bases.item[base])
    _push(builder, RIGHT if side == 1 else LEFT, key, q, tails, weight, coordinate)


@kernel
def _extend(builder, leaves, grammar, retained, side, i, j):
    """Make the pairs over a span whose last modifier is on a side."""
    n = leaves.ptr.shape[0] - 1
    here, bit = cell(n, i, j), 1 << (RIGHT if side == 1 else LEFT)
    bases = builder.right_bases if side == 1 else builder.left_bases
    for k in range(i + 1, j):
        before, after = cell(n, i, k), cell(n, k, j)
        base_cell, phrase_cell = (before, after) if side == 1 else (after, before)
        for base in range(bases.start[base_cell], bases.end[base_cell]):
            if not retained.pair[here, bases.pair[base]] & bit:
                continue
            head = leaves.word[bases.head[base]] + 1
            for phrase in range(builder.first[phrase_cell], builder.last[phrase_cell]):
                arc = retained.arc[head, leaves.word[builder.chart.head[phrase]]]
                if arc != FORBIDDEN:
                    _modify(builder, leaves, grammar, side, base, phrase, k - 1, arc)


@kernel
def _complete(builder, leaves, grammar, retained, here, begin, end):
    """Make the phrases over a span from its pairs begin:end, by STOP on both sides."""
    chart = builder.chart
    for item in range(begin, end):
        pair, state, q = chart.symbol[item] // STATES, chart.symbol[item] % STATES, chart.head[item]
        parent = grammar.pairs.parent[pair]
        if retained.symbol[here, parent]:
            weight = 0.0
            if chart.kind[item] == RIGHT:
                weight = _stop_weight(builder, leaves, grammar, 1, pair, state, q)
                state = STATES - 1
            weight += _stop_weight(builder, leaves, grammar, 0, pair, state, q)
            _push(builder, WHOLE, parent, q, (item, 0), weight, FREE)


@kernel
def _start_pairs(builder, leaves, grammar, retained, here, begin, end):
    """Start pairs with the items begin:end of a span as heads, and push phrases over words."""
    chart, pairs = builder.chart, grammar.pairs
    for item in range(begin, end):
        symbol, q = chart.symbol[item], chart.head[item]
        for at in range(grammar.head_ptr[symbol], grammar.head_ptr[symbol + 1]):
            pair = grammar.by_head[at]
            parent, bits = pairs.parent[pair], retained.pair[here, pair]
            is_alone = symbol < grammar.n_tags and retained.symbol[here, parent]
            is_bare = bits & (1 << BARE) != 0
            if not is_alone and not is_bare:
                continue
            weight = head_weight(
                grammar.table,
                parent,
                symbol,
                leaves.tag[q],
                leaves.number[q],
                grammar.forms,
                builder.scratch,
            )
            if is_bare:
                _add_base(builder, 1, item, pair, 0, q, weight)
            weight += _stop_weight(builder, leaves, grammar, 1, pair, 0, q)
            if is_bare and bits & (1 << AFTER):
                _add_base(builder, 0, item, pair, 0, q, weight)
            if is_alone:
                weight += _stop_weight(builder, leaves, grammar, 0, pair, 0, q)
                _push(builder, WHOLE, parent, q, (item, 0), weight, FREE)


@kernel
def _continue_pairs(builder, leaves, grammar, retained, here, begin, end):
    """Make the pairs begin:end over a span ready for more modifiers."""
    chart = builder.chart
    for item in range(begin, end):
        pair, state, q = chart.symbol[item] // STATES, chart.symbol[item] % STATES, chart.head[item]
        if chart.kind[item] == LEFT:
            _add_base(builder, 0, item, pair, state, q, 0.0)
            continue
        _add_base(builder, 1, item, pair, state, q, 0.0)
        if retained.pair[here, pair] & (1 << AFTER):
            weight = _stop_weight(builder, leaves, grammar, 1, pair, state, q)
            _add_base(builder, 0, item, pair, STATES - 1, q, weight)


@kernel
def _fill_span(builder, leaves, grammar, retained, i, j):
    """Make all items over a span from those over its parts."""
    here = cell(leaves.ptr.shape[0] - 1, i, j)
    first_pair = builder.size[_ITEMS]
    _extend(builder, leaves, grammar, retained, 1, i, j)
    first_left = _close(builder, first_pair)
    _extend(builder, leaves, grammar, retained, 0, i, j)
    first_whole = _close(builder, first_left)
    _complete(builder, leaves, grammar, retained, here, first_pair, first_whole)
    if j == i + 1:
        for q in range(leaves.ptr[i], leaves.ptr[j]):
            if retained.symbol[here, leaves.tag[q]]:
                _push(builder, WHOLE, leaves.tag[q], q, (0, 0), leaves.score[q], q)
    first_alone = _close(builder, first_whole)
    right, left = builder.right_bases, builder.left_bases
    right.start[here], left.start[here] = right.used[0], left.used[0]
    _start_pairs(builder, leaves, grammar, retained, here, first_whole, first_alone)
    end = _close(builder, first_alone)  # behind phrases over a word alone
    _start_pairs(builder, leaves, grammar, retained, here, first_alone, end)
    builder.first[here], builder.last[here] = first_whole, end
    _continue_pairs(builder, leaves, grammar, retained, here, first_pair, first_whole)
    right.end[here], left.end[here] = right.used[0], left.used[0]


@kernel
def _fill(builder, leaves, grammar, retained):
    """Make all items of a sentence; return True if it has a tree."""
    n, chart = leaves.ptr.shape[0] - 1, builder.chart
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            _fill_span(builder, leaves, grammar, retained, i, i + width)
            if builder.full[0]:
                return False
    n_items, top = builder.size[_ITEMS], cell(n, 0, n)
    root = HeadChild(2, 0, 0, 0, 0, 0)
    for item in range(builder.first[top], builder.last[top]):
        label, q = chart.symbol[item], chart.head[item]
        arc = retained.arc[0, leaves.word[q]]
        if grammar.pairs.root[label] > NEG and arc != FORBIDDEN:
            modifier = Modifier(label, leaves.tag[q], leaves.number[q])
            weight = modifier_weight(grammar.table, root, modifier, grammar.forms, builder.scratch)
            _push(builder, WHOLE, 0, 0, (item, 0), weight, arc)
    return builder.size[_ITEMS] > n_items
