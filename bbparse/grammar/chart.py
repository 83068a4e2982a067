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

from bbparse.grammar.grammar import (
    STATES,
    HeadChild,
    Modifier,
    head_weight,
    modifier_weight,
    next_state,
)
from bbparse.grammar.prune import AFTER, BARE, LEFT, RIGHT, cell
from bbparse.runtime.arrays import NEG, Ints
from bbparse.runtime.jit import kernel

#: Values instead of a coordinate: the step has none; the step is not allowed.
FREE, FORBIDDEN = -1, -2


class Leaves(NamedTuple):
    """The words of a sentence with their tags; q, the coordinate of a tag, indexes the pairs."""

    ptr: Ints  # the pairs of word i are ptr[i]:ptr[i+1]
    word: Ints  # index of the word
    tag: Ints
    number: Ints  # number of the form in the vocabulary
    score: NDArray[np.float64]  # score of the tag at this word
    join: NDArray[np.float64]  # [n, J]: score of each join of a word with the next


class Chart(NamedTuple):
    """A hypergraph of I items and E steps."""

    item_ptr: Ints  # item_ptr[i]:item_ptr[i+1] are the steps that make item i; none make item 0
    left: Ints  # tails of a step; 0 for none
    right: Ints
    weight: NDArray[np.float64]
    coordinate: Ints  # coordinate that a step turns on, or FREE
    symbol: Ints  # symbol of a phrase or a word; x * STATES + s for pair x in state s
    head: Ints  # head q of the item: a word with a tag


class _Bases(NamedTuple):
    """Items over a span to which modifiers can be added: pairs, or phrases as head children."""

    start: Ints  # int32[cells]: the items of cell c are start[c]:end[c]
    end: Ints
    item: Ints
    pair: Ints
    state: Ints
    head: Ints
    extra: NDArray[np.float64]  # weight before the modifier: of a head child, of STOP on the right
    used: Ints  # int32[1]: number of items


class _Steps(NamedTuple):
    """Steps of one kind over one span, before they are sorted by the items that they make."""

    counts: Ints  # number of steps; 1 if they exceed the room
    key: Ints
    head: Ints
    left: Ints
    right: Ints
    weight: NDArray[np.float64]
    coordinate: Ints
    slot: Ints  # int32[keys, Q]: item of a key and a head, -1 for none yet
    place: Ints


@kernel
def _room(n_cells, room):
    return _Bases(
        np.zeros(n_cells, np.int32), np.zeros(n_cells, np.int32), np.empty(room, np.int32),
        np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32),
        np.empty(room), np.zeros(1, np.int32),
    )  # fmt: skip


@kernel
def _offer(steps, key, head, left, right, weight, coordinate):
    at = steps.counts[0]
    if at < steps.key.shape[0]:
        steps.key[at] = key
        steps.head[at] = head
        steps.left[at] = left
        steps.right[at] = right
        steps.weight[at] = weight
        steps.coordinate[at] = coordinate
        steps.counts[0] = at + 1
    else:
        steps.counts[1] = 1  # the chart is made again with more room


@kernel
def _emit(steps, chart, step_of, n_items, n_edges, kind):
    """Add the items that the steps make; return the numbers of items and edges."""
    n, first = steps.counts[0], n_items
    if n_items + n >= chart.symbol.shape[0] or n_edges + n > chart.left.shape[0]:
        steps.counts[1] = 1
    if steps.counts[1] != 0:
        return n_items, n_edges
    slot, place = steps.slot, steps.place
    for e in range(n):
        key, head = steps.key[e], steps.head[e]
        if slot[key, head] < 0:
            slot[key, head] = n_items
            chart.symbol[n_items] = key
            chart.head[n_items] = head
            step_of[n_items] = kind
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
        at = place[slot[steps.key[e], steps.head[e]] - first]
        place[slot[steps.key[e], steps.head[e]] - first] += 1
        chart.left[at] = steps.left[e]
        chart.right[at] = steps.right[e]
        chart.weight[at] = steps.weight[e]
        chart.coordinate[at] = steps.coordinate[e]
    for i in range(first, n_items):
        slot[chart.symbol[i], chart.head[i]] = -1
    steps.counts[0] = 0
    return n_items, n_edges


@kernel
def _weigh(model, side, pair, state, q, label, q_mod):
    """Return the weight of a modifier, or of STOP (label -1).

    The model is the grammar, the leaves, and room for contexts.
    """
    (forms, _, pairs, _, table, _), leaves, scratch = model
    child = HeadChild(
        side, pairs.parent[pair], pairs.head[pair], state, leaves.tag[q], leaves.number[q]
    )
    if label < 0:
        return modifier_weight(table, child, Modifier(label, 0, 0), forms, scratch)
    modifier = Modifier(label, leaves.tag[q_mod], leaves.number[q_mod])
    return modifier_weight(table, child, modifier, forms, scratch)


@kernel
def build_chart(leaves, grammar, retained, arcs, room):  # noqa: C901, PLR0915 – one recurrence
    """Build the chart of a sentence from the items that `bbparse.grammar.prune.prune` retained.

    The grammar has forms, kind and pairs of `bbparse.grammar.grammar.Grammar`, its possible rules
    bool[S, 2, X] (`bbparse.grammar.prune.possible_rules`), its table, and the numbers of joins
    (`bbparse.grammar.tagger.PhraseTagger`). ``arcs`` int32[n + 1, n] are coordinates of arcs from
    head (0: the root) to modifier, or FREE or FORBIDDEN. There is ``room`` for so many steps.

    Returns the `Chart`, with the first item alone if there is no tree; for each item 0 for words
    and phrases, RIGHT and LEFT for others, int8[I]; and True if there are more steps than room, so
    that the chart is useless.
    """
    (forms, kind, pairs, possible, table, joins), (kept, kept_pair) = grammar, retained
    n = leaves.ptr.shape[0] - 1
    n_cells, n_leaves = n * (n + 1) // 2, leaves.word.shape[0]
    n_pairs, n_symbols = pairs.score.shape[0], pairs.root.shape[0]
    scratch = np.empty(7, np.uint64)
    model = grammar, leaves, scratch
    chart = Chart(
        np.zeros(room + 1, np.int32), np.empty(room, np.int32), np.empty(room, np.int32),
        np.empty(room), np.empty(room, np.int32), np.full(room, -1, np.int32),
        np.zeros(room, np.int32),
    )  # fmt: skip
    step_of = np.zeros(room, np.int8)
    steps = _Steps(
        np.zeros(2, np.int32), np.empty(room, np.int32), np.empty(room, np.int32),
        np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room),
        np.empty(room, np.int32),
        np.full((max(n_pairs * STATES, n_symbols), n_leaves), -1, np.int32),
        np.empty(room, np.int32),
    )  # fmt: skip
    first, last = np.zeros(n_cells, np.int32), np.zeros(n_cells, np.int32)  # phrases of a cell
    right_bases, left_bases = _room(n_cells, room), _room(n_cells, room)
    by_head = np.argsort(pairs.head)
    head_ptr = np.searchsorted(pairs.head[by_head], np.arange(n_symbols + 1))
    n_items, n_edges = 1, 0

    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            c = cell(n, i, j)
            begin = n_items
            for side in (1, 0):
                bit = 1 << (RIGHT if side == 1 else LEFT)
                for k in range(i + 1, j):
                    phrase_cell = cell(n, k, j) if side == 1 else cell(n, i, k)
                    bases = right_bases if side == 1 else left_bases
                    base_cell = cell(n, i, k) if side == 1 else cell(n, k, j)
                    for b in range(bases.start[base_cell], bases.end[base_cell]):
                        x = bases.pair[b]
                        if not kept_pair[c, x] & bit:
                            continue
                        q = bases.head[b]
                        for m in range(first[phrase_cell], last[phrase_cell]):
                            label, q_mod = chart.symbol[m], chart.head[m]
                            arc = arcs[leaves.word[q] + 1, leaves.word[q_mod]]
                            if arc == FORBIDDEN or not possible[label, side, x]:
                                continue
                            weight = bases.extra[b] + _weigh(
                                model, side, x, bases.state[b], q, label, q_mod
                            )
                            join = joins[side, forms.plain[pairs.parent[x]], forms.plain[label]]
                            weight += leaves.join[k - 1, join]
                            key = x * STATES + next_state(bases.state[b], kind[label])
                            if side == 1:
                                _offer(steps, key, q, bases.item[b], m, weight, arc)
                            else:
                                _offer(steps, key, q, m, bases.item[b], weight, arc)
                n_items, n_edges = _emit(
                    steps, chart, step_of, n_items, n_edges, RIGHT if side == 1 else LEFT
                )
            pairs_end = n_items
            for r in range(begin, pairs_end):  # complete phrases
                x, state, q = chart.symbol[r] // STATES, chart.symbol[r] % STATES, chart.head[r]
                if kept[c, pairs.parent[x]]:
                    weight = 0.0
                    if step_of[r] == RIGHT:
                        weight = _weigh(model, 1, x, state, q, -1, 0)
                        state = STATES - 1
                    weight += _weigh(model, 0, x, state, q, -1, 0)
                    _offer(steps, pairs.parent[x], q, r, 0, weight, FREE)
            if width == 1:
                for q in range(leaves.ptr[i], leaves.ptr[i + 1]):
                    if kept[c, leaves.tag[q]]:
                        _offer(steps, leaves.tag[q], q, 0, 0, leaves.score[q], q)
            first[c] = n_items
            n_items, n_edges = _emit(steps, chart, step_of, n_items, n_edges, 0)
            words_end = n_items if width == 1 else first[c]
            right_bases.start[c], left_bases.start[c] = right_bases.used[0], left_bases.used[0]
            for turn in range(2):  # tags first, then phrases over them
                start, end = (first[c], words_end) if turn == 0 else (words_end, n_items)
                for p in range(start, end):
                    q = chart.head[p]
                    for h in range(head_ptr[chart.symbol[p]], head_ptr[chart.symbol[p] + 1]):
                        x = by_head[h]
                        over_tag = turn == 0 and width == 1 and kept[c, pairs.parent[x]]
                        bare = kept_pair[c, x] & (1 << BARE) != 0
                        if not over_tag and not bare:
                            continue
                        weight = head_weight(
                            table, pairs.parent[x], pairs.head[x], leaves.tag[q],
                            leaves.number[q], forms, scratch,
                        )  # fmt: skip
                        if bare:
                            _add_base(steps, right_bases, p, x, 0, q, weight)
                        weight += _weigh(model, 1, x, 0, q, -1, 0)
                        if bare and kept_pair[c, x] & (1 << AFTER):
                            _add_base(steps, left_bases, p, x, 0, q, weight)
                        if over_tag:
                            weight += _weigh(model, 0, x, 0, q, -1, 0)
                            _offer(steps, pairs.parent[x], q, p, 0, weight, FREE)
                if turn == 0:
                    n_items, n_edges = _emit(steps, chart, step_of, n_items, n_edges, 0)
            last[c] = n_items
            for r in range(begin, pairs_end):
                x, state, q = chart.symbol[r] // STATES, chart.symbol[r] % STATES, chart.head[r]
                if step_of[r] == LEFT:
                    _add_base(steps, left_bases, r, x, state, q, 0.0)
                    continue
                _add_base(steps, right_bases, r, x, state, q, 0.0)
                if kept_pair[c, x] & (1 << AFTER):
                    weight = _weigh(model, 1, x, state, q, -1, 0)
                    _add_base(steps, left_bases, r, x, STATES - 1, q, weight)
            right_bases.end[c], left_bases.end[c] = right_bases.used[0], left_bases.used[0]
            if steps.counts[1]:
                return chart, step_of, True
    top = cell(n, 0, n)
    for p in range(first[top], last[top]):
        label, q = chart.symbol[p], chart.head[p]
        arc = arcs[0, leaves.word[q]]
        if pairs.root[label] > NEG and arc != FORBIDDEN:
            modifier = Modifier(label, leaves.tag[q], leaves.number[q])
            weight = modifier_weight(table, HeadChild(2, 0, 0, 0, 0, 0), modifier, forms, scratch)
            _offer(steps, 0, 0, p, 0, weight, arc)
    has_tree = steps.counts[0] > 0
    n_items, n_edges = _emit(steps, chart, step_of, n_items, n_edges, 0)
    if not has_tree:
        n_items, n_edges = 1, 0
    return (
        Chart(
            chart.item_ptr[: n_items + 1], chart.left[:n_edges], chart.right[:n_edges],
            chart.weight[:n_edges], chart.coordinate[:n_edges], chart.symbol[:n_items],
            chart.head[:n_items],
        ),
        step_of[:n_items], steps.counts[1] != 0,
    )  # fmt: skip


@kernel
def _add_base(steps, bases, item, pair, state, head, extra):
    at = bases.used[0]
    if at >= bases.item.shape[0]:
        steps.counts[1] = 1
        return
    bases.item[at] = item
    bases.pair[at] = pair
    bases.state[at] = state
    bases.head[at] = head
    bases.extra[at] = extra
    bases.used[0] = at + 1
