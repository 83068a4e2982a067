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
_ITEMS, _EDGES = 0, 1


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


class Chart(NamedTuple):
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
    full: Flags  # bool[1]: see `_Builder`


class _Steps(NamedTuple):
    """Steps of one kind over one span, before they are sorted by the items that they make."""

    used: Ints  # int32[1]: number of steps
    full: Flags  # bool[1]: see `_Builder`
    key: Ints  # symbol of the item that a step makes
    head: Ints
    left: Ints
    right: Ints
    weight: Float64s
    coordinate: Ints
    slot: Ints  # int32[keys, Q]: item of a key and a head, -1 for none yet
    place: Ints


class _Builder(NamedTuple):
    """A chart in the making, with room for some number of items and steps."""

    chart: Chart
    size: Ints  # numbers of items and edges
    full: Flags  # bool[1]: there was not enough room, so that the chart is useless
    steps: _Steps
    first: Ints  # int32[cells]: the words and phrases of cell c are first[c]:last[c]
    last: Ints
    right_bases: _Bases
    left_bases: _Bases
    scratch: NDArray[np.uint64]  # room for contexts


def _builder(n: int, n_leaves: int, n_keys: int, room: int) -> _Builder:
    full = np.zeros(1, np.bool_)

    def zeros(size: int = n * (n + 1) // 2) -> Ints:
        return np.zeros(size, np.int32)

    def ints() -> Ints:
        return np.empty(room, np.int32)

    def bases() -> _Bases:
        return _Bases(
            zeros(), zeros(), ints(), ints(), ints(), ints(), np.empty(room), zeros(1), full
        )

    chart = Chart(
        zeros(room + 1), ints(), ints(), np.empty(room), ints(), np.full(room, -1, np.int32),
        zeros(room), np.zeros(room, np.int8), *_no_groups(0),
    )
    steps = _Steps(
        zeros(1), full, ints(), ints(), ints(), ints(), np.empty(room), ints(),
        np.full((n_keys, n_leaves), -1, np.int32), ints(),
    )
    return _Builder(
        chart, np.array([1, 0], np.int32), full, steps, zeros(), zeros(), bases(), bases(),
        np.empty(7, np.uint64),
    )


def build_chart(
    leaves: Leaves, grammar: ChartGrammar, retained: Retained, room: int
) -> Chart | None:
    """Build the chart of a sentence; None if it has no tree.

    ``room`` is the expected number of steps: with more, the chart is built again.
    """
    n_keys = max(len(grammar.pairs.score) * STATES, len(grammar.pairs.root))
    while True:
        builder = _builder(len(leaves.ptr) - 1, len(leaves.word), n_keys, room)
        _fill(builder, leaves, grammar, retained)
        if not builder.full[0]:
            break
        room *= 4
    chart, (n_items, n_edges) = builder.chart, builder.size.tolist()
    if n_items == 1:
        return None
    return Chart(
        chart.item_ptr[: n_items + 1], chart.left[:n_edges], chart.right[:n_edges],
        chart.weight[:n_edges], chart.coordinate[:n_edges], chart.symbol[:n_items],
        chart.head[:n_items], chart.kind[:n_items], *_no_groups(n_items),
    )


def _no_groups(n_items: int) -> tuple[NDArray[np.int64], Ints, Ints]:
    return np.array([n_items]), np.full(n_items, -1, np.int32), np.zeros(1, np.int32)


@kernel
def _push(steps, key, head, left, right, weight, coordinate):
    """Add a step that makes the item of a key and a head."""
    at = steps.used[0]
    if at == steps.key.shape[0]:
        steps.full[0] = True
        return
    steps.key[at], steps.head[at] = key, head
    steps.left[at], steps.right[at] = left, right
    steps.weight[at], steps.coordinate[at] = weight, coordinate
    steps.used[0] = at + 1


@kernel
def _emit(chart, size, steps, kind):
    """Add the items that the steps make to the chart, with their steps."""
    n, slot, place = steps.used[0], steps.slot, steps.place
    first, n_edges = size[_ITEMS], size[_EDGES]
    n_items = first
    if n_items + n >= chart.symbol.shape[0] or n_edges + n > chart.left.shape[0]:
        steps.full[0] = True
    if steps.full[0]:
        return
    for e in range(n):
        key, head = steps.key[e], steps.head[e]
        if slot[key, head] < 0:
            slot[key, head] = n_items
            chart.symbol[n_items], chart.head[n_items] = key, head
            chart.kind[n_items] = kind
            place[n_items - first] = 0
            n_items += 1
        place[slot[key, head] - first] += 1
    for i in range(n_items - first):
        begin = n_edges
        n_edges += place[i]
        place[i] = begin
        chart.item_ptr[first + i] = begin
    chart.item_ptr[n_items] = n_edges
    for e in range(n):
        item = slot[steps.key[e], steps.head[e]] - first
        at = place[item]
        place[item] += 1
        chart.left[at], chart.right[at] = steps.left[e], steps.right[e]
        chart.weight[at], chart.coordinate[at] = steps.weight[e], steps.coordinate[e]
    for i in range(first, n_items):
        slot[chart.symbol[i], chart.head[i]] = -1
    size[_ITEMS], size[_EDGES], steps.used[0] = n_items, n_edges, 0


@kernel
def _add_base(bases, item, pair, state, head, extra):
    """Add an item to which modifiers can be added."""
    at = bases.used[0]
    if at == bases.item.shape[0]:
        bases.full[0] = True
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
    return modifier_weight(
        grammar.table, child, Modifier(-1, 0, 0), grammar.forms, builder.scratch
    )


@kernel
def _modify(builder, leaves, grammar, side, base, phrase, border, coordinate):
    """Add a phrase as the next modifier of a base, if some rule has it."""
    bases = builder.right_bases if side == 1 else builder.left_bases
    pair, state, q = bases.pair[base], bases.state[base], bases.head[base]
    label, modifier_q = builder.chart.symbol[phrase], builder.chart.head[phrase]
    if not grammar.possible[label, side, pair]:
        return
    parent, forms = grammar.pairs.parent[pair], grammar.forms
    child = HeadChild(
        side, parent, grammar.pairs.head[pair], state, leaves.tag[q], leaves.number[q]
    )
    modifier = Modifier(label, leaves.tag[modifier_q], leaves.number[modifier_q])
    weight = bases.extra[base]
    weight += modifier_weight(grammar.table, child, modifier, forms, builder.scratch)
    weight += leaves.join[border, grammar.joins[side, forms.plain[parent], forms.plain[label]]]
    key = pair * STATES + next_state(state, grammar.kind[label])
    if side == 1:
        _push(builder.steps, key, q, bases.item[base], phrase, weight, coordinate)
    else:
        _push(builder.steps, key, q, phrase, bases.item[base], weight, coordinate)


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
    _emit(builder.chart, builder.size, builder.steps, RIGHT if side == 1 else LEFT)


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
            _push(builder.steps, parent, q, item, 0, weight, FREE)


@kernel
def _start_pairs(builder, leaves, grammar, retained, here, begin, end):
    """Start pairs with the items begin:end of a span as heads, and push phrases over words."""
    chart, pairs = builder.chart, grammar.pairs
    for item in range(begin, end):
        symbol, q = chart.symbol[item], chart.head[item]
        is_word = chart.left[chart.item_ptr[item]] == 0
        for at in range(grammar.head_ptr[symbol], grammar.head_ptr[symbol + 1]):
            pair = grammar.by_head[at]
            parent, bits = pairs.parent[pair], retained.pair[here, pair]
            is_alone = is_word and retained.symbol[here, parent]
            is_bare = bits & (1 << BARE) != 0
            if not is_alone and not is_bare:
                continue
            weight = head_weight(
                grammar.table, parent, symbol, leaves.tag[q], leaves.number[q], grammar.forms,
                builder.scratch,
            )
            if is_bare:
                _add_base(builder.right_bases, item, pair, 0, q, weight)
            weight += _stop_weight(builder, leaves, grammar, 1, pair, 0, q)
            if is_bare and bits & (1 << AFTER):
                _add_base(builder.left_bases, item, pair, 0, q, weight)
            if is_alone:
                weight += _stop_weight(builder, leaves, grammar, 0, pair, 0, q)
                _push(builder.steps, parent, q, item, 0, weight, FREE)


@kernel
def _continue_pairs(builder, leaves, grammar, retained, here, begin, end):
    """Make the pairs begin:end over a span ready for more modifiers."""
    chart = builder.chart
    for item in range(begin, end):
        pair, state, q = chart.symbol[item] // STATES, chart.symbol[item] % STATES, chart.head[item]
        if chart.kind[item] == LEFT:
            _add_base(builder.left_bases, item, pair, state, q, 0.0)
            continue
        _add_base(builder.right_bases, item, pair, state, q, 0.0)
        if retained.pair[here, pair] & (1 << AFTER):
            weight = _stop_weight(builder, leaves, grammar, 1, pair, state, q)
            _add_base(builder.left_bases, item, pair, STATES - 1, q, weight)


@kernel
def _fill_span(builder, leaves, grammar, retained, i, j):
    """Make all items over a span from those over its parts."""
    here = cell(leaves.ptr.shape[0] - 1, i, j)
    begin = builder.size[_ITEMS]
    for side in (1, 0):
        _extend(builder, leaves, grammar, retained, side, i, j)
    pairs_end = builder.size[_ITEMS]
    _complete(builder, leaves, grammar, retained, here, begin, pairs_end)
    if j == i + 1:
        for q in range(leaves.ptr[i], leaves.ptr[j]):
            if retained.symbol[here, leaves.tag[q]]:
                _push(builder.steps, leaves.tag[q], q, 0, 0, leaves.score[q], q)
    builder.first[here] = builder.size[_ITEMS]
    _emit(builder.chart, builder.size, builder.steps, WHOLE)
    end = builder.size[_ITEMS]
    right, left = builder.right_bases, builder.left_bases
    right.start[here], left.start[here] = right.used[0], left.used[0]
    _start_pairs(builder, leaves, grammar, retained, here, builder.first[here], end)
    _emit(builder.chart, builder.size, builder.steps, WHOLE)  # phrases over a word alone
    _start_pairs(builder, leaves, grammar, retained, here, end, builder.size[_ITEMS])
    builder.last[here] = builder.size[_ITEMS]
    _continue_pairs(builder, leaves, grammar, retained, here, begin, pairs_end)
    right.end[here], left.end[here] = right.used[0], left.used[0]


@kernel
def _fill(builder, leaves, grammar, retained):
    """Make all items of a sentence; without a tree only item 0 is left."""
    n, chart = leaves.ptr.shape[0] - 1, builder.chart
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            _fill_span(builder, leaves, grammar, retained, i, i + width)
            if builder.full[0]:
                return
    top = cell(n, 0, n)
    root = HeadChild(2, 0, 0, 0, 0, 0)
    for item in range(builder.first[top], builder.last[top]):
        label, q = chart.symbol[item], chart.head[item]
        arc = retained.arc[0, leaves.word[q]]
        if grammar.pairs.root[label] > NEG and arc != FORBIDDEN:
            modifier = Modifier(label, leaves.tag[q], leaves.number[q])
            weight = modifier_weight(
                grammar.table, root, modifier, grammar.forms, builder.scratch
            )
            _push(builder.steps, 0, 0, item, 0, weight, arc)
    if builder.steps.used[0] == 0:
        builder.size[_ITEMS], builder.size[_EDGES] = 1, 0
    _emit(builder.chart, builder.size, builder.steps, WHOLE)
